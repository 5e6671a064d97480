local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local loaded, check_gradients, FOLDER = families.loaded, families.check_gradients, families.FOLDER

describe("heed.models.load", function()
    it("loads BERT: hidden states, two texts, gradients", function()
        local model, values = loaded("bert", { grad = true })
        local ids, lengths = values.ids + 1, values.lengths
        local hidden = model(ids, { lengths = lengths })
        local seen = heed.range(1, 7):view(1, 7, 1):le(lengths:view(2, 1, 1))
        hidden = hidden:masked_fill(~seen, 0)
        assert.is_close(hidden, values.hidden, 1e-5)
        local typed = model(ids:narrow(1, 1, 1), { types = { { 1, 1, 1, 2, 2, 2, 2 } } })
        assert.is_close(typed, values.typed, 1e-5)
        ;(hidden * values.weights):sum():backward()
        check_gradients("bert", model, heed.models.Bert, values)
    end)

    it("gives vectors of length 1 that padding does not change", function()
        local model, values = loaded "bert"
        local both = model:embed(values.ids + 1, values.lengths)
        assert.has_shape(both, { 2, 32 })
        assert.is_close(both:norm { dim = 2 }, heed.ones(2), 1e-6)
        local alone = model:embed((values.ids + 1):narrow(1, 2, 1):narrow(2, 1, 4))
        assert.is_close(alone, both:narrow(1, 2, 1), 1e-6)
    end)

    for _, name in ipairs { "llama", "llama_tied" } do
        it("loads Llama: logits, gradients, the same greedy tokens: " .. name, function()
            local model, values, config = loaded(name, { grad = true })
            assert.are.equal("llama", config.model_type)
            local ids = values.ids + 1
            local logits = model(ids)
            assert.is_close(logits, values.logits, 1e-5)
            ;(logits * values.weights):sum():backward()
            check_gradients(name, model, heed.models.Llama, values)
            for _, cache in ipairs { true, false } do
                local written = heed.generate(model, ids,
                    { max_new_tokens = 12, cache = cache, stop = {} })
                assert.are.same((values.written + 1):narrow(2, 8, 12):totable(), written)
            end
        end)
    end

    it("keeps tied weights one parameter", function()
        local model = loaded "llama_tied"
        assert.are.equal(model.tokens.weight, model.output.weight)
    end)

    it("leaves tensors in the file's pages, and copies them when asked", function()
        local live = heed.memory().live
        local model = assert(heed.models.load(FOLDER .. "llama"))
        local taken = heed.memory().live - live
        collectgarbage()
        live = heed.memory().live
        local copied = assert(heed.models.load(FOLDER .. "llama", { map = false }))
        assert.is_true(heed.memory().live - live > taken + 4 * 60 * 32 * 2)
        assert.is_true(copied.output.weight:equal(model.output.weight))
    end)

    it("trains when asked, and not when not", function()
        assert.is_false(loaded("bert").words.weight.requires_grad)
        assert.is_true(loaded("bert", { grad = true }).words.weight.requires_grad)
        assert.are.equal("f64", loaded("bert", { dtype = "f64" }).words.weight.dtype)
    end)
end)

