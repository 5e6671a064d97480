local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local recorded = assert(heed.safetensors.load "spec/fixtures/pooling.safetensors")
local hidden, lengths = recorded.hidden, recorded.lengths

describe("heed.models.Pooling", function()
    local MODES = { "cls", "max", "mean", "mean_sqrt_len", "weightedmean", "lasttoken" }

    for _, mode in ipairs(MODES) do
        it("gives what sentence-transformers gives: " .. mode, function()
            local pooling = heed.models.Pooling { modes = { mode }, normalize = false }
            local want = recorded[mode] or recorded[mode .. "_tokens"]
            assert.is_close(pooling(hidden, lengths), want, 1e-6)
            assert.is_close(pooling(hidden, lengths:totable()), want, 1e-6)
            local all, whole = pooling(hidden), pooling(hidden, { 5, 5, 5 })
            assert.is_close(all, whole, 0)
            heed.gradcheck(function(x) return pooling(x, lengths) end, { hidden:to "f64" })
        end)
    end

    it("joins the vectors of several modes", function()
        local pooling = heed.models.Pooling { modes = MODES, normalize = false }
        assert.is_close(pooling(hidden, lengths), recorded.all, 1e-6)
    end)

    it("does not see what is behind the ends, and a vector of zeros stays so", function()
        local other = hidden:clone()
        other[{ 2, { 4, 5 } }] = 0 / 0
        for _, mode in ipairs(MODES) do
            local pooling = heed.models.Pooling { modes = { mode } }
            assert.is_close(pooling(other, lengths)[2], pooling(hidden, lengths)[2], 0)
        end
        assert.are.same({ { 0, 0 } }, heed.models.Pooling()(heed.zeros(1, 3, 2)):totable())
    end)

    it("refuses what is no mode", function()
        assert.has_error(function() heed.models.Pooling { modes = { "median" } } end)
    end)
end)

