-- Choosing tokens, beams, stopping, streams: over functions whose logits are known.

local heed = require "heed"
local nn = heed.nn
require "heed.luassert"

-- After token t of V comes t + 1, surely.
local function counting(V)
    local table = nn.init.eye_(heed.empty(V, V)) * 20
    return function(tokens) return table[tokens % V + 1] end
end

-- The same logits after everything.
local function always(logits)
    local t = heed.tensor { logits }
    return function(tokens) return t:expand(tokens:size(1), #logits) end
end

local function says(text, f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    assert.is_truthy(tostring(message):find(text, 1, true), tostring(message))
end

local function generate(...) return (heed.generate(...)) end

describe("heed.generate", function()
    it("takes the likeliest", function()
        assert.same({ 3, 4, 5 }, generate(counting(9), { 1, 2 }, { max_new_tokens = 3 }))
        assert.same({ 2, 2 }, generate(always { 0, 5, 1 }, { 1 }, { max_new_tokens = 2 }))
    end)

    it("takes prompts of every kind, and answers alike", function()
        local model, o = counting(9), { max_new_tokens = 2 }
        assert.same({ 4, 5 }, generate(model, heed.ids { 2, 3 }, o))
        assert.same({ { 4, 5 }, { 8, 9 } }, generate(model, { { 2, 3 }, { 7 } }, o))
        assert.same({ { 4, 5 }, { 8, 9 } }, generate(model, heed.ids { { 2, 3 }, { 7, 1 } },
            { max_new_tokens = 2, lengths = { 2, 1 } }))
        assert.same({ { 4, 5 }, { 4, 5 } },
            generate(model, { 3 }, { max_new_tokens = 2, samples = 2, temperature = 0 }))
        assert.same({ { { 4 }, { 4 } }, { { 9 }, { 9 } } },
            generate(model, { { 3 }, { 8 } }, { max_new_tokens = 1, samples = 2, temperature = 0 }))
        assert.same({}, generate(model, { 3 }, { max_new_tokens = 0 }))
        assert.same({ 7 }, generate(model, { 3 }, { max_new_tokens = 1, prefix = { 5, 6 } }))
    end)

    it("never takes suppressed tokens, greedily, drawn or with beams", function()
        local model = always { 0, 5, 1, 4 }
        local o = { max_new_tokens = 2, suppress = 2 }
        assert.same({ 4, 4 }, generate(model, { 1 }, o))
        o.suppress = heed.ids { 2, 4 }
        assert.same({ 3, 3 }, generate(model, { 1 }, o))
        o.beams = 2
        assert.same({ 3, 3 }, generate(model, { 1 }, o))
        assert.same({ 1, 1 }, generate(model, { 1 },
            { max_new_tokens = 2, suppress = { 2, 3, 4 }, temperature = 5 }))
        assert.same({ 2, 2 }, generate(model, { 1 }, { max_new_tokens = 2, suppress = {} }))
        says("suppress: expected an integer", generate, model, { 1 }, { suppress = "x" })
        says("suppress: expected tokens up to 4, got 5", generate, model, { 1 }, { suppress = 5 })
        says("expected a token that can come", generate, model, { 1 }, { suppress = { 1, 2, 3, 4 } })
    end)

    it("stops at stop tokens, row by row", function()
        local tokens, info = heed.generate(counting(9), { { 1 }, { 5 }, { 6 } },
            { max_new_tokens = 4, stop = { 7, 8 } })
        assert.same({ { 2, 3, 4, 5 }, { 6 }, {} }, tokens)
        assert.same({ 2, 3 }, generate(counting(9), { 1 }, { stop = heed.ids { 4 } }))
        assert.same({ "length", "stop", "stop" }, { info[1].reason, info[2].reason,
            info[3].reason })
    end)

    it("stops at stop strings, before them", function()
        local letters = heed.text.chars("abcdefghi", { specials = {} })
        local _, info = heed.generate(counting(9), letters:encode "a",
            { stop = { "ef", "fg" }, decode = letters })
        assert.are.equal("bcd", info.text)
        assert.are.equal("stop", info.reason)
    end)

    it("temperature 0 is argmax (char-rnn 28)", function()
        for _, options in ipairs { { temperature = 0 }, { temperature = 0, top_k = 2 },
            { temperature = 0, samples = 3 } } do
            options.max_new_tokens = 20
            local tokens = generate(always { 1, 1.01, 0.99 }, { 1 }, options)
            for _, token in ipairs(options.samples and tokens[3] or tokens) do
                assert.are.equal(2, token)
            end
        end
    end)

    it("names NaN (char-rnn 28)", function()
        local function f(tokens)
            local logits = heed.zeros(2, 4)
            if tokens:size(2) == 3 then logits[{ 2, 3 }] = 0 / 0 end
            return logits
        end
        says("heed.generate: the model's logits: expected numbers, got NaN for token 3 in row 2 "
            .. "at step 2",
            heed.generate, f, { { 1, 1 }, { 1, 1 } }, { temperature = 0.5 })
    end)

    it("takes text where decode is a vocabulary", function()
        local letters = heed.text.chars("abcdefghi", { specials = {} })
        local o = { decode = letters, max_new_tokens = 2 }
        local tokens, info = heed.generate(counting(9), "abc", o)
        assert.same({ 4, 5 }, tokens)
        assert.are.equal("de", info.text)
        assert.same({ { 4, 5 }, { 9, 1 } }, generate(counting(9), { "abc", "h" }, o))
        assert.same({ 6, 7 }, generate(counting(9), "abc", { decode = letters, max_new_tokens = 2,
            prefix = "de" }))
        says("got \"abc\"; decode= a vocabulary makes tokens of it", heed.generate, counting(9),
            "abc", {})
    end)

    it("names a row that has no way on, and a logit that is infinite", function()
        local inf = math.huge
        says("expected a token that can come in row 1 at step 1, got -inf for all", heed.generate,
            always { -inf, -inf }, { 1 }, {})
        says("expected a token that can come in row 1 at step 1, got -inf for all", heed.generate,
            always { -inf, -inf }, { 1 },
            { temperature = 1 })
        says("expected an answer to row 1, got -inf for all tokens on every way", heed.generate,
            always { -inf, -inf }, { 1 },
            { beams = 2 })
        says("expected numbers, got inf for token 2 in row 1 at step 1", heed.generate,
            always { 0, inf }, { 1 }, { scores = true })
    end)

    it("divides the logits of what came before, and multiplies negative ones (transformers 2302)",
        function()
        local choose = require "heed.generate.sample"
        local scores = choose.penalised(heed.tensor { { -2, 3, 1, -1 }, { -2, 3, 1, -1 } },
            { { 1, 2, 2 }, { 4 } }, 2)
        assert.is_close(scores, heed.tensor { { -4, 1.5, 1, -1 }, { -2, 3, 1, -2 } }, 0)
        assert.same({ 2, 3, 2 }, generate(always { -9, 3, 2.5 }, { 1 },
            { max_new_tokens = 3, repetition_penalty = 1.5 }))
        -- what is read and never written
        assert.same({ 2 }, generate(always { 0, 1 }, { 7 },
            { max_new_tokens = 1, repetition_penalty = 2 }))
    end)

    it("is as hot and as cold as floats go", function()
        local inf = math.huge
        for _, options in ipairs { { temperature = inf }, { temperature = 1e300 },
            { temperature = 1e-300 },
            { temperature = 1, repetition_penalty = 1e-300 },
                { temperature = 1, repetition_penalty = 1e300 } } do
            options.max_new_tokens = 8
            for _, token in ipairs(generate(always { 1, -inf, 2 }, { 1 }, options)) do
                assert.are_not.equal(2, token)
            end
        end
    end)
end)

describe("drawing", function()
    local logits = { math.log(0.5), math.log(0.3), math.log(0.15), math.log(0.05) }

    -- Shares of the tokens that come.
    local function shares(options)
        options.max_new_tokens, options.generator = 2000, heed.generator(3)
        local counts = { 0, 0, 0, 0 }
        for _, token in ipairs(generate(always(logits), { 1 }, options)) do
            counts[token] = counts[token] + 1 / 2000
        end
        return heed.tensor(counts)
    end

    it("follows the probabilities", function()
        assert.is_close(shares {}, heed.tensor { 0.5, 0.3, 0.15, 0.05 }, 0.04)
        assert.is_close(shares { temperature = 0.5 },
            heed.tensor { 0.5, 0.3, 0.15, 0.05 } ^ 2 / 0.365, 0.04)
        assert.is_close(shares { top_k = 2 }, heed.tensor { 0.625, 0.375, 0, 0 }, 0.04)
        assert.is_close(shares { top_p = 0.6 }, heed.tensor { 0.625, 0.375, 0, 0 }, 0.04)
        assert.is_close(shares { top_p = 0.4 }, heed.tensor { 1, 0, 0, 0 }, 0)
        assert.is_close(shares { top_p = 0 }, heed.tensor { 1, 0, 0, 0 }, 0)
        assert.is_close(shares { min_p = 0.25 }, heed.tensor { 0.5, 0.3, 0.15, 0 } / 0.95, 0.04)
        assert.is_close(shares { top_k = 3, top_p = 0.8 }, heed.tensor { 0.625, 0.375, 0, 0 }, 0.04)
        assert.is_close(shares { temperature = 1e-300 }, heed.tensor { 1, 0, 0, 0 }, 0)
        assert.is_close(shares { temperature = math.huge }, heed.tensor { 0.25, 0.25, 0.25, 0.25 },
            0.04)
        assert.is_close(shares { top_k = 99 }, heed.tensor { 0.5, 0.3, 0.15, 0.05 }, 0.04)
    end)

    it("from k tokens, and from the smallest set, among equals too", function()
        local function drawn(values, options)
            options.max_new_tokens, options.generator = 200, heed.generator(5)
            local seen, list = {}, {}
            for _, token in ipairs(generate(always(values), { 1 }, options)) do
                seen[token] = true
            end
            for token in pairs(seen) do list[#list + 1] = token end
            table.sort(list)
            return list
        end
        local function logs(list)
            for i, p in ipairs(list) do list[i] = math.log(p) end
            return list
        end
        assert.are.same({ 1 }, drawn({ 2, 2, 1 }, { top_k = 1 }))
        assert.are.same({ 1, 2 }, drawn({ 2, 2, 2, 2 }, { top_k = 2 }))
        assert.are.same({ 1, 4 }, drawn(logs { 0.3, 0.1, 0.1, 0.5 }, { top_p = 0.8 }))
        assert.are.same({ 1, 2 }, drawn(logs { 0.25, 0.25, 0.25, 0.25 }, { top_p = 0.5 }))
        assert.are.same({ 1 }, drawn(logs { 0.25, 0.25, 0.25, 0.25 }, { top_p = 0 }))
        assert.are.same({ 1, 2, 3 }, drawn(logs { 0.25, 0.25, 0.25, 0.25 }, { top_p = 0.51 }))
    end)

    it("is the generator's, and leaves the training stream alone", function()
        local before = heed.rng_state()
        local function draw(seed)
            return generate(always(logits), { { 1 }, { 2 } }, { max_new_tokens = 30, samples = 3,
                generator = heed.generator(seed) })
        end
        local first = draw(1)
        assert.same(first, draw(1))
        assert.are_not.same(first, draw(2))
        assert.are_not.same(first[1][1], first[1][2])
        assert.is_true(before:equal(heed.rng_state()))
    end)

    it("scores by what the model gave, whatever was drawn by", function()
        local tokens, info = heed.generate(always(logits), { 1 },
            { max_new_tokens = 3, temperature = 0.1, scores = true, stop = 4 })
        assert.same({ 1, 1, 1 }, tokens)
        assert.is_true(math.abs(info.score - 3 * math.log(0.5)) < 1e-5)
        assert.are.equal(3, #info.log_probs)
    end)
end)

describe("beams", function()
    -- Logits by what was written behind the prompt { 9 }, as a string of digits: probabilities by
    -- token.
    local function tree(branches, V)
        return function(tokens)
            local rows = {}
            for b, row in ipairs(tokens:totable()) do
                local given = branches[table.concat(row, "", 2)] or branches.other
                rows[b] = {}
                for t = 1, V do rows[b][t] = given[t] and math.log(given[t]) or -math.huge end
            end
            return heed.tensor(rows)
        end
    end

    it("find what greed does not", function()
        local model = tree({ [""] = { 0.6, 0.4 }, ["1"] = { 0.5, 0.5 }, ["2"] = { 0.1, 0.9 },
            other = { 0.5, 0.5 } }, 2)
        assert.same({ 1, 1 }, generate(model, { 9 }, { max_new_tokens = 2 }))
        local tokens, info = heed.generate(model, { 9 }, { max_new_tokens = 2, beams = 2,
            samples = 2, scores = true })
        assert.same({ 2, 2 }, tokens[1])
        assert.is_true(math.abs(info[1].score - math.log(0.36) / 2) < 1e-5)
        assert.is_true(math.abs(info[1].log_probs[2] - math.log(0.9)) < 1e-5)
        assert.is_true(info[2].score < info[1].score)
    end)

    it("go on while what is alive could still win (joeynmt 149)", function()
        local a, b = math.exp(-1), math.exp(-1.2)
        local rest = (1 - a - b) / 2
        local model = tree({ [""] = { a, b, rest, rest }, ["1"] = { 1 }, ["2"] = { nil, 1 },
            ["22"] = { nil, 1 },
            ["222"] = { 1 }, other = { nil, nil, 1 } }, 4)
        local tokens, info = heed.generate(model, { 9 }, { max_new_tokens = 4, beams = 2,
            stop = 1 })
        assert.same({ 2, 2, 2 }, tokens)
        assert.is_true(math.abs(info.score + 0.3) < 1e-5)
        assert.same({}, generate(model, { 9 }, { max_new_tokens = 4, beams = 2, stop = 1,
            length_penalty = 0 }))
    end)

    it("of one are greedy: an ending that is not the likeliest step is none", function()
        local model = tree({ [""] = { 0.4, 0.6 }, other = { 0.2, 0.2, 0.2, 0.2, 0.2 } }, 5)
        local tokens = generate(model, { 9 }, { max_new_tokens = 3, beams = 1, stop = 5 })
        assert.are.equal(3, #tokens)
        assert.same(generate(model, { 9 }, { max_new_tokens = 3, stop = 5 }), tokens)
        model = tree({ [""] = { 0.4, 0.6 }, other = { 0.1, 0.3, 0.3, 0.3 } }, 4)
        assert.same({ 2, 2, 2 }, generate(model, { 9 }, { max_new_tokens = 3, beams = 1,
            stop = 1 }))
    end)

    it("count an ending only among the best `beams`", function()
        local rare = {}
        for t = 1, 20 do rare[t] = 0.05 end
        local model = tree({ [""] = { 0.4, 0.2, 0.3, 0.1 }, other = rare }, 20)
        local tokens, info = heed.generate(model, { 9 }, { max_new_tokens = 2, beams = 2,
            samples = 2, stop = { 1, 2 } })
        assert.same({}, tokens[1])
        assert.are.equal(3, tokens[2][1]) -- not the ending by 2, the third of the first step
        assert.is_true(math.abs(info[2].score - (math.log(0.3) + math.log(0.05)) / 2) < 1e-5)
    end)

    it("stop when nothing alive could win", function()
        local asked = 0
        local model = tree({ [""] = { 0.9, 0.1 }, other = { 0.5, 0.5 } }, 2)
        local tokens = generate(function(...)
            asked = asked + 1
            return model(...)
        end, { 9 }, { max_new_tokens = 10, beams = 2, stop = 1 })
        assert.same({}, tokens)
        assert.are.equal(1, asked)
    end)

    -- What a model with a cache says is what one without says, though all beams go on from one of
    -- them.
    it("that descend from one take its cache (sockeye 731)", function()
        heed.manual_seed(7)
        local model = nn.Transformer { src_vocab = 9, tgt_vocab = 12, d_model = 16, num_heads = 2,
            num_layers = 2, d_ff = 32 }
        for _, p in ipairs(model:parameters()) do heed.no_grad(function() p:mul_(3) end) end
        local descended = 0
        local cache = getmetatable(model:new_cache { max_len = 1 })
        local reorder = cache.reorder
        cache.reorder = function(self, rows)
            local came = {}
            for _, b in ipairs(self.batch == 4 and rows or {}) do
                if came[b] then descended = descended + 1 end
                came[b] = true
            end
            return reorder(self, rows)
        end
        for seed = 1, 6 do
            local src = heed.randint(1, 9, { 2, 5 }, { generator = heed.generator(seed) })
            local function run(cached)
                return heed.generate(model, src, { prefix = 1, stop = 2, max_new_tokens = 9,
                    beams = 2, samples = 2, cache = cached,
                    lengths = { 5, 3 } })
            end
            local tokens, info = run(true)
            local want, want_info = run(false)
            assert.same(want, tokens)
            assert.is_true(math.abs(info[2][1].score - want_info[2][1].score) < 1e-5)
        end
        cache.reorder = reorder
        assert.is_true(descended > 0)
    end)
end)

describe("a model", function()
    local Tiny = nn.Module:extend "Tiny"
    function Tiny:init(rotary)
        self.words = nn.Embedding(12, 16)
        self.positions = rotary and nn.Identity() or nn.LearnedPositions(16, 16)
        self.layers = nn.TransformerEncoder(2, 16, 2, 32, { rotary = rotary, num_kv_heads = 1,
            dropout = 0.3 })
        self.output = nn.Linear(16, 12)
    end
    function Tiny:forward(tokens, o)
        local cache = o and o.cache
        local x = self.words(tokens)
        if self.layers.layers[1].self_attn.rotary == nil then
            x = self.positions(x, { cache = cache })
        end
        return self.output(self.layers(x, { mask = heed.mask.causal(), cache = cache }))
    end

    local prompts = { { 3, 4, 5 }, { 6 }, { 7, 8 } }

    it("writes the same with a cache and without", function()
        heed.manual_seed(8)
        for _, rotary in ipairs { false, true } do
            local model = Tiny(rotary or nil)
            for _, options in ipairs { { stop = 5 }, { samples = 3, stop = { 2, 9 } },
                { beams = 3, stop = 2, samples = 2 } } do
                local function run(cached)
                    local own = { cache = cached, max_new_tokens = 12 }
                    if options.samples and not options.beams then
                        own.generator = heed.generator(1)
                    end
                    for name, value in pairs(options) do own[name] = value end
                    return generate(model, prompts, own)
                end
                assert.same(run(false), run(true))
            end
        end
    end)

    it("has a cache of another dtype when it is asked for", function()
        heed.manual_seed(8)
        local model, dtypes = Tiny(), {}
        local new_cache = model.new_cache
        function model:new_cache(o)
            dtypes[#dtypes + 1] = o.dtype or "own"
            return new_cache(self, o)
        end
        assert.same(generate(model, prompts, { cache = true, max_new_tokens = 3 }),
            generate(model, prompts, { cache = "f64", max_new_tokens = 3 }))
        generate(model, prompts, { cache = "bf16", max_new_tokens = 3 })
        assert.same({ "own", "f64", "bf16" }, dtypes)
        says('cache: expected', heed.generate, model, prompts, { cache = "i64" })
    end)

    it("may call a layer several times in a step", function()
        heed.manual_seed(10)
        local Shared = nn.Module:extend "Shared"
        function Shared:init()
            self.words, self.output = nn.Embedding(12, 16), nn.Linear(16, 12)
            self.layer = nn.TransformerDecoderLayer(16, 2, 32)
        end
        function Shared:encode(src) return self.words(src) end
        function Shared:decode(tgt, memory, o)
            local x = self.words(tgt)
            for _ = 1, 3 do
                x = self.layer(x, memory, { mask = heed.mask.causal(), cache = o.cache })
            end
            return x
        end
        local model = Shared()
        local function run(cached)
            return generate(model, { { 3, 4 }, { 5, 6 } }, { prefix = { 1, 7 }, max_new_tokens = 6,
                cache = cached, beams = 2 })
        end
        assert.same(run(false), run(true))
    end)

    it("sees the last of a context, with a cache as without", function()
        heed.manual_seed(9)
        local model = Tiny()
        local function run(cached)
            return generate(model, prompts, { max_new_tokens = 30, context = 6, cache = cached })
        end
        assert.same(run(false), run(true))
        says("expected at most 16 positions", heed.generate, model, prompts,
            { max_new_tokens = 30 })
    end)

    it("is in evaluation mode while it is asked, and as it was else", function()
        local model = Tiny()
        model.layers.layers[2]:eval()
        local inside = {}
        local forward = model.forward
        function model:forward(...)
            inside[#inside + 1] = not self.layers.layers[1].training and not heed.is_grad_enabled()
            return forward(self, ...)
        end
        local function as_it_was()
            return model.training and model.layers.layers[1].training
                and not model.layers.layers[2].training and heed.is_grad_enabled()
        end
        heed.generate(model, { 1 }, { max_new_tokens = 3, on_token = function()
            assert.is_true(as_it_was())
        end })
        assert.same({ true, true, true }, inside)
        local step = heed.generate.stream(model, { 1 }, { max_new_tokens = 3 })
        step()
        assert.is_true(as_it_was())
        function model:forward() error("no " .. tostring(self.training)) end
        says("no false", heed.generate, model, { 1 }, {})
        assert.is_true(as_it_was())
    end)
end)

describe("streams", function()
    it("give row, token and text as they come", function()
        local letters = heed.text.chars("abcdefghi", { specials = {} })
        local got = {}
        for row, token, piece in heed.generate.stream(counting(9),
            { letters:encode "a", letters:encode "g" },
            { stop = { "ef", 9 }, decode = letters, max_new_tokens = 9 }) do
            got[#got + 1] = ("%d:%s:%s"):format(row, token or "", piece)
        end
        assert.same({ "1:2:b", "2:8:h", "1:3:c", "1:4:d", "1:5:", "1:6:" }, got)
    end)

    it("hold back what may become a stop string, and parts of characters", function()
        local Text = require "heed.generate.text"
        local bytes = { "a", "\xC3", "\xA9", "\xF0", "\x9F", "\x99", "\x82", "e", "n", "x" }
        local text = Text.new(function(ids) return table.concat(bytes, "", 1, #ids) end, { "end" })
        local pieces, ids = {}, {}
        for i = 1, #bytes do
            ids[i] = i
            assert.is_false(text:read(ids))
            pieces[i] = text:piece(i == #bytes)
        end
        assert.same({ "a", "", "é", "", "", "", "🙂", "", "", "enx" }, pieces)
    end)

    it("end an answer when on_token gives false", function()
        local tokens, info = heed.generate(counting(9), { { 1 }, { 2 } }, { max_new_tokens = 5,
            on_token = function(row, token) return not (row == 2 and token == 4) end })
        assert.same({ { 2, 3, 4, 5, 6 }, { 3, 4 } }, tokens)
        assert.are.equal("callback", info[2].reason)
    end)

    it("may yield", function()
        local co = coroutine.wrap(function()
            return table.concat(generate(counting(9), { 1 },
                { max_new_tokens = 3, on_token = function(_, t) coroutine.yield(t) end }), " ")
        end)
        assert.same({ 2, 3, 4, "2 3 4" }, { co(), co(), co(), co() })
    end)
end)

describe("what cannot be generated", function()
    it("is said", function()
        local model = counting(9)
        local function fails(text, options, prompt, m)
            says(text, heed.generate, m or model, prompt or { 1 }, options)
        end
        fails("no option \"max_tokens\"", { max_tokens = 3 })
        fails("top_p: expected a number from 0 to 1, got 2", { top_p = 2 })
        fails("repetition_penalty: expected a number above 0, got 0", { repetition_penalty = 0 })
        fails("samples: expected at most 2, the beams, got 3", { beams = 2, samples = 3 })
        fails("temperature: beams draw nothing", { beams = 2, temperature = 1 })
        fails("stop: a string needs decode=", { stop = "x" })
        fails("expected at least one token, got none in row 1", {}, {})
        fails("prompt: expected an integer of at least 1, got \"a\"", {}, { "a" })
        fails("lengths: expected at most 1, the tokens of row 1, got 2", { lengths = { 2 } })
        fails("model: expected a model, or a function", {}, nil, 3)
        fails("expected logits [1, 1, V] or [1, V], got f32 tensor [3]", {}, nil, function()
            return heed.zeros(3)
        end)
        fails("expected logits [1, 1, V] or [1, V], got f32 tensor [1, 0]", {}, nil, function()
            return heed.zeros(1, 0)
        end)
        fails("expected logits [1, 1, V] or [1, V], got a dropped tensor", {}, nil, function()
            local t = heed.zeros(1, 3)
            t:free()
            return t
        end)
        fails("decode: expected it to give a string, got nil",
            { stop = "x", decode = function() end })
        fails("decode: expected it to give a string, got 5", { decode = { decode = function()
            return 5
        end } })
        fails("beams: expected at most 1048576, got 9223372036854775807",
            { beams = math.maxinteger })
        fails("samples: expected at most 1048576, got 9223372036854775807",
            { samples = math.maxinteger })
        fails("cache: expected a model (heed.nn.Module)", { cache = true })
        fails("prefix: expected the tokens that targets begin with", {}, nil,
            nn.Transformer { src_vocab = 3, tgt_vocab = 3, d_model = 4, num_heads = 1,
                num_layers = 1, d_ff = 4 })
        fails("generator: expected a generator (heed.generator(seed)), got 3", { generator = 3 })
        fails("did you mean max_new_tokens?", { max_length = 3 })
        says("got none in row 1", heed.generate.stream, model, {}, {}) -- at once
        says("on_token: a stream has none", heed.generate.stream, model, { 1 },
            { on_token = print })
    end)
end)
