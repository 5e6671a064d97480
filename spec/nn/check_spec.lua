--- Module:check: what a model would give, by shapes alone.
local heed = require "heed"
local nn, mask = heed.nn, heed.mask

local function text(value) return type(value) == "table" and tostring(value) or value end

-- The same shapes as the real run has, or the same complaint.
local function assert_as_real(model, ...)
    local real, alone = table.pack(pcall(model, ...)), table.pack(pcall(model.check, model, ...))
    assert.are.equal(real[1], alone[1], alone[2])
    if not real[1] then
        assert.are.equal((real[2]:gsub("^.-:%d+: ", "")), (alone[2]:gsub("^.-:%d+: ", "")))
        return
    end
    assert.are.equal(real.n, alone.n)
    for i = 2, real.n do assert.are.equal(text(real[i].shape), text(alone[i])) end
end

-- Much of what a forward may do with numbers and indices.
local Busy = nn.Module:extend "Busy"

function Busy:init()
    self.embedding = nn.Embedding(9, 6)
    self.output = nn.Linear(6, 9)
    self:buffer("mean", heed.zeros(6))
    self:buffer("count", heed.ids { 0 })
end

function Busy:forward(tokens, targets)
    local x = self.embedding(tokens)
    heed.no_grad(function()
        self.mean:copy_(x:mean { 1, 2 })
        self.mean[2] = 7
        self.count:add_(1)
    end)
    local _, places = self.output(x):topk(2, -1)
    local most = self.output(x):argmax(-1)
    local spread = heed.cat({ x, self.embedding(most), self.embedding(places:select(3, 1)) }, 2)
    local picked = spread:gather(2, places:narrow(2, 1, 1):tile(1, 1, 3))
    local loss = heed.loss.cross_entropy(self.output(x), targets)
    local double = heed.func(function(_, t) return t * 2 end, function(_, g) return g * 2 end)
    return double(picked), loss, { x:masked_fill(x:gt(0), 0), name = "x", sorted = heed.sort(x, 1) }
end