describe("embed", function()
    local folder

    local function write(name, text)
        os.execute(("mkdir -p %s/%s"):format(folder, name:match "^(.*)/" or "."))
        local file <close> = assert(io.open(folder .. "/" .. name, "w"))
        file:write(type(text) == "string" and text or heed.json.encode(text))
    end

    local function modules(...)
        local list = { { idx = 0, path = "", type = "sentence_transformers.models.Transformer" } }
        for i, kind in ipairs { ... } do
            list[i + 1] = { idx = i, path = i .. "_" .. kind,
                type = "sentence_transformers.models." .. kind }
        end
        write("modules.json", list)
    end

    local function load()
        local model, message = heed.models.load(folder)
        return assert(model, message), message
    end

    local WORDS = { "[PAD]", "[UNK]", "[CLS]", "[SEP]" }
    for byte = ("a"):byte(), ("z"):byte() do WORDS[#WORDS + 1] = string.char(byte) end

    before_each(function()
        folder = shell.lines "mktemp -d"[1]
        os.execute(("cp %sbert/* %s"):format(families.FOLDER, folder))
        write("vocab.txt", table.concat(WORDS, "\n"))
    end)
    after_each(function() os.execute("rm -r " .. folder) end)

    it("means and normalises where files say nothing; texts are ids", function()
        local model, tokenizer = load()
        local texts = { "a b c", "d", "e f", "" }
        local ids, count = tokenizer:encode_batch(texts)
        local vectors = model:embed(texts)
        assert.is_close(vectors, model:embed(ids, count), 1e-6)
        local mean = model:hidden(ids:narrow(1, 2, 1):narrow(2, 1, 3)):mean(2)
        assert.is_close(vectors[2], (mean / mean:norm())[1], 1e-6)
        assert.is_close(model:embed "d", vectors:narrow(1, 2, 1), 1e-6)
    end)

    it("wants texts", function()
        local model = load()
        assert.has_error(function() model:embed {} end,
            "Bert: embed: texts: expected at least one, got none")
        assert.has_error(function() model:embed { "a", 5 } end,
            "Bert: embed: texts[2]: expected a string, got 5")
    end)

    it("keeps the order of many texts", function()
        local model, texts = load(), {}
        for i = 1, 70 do texts[i] = ("x "):rep(i * 13 % 23) .. WORDS[5 + i % 20] end
        local vectors = model:embed(texts)
        for _, i in ipairs { 1, 33, 70 } do
            assert.is_close(vectors[i], model:embed(texts[i])[1], 1e-5)
        end
    end)

    it("pools as 1_Pooling says, and does not normalise unasked", function()
        modules "Pooling"
        write("1_Pooling/config.json", { pooling_mode_cls_token = true,
            pooling_mode_mean_tokens = false, word_embedding_dimension = 32 })
        local model, tokenizer = load()
        local ids = tokenizer:encode_batch { "a b" }
        assert.is_close(model:embed "a b", model(ids):select(2, 1), 1e-6)
        write("1_Pooling/config.json", { pooling_mode = { "cls", "mean_sqrt_len_tokens" },
            embedding_dimension = 32 })
        assert.are.same({ "cls", "mean_sqrt_len" }, load().pooling.modes)
    end)

    it("has a dense layer behind it, with its parameters", function()
        modules("Pooling", "Dense", "Normalize")
        write("1_Pooling/config.json", { pooling_mode_mean_tokens = true })
        write("2_Dense/config.json", { in_features = 4, out_features = 3, bias = true,
            activation_function = "torch.nn.modules.activation.Tanh" })
        assert(heed.safetensors.save(folder .. "/2_Dense/model.safetensors",
            { ["linear.weight"] = recorded.weight, ["linear.bias"] = recorded.bias }))
        local model = load()
        assert.is_close(model.pooling(hidden, lengths), recorded.dense, 1e-6)
        assert.is_false(model.pooling.steps[1][1].weight.requires_grad)
    end)

    it("cuts texts where the sentence encoder says, else the tokenizer, else the positions", function()
        local long = ("a "):rep(60)
        local function count_of(model)
            local hidden_of, count = model.hidden, nil
            function model:hidden(ids, options)
                count = ids:size(2)
                return hidden_of(self, ids, options)
            end
            model:embed(long)
            return count
        end
        assert.are.equal(40, count_of(load()))
        write("tokenizer_config.json", { model_max_length = 20 })
        assert.are.equal(20, count_of(load()))
        write("sentence_bert_config.json", { max_seq_length = 25, do_lower_case = true })
        local model = load()
        assert.are.equal(25, count_of(model))
        assert.is_true(model.pooling.lowercase)
        write("tokenizer_config.json", { model_max_length = 1e30 })
        write("sentence_bert_config.json", { max_seq_length = heed.json.null })
        assert.are.equal(40, count_of(load()))
    end)

    it("does not look for a head that an encoder of sentences does not have", function()
        modules "Pooling"
        write("1_Pooling/config.json", { pooling_mode_mean_tokens = true })
        local config = heed.json.decode(shell.read(folder .. "/config.json"))
        config.architectures = { "BertForMaskedLM" }
        write("config.json", config)
        assert.is_nil(load().head)
        local function wants_head()
            local model, message = heed.models.load(folder)
            assert.is_nil(model)
            assert.matches("expected %d more tensors: cls.predictions", message)
        end
        modules() -- the model alone, as of a cross-encoder
        wants_head()
        os.remove(folder .. "/modules.json")
        wants_head()
    end)

    it("refuses modules that are not known", function()
        local function refused(message)
            local model, problem = heed.models.load(folder)
            assert.is_nil(model)
            assert.matches(message, problem)
        end
        write("1_Pooling/config.json", { pooling_mode_mean_tokens = true })
        modules("Pooling", "CNN")
        refused "modules.json: type: unknown: sentence_transformers.models.CNN"
        modules("Normalize")
        refused "modules.json: expected a Pooling"
        modules("Pooling", "Dense")
        write("2_Dense/config.json", { in_features = 4, out_features = 3,
            activation_function = "torch.nn.modules.activation.Mish" })
        refused "Dense: activation_function: unknown: Mish"
        modules "Pooling"
        write("1_Pooling/config.json", { pooling_mode = "median" })
        refused "Pooling: pooling_mode: unknown: median"
        write("1_Pooling/config.json", { pooling_mode_of_tomorrow = true })
        refused "Pooling: unknown: pooling_mode_of_tomorrow"
    end)

    it("wants a tokenizer for texts", function()
        os.remove(folder .. "/vocab.txt")
        local model = load()
        assert.has_error(function() model:embed { "a" } end, "Bert: embed: texts: expected "
            .. "ids, as the model has no tokenizer; model.tokenizer = heed.text.tokenizer(path)")
    end)

    it("is the same of a model that was saved, and images are made ready as before", function()
        modules("Pooling", "Normalize")
        write("1_Pooling/config.json", { pooling_mode_cls_token = true })
        write("sentence_bert_config.json", { max_seq_length = 3, do_lower_case = true })
        write("preprocessor_config.json", { size = 8 })
        local model, tokenizer = heed.models.load(folder)
        local saved = shell.lines "mktemp -d"[1]
        assert(heed.models.save(saved, model, tokenizer))
        local again = assert(heed.models.load(saved))
        assert.are.same({ "cls" }, again.pooling.modes)
        assert.are.equal(3, again.pooling.max_tokens)
        assert.is_close(again:embed "a b c d", model:embed "a b c d", 0)
        assert.are.equal(shell.read(folder .. "/preprocessor_config.json"),
            shell.read(saved .. "/preprocessor_config.json"))
        os.execute("rm -r " .. saved)
    end)

    it("reads norms under their oldest names", function()
        local path = folder .. "/model.safetensors"
        local tensors, old = assert(heed.safetensors.load(path)), {}
        for name, t in pairs(tensors) do
            old[name:gsub("LayerNorm.weight", "LayerNorm.gamma"):gsub("LayerNorm.bias",
                "LayerNorm.beta")] = t
        end
        local want = load():embed "a b"
        assert(heed.safetensors.save(path, old))
        assert.is_close(load():embed "a b", want, 0)
    end)
end)