describe("heed.models.load refuses", function()
    local folder

    before_each(function()
        folder = shell.lines "mktemp -d"[1]
        os.execute(("cp %sllama/* %s"):format(FOLDER, folder))
    end)
    after_each(function() os.execute("rm -r " .. folder) end)

    local function rewrite(change)
        local file = assert(io.open(folder .. "/config.json"))
        local config = assert(heed.json.decode(file:read "a"))
        file:close()
        change(config)
        file = assert(io.open(folder .. "/config.json", "w"))
        file:write(heed.json.encode(config))
        file:close()
    end

    local function resave(change)
        local path = folder .. "/model.safetensors"
        local tensors = assert(heed.safetensors.load(path))
        change(tensors)
        assert(heed.safetensors.save(path, tensors))
    end

    local function refused(message)
        local model, problem = heed.models.load(folder)
        assert.is_nil(model)
        assert.matches(message, problem)
        assert.are.equal(folder, problem:sub(1, #folder))
    end

    it("a family that is not known", function()
        rewrite(function(c) c.model_type = "mamba" end)
        refused "model_type: expected one of .*bert, .*llama, .*, got mamba"
    end)

    it("a config that the weights do not fit", function()
        rewrite(function(c) c.intermediate_size = 64 end)
        refused "linear1.weight: expected %[64, 32%], got %[48, 32%]"
    end)

    it("a config without what the family needs, or with nonsense", function()
        rewrite(function(c) c.hidden_size = nil end)
        refused "config.json: hidden_size: expected an integer from 1 to 1048576, got none"
        rewrite(function(c) c.hidden_size = "32" end)
        refused 'config.json: hidden_size: expected an integer from 1 to 1048576, got "32"'
        rewrite(function(c)
            c.hidden_size = 32
            c.rope_parameters.rope_type = "spiral"
        end)
        refused "rope_type: unknown: spiral"
    end)

    it("weights that miss tensors, or have others", function()
        resave(function(t)
            t["model.norm.weight"], t["model.layers.1.mlp.up_proj.weight"] = nil, nil
        end)
        refused "expected 2 more tensors: model"
        resave(function(t)
            t["model.norm.weight"] = heed.ones(32)
            t["model.layers.1.mlp.up_proj.weight"] = heed.ones(48, 32)
            t["model.layers.2.mlp.up_proj.weight"] = heed.ones(48, 32)
        end)
        refused "1 tensors are none of this family's: model.layers.2.mlp.up_proj.weight"
    end)

    it("a directory without files", function()
        os.remove(folder .. "/model.safetensors")
        refused "model.safetensors: No such file"
        for _, name in ipairs { "pytorch_model.bin.index.json", "pytorch_model.bin" } do
            assert(io.open(folder .. "/" .. name, "w")):close()
            refused("expected model.safetensors in it, got " .. name .. ": pickles are not read")
        end
        os.remove(folder .. "/config.json")
        refused "config.json: No such file"
        assert.are.same({ nil, "README.md: expected a directory, a GGUF file, or one that marian-nmt wrote" },
            { heed.models.load "README.md" })
    end)

    it("types of numbers that are not read, with the tensor's name", function()
        local path = folder .. "/model.safetensors"
        local bytes = shell.read(path)
        local file = assert(io.open(path, "wb"))
        file:write((bytes:gsub('"F32"', '"F8_"', 1)))
        file:close()
        refused 'tensor "[%w_.]+": dtype: expected F32.*got "F8_"'
    end)

    it("more than there is memory for, before it is read", function()
        collectgarbage()
        local before = heed.memory_limit(heed.memory().live + 120000)
        for _, map in ipairs { true, false } do
            local ok, model, message = pcall(heed.models.load, folder, { dtype = "f64", map = map })
            heed.memory_limit(before)
            assert.is_true(ok, model)
            assert.is_nil(model)
            assert.matches("memory: its parameters take 1 MB, heed.memory_limit has 1 MB left; "
                .. 'dtype = "bf16"', message, 1, true)
            heed.memory_limit(heed.memory().live + 120000)
        end
        heed.memory_limit(before)
    end)

    it("gradients of what has none", function()
        resave(function(t)
            t["model.norm.weight"] = t["model.norm.weight"]:to "bf16"
        end)
        local model, message = heed.models.load(folder, { grad = true, dtype = "as stored" })
        assert.is_nil(model)
        assert.matches('grad: decoder.norm.weight is bf16, which has no gradients; dtype = "f32"',
            message, 1, true)
        local stored = heed.models.load(folder, { dtype = "as stored" })
        assert.are.equal("bf16", stored.decoder.norm.weight.dtype)
        local trained = assert(heed.models.load(folder, { grad = true }))
        assert.are.equal("f32", trained.decoder.norm.weight.dtype)
        assert.are.same({ 1, 3, 60 }, { trained(heed.ids { { 1, 2, 3 } }):size() })
    end)

    it("options that are none", function()
        assert.has_error(function() heed.models.load(folder, { family = "mamba" }) end)
        assert.has_error(function() heed.models.load(folder, { dtype = "i64" }) end)
        assert.has_error(function() heed.models.load(5) end,
            "heed.models.load: path: expected a string, got 5")
    end)
end)

describe("heed.models.load of shards", function()
    local folder

    before_each(function()
        folder = shell.lines "mktemp -d"[1]
        os.execute(("cp %sllama/config.json %s"):format(FOLDER, folder))
        local tensors = assert(heed.safetensors.load(FOLDER .. "llama/model.safetensors"))
        local shards, map, count = { {}, {} }, {}, 0
        for name, tensor in pairs(tensors) do
            count = count + 1
            shards[count % 2 + 1][name] = tensor
            map[name] = ("model-%d.safetensors"):format(count % 2 + 1)
        end
        for i, shard in ipairs(shards) do
            assert(heed.safetensors.save(("%s/model-%d.safetensors"):format(folder, i), shard))
        end
        local index = assert(io.open(folder .. "/model.safetensors.index.json", "w"))
        index:write(heed.json.encode { weight_map = map })
        index:close()
    end)
    after_each(function() os.execute("rm -r " .. folder) end)

    it("reads all of them", function()
        local model = assert(heed.models.load(folder))
        local values = assert(heed.safetensors.load(FOLDER .. "llama/values.safetensors"))
        assert.is_close(model(values.ids + 1), values.logits, 1e-5)
    end)

    it("says what is not in the shard that the index names", function()
        local tensors = assert(heed.safetensors.load(folder .. "/model-2.safetensors"))
        tensors["model.norm.weight"], tensors["lm_head.weight"] = nil, nil
        assert(heed.safetensors.save(folder .. "/model-2.safetensors", tensors))
        local one = assert(heed.safetensors.load(folder .. "/model-1.safetensors"))
        one["model.norm.weight"], one["lm_head.weight"] = nil, nil
        assert(heed.safetensors.save(folder .. "/model-1.safetensors", one))
        local _, message = heed.models.load(folder)
        assert.matches("weight_map: 2 tensors are not where it says: lm_head.weight in model",
            message)
    end)

    it("says which one is missing", function()
        os.remove(folder .. "/model-2.safetensors")
        local model, message = heed.models.load(folder)
        assert.is_nil(model)
        assert.matches("model%-2.safetensors: No such file", message)
    end)
end)
