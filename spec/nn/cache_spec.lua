-- Reading with a cache is reading everything at once.

local heed = require "heed"
local nn = heed.nn
local in_parts = require "spec.support.in_parts"
require "heed.luassert"

local causal = heed.mask.causal()

-- A decoder-only model of this kind of positions: f(tokens [B, L], cache) gives hidden states.
local function decoder_only(positions, options)
    local model = nn.Module:extend "Decoder"()
    model.words = nn.Embedding(17, 16)
    model.positions = positions
    model.layers = nn.TransformerEncoder(2, 16, 4, 24, options)
    function model:forward(tokens, cache, mask)
        local x = self.words(tokens)
        if self.positions then x = self.positions(x, { cache = cache }) end
        return self.layers(x, { mask = mask or causal, cache = cache })
    end
    return model:eval()
end

local KINDS = {
    ["learned positions"] = function() return decoder_only(nn.LearnedPositions(12, 16), {}) end,
    ["sines"] = function()
        return decoder_only(nn.SinusoidalPositions(12, 16), { norm_first = true })
    end,
    ["rotary, fewer heads of keys, norms of queries and keys"] = function()
        return decoder_only(nil, { rotary = true, num_kv_heads = 2, qk_norm = true, norm = "rms",
            activation = "swiglu" })
    end,
    ["one head of keys, softcap, no biases"] = function()
        return decoder_only(nn.LearnedPositions(12, 16), { num_kv_heads = 1, softcap = 5,
            bias = false, scale = 0.5 })
    end,
}

local tokens
before_each(function()
    heed.manual_seed(4)
    tokens = heed.randint(1, 17, { 3, 10 })
end)

local function columns(from, to) return tokens[{ {}, { from, to } }] end

-- Columns from[b] .. from[b] + L - 1 of each row.
local function behind(t, from, L)
    local rows = {}
    for b, first in ipairs(from) do rows[b] = t[{ { b }, { first + 1, first + L } }] end
    return heed.cat(rows, 1)
end

