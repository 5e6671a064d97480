local heed = require "heed"
local nn = heed.nn

local function training(seed)
    heed.manual_seed(seed)
    local model = nn.Transformer { src_vocab = 12, tgt_vocab = 12, d_model = 8, num_heads = 2,
        num_layers = 1, d_ff = 16,
        tie_weights = true }
    local examples = {}
    for i = 1, 20 do examples[i] = { { i % 9 + 1, i % 5 + 1, 3 }, { i % 7 + 1, 2 } } end
    return {
        model = model,
        opt = heed.optim.AdamW(model:parameters(), { lr = 0.01 }),
        batches = heed.data.batches(examples, { size = 4, shuffle = true }),
        progress = { step = 0, history = {} },
        generator = heed.generator(seed),
        rng = heed.rng_state,
    }
end

local function steps(run, count)
    local forever = run.batches:forever()
    for _ = 1, count do
        local batch = forever()
        local noise = heed.rand({ 1 }, { generator = run.generator }):item() * 1e-3
        local loss = heed.loss.cross_entropy(run.model(batch[1], batch[2]), batch[2]) + noise
        run.opt:zero_grad()
        loss:backward()
        run.opt:step()
        run.progress.step = run.progress.step + 1
        run.progress.history[#run.progress.history + 1] = loss:item()
    end
end

-- Everything at once: groups under a schedule, accumulation, dropout that is drawn again, averages,
-- a rule to stop by.
local function long_training(seed, kind)
    local run = training(seed)
    local params = run.model:parameters()
    local rest = table.move(params, 3, #params, 1, {})
    run.opt = heed.optim[kind]({ { params = { params[1], params[2] }, lr = 0.002 },
        { params = rest } },
        { lr = 0.01, weight_decay = 0.01, momentum = kind == "SGD" and 0.9 or nil })
    run.ema = heed.optim.EMA(run.model, { decay = 0.9, warmup = 3 })
    run.stopping = heed.optim.EarlyStopping { patience = 3 }
    return run
end

local function long_steps(run, count)
    local forever = run.batches:forever()
    local rate = heed.optim.schedule.cosine { lr = 0.02, steps = 10, warmup = 2 }
    for _ = 1, count do
        local tokens, total = 0, 0
        run.opt:zero_grad()
        for _ = 1, 2 do
            local batch = forever()
            local hidden = heed.recompute(function(src, tgt) return run.model:decode(tgt,
                run.model:encode(src)) end, batch[1], batch[2])
            local loss = heed.loss.linear_cross_entropy(hidden, run.model.output.weight, batch[2],
                { bias = run.model.output.bias, reduction = "sum" })
            loss:backward()
            tokens, total = tokens + batch[2]:numel(), total + loss:item()
        end
        heed.optim.scale_grads(run.model:parameters(), 1 / tokens)
        heed.optim.clip_grad_norm(run.model:parameters(), 1)
        run.progress.step = run.progress.step + 1
        run.opt.lr = rate(run.progress.step)
        run.opt:step()
        run.ema:update()
        local stop = run.stopping:step(total / tokens)
        table.insert(run.progress.history, { total / tokens, stop })
    end
end

describe("checkpoint", function()
    local path
    before_each(function() path = os.tmpname() end)
    after_each(function() os.remove(path) end)

    it("refuses a table that leads back to itself, by however many ways", function()
        local circle = { t = heed.ones(1) }
        circle.first, circle.second, circle.third = circle, circle, { circle, circle }
        local started = os.clock()
        assert.error_matches(function() heed.checkpoint.save(path, { part = circle }) end,
            "parts.part: tables are nested too deeply, or in a circle")
        assert.is_true(os.clock() - started < 5)
    end)

    it("10 steps are the same bits as 5, save, load and 5", function()
        local whole = training(3)
        steps(whole, 10)
        local half = training(3)
        steps(half, 5)
        assert.is_true(heed.checkpoint.save(path, half))
        local rest = training(4)
        assert(heed.checkpoint.load(path, rest))
        steps(rest, 5)
        assert.are.same(whole.progress, rest.progress)
        local a, b = whole.model:state_dict(), rest.model:state_dict()
        for name, t in pairs(a) do assert.is_true(heed.equal(t, b[name]), name) end
        assert.are.equal(rest.model.output.weight, rest.model.tgt_embedding.weight)
    end)

    for _, kind in ipairs { "SGD", "Adam", "AdamW" } do
        it("the same with groups, averages, accumulation and recomputed dropout: " .. kind,
            function()
            local whole = long_training(3, kind)
            long_steps(whole, 10)
            local half = long_training(3, kind)
            long_steps(half, 5)
            assert.is_true(heed.checkpoint.save(path, half))
            local rest = long_training(4, kind)
            assert(heed.checkpoint.load(path, rest))
            long_steps(rest, 5)
            assert.are.same(whole.progress, rest.progress)
            for i, p in ipairs(whole.model:parameters()) do
                assert.is_true(heed.equal(p, rest.model:parameters()[i]))
            end
            for i, a in ipairs(whole.ema.averages) do
                assert.is_true(heed.equal(a, rest.ema.averages[i]))
            end
            assert.are.same(whole.stopping:state_dict(), rest.stopping:state_dict())
            assert.is_true(whole.progress.history[10][1] < whole.progress.history[1][1])
        end)
    end

    it("is one safetensors file that others can read, shared tensors once", function()
        local run = training(1)
        assert.is_true(heed.checkpoint.save(path,
            { model = run.model, notes = { best = 1.5, tags = { "a", "b" } } }))
        local tensors, metadata = heed.safetensors.load(path)
        assert.are.equal("1", metadata["heed.checkpoint"])
        local embeddings = 0
        for name, t in pairs(tensors) do
            if t.shape[1] == 12 and t:dim() == 2 then embeddings = embeddings + 1 end
            assert.is_truthy(name:find "^model%.")
        end
        assert.are.equal(1, embeddings)
    end)

    it("the same state gives the same bytes", function()
        local run = training(1)
        local parts = { model = run.model, opt = run.opt, notes = { z = 1, a = 2, m = 3 } }
        local other = os.tmpname()
        heed.checkpoint.save(path, parts)
        heed.checkpoint.save(other, parts)
        local a, b = io.open(path, "rb"):read "a", io.open(other, "rb"):read "a"
        os.remove(other)
        assert.is_true(a == b)
    end)

    it("loads parts of what is there", function()
        assert.is_true(heed.checkpoint.save(path,
            { a = { 1 }, b = { x = { y = { true, "é", 2.5 } } } }))
        local b = { old = 1 }
        assert.is_true(heed.checkpoint.load(path, { b = b }))
        assert.are.same({ x = { y = { true, "é", 2.5 } } }, b)
    end)

    it("takes vocabularies and tensors in tables", function()
        local vocabulary = heed.text.bpe.train({ "hello hello hello" }, { vocab_size = 262 })
        assert.is_true(heed.checkpoint.save(path,
            { vocabulary = vocabulary, t = { heed.ids { 1, 2 } } }))
        local loaded, t = heed.text.bpe.new(), {}
        assert.is_true(heed.checkpoint.load(path, { vocabulary = loaded, t = t }))
        assert.are.equal(262, #loaded)
        assert.are.same({ 1, 2 }, t[1]:totable())
    end)

    it("of another model: nil and what differs, and nothing is loaded", function()
        local run = training(1)
        steps(run, 1)
        assert.is_true(heed.checkpoint.save(path, run))
        local other = training(2)
        other.model = nn.Linear(2, 2)
        local before = other.opt.steps
        local ok, message = heed.checkpoint.load(path, other)
        assert.is_nil(ok)
        assert.is_truthy(message:find "missing: weight", message)
        assert.are.equal(before, other.opt.steps)
        assert.are.equal(0, other.progress.step)
        ok, message = heed.checkpoint.load(path, { scheduler = {} })
        assert.is_nil(ok)
        assert.is_truthy(message:find "no part scheduler")
    end)

    it("truncated, foreign or hostile files: nil and a message", function()
        heed.checkpoint.save(path, { model = nn.Linear(2, 2) })
        local file = io.open(path, "rb")
        local bytes = file:read "a"
        file:close()
        local function try(text)
            local out = io.open(path, "wb")
            out:write(text)
            out:close()
            local ok, message = heed.checkpoint.load(path, { model = nn.Linear(2, 2) })
            assert.is_nil(ok)
            assert.are.equal("string", type(message))
        end
        for size = 0, #bytes - 1, 7 do try(bytes:sub(1, size)) end
        try "return os.execute('true')"
        try(("\255"):rep(64))
        assert.is_nil((heed.checkpoint.load("/nonexistent/file", { model = nn.Linear(2, 2) })))
        local plain = { w = heed.ones(1) }
        heed.safetensors.save(path, plain)
        assert.is_truthy(select(2, heed.checkpoint.load(path,
            { model = nn.Linear(2, 2) })):find "not a checkpoint")
        heed.safetensors.save(path, plain, { metadata = { ["heed.checkpoint"] = "99" } })
        assert.is_truthy(select(2, heed.checkpoint.load(path,
            { model = nn.Linear(2, 2) })):find "version 99")
        local lost = { ["heed.checkpoint"] = "1", ["heed.part.model"] = '{"$tensor":"z"}' }
        heed.safetensors.save(path, plain, { metadata = lost })
        assert.is_nil((heed.checkpoint.load(path, { model = nn.Linear(2, 2) })))
    end)

    it("states that are none: nil and a message, for every kind of part", function()
        local run = training(1)
        steps(run, 1)
        for _, state in ipairs { "5", "[]", "{}", '"x"', '{"groups":[],"steps":1}',
            '{"text":"heed bpe 1"}' } do
            for name, part in pairs { model = run.model, opt = run.opt, batches = run.batches,
                rng = run.rng,
                generator = run.generator, vocabulary = heed.text.bpe.new(),
                    characters = heed.text.chars "ab",
                ema = heed.optim.EMA(run.model),
                    stopping = heed.optim.EarlyStopping { patience = 1 } } do
                heed.safetensors.save(path, { w = heed.ones(1) },
                    { metadata = { ["heed.checkpoint"] = "1", ["heed.part." .. name] = state } })
                local ok, message = heed.checkpoint.load(path, { [name] = part })
                assert.is_nil(ok, name .. " took " .. state)
                assert.are.equal("string", type(message))
            end
        end
        local saved = run.opt:state_dict()
        saved.lr = "0.1"
        assert.is_nil((run.opt:check_state_dict(saved)))
    end)

    it("cannot be written: nil and a message", function()
        local ok, message = heed.checkpoint.save("/nonexistent/file", { a = {} })
        assert.is_nil(ok)
        assert.are.equal("string", type(message))
    end)

    it("gives every tensor a name of its own, or none", function()
        local odd = { ["\xff"] = heed.ones(1), ["a\0b"] = heed.zeros(1), ["é"] = heed.ones(2) }
        assert.is_true(heed.checkpoint.save(path, { odd = odd }))
        local again = {}
        assert.is_true(heed.checkpoint.load(path, { odd = again }))
        for key, t in pairs(odd) do assert.is_true(heed.equal(t, again[key])) end
        for _, twice in ipairs { { ["b.c"] = heed.ones(1), b = { c = heed.zeros(1) } },
            { heed.ones(1), ["1"] = heed.zeros(1) } } do
            assert.error_matches(function() heed.checkpoint.save(path, { a = twice }) end,
                'save: parts: two tensors are called "a')
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.checkpoint.save(path, { ["a.b"] = {} }) end,
            "names of letters, digits and _")
        assert.error_matches(function() heed.checkpoint.save(path, { a = 5 }) end,
            "parts.a: expected something with state_dict")
        assert.error_matches(function() heed.checkpoint.save(path, { a = { print } }) end,
            "parts.a: a function cannot be saved")
        assert.error_matches(function() heed.checkpoint.save(5, {}) end,
            "path: expected a string, got 5")
        assert.error_matches(function() heed.checkpoint.load(path, { a = 5 }) end,
            "load: parts.a: expected something with state_dict")
    end)
end)