describe("nn.Module:check", function()
    before_each(function() heed.manual_seed(4) end)

    it("gives the shapes of layers and stacks", function()
        local x, memory = heed.randn(2, 5, 8), heed.randn(2, 7, 8)
        local all = { norm_first = true, norm = "rms", rotary = true, num_kv_heads = 1,
            qk_norm = true, activation = "swiglu" }
        for _, options in ipairs { {}, { norm_first = true, activation = "gelu" }, all } do
            assert_as_real(nn.TransformerEncoder(2, 8, 2, 12, options), x,
                { mask = mask.causal() & mask.padding { 3, 5 } })
            assert_as_real(nn.TransformerDecoder(2, 8, 2, 12, options), x, memory,
                { mask = mask.causal(), memory_mask = mask.padding { 3, 5 } & mask.alibi(2) })
        end
        assert_as_real(nn.MultiHeadAttention(8, 2), x, memory, { weights = true })
        assert_as_real(nn.MultiHeadAttention(8, 2, { softcap = 3 }), x[1], { weights = true })
        assert_as_real(nn.Sequential(nn.LearnedPositions(9, 8), nn.LayerNorm(8), nn.Dropout(0.5),
            nn.FeedForward(8, 3)), x)
        local model = nn.Transformer { src_vocab = 9, tgt_vocab = 11, d_model = 8, num_heads = 2,
            num_layers = 1, d_ff = 8 }
        assert_as_real(model, { { 1, 2, 3 } }, { { 4, 5 } })
        assert_as_real(model, { { 1, 2, 3 }, { 4, 5, 6 } }, { { 4, 5 }, { 6, 7 } },
            { src_lengths = { 3, 2 }, tgt_lengths = { 1, 2 } })
    end)

    it("complains as the real run does", function()
        local encoder = nn.TransformerEncoder(2, 8, 2, 12)
        assert_as_real(encoder, heed.zeros(1, 3, 7))
        assert_as_real(encoder, heed.zeros(1, 3, 8),
            { mask = heed.ones({ 4, 4 }, { dtype = "bool" }) })
        assert_as_real(nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1)), heed.zeros(5, 2))
        assert_as_real(nn.Sequential(nn.Embedding(4, 2)), { 1, 5 })
        assert_as_real(nn.TransformerDecoder(1, 8, 2, 12), heed.zeros(1, 3, 8), heed.zeros(2, 3, 8))
        local model = nn.Transformer { src_vocab = 9, tgt_vocab = 11, d_model = 8, num_heads = 2,
            num_layers = 1, d_ff = 8, max_len = 3 }
        assert_as_real(model, { { 1, 2, 10 } }, { { 4, 5 } })
        assert_as_real(model, { { 1, 2, 3, 4 } }, { { 4, 5 } })
    end)

    it("goes through a model that looks at its numbers, and leaves it as it was", function()
        local model, stream = Busy(), heed.rng_state()
        local picked, loss, rest = model:check({ { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } })
        assert.are.equal("[2, 1, 6]", tostring(picked))
        assert.are.equal("[]", tostring(loss))
        assert.are.equal("[2, 2, 6]", tostring(rest[1]))
        assert.are.equal("x", rest.name)
        assert.are.same({ 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }, model.mean:totable())
        assert.are.equal(0, model.count:item())
        assert.is_true(heed.equal(stream, heed.rng_state()))
        assert.error_matches(function() model:check({ { 1, 2 } }, { { 5, 10 } }) end,
            "targets: expected values in 1..9, got 10")
        assert.are.equal(0, model.count:item())
    end)

    it("reads no counts that nobody has written", function()
        local function leave_garbage()
            for i = 1, 18 do
                local held = {}
                for k = 1, 8 do held[k] = heed.full({ 1 << i }, 1.7e38) end
                for _, t in ipairs(held) do t:free() end
            end
        end
        local weight = heed.rand(300, 500)
        local Counts = nn.Module:extend "Counts"
        function Counts:forward(x) -- luacheck: ignore self
            leave_garbage()
            local found = {}
            for _, t in ipairs { x, x * 2, weight } do
                local flat = t:contiguous():view(-1)
                local sorted, places = flat:sort(1)
                local values, inverse, counts = flat:unique()
                local most, at = t:max(2)
                local least, first = t:min(1)
                for _, made in ipairs { sorted, places, values, inverse, most, at, least, first,
                    t:argmax(1), t:sum(), t:sum { 1, 2 },
                    t:norm() } do
                    found[#found + 1] = made
                end
                assert.are.equal(t:numel(), counts[1])
            end
            assert.are.same({ 0, 2 }, { table.unpack(((x * 2):nonzero()).shape) })
            found[#found + 1] = heed.loss.cross_entropy(x * 2, heed.ids { 1 }:expand(300))
            found[#found + 1] = heed.loss.mse_loss(x * 2, x * 2)
            for i, t in ipairs(found) do
                local largest = t:to("f64"):abs():max():item()
                assert.is_true(largest == 0 or t.dtype == "i64" and largest <= 150000, i)
            end
            return x
        end
        for _ = 1, 3 do
            assert.are.equal("[300, 500]", tostring((Counts():check(heed.zeros(300, 500)))))
        end
    end)

    it("gives shapes of tables that hold themselves", function()
        local Circle = nn.Module:extend "Circle"
        function Circle:forward(x) -- luacheck: ignore self
            local t = { x }
            t.self, t.again = t, { t, t }
            return t
        end
        local t = Circle():check(heed.zeros(2))
        assert.are.equal(t, t.self)
        assert.are.equal(t, t.again[2])
        assert.are.equal("[2]", tostring(t[1]))
    end)

    it("takes neither numbers' memory nor their time", function()
        local before = heed.memory().live
        local attention = nn.MultiHeadAttention(8, 2)
        local _, weights = attention:check(heed.zeros(4, 30000, 8), { weights = true })
        assert.are.equal("[4, 2, 30000, 30000]", tostring(weights)) -- 28 GB
        assert.is_true(heed.memory().live - before < 64 * 2 ^ 20)
    end)

    it("draws nothing: dropout goes on as if there had been no check", function()
        local layer, x = nn.TransformerEncoderLayer(8, 2, 12, { dropout = 0.5 }),
            heed.randn(1, 3, 8)
        heed.manual_seed(5)
        local want = layer(x)
        heed.manual_seed(5)
        layer:check(x)
        assert.is_true(heed.equal(want, layer(x)))
    end)

    it("leaves nothing behind that has no numbers", function()
        local Keeper = nn.Module:extend "Keeper"
        function Keeper:forward(x)
            self.last = x * 2
            return self.last
        end
        local keeper = Keeper()
        keeper:check(heed.ones(3))
        assert.error_matches(function() keeper.last:sum() end,
            "a shape and no numbers: it was made while model:check ran")
        assert.error_matches(function() heed.cat { heed.ones(3), keeper.last } end, "no numbers")
        local rotary = nn.Rotary(4)
        rotary:check(heed.ones(5, 4))
        assert.is_true(heed.equal(rotary(heed.ones(3, 4)), nn.Rotary(4)(heed.ones(3, 4))))
        assert.is_false(pcall(keeper.check, keeper))
        assert.is_true(heed.equal(keeper(heed.ones(2)), heed.tensor { 2, 2 }))
        assert.is_true((nn.parameter(heed.ones(1)) * 2).requires_grad)
    end)
end)