describe("a cache of a decoder-only model with", function()
    for name, make in pairs(KINDS) do
        describe(name, function()
            local model, whole
            before_each(function()
                model = make()
                model:requires_grad_(false)
                whole = model(tokens)
            end)

            it("gives what the whole sequence gives: at once, by tokens, by pieces "
                .. "(x-transformers 219)", function()
                for _, pieces in ipairs { { 10 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
                    { 4, 1, 3, 2 } } do
                    local cache, done = model:new_cache { batch = 3, max_len = 10 }, 0
                    for _, L in ipairs(pieces) do
                        local out = model(columns(done + 1, done + L), cache)
                        assert.is_close(out, whole[{ {}, { done + 1, done + L } }], 1e-5)
                        done = done + L
                        assert.same({ done, done, done }, cache:lengths():totable())
                    end
                end
            end)

            it("does so for rows of several lengths, reordered and cropped", function()
                local cache = model:new_cache { batch = 3, max_len = 10 }
                model(columns(1, 5), cache, causal & heed.mask.padding { 5, 2, 3 })
                assert.same({ 5, 2, 3 }, cache:lengths():totable())
                local held = { 5, 2, 3 }
                for _, L in ipairs { 1, 2, 1 } do
                    assert.is_close(model(behind(tokens, held, L), cache), behind(whole, held, L),
                        1e-5)
                    for b = 1, 3 do held[b] = held[b] + L end
                end
                cache:crop { 4, 6, 6 }
                assert.is_close(model(behind(tokens, { 4, 6, 6 }, 3), cache),
                    behind(whole, { 4, 6, 6 }, 3), 1e-5)
                cache:crop(-2)
                assert.same({ 5, 7, 7 }, cache:lengths():totable())
                local order = { 3, 1, 1, 2 }
                cache:reorder(order)
                tokens, whole = tokens:index_select(1, order), whole:index_select(1, order)
                assert.is_close(model(behind(tokens, { 7, 5, 5, 7 }, 2), cache),
                    behind(whole, { 7, 5, 5, 7 }, 2), 1e-5)
                cache:reorder { 4, 2 }
                tokens, whole = tokens:index_select(1, { 4, 2 }), whole:index_select(1, { 4, 2 })
                assert.same({ 9, 7 }, cache:lengths():totable())
                assert.is_close(model(behind(tokens, { 9, 7 }, 1), cache),
                    behind(whole, { 9, 7 }, 1), 1e-5)
            end)

            it("keeps in another dtype", function()
                local cache = model:new_cache { batch = 3, max_len = 10, dtype = "bf16" }
                model(columns(1, 6), cache)
                assert.is_close(model(columns(7, 7), cache), whole[{ {}, { 7, 7 } }], 0.1)
            end)
        end)
    end

    -- The first query of each row stands behind `held` keys; tensors say what the queries see of
    -- the first 8 keys.
    it("other masks, over rows of several lengths", function()
        local model = decoder_only(nil, { rotary = true }):requires_grad_(false)
        local held = { 4, 2, 6 }
        local function new_rows(t)
            local list = {}
            for b, n in ipairs(held) do list[b] = t[{ { b }, {}, { n + 1, n + 2 }, { 1, 8 } }] end
            return heed.cat(list, 1)
        end
        local function first_rows(t) return t[{ {}, {}, { 1, 6 }, { 1, 6 } }] end
        local bias, odd = heed.randn(3, 4, 10, 10), heed.randn(3, 1, 10, 10):gt(0)
        local ids = heed.randint(1, 2, { 3, 10 })
        local function same(mask) return { mask, mask, mask } end
        local cases = {
            same(causal & heed.mask.window(2)),
            same(causal & heed.mask.alibi(4)),
            same(causal | heed.mask.prefix(3)),
            same(causal | heed.mask.prefix { 3, 1, 2 }),
            same(causal & ~heed.mask.fn(function(b, h, p, j) return (b + h + p + j) % 3 == 0 end,
                { over = "bhij" })),
            { causal & bias, causal & first_rows(bias), causal & new_rows(bias) },
            { causal & odd, causal & first_rows(odd), causal & new_rows(odd) },
            { causal & heed.mask.segments(ids), causal & heed.mask.segments(ids[{ {}, { 1, 6 } }]),
                causal & heed.mask.segments(ids[{ {}, { 1, 8 } }]) },
        }
        for _, case in ipairs(cases) do
            local whole = model(tokens, nil, case[1])
            local cache = model:new_cache { batch = 3, max_len = 10 }
            model(columns(1, 6), cache, case[2])
            cache:crop(held)
            assert.is_close(model(behind(tokens, held, 2), cache, case[3]), behind(whole, held, 2),
                1e-5)
        end
    end)

    it("no mask: all that is there is seen", function()
        local mha = nn.MultiHeadAttention(8, 2):requires_grad_(false)
        local x = heed.randn(2, 5, 8)
        local cache = mha:new_cache { batch = 2, max_len = 5 }
        assert.is_close(mha(x[{ {}, { 1, 3 } }], { cache = cache }), mha(x[{ {}, { 1, 3 } }]), 1e-5)
        cache:crop { 3, 2 }
        local out = mha(behind(x, { 3, 2 }, 2), { cache = cache })
        assert.is_close(out[{ { 1 } }], mha(x[{ { 1 } }])[{ {}, { 4, 5 } }], 1e-5)
        assert.is_close(out[{ { 2 } }], mha(x[{ { 2 }, { 1, 4 } }])[{ {}, { 3, 4 } }], 1e-5)
    end)
end)

-- The layers run whole in C; a part that is not ours makes them call their parts.
describe("a cache in C and in Lua", function()
    -- What comes of reading `steps`, crops and orders among them, token by token or more at a time.
    local function read(model, x, memory)
        local out, cache = {}, model:new_cache { batch = 3, max_len = 40 }
        local options = { mask = causal, memory_mask = memory and heed.mask.padding { 4, 1, 3 },
            cache = cache }
        local function call(first, L)
            local some = x:narrow(1, 1, cache.batch):narrow(2, first, L)
            out[#out + 1] = memory and model(some, memory, options) or model(some, options)
        end
        call(1, 3)
        call(4, 1)
        cache:crop { 4, 1, 3 }
        call(5, 1)
        call(6, 12)
        cache:reorder { 3, 3, 1 }
        call(8, 2)
        cache:reorder { 2, 1 }
        options.memory_mask = memory and heed.mask.padding { 4, 3 }
        call(9, 1)
        return out
    end

    local OPTIONS = {
        {}, { norm_first = true, activation = "gelu", bias = false },
            { num_kv_heads = 2, scale = 0.3, softcap = 4 },
        { rotary = true, head_dim = 6 }, { rotary = { dim = 2, interleaved = true },
            num_kv_heads = 1, norm = "rms" },
        { rotary = true, num_kv_heads = 2, norm_first = true, norm = "rms", qk_norm = true,
            activation = "swiglu", bias = false },
        { qk_norm = "layer", activation = "tanh" },
    }

    it("gives the same", function()
        for _, options in ipairs(OPTIONS) do
            for _, Stack in ipairs { nn.TransformerEncoder, nn.TransformerDecoder } do
                local model = Stack(2, 16, 4, 24, options):eval():requires_grad_(false)
                local x = heed.randn(3, 20, 16)
                local memory = Stack == nn.TransformerDecoder and heed.randn(3, 4, 16) or nil
                local whole = read(model, x, memory)
                for i, want in ipairs(read(in_parts(model), x, memory)) do
                    assert.is_close(whole[i], want, 1e-6)
                end
            end
        end
    end)

    it("names the part that refuses", function()
        local model = nn.TransformerDecoder(2, 8, 2, 16):eval()
        local x, memory = heed.randn(1, 3, 8), heed.randn(1, 2, 8)
        local function says(text, cache)
            local ok, message = pcall(model, x, memory, { mask = causal, cache = cache })
            assert.is_false(ok)
            assert.is_truthy(tostring(message):find(text, 1, true), tostring(message))
        end
        says("layers.1.multihead_attn: cache: expected a call under heed.no_grad",
            model:new_cache { max_len = 4 })
        heed.no_grad(function()
            says("layers.1.self_attn: cache: expected at most 2 tokens (max_len), got 3: 0 kept "
                .. "and 3 new",
                model:new_cache { max_len = 2 })
            says("layers.1: cache: expected a cache (model:new_cache), got 3", 3)
            memory = heed.randn(2, 2, 8)
            says("key: expected a batch of 1 as the query's, got [2, 2, 8]",
                model:new_cache { max_len = 3 })
        end)
        local encoder = nn.TransformerEncoder(2, 8, 2, 16):eval()
        local cache = encoder:new_cache { max_len = 4 }
        assert.has_error(function() encoder(x, { mask = causal, cache = cache }) end,
            "layers.1.self_attn: cache: expected a call under heed.no_grad: nothing goes back "
                .. "through a cache")
    end)
end)

describe("attentions of different numbers of heads", function()
    it("have masks of their own", function()
        local model = nn.Module:extend "Mixed"()
        model.one, model.four, model.two = nn.MultiHeadAttention(8, 1), nn.MultiHeadAttention(8, 4),
            nn.MultiHeadAttention(8, 2)
        function model:forward(x, options)
            for _, attention in ipairs { self.one, self.four, self.two } do
                x = attention(x, x, x, options)
            end
            return x
        end
        model:eval():requires_grad_(false)
        local mask = causal & heed.mask.fn(function(_, h, p, j) return p == j
            or (h + j) % 2 == 0 end, { over = "bhij" })
        local x = heed.randn(2, 5, 8)
        local whole, cache = model(x, { mask = mask }), model:new_cache { batch = 2, max_len = 5 }
        local function call(first, L)
            return model(x:narrow(2, first, L), { mask = mask, cache = cache })
        end
        assert.is_close(call(1, 3), whole:narrow(2, 1, 3), 1e-5)
        assert.is_close(call(4, 1), whole:narrow(2, 4, 1), 1e-5)
        cache:crop { 4, 2 }
        assert.is_close(call(5, 1)[{ { 1 } }], whole[{ { 1 }, { 5 } }], 1e-5)
    end)
end)

describe("a forward that fails", function()
    local function fails(model, cache, ids)
        local layer = model.layers.layers[2]
        local linear1 = layer.linear1
        layer.linear1 = nn.Linear(9, 24)
        assert.has_error(function() heed.no_grad(function() model(ids, cache) end) end)
        layer.linear1 = linear1
    end

    it("leaves nothing in the layers before", function()
        local model = KINDS["learned positions"]()
        local cache = model:new_cache { batch = 3, max_len = 10 }
        heed.no_grad(function()
            fails(model, cache, columns(1, 2))
            assert.same({ 0, 0, 0 }, cache:lengths():totable())
            model(columns(1, 4), cache)
            fails(model, cache, columns(5, 6))
            assert.same({ 4, 4, 4 }, cache:lengths():totable())
            assert.is_close(model(columns(5, 10), cache), model(tokens)[{ {}, { 5, 10 } }], 1e-5)
        end)
    end)
end)

describe("masks over rows that end at different keys", function()
    local row_masks = require "heed.mask.rows"
    local before, S = { 4, 0, 33 }, 33 + 20
    local bias, odd = heed.randn(3, 4, 20, S), heed.randn(1, 1, 20, S):gt(0)
    local ids = heed.randint(1, 3, { 3, S })
    local MASKS = {
        function() return nil end,
        function() return causal end,
        function() return causal & heed.mask.window(7) end,
        function() return causal & heed.mask.dilated(3) end,
        function() return heed.mask.window(3, 2) | heed.mask.prefix(4) end,
        function() return ~heed.mask.window(3) & causal & heed.mask.alibi(4) end,
        function(b)
            return causal | heed.mask.prefix(b and { ({ 3, 9, 40 })[b] } or { 3, 9, 40 })
        end,
        function(b)
            return causal & heed.mask.padding(b and { ({ 20, 18, 50 })[b] } or { 20, 18, 50 })
        end,
        function(b)
            return causal & (b and bias[{ { b }, {}, {}, { 1, before[b] + 20 } }] or bias)
        end,
        function(b) return causal & (b and odd[{ {}, {}, {}, { 1, before[b] + 20 } }] or odd) end,
        function(b)
            return causal & heed.mask.segments(b and ids[{ { b }, { 1, before[b] + 20 } }] or ids)
        end,
        function() return ~heed.mask.fn(function(p, j) return (p + 2 * j) % 3 == 0 end) end,
        function() -- more than one program holds
            local long = heed.mask.window(1)
            for n = 2, 30 do
                long = ~(long | heed.mask.window(n % 5)) | heed.mask.window(n % 7) & causal
            end
            return long
        end,
    }

    -- Few queries and many take ways of their own.
    it("are those of each row alone", function()
        local q, k, v = heed.randn(3, 4, 20, 8), heed.randn(3, 2, S, 8), heed.randn(3, 2, S, 8)
        k[{ 2, {}, { 21, S } }], v[{ 2, {}, { 21, S } }] = 0 / 0, 0 / 0
        for n, make in ipairs(MASKS) do
            local own = row_masks.of(make(), before, 20, 4)
            local out, weights = heed.attention(q, k, v, { mask = own, weights = true })
            local some = heed.attention(q, k, v, { mask = own, weights = { rows = { 3, 20 } } })
            assert.is_close(some, out, 1e-5)
            for b = 1, 3 do
                local keys = { { b }, {}, { 1, before[b] + 20 } }
                local alone, w = heed.attention(q[{ { b } }], k[keys], v[keys],
                    { mask = make(b), weights = true })
                assert.is_close(out[{ { b } }], alone, 1e-5, "mask " .. n)
                assert.is_close(weights[{ { b }, {}, {}, { 1, before[b] + 20 } }], w, 1e-5)
                assert.are.equal(0, weights[{ b, {}, {},
                    { before[b] + 21, S } }]:abs():sum():item())
                local seen = own:dense(20, S, { batch = 3, heads = 4 })
                local want = (make(b) or heed.mask.window(S, S)):dense(20, before[b] + 20,
                    { heads = 4 })
                while seen:dim() < 4 do seen = seen:unsqueeze(seen:dim() - 1) end
                while want:dim() < 4 do want = want:unsqueeze(1) end
                local got = seen:narrow(1, b, 1):narrow(4, 1, before[b] + 20)
                assert.is_true(heed.equal(got:expand(1, 4, 20, before[b] + 20),
                    want:expand(1, 4, 20, before[b] + 20)), "mask " .. n)
            end
        end
    end)

    it("are not made as tensors of all keys of all queries", function()
        local mha = nn.MultiHeadAttention(8, 1):requires_grad_(false)
        local L = 2000
        local ids_of_all = heed.randint(1, 3, { 2, L + 9 })
        local x = heed.randn(2, L, 8)
        for _, mask in ipairs { causal & heed.mask.window(50),
            (causal | heed.mask.prefix { 3, 5 }) & heed.mask.segments(ids_of_all) } do
            local cache = mha:new_cache { batch = 2, max_len = L + 9 }
            mha(x:narrow(2, 1, 9), { mask = causal, cache = cache })
            cache:crop { 9, 4 }
            collectgarbage()
            local most = heed.memory().live + 2 * L * L // 4
            heed.memory_limit(most)
            local ok, message = pcall(mha, x, { mask = mask, cache = cache })
            heed.memory_limit()
            assert(ok, message)
        end
    end)
end)

describe("a cache of one attention", function()
    local mha, x
    before_each(function()
        heed.manual_seed(5)
        mha, x = nn.MultiHeadAttention(8, 2):requires_grad_(false), heed.randn(1, 6, 8)
    end)

    it("takes what has no batch", function()
        local cache = mha:new_cache { max_len = 6 }
        local single = x:squeeze(1)
        mha(single:narrow(1, 1, 4), { mask = causal, cache = cache })
        assert.is_close(mha(single:narrow(1, 5, 2), { mask = causal, cache = cache }),
            mha(single, { mask = causal }):narrow(1, 5, 2), 1e-5)
    end)

    it("gives weights, and lets them be captured", function()
        local _, want = mha(x, { mask = causal, weights = true })
        local cache = mha:new_cache { max_len = 6 }
        mha(x:narrow(2, 1, 4), { mask = causal, cache = cache })
        local capture <close> = heed.capture(mha)
        local _, got = mha(x:narrow(2, 5, 2), { mask = causal, cache = cache, weights = true })
        assert.is_close(got, want:narrow(3, 5, 2), 1e-5)
        assert.is_close(capture[""] or capture[1], want:narrow(3, 5, 2), 1e-5)
    end)

    it("outlives the scope that it was filled in", function()
        local cache = mha:new_cache { max_len = 6 }
        for i = 1, 5 do
            local _ <close> = heed.scope()
            mha(x:narrow(2, i, 1), { mask = causal, cache = cache })
        end
        cache:reorder { 1, 1 }
        assert.is_close(mha(x:narrow(2, 6, 1):expand(2, 1, 8),
            { mask = causal, cache = cache })[{ { 2 } }],
            mha(x, { mask = causal }):narrow(2, 6, 1), 1e-5)
    end)

    it("is full at max_len, and says so (flax 5591)", function()
        local cache = mha:new_cache { max_len = 5 }
        mha(x:narrow(2, 1, 4), { mask = causal, cache = cache })
        local before = tostring(cache)
        assert.has_error(function() mha(x:narrow(2, 5, 2), { mask = causal, cache = cache }) end,
            "MultiHeadAttention: cache: expected at most 5 tokens (max_len), got 6: 4 kept and 2 "
                .. "new")
        assert.are.equal(before, tostring(cache))
    end)

    it("is empty when it is cropped to 0, or by more than it holds (transformers 47433)", function()
        for _, n in ipairs { 0, -4, -9 } do
            local cache = mha:new_cache { max_len = 6 }
            mha(x:narrow(2, 1, 4), { mask = causal, cache = cache })
            assert.same({ 0 }, cache:crop(n):lengths():totable())
            assert.is_close(mha(x, { mask = causal, cache = cache }), mha(x, { mask = causal }),
                1e-5)
        end
        local cache = mha:new_cache { max_len = 6 }
        mha(x:narrow(2, 1, 4), { mask = causal, cache = cache })
        assert.same({ 4 }, cache:crop(9):lengths():totable())
    end)

    it("says what is wrong", function()
        local cache = mha:new_cache { max_len = 6 }
        local function says(text, f, ...)
            local ok, message = pcall(f, ...)
            assert.is_false(ok)
            assert.is_truthy(tostring(message):find(text, 1, true), tostring(message))
        end
        says("cache: expected a batch of 1, got 2", mha, x:expand(2, 6, 8), { cache = cache })
        says("expected one that new_cache of this model made", nn.MultiHeadAttention(8, 2), x,
            { cache = cache })
        says("expected a cache (model:new_cache), got 3", mha, x, { cache = 3 })
        mha:requires_grad_(true)
        says("expected a call under heed.no_grad", mha, x, { cache = cache })
        says("max_len: expected an integer of at least 0, got nil", mha.new_cache, mha, {})
        says("expected a model with a MultiHeadAttention", nn.Linear(2, 2).new_cache,
            nn.Linear(2, 2), { max_len = 3 })
        says("rows: expected rows 1..1, got 2 at 1", cache.reorder, cache, { 2 })
        says("n: expected 1 numbers, got 2", cache.crop, cache, { 2, 2 })
        says("no option \"length\"", mha.new_cache, mha, { length = 3 })
        says("batch: expected at most 16777216, got 1099511627776", mha.new_cache, mha,
            { max_len = 1, batch = 1 << 40 })
        local dropped = heed.ids { 1 }
        dropped:free()
        says("heed.Cache:reorder: rows: expected a list or a tensor of integers, got a dropped "
            .. "tensor", cache.reorder, cache, dropped)
        local two = mha:new_cache { batch = 2, max_len = 6 }
        mha:requires_grad_(false)
        mha:requires_grad_(false)
        mha(heed.randn(2, 3, 8), { mask = causal, cache = two })
        says("mask: heed.mask.segments: ids: expected 4 keys (axis 1), got [2]", mha,
            heed.randn(2, 1, 8),
            { cache = two:crop { 1, 3 }, mask = heed.mask.segments { 1, 1 } })
        says("packed(...) goes with no cache", mha, x,
            { cache = cache, mask = heed.mask.packed { 6 } })
    end)

    it("takes memory for the longest at once, and no more", function()
        local cache = mha:new_cache { max_len = 6 }
        heed.no_grad(function()
            mha(x:narrow(2, 1, 1), { mask = causal, cache = cache })
            collectgarbage()
            local before = heed.memory().live
            for _ = 1, 50 do
                local _ <close> = heed.scope()
                cache:crop(1)
                mha(x:narrow(2, 2, 3), { mask = causal, cache = cache })
            end
            collectgarbage()
            assert.are.equal(before, heed.memory().live)
        end)
    end)
end)

describe("a cache of an encoder-decoder", function()
    local model, src, tgt, lengths
    before_each(function()
        heed.manual_seed(6)
        model = nn.Transformer { src_vocab = 11, tgt_vocab = 13, d_model = 16, num_heads = 4,
            num_layers = 2, d_ff = 32 }
        model:eval():requires_grad_(false)
        src, tgt, lengths = heed.randint(1, 11, { 3, 5 }), heed.randint(1, 13, { 3, 7 }),
            { 5, 2, 4 }
    end)

    it("gives what the whole gives, and makes keys and values of the memory once", function()
        local memory = model:encode(src, { src_lengths = lengths })
        local whole = model:decode(tgt, memory, { src_lengths = lengths })
        local cache, done = model:new_cache { batch = 3, max_len = 7 }, 0
        local across = model.decoder.layers[2].multihead_attn
        for _, L in ipairs { 2, 1, 1, 3 } do
            local out = model:decode(tgt[{ {}, { done + 1, done + L } }], memory,
                { src_lengths = lengths, cache = cache })
            assert.is_close(out, whole[{ {}, { done + 1, done + L } }], 1e-5)
            if done == 0 then
                across.in_proj_weight[{ { 17, 48 } }]:zero_()
            end -- what makes keys and values
            done = done + L
        end
    end)

    it("does so with norms of queries and keys, and fewer heads of keys", function()
        local decoder = nn.TransformerDecoder(2, 16, 4, 24,
            { qk_norm = true, num_kv_heads = 2 }):eval():requires_grad_(false)
        local x, memory = heed.randn(2, 6, 16), heed.randn(2, 4, 16)
        local seen = heed.mask.padding { 4, 2 }
        local whole = decoder(x, memory, { mask = causal, memory_mask = seen })
        local cache = decoder:new_cache { batch = 2, max_len = 6 }
        for i = 1, 5, 2 do
            local out = decoder(x:narrow(2, i, 2), memory, { mask = causal, memory_mask = seen,
                cache = cache })
            assert.is_close(out, whole:narrow(2, i, 2), 1e-5)
        end
    end)

    it("follows beams: rows of one memory, of several, fewer", function()
        local memory = model:encode(src, { src_lengths = lengths })
        local cache = model:new_cache { batch = 3, max_len = 7 }
        model:decode(tgt[{ {}, { 1, 3 } }], memory, { src_lengths = lengths, cache = cache })
        local of = { 1, 2, 3 }
        for step, order in ipairs { { 1, 1, 2, 2, 3, 3 }, { 2, 2, 3, 4, 6, 5 }, { 5, 3, 1 } } do
            cache:reorder(order)
            local from, n = {}, 3 + step
            for i, b in ipairs(order) do from[i] = of[b] end
            of = from
            local some, own = {}, {}
            for i, b in ipairs(of) do some[i], own[i] = b, lengths[b] end
            local out = model:decode(tgt:index_select(1, some)[{ {}, { n, n } }], memory,
                { src_lengths = own, cache = cache })
            local whole = model:decode(tgt:index_select(1, some)[{ {}, { 1, n } }],
                memory:index_select(1, some), { src_lengths = own })
            assert.is_close(out, whole[{ {}, { n, n } }], 1e-5)
        end
    end)

    it("takes targets of several lengths, and another memory", function()
        local memory = model:encode(src)
        local cache = model:new_cache { batch = 3, max_len = 7 }
        local first = model:decode(tgt[{ {}, { 1, 4 } }], memory,
            { tgt_lengths = { 4, 1, 3 }, cache = cache })
        assert.are.equal(0, first[{ 2, { 2, 4 } }]:abs():sum():item())
        local whole = model:decode(tgt, memory)
        assert.is_close(model:decode(behind(tgt, { 4, 1, 3 }, 2), memory, { cache = cache }),
            behind(whole, { 4, 1, 3 }, 2), 1e-5)
        local second = model:decode(behind(tgt, { 6, 3, 5 }, 1), memory,
            { tgt_lengths = { 1, 0, 1 }, cache = cache })
        assert.same({ 7, 3, 6 }, cache:lengths():totable())
        assert.is_close(second[{ { 1 } }], whole[{ { 1 }, { 7 } }], 1e-5)
        local other = model:encode(src:flip(2))
        cache:crop(0)
        assert.is_close(model:decode(tgt, other, { cache = cache }), model:decode(tgt, other), 1e-5)
    end)
end)

describe("positions behind others", function()
    it("have an offset: a number, or one a row", function()
        for _, positions in ipairs { nn.LearnedPositions(9, 4):requires_grad_(false),
            nn.SinusoidalPositions(9, 4) } do
            local x = heed.randn(2, 3, 4)
            local rows = positions(9)
            assert.is_close(positions(x, { offset = 2 }), x + rows[{ { 3, 5 } }], 0)
            assert.is_close(positions(2, { offset = 7 }), rows[{ { 8, 9 } }], 0)
            local want = heed.stack({ x[1] + rows[{ { 3, 5 } }], x[2] + rows[{ { 7, 9 } }] }, 1)
            assert.is_close(positions(x, { offset = { 2, 6 } }), want, 0)
            assert.has_error(function() positions(x, { offset = { 2, 7 } }) end)
            assert.has_error(function() positions(x, { offset = 7 }) end)
            assert.has_error(function() positions(x, { offset = { 1 } }) end)
            assert.has_error(function() positions(x, { offset = -1 }) end)
        end
    end)
end)
