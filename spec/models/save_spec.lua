local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local FOLDER = families.FOLDER

local function raises(message, f)
    local ok, got = pcall(f)
    assert.is_false(ok)
    assert.matches(message, got, 1, true)
end

-- The names of recorded families: folders with a config.
local function recorded()
    local list = {}
    for _, path in ipairs(shell.lines("ls " .. FOLDER .. "*/config.json")) do
        list[#list + 1] = path:match "([^/]+)/config.json$"
    end
    return list
end

local function passed_over(family, name)
    for _, pattern in ipairs(family.passed_over or {}) do
        if name:find(pattern) then return true end
    end
    return false
end

local function tensors_of(folder)
    return assert(heed.safetensors.load(folder .. "/model.safetensors"))
end

describe("heed.models.save", function()
    local folder

    before_each(function() folder = shell.lines "mktemp -d"[1] end)
    after_each(function() os.execute("rm -r " .. folder) end)

    for _, name in ipairs(recorded()) do
        it("writes the files of a family as they were: " .. name, function()
            local model, message = heed.models.load(FOLDER .. name)
            assert(model, message)
            assert(heed.models.save(folder, model))
            local before, after = tensors_of(FOLDER .. name), tensors_of(folder)
            for key, t in pairs(after) do
                assert.is_not_nil(before[key], key)
                assert.are.equal(before[key].dtype, t.dtype)
                assert.is_true(t:equal(before[key]), key)
            end
            for key in pairs(before) do
                assert.is_true(after[key] ~= nil or passed_over(getmetatable(model), key), key)
            end
            assert.are.equal(shell.read(FOLDER .. name .. "/config.json"),
                shell.read(folder .. "/config.json"))
            local again = assert(heed.models.load(folder))
            local theirs = {}
            for key, p in model:named_parameters() do theirs[key] = p end
            for key, p in again:named_parameters() do assert.is_true(p:equal(theirs[key]), key) end
        end)
    end

    it("writes what was changed, over the files that it came from", function()
        os.execute(("cp %sllama/* %s"):format(FOLDER, folder))
        local model = assert(heed.models.load(folder))
        heed.no_grad(function() model.output.weight:fill_(0.5) end)
        assert(heed.models.save(folder, model))
        assert.are.equal(0.5, tensors_of(folder)["lm_head.weight"][1][1])
        local q = "model.layers.1.self_attn.q_proj.weight"
        assert.is_true(tensors_of(folder)[q]:equal(tensors_of(FOLDER .. "llama")[q]))
    end)

    it("says in the config in what dtype it is", function()
        local model = assert(heed.models.load(FOLDER .. "llama", { dtype = "bf16" }))
        assert(heed.models.save(folder, model))
        local config = assert(heed.json.decode(shell.read(folder .. "/config.json")))
        assert.are.equal("bfloat16", config.dtype)
        assert.are.equal("bf16", tensors_of(folder)["lm_head.weight"].dtype)
    end)

    it("writes a model that was made of a config", function()
        local config = { model_type = "llama", vocab_size = 20, hidden_size = 8,
            num_hidden_layers = 1, num_attention_heads = 2, num_key_value_heads = 1,
            intermediate_size = 16 }
        local model = heed.models.Llama(config):eval()
        assert(heed.models.save(folder, model, nil, { config = config }))
        local again = assert(heed.models.load(folder))
        local ids = heed.ids { { 3, 5, 4 } }
        assert.is_true(again(ids):equal(model(ids)))
        raises("{ config = ... }", function() heed.models.save(folder, model) end)
    end)

    it("refuses what is misuse, and what cannot be written", function()
        local model = assert(heed.models.load(FOLDER .. "llama"))
        raises("model: expected a model", function() heed.models.save(folder, {}) end)
        raises("tokenizer: expected", function() heed.models.save(folder, model, {}) end)
        raises("type: expected a path that ends with .gguf", function()
            heed.models.save(folder, model, nil, { type = "Q8_0" })
        end)
        raises("did you mean Q8_0", function()
            heed.models.save(folder .. "/a.gguf", model, nil, { type = "Q80" })
        end)
        local ok, message = heed.models.save(folder .. "/none/deep", model)
        assert.is_nil(ok)
        assert.matches("No such file or directory", message)
        ok, message = heed.models.save(folder .. "/a.gguf",
            (assert(heed.models.load(FOLDER .. "llama_tied"))))
        assert.is_nil(ok)
        assert.matches("rope_type: unknown: llama3", message)
    end)
end)

describe("heed.models.save of a GGUF file", function()
    local path

    before_each(function() path = os.tmpname() .. ".gguf" end)
    after_each(function() os.remove(path) end)

    local ids = heed.ids { { 3, 5, 14, 9, 60 } }

    for _, name in ipairs { "bert", "llama" } do
        it("computes the same: " .. name, function()
            local model = assert(heed.models.load(FOLDER .. name))
            assert(heed.models.save(path, model))
            local again, message = heed.models.load(path)
            assert(again, message)
            assert.is_close(again(ids), model(ids), 1e-5)
            local folder = shell.lines "mktemp -d"[1]
            assert(heed.models.save(folder, again))
            local before, after = tensors_of(FOLDER .. name), tensors_of(folder)
            for key, t in pairs(before) do assert.is_true(t:equal(after[key]), key) end
            os.execute("rm -r " .. folder)
        end)
    end

    it("has the rows of queries and keys in llama.cpp's order", function()
        local model = assert(heed.models.load(FOLDER .. "llama"))
        assert(heed.models.save(path, model))
        local q = tensors_of(FOLDER .. "llama")["model.layers.0.self_attn.q_proj.weight"]
        local got = assert(heed.gguf.open(path)):tensor "blk.0.attn_q.weight"
        assert.is_true(got[2]:equal(q[5])) -- heads of 8: features 1 and 5 are a pair
        assert.is_true(got[9]:equal(q[9]))
    end)

    it("quantises matrices", function()
        local model = assert(heed.models.load(FOLDER .. "llama"))
        assert(heed.models.save(path, model, nil, { type = "Q8_0" }))
        local file, types = assert(heed.gguf.open(path)), {}
        for _, entry in ipairs(file.tensors) do types[entry.name] = entry.type end
        assert.are.equal("Q8_0", types["blk.0.attn_q.weight"])
        assert.are.equal("F32", types["output_norm.weight"])
        assert.are.equal(7, file.metadata["general.file_type"])
        assert.is_close(assert(heed.models.load(path))(ids), model(ids), 0.05)
    end)
end)

describe("a tokenizer beside a model", function()
    local folder, path

    before_each(function()
        folder, path = shell.lines "mktemp -d"[1], os.tmpname() .. ".gguf"
    end)
    after_each(function()
        os.execute("rm -r " .. folder)
        os.remove(path)
    end)

    local function put(name, text)
        local file = assert(io.open(folder .. "/" .. name, "w"))
        file:write(text)
        file:close()
    end

    local TEXTS = { "abc d", "a bd  cab", "", "dd <s> ab" }

    local function check_same(tokenizer, other, begins, ends)
        for _, text in ipairs(TEXTS) do
            assert.are.same(tokenizer:encode(text), other:encode(text))
        end
        assert.are.same({ tokenizer[begins], tokenizer[ends], #tokenizer },
            { other[begins], other[ends], #other })
    end

    local function byte_pairs()
        os.execute(("cp %sllama/config.json %sllama/model.safetensors %s"):format(FOLDER, FOLDER,
            folder))
        local vocab = {}
        for i = 1, 54 do vocab[utf8.char(i < 10 and 0x120 + i or 61 + i)] = i + 2 end
        vocab["\u{120}"], vocab["ab"] = 2, 57
        put("tokenizer.json", heed.json.encode { model = { type = "BPE", vocab = vocab,
            merges = { "a b" } },
            pre_tokenizer = { type = "ByteLevel", add_prefix_space = false, use_regex = true },
            decoder = { type = "ByteLevel" },
            added_tokens = { { id = 0, content = "<s>", special = true },
                { id = 1, content = "</s>", special = true } } })
        put("tokenizer_config.json", '{ "bos_token": "<s>", "eos_token": "</s>",\n"chat_template": "x" }')
    end

    it("is written byte for byte", function()
        byte_pairs()
        local model, tokenizer = heed.models.load(folder)
        assert(model, tokenizer)
        local other = shell.lines "mktemp -d"[1]
        assert(heed.models.save(other, model, tokenizer))
        for _, name in ipairs { "tokenizer.json", "tokenizer_config.json" } do
            assert.are.equal(shell.read(folder .. "/" .. name), shell.read(other .. "/" .. name))
        end
        os.execute("rm -r " .. other)
    end)

    it("goes into a GGUF file, and out of one into another: byte pairs", function()
        byte_pairs()
        local model, tokenizer = heed.models.load(folder)
        assert(heed.models.save(path, model, tokenizer))
        local file = assert(heed.gguf.open(path))
        assert.are.equal("gpt-2", file.metadata["tokenizer.ggml.pre"])
        local again, other = heed.models.load(path)
        check_same(tokenizer, other, "bos", "eos")
        assert.are.equal("x", other.template)
        assert(heed.models.save(folder .. "/b.gguf", again, other))
        local second = assert(heed.gguf.open(folder .. "/b.gguf"))
        assert.are.same(file.metadata, second.metadata)
        assert.are.same(file.kinds, second.kinds)
    end)

    it("comes out of a GGUF file into a directory: byte pairs", function()
        byte_pairs()
        local model, tokenizer = heed.models.load(folder)
        assert(heed.models.save(path, model, tokenizer))
        local again, inside = heed.models.load(path)
        local other = shell.lines "mktemp -d"[1]
        assert(heed.models.save(other, again, inside))
        local _, third = heed.models.load(other)
        check_same(tokenizer, assert(third), "bos", "eos")
        assert.are.equal("x", third.template)
        os.execute("rm -r " .. other)
    end)

    it("goes into a GGUF file, and out of it: WordPiece", function()
        os.execute(("cp %sbert/config.json %sbert/model.safetensors %s"):format(FOLDER, FOLDER,
            folder))
        local words = { "[PAD]", "[UNK]", "[CLS]", "[SEP]" }
        for i = 5, 60 do
            words[i] = i < 31 and string.char(92 + i) or "##" .. string.char(66 + i)
        end
        put("vocab.txt", table.concat(words, "\n") .. "\n")
        local model, tokenizer = heed.models.load(folder)
        assert(heed.models.save(path, model, tokenizer))
        local _, other = heed.models.load(path)
        check_same(tokenizer, assert(other), "cls", "sep")
        local again = assert(heed.models.load(path))
        assert(heed.models.save(folder .. "/out", again, other))
        check_same(tokenizer, assert(heed.text.tokenizer(folder .. "/out")), "cls", "sep")
    end)
end)
