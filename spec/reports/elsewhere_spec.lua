-- Faults that users of other systems hit, each with its right value, worked out by hand. The name
-- in brackets is the report. "Uniform" means that queries and keys are 0, so that a query averages
-- the values it may see.

local heed = require "heed"
require "heed.luassert"

local INF = math.huge

-- Queries and keys of 0, and V as its rows say, one head.
local function uniform(queries, values, options)
    local v = heed.tensor(values)
    local q, k = heed.zeros(queries, 2), heed.zeros(#values, 2)
    return heed.attention(q, k, v, options)
end

local function column(...)
    local rows = {}
    for i, value in ipairs { ... } do rows[i] = { value } end
    return rows
end

local function leaf(nested)
    local t = heed.tensor(nested)
    t.requires_grad = true
    return t
end

local function all_finite(...)
    for _, t in ipairs { ... } do
        if not t:isfinite():all() then return false end
    end
    return true
end

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return tostring(text)
end

describe("attention", function()
    it("gives zeros and finite gradients to a query that sees nothing [pytorch 103963]", function()
        local q, k, v = leaf { { 0, 0 }, { 0, 0 } }, leaf { { 0, 0 }, { 0, 0 } },
            leaf { { 1, 2 }, { 3, 4 } }
        local out = heed.attention(q, k, v,
            { mask = heed.tensor { { true, false }, { false, false } } })
        assert.is_close(out, { { 1, 2 }, { 0, 0 } })
        out:sum():backward()
        assert.is_true(all_finite(q.grad, k.grad, v.grad))
        assert.is_close(v.grad, { { 1, 1 }, { 0, 0 } })
    end)

    it("has finite gradients when padding hides what causality leaves, with a loss on other "
        .. "outputs [pytorch 41508]", function()
        -- The first sample's keys start after two padded ones: its first two queries see nothing.
        local keys = heed.tensor { { false, false, true, true },
            { true, true, true, true } }:view(2, 1, 1, 4)
        local q, k, v = heed.randn(2, 1, 4, 3), heed.randn(2, 1, 4, 3), heed.randn(2, 1, 4, 3)
        for _, t in ipairs { q, k, v } do t.requires_grad = true end
        local out = heed.attention(q, k, v, { mask = heed.mask.causal() & heed.mask.bool(keys) })
        assert.is_close(out:detach()[{ 1, 1, { 1, 2 } }], heed.zeros(2, 3))
        out:select(3, 4):square():sum():backward()
        assert.is_true(all_finite(q.grad, k.grad, v.grad))
    end)

    it("masks a whole head alike, weights asked for or not [pytorch 160064]", function()
        local q, k, v = heed.randn(1, 2, 3, 4), heed.randn(1, 2, 3, 4), heed.randn(1, 2, 3, 4)
        local mask = heed.ones(1, 2, 3, 3, { dtype = "bool" })
        mask[{ 1, 2 }] = false
        local plain = heed.attention(q, k, v, { mask = mask })
        local asked, weights = heed.attention(q, k, v, { mask = mask, weights = true })
        assert.is_close(asked, plain)
        assert.is_close(weights[1][2], heed.zeros(3, 3), 0)
        assert.is_close(plain[1][2], heed.zeros(3, 4), 0)
    end)

    it("is causal: uniform over 1, 2, 3 [rasbt LLMs-from-scratch 1061]", function()
        assert.is_close(uniform(3, column(1, 2, 3), { mask = heed.mask.causal() }),
            column(1, 1.5, 2))
    end)

    it("adds a mask of floats and masks by one of booleans [pytorch 21518]", function()
        local ones = heed.tensor { { 1, 0 } }
        assert.is_close(uniform(1, column(1, 3), { mask = ones }),
            column((math.exp(1) + 3) / (math.exp(1) + 1)))
        assert.is_close(uniform(1, column(1, 3), { mask = ones:to "bool" }), column(1))
    end)

    it("takes a float padding mask of 0 and -inf as the bool mask [mlverse torch 1205]", function()
        local floats, booleans = heed.tensor { { 0, -INF } }, heed.tensor { { true, false } }
        assert.is_close(uniform(2, column(1, 3), { mask = floats }),
            uniform(2, column(1, 3), { mask = booleans }), 0)
    end)

    it("never makes NaN of two masks together [transformers 17306, NeMo 2658]", function()
        local low = heed.full({ 2, 2 }, -3e38)
        local out = uniform(2, column(1, 3),
            { mask = heed.mask.bias(low) & heed.mask.bias(low) & heed.mask.causal() })
        assert.is_true(all_finite(out))
        local hidden = heed.mask.bias(heed.full({ 2, 2 }, -INF)) & heed.mask.bool(heed.zeros(2, 2,
            { dtype = "bool" }))
        assert.is_close(uniform(2, column(1, 3), { mask = hidden }), column(0, 0), 0)
    end)

    it("aligns causality to the end [pytorch 108108]", function()
        assert.is_close(uniform(2, column(1, 2, 3, 4, 5), { mask = heed.mask.causal() }),
            column(2.5, 3))
        assert.is_close(uniform(5, column(1, 2), { mask = heed.mask.causal() }),
            column(0, 0, 0, 1, 1.5))
    end)

    it("lets one query of a decoder see all keys [pytorch 103082]", function()
        assert.is_close(uniform(1, column(1, 2, 3, 4, 5, 6, 7, 8), { mask = heed.mask.causal() }),
            column(4.5))
    end)

    it("stays causal with weights asked for, and in evaluation with dropout set [pytorch 99282, "
        .. "keras 23038]", function()
        local out = uniform(3, column(1, 2, 3), { mask = heed.mask.causal(), weights = true })
        assert.is_close(out, column(1, 1.5, 2))
        local mha = heed.nn.MultiHeadAttention(4, 2, { dropout = 0.5 }):eval()
        local x = heed.randn(1, 3, 4)
        local plain = mha(x, nil, nil, { mask = heed.mask.causal() })
        local asked = mha(x, nil, nil, { mask = heed.mask.causal(), weights = true })
        assert.is_close(plain, asked)
        assert.is_close(plain:detach()[{ 1, { 1, 2 } }], mha(x:narrow(2, 1, 2), nil, nil,
            { mask = heed.mask.causal() })[1])
    end)

    it("keeps its length when every sample is padded alike [pytorch 97111]", function()
        local encoder = heed.nn.TransformerEncoder(1, 4, 2, 8):eval()
        assert.has_shape(encoder(heed.randn(2, 5, 4), { mask = heed.mask.padding { 3, 3 } }),
            { 2, 5, 4 })
    end)

    it("of no samples has the shape of its queries [pytorch 133780]", function()
        local out = heed.attention(heed.zeros(0, 2, 3, 8), heed.zeros(0, 2, 4, 8),
            heed.zeros(0, 2, 4, 8))
        assert.has_shape(out, { 0, 2, 3, 8 })
    end)

    it("reads transposed values as they are [torch-spyre 4331]", function()
        local v = heed.tensor { { 1, 2 }, { 3, 4 } }:t()
        assert.is_close(heed.attention(heed.zeros(1, 2), heed.zeros(2, 2), v), { { 1.5, 3.5 } })
    end)

    it("groups query heads beside each other [axlearn 842]", function()
        local v = heed.tensor { 0, 5 }:view(1, 2, 1, 1)
        local out = heed.attention(heed.zeros(1, 4, 1, 1), heed.zeros(1, 2, 1, 1), v)
        assert.is_close(out:view(-1), { 0, 0, 5, 5 })
    end)

    it("drops everything at p = 1, without NaN [flax 2055]", function()
        assert.is_close(heed.dropout(heed.ones(3), 1), { 0, 0, 0 }, 0)
        assert.is_close(uniform(1, column(1, 3), { dropout = 1 }), column(0), 0)
    end)
end)

describe("a tensor", function()
    it("of sizes 0, 2^40, 2^40 is empty or refused, and overflows nothing [pytorch 94120]",
        function()
        local ok, result = pcall(heed.zeros, 0, 1 << 40, 1 << 40)
        if ok then
            assert.equal(0, result:numel())
            assert.equal(0, (result + 1):numel())
        else
            assert.matches("1099511627776", result)
        end
        assert.matches("1099511627776", message(heed.zeros, 1, 1 << 40, 1 << 40))
    end)

    it("without elements has a largest along the others, and none along that dimension [pytorch "
        .. "28380]", function()
        local t = heed.zeros(2, 0)
        assert.has_shape(t:max(1), { 0 })
        assert.matches("no elements", message(t.max, t, 2))
    end)

    it("is copied onto an overlapping part of itself [pytorch 144861]", function()
        local a = heed.range(0, 8):view(3, 3)
        a[{ {}, { 2, 3 } }] = a[{ {}, { 1, 2 } }]
        assert.is_close(a, { { 0, 0, 1 }, { 3, 3, 4 }, { 6, 6, 7 } }, 0)
    end)

    it("gets gradients of its own shape after broadcasting [pytorch 1787]", function()
        for _, shapes in ipairs { { { 4, 1 }, { 1, 4 } }, { { 1 }, { 5, 4 } } } do
            local a, b = heed.ones(shapes[1], { requires_grad = true }),
                heed.ones(shapes[2], { requires_grad = true })
            a:mul(b):sum():backward()
            assert.has_shape(a.grad, shapes[1])
            assert.has_shape(b.grad, shapes[2])
        end
    end)

    it("that is used twice gets both gradients, and a graph is used once [micrograd 64]", function()
        local a = leaf(1)
        local b = a + a
        local c = b + b
        c:backward()
        assert.equal(4, a.grad:item())
        assert.matches("retain", message(c.backward, c))
    end)

    it("of embeddings has no gradient in its padding row [pytorch 26302]", function()
        local embedding = heed.nn.Embedding(3, 2, { padding_idx = 2 })
        embedding(heed.ids { 2, 1, 2 }):sum():backward()
        assert.is_close(embedding.weight.grad, { { 1, 1 }, { 0, 0 }, { 0, 0 } }, 0)
    end)

    it("that is embedding and output layer gets one gradient, and one place in the optimiser "
        .. "[entrenar 314]", function()
        local weight = leaf { { 1 }, { 2 } }
        local hidden = heed.embedding(weight, heed.ids { 1 })
        local logits = heed.linear(hidden, weight)
        logits:select(2, 2):sum():backward()
        assert.is_close(weight.grad, { { 2 }, { 1 } }, 0)
        local Model = heed.nn.Module:extend "Model"
        function Model:init()
            self.embedding = heed.nn.Embedding(2, 1)
            self.output = heed.nn.Linear(1, 2, { bias = false })
            self.output.weight = self.embedding.weight
        end
        local model = Model()
        assert.equal(1, #model:parameters())
        local optimiser = heed.optim.AdamW(model:parameters(), { lr = 0.1 })
        model.output(model.embedding(heed.ids { 1 })):sum():backward()
        optimiser:step()
        assert.is_true(rawequal(model.output.weight, model.embedding.weight))
    end)

    it("made in a loop is forgotten in time [torch7 1063]", function()
        local before = heed.memory({ reset_peak = true }).live
        for _ = 1, 300 do heed.zeros(256, 1024):exp() end -- 2 MB a turn
        assert.is_true(heed.memory().peak - before < 200e6)
    end)

    it("that was freed says so, and may be freed twice [torch7 447]", function()
        local t = heed.zeros(2)
        t:free()
        t:free()
        assert.matches("add", message(heed.add, t, 1))
    end)

    it("does not meet one of another shape silently [torch7-distro 155]", function()
        local text = message(heed.add, heed.zeros(5), heed.zeros(2))
        assert.matches("%[5%]", text)
        assert.matches("%[2%]", text)
        assert.is_false((pcall(heed.add, heed.zeros(2, 3), heed.zeros(3, 2))))
        assert.is_false((pcall(heed.zeros(2, 3).copy_, heed.zeros(2, 3), heed.zeros(3, 2))))
    end)

    it("refuses what is no number, size or index, by the function's and the argument's name "
        .. "[torch7 486]", function()
        assert.matches("heed.tensor: values: .*256",
            message(heed.tensor, { 256 }, { dtype = "u8" }))
        assert.matches("heed.zeros: .*\"3\"", message(heed.zeros, "3"))
        assert.matches("heed.zeros: .*2%.5", message(heed.zeros, 2.5))
        local t = heed.zeros(2, 2)
        assert.matches("t%.1: a tensor has no field or method", message(function()
            return t["1"]
        end))
        assert.matches("t%[key%]: .*\"x\"", message(function() return t[{ 1, "x" }] end))
        assert.equal(math.mininteger, (heed.ids { math.maxinteger } + 1):item()) -- integers wrap
    end)
end)

describe("a loss", function()
    it("whose targets are all ignored is 0, with gradients 0 [pytorch 75181]", function()
        local logits = heed.randn(2, 3, { requires_grad = true })
        local loss = heed.loss.cross_entropy(logits, heed.ids { 1, 1 }, { ignore_index = 1 })
        assert.equal(0, loss:item())
        loss:backward()
        assert.is_close(logits.grad, heed.zeros(2, 3), 0)
    end)

    it("smooths over the classes that are not excluded, and log(0) meets no 0 "
        .. "[annotated-transformer 18, 109]", function()
        local probabilities = { 0.1, 0.2, 0.3, 0.15, 0.25 }
        local logits = heed.tensor { probabilities }:log()
        local want = 0
        for class, share in ipairs { 0, 0.4 / 3, 0.6, 0.4 / 3, 0.4 / 3 } do
            want = want - share * math.log(probabilities[class])
        end
        local options = { label_smoothing = 0.4, smoothing_exclude = { 1 } }
        assert.is_close(heed.loss.cross_entropy(logits, heed.ids { 3 }, options), want)
        local impossible = heed.tensor { { -INF, 0, 0, 0, 0 } }
        impossible.requires_grad = true
        local loss = heed.loss.cross_entropy(impossible, heed.ids { 3 }, options)
        assert.is_close(loss, math.log(4))
        loss:backward()
        assert.is_true(all_finite(impossible.grad))
    end)

    it("of one huge logit is 0 [hb-pytorch 61]", function()
        assert.equal(0, heed.log_softmax(heed.tensor { 88.72284 }, 1):item())
    end)

    it("is weighted by tokens when gradients accumulate [torchtune 1875]", function()
        -- Three tokens of mean 1 and one of mean 5.
        local sums, tokens = heed.tensor { 3, 5 }, heed.tensor { 3, 1 }
        assert.equal(2, (sums:sum() / tokens:sum()):item())
        local logits = heed.randn(4, 3)
        local targets = heed.ids { 1, 2, 3, 1 }
        local whole = heed.loss.cross_entropy(logits, targets):item()
        local parts = 0
        for _, part in ipairs { { 1, 3 }, { 4, 4 } } do
            local loss = heed.loss.cross_entropy(logits[{ part }], targets[{ part }],
                { reduction = "sum" })
            parts = parts + loss:item() / 4
        end
        assert.is_close(parts, whole)
    end)

    it("names a target or token outside of 1..n [nn 471]", function()
        for _, bad in ipairs { 0, 4 } do
            local text = message(heed.loss.cross_entropy, heed.randn(2, 3), heed.ids { 1, bad })
            assert.matches("1%.%.3", text)
            assert.matches("got " .. bad, text)
            assert.matches("2", text)
            text = message(heed.embedding, heed.randn(3, 2), heed.ids { 1, bad })
            assert.matches("1%.%.3", text)
            assert.matches("got " .. bad, text)
        end
    end)
end)

describe("training", function()
    it("adds sinusoids as the paper has them, odd dimensions too [BERT-pytorch 78]", function()
        local row = heed.nn.SinusoidalPositions(2, 5).table[2]
        assert.is_close(row, { .841471, .540302, .025116, .999685, .000631 }, 1e-6)
    end)

    it("has finite rates at step 0 and without warm-up [yoyodyne 300]", function()
        local noam = heed.optim.schedule.noam { d_model = 512, warmup = 4000 }
        assert.is_close(noam(1) * 1e7, 1.74693, 1e-5)
        assert.is_close(noam(4000) * 1e4, 6.98771, 1e-5)
        for _, warmup in ipairs { 0, 10 } do
            local schedules = {
                heed.optim.schedule.noam { d_model = 512, warmup = warmup },
                heed.optim.schedule.cosine { lr = 1, steps = 100, warmup = warmup },
                heed.optim.schedule.linear { lr = 1, steps = 100, warmup = warmup },
                heed.optim.schedule.constant { lr = 1, warmup = warmup },
                heed.optim.schedule.inverse_sqrt { lr = 1, warmup = warmup },
            }
            for i, schedule in ipairs(schedules) do
                for _, step in ipairs { 0, 1, 10, 100, 1000 } do
                    local rate = schedule(step)
                    assert(rate == rate and rate >= 0 and rate < INF,
                        ("schedule %d at step %d: %s"):format(i, step, rate))
                end
                assert.is_true(schedule(0) > 0)
            end
        end
    end)

    it("starts layers made in a loop differently [pytorch 86274]", function()
        local encoder = heed.nn.TransformerEncoder(2, 4, 2, 8)
        local layers = encoder.layers
        assert.is_false(heed.equal(layers[1].linear1.weight, layers[2].linear1.weight))
        assert.is_false(heed.equal(layers[1].self_attn.in_proj_weight,
            layers[2].self_attn.in_proj_weight))
    end)

    it("says when a data set is smaller than a batch [torch-rnn 35]", function()
        local ok, result = pcall(heed.data.batches, { { 1, 2 }, { 3 } },
            { size = 8, drop_last = true })
        assert.is_false(ok)
        assert.matches("0 batches", result)
    end)
end)

describe("a file", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    local function write(bytes)
        local file = assert(io.open(path, "wb"))
        file:write(bytes)
        file:close()
    end

    it("that is truncated, foreign or hostile gives nil and a message, and runs nothing [torch7 "
        .. "5, openface 42]", function()
        assert(heed.safetensors.save(path, { a = heed.randn(3) }))
        local file = assert(io.open(path, "rb"))
        local whole = file:read "a"
        file:close()
        for _, bytes in ipairs { "", "PK\3\4", whole:sub(1, -2), whole .. "x",
            "\x80\2cos\nsystem\n(S'true'\ntR.", ("\xff"):rep(64),
            "return os.exit(1)" } do
            write(bytes)
            local tensors, text = heed.safetensors.load(path)
            assert.is_nil(tensors)
            assert.matches(path, text, 1, true)
            local ok
            ok, text = heed.checkpoint.load(path, { model = heed.nn.Linear(1, 1) })
            assert.is_nil(ok)
            assert.matches(path, text, 1, true)
        end
    end)

    it("continues training with the same bits: 10 steps, or 5, saved, loaded and 5 [char-rnn 33]",
        function()
        local function start()
            heed.manual_seed(3)
            local model = heed.nn.Sequential { heed.nn.Linear(3, 4), heed.nn.Dropout(0.3),
                heed.nn.Linear(4, 1) }
            return model, heed.optim.AdamW(model:parameters(), { lr = 0.01 })
        end
        local function steps(model, optimiser, count)
            for _ = 1, count do
                optimiser:zero_grad()
                model(heed.randn(5, 3)):square():mean():backward()
                optimiser:step()
            end
        end
        local model, optimiser = start()
        steps(model, optimiser, 10)
        local other, its_optimiser = start()
        steps(other, its_optimiser, 5)
        assert(heed.checkpoint.save(path, { model = other, optimiser = its_optimiser,
            rng = heed.rng_state }))
        local third, third_optimiser = start()
        heed.manual_seed(99)
        assert(heed.checkpoint.load(path, { model = third, optimiser = third_optimiser,
            rng = heed.rng_state }))
        steps(third, third_optimiser, 5)
        for i, p in ipairs(model:parameters()) do
            assert.equal(p:bytes(), third:parameters()[i]:bytes())
        end
    end)

    it("keeps tied weights tied [transformers 38870]", function()
        local function build()
            return heed.nn.Transformer { src_vocab = 7, tgt_vocab = 7, d_model = 4, num_heads = 2,
                num_layers = 1, d_ff = 8,
                tie_weights = true }
        end
        local model, other = build(), build()
        assert(heed.checkpoint.save(path, { model = model }))
        assert(heed.checkpoint.load(path, { model = other }))
        assert.equal(#model:parameters(), #other:parameters())
        local names = {}
        for name in pairs(assert(heed.safetensors.load(path))) do names[#names + 1] = name end
        assert.equal(#model:parameters(), #names)
    end)
end)
