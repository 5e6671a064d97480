--- What is said of files that are wrong, by key and tensor; and of models that are used wrongly.
--- (spec/fuzz/models_fuzz_spec.lua tries what nobody thought of.)

local families = require "spec.support.families"
local heed = require "heed"
local nn = heed.nn
local shell = require "spec.support.shell"
require "heed.luassert"

local FOLDER = families.FOLDER
local folder

before_each(function() folder = shell.lines "mktemp -d"[1] end)
after_each(function() os.execute("rm -r " .. folder) end)

local function take(name) os.execute(("cp %s%s/* %s"):format(FOLDER, name, folder)) end

local function rewrite(file, change)
    local path = folder .. "/" .. file
    local config = assert(heed.json.decode(shell.read(path)))
    change(config)
    local out <close> = assert(io.open(path, "w"))
    out:write(heed.json.encode(config))
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
    assert.are.equal(folder .. ": " .. message, problem)
end

describe("a config is refused by its key", function()
    local null = heed.json.null

    for _, case in ipairs {
        { "bert", "num_attention_heads", 5,
            "hidden_size: expected a multiple of num_attention_heads (5), got 32" },
        { "bert", "num_hidden_layers", 1000000000, "num_hidden_layers: expected an integer of at "
            .. "least 1, and not far more than the file has tensors, got 1000000000" },
        { "bert", "vocab_size", 1 << 40,
            "vocab_size: expected an integer from 1 to 268435456, got 1099511627776" },
        { "bert", "hidden_dropout_prob", "x",
            'hidden_dropout_prob: expected a number from 0 to 1, got "x"' },
        { "bert", "layer_norm_eps", null,
            "layer_norm_eps: expected a number of at least 0, got false" },
        { "bert", "architectures", 5, "architectures: expected a list of strings, got 5" },
        { "llama_tied", "attention_bias", 3, "attention_bias: expected true or false, got 3" },
        { "llama_tied", "eos_token_id", 0.5,
            "eos_token_id: expected an integer, or a list of integers, got 0.5" },
        { "t5_gated", "feed_forward_proj", 3, "feed_forward_proj: expected a string, got 3" },
        { "t5_gated", "relative_attention_max_distance", 4, "relative_attention_num_buckets: "
            .. "expected at most 7 for relative_attention_max_distance (4), got 8" },
        { "clip", "text_config", 5, "text_config: expected an object, got 5" },
    } do
        local name, key, value, message = table.unpack(case)
        it(("%s: %s = %s"):format(name, key, tostring(value)), function()
            take(name)
            rewrite("config.json", function(c) c[key] = value end)
            refused("config.json: " .. message)
        end)
    end

    it("of a part, of rotary positions, of what lies beside it", function()
        take "clip"
        rewrite("config.json", function(c) c.vision_config.patch_size = "4" end)
        refused "config: vision_config.patch_size: expected an integer from 1 to 1048576, got \"4\""
        take "clip"
        rewrite("preprocessor_config.json", function(c) c.image_mean[2] = "x" end)
        refused 'preprocessor_config.json: image_mean[2]: expected a number, got "x"'
        take "llama_yarn"
        rewrite("config.json", function(c) c.rope_parameters.rope_theta = -1 end)
        refused("config: config.json: rope_parameters: rope_theta: expected a number of at least 1, "
            .. "got -1")
        take "bart"
        rewrite("generation_config.json", function(c) c.forced_bos_token_id = 60 end)
        refused("config: generation_config.json: forced_bos_token_id: expected a token below 60 "
            .. "(vocab_size), got 60")
    end)

    it("and takes -1 for no token", function()
        take "llama"
        rewrite("config.json", function(c) c.eos_token_id = { -1, 2 } end)
        assert.are.same({ 3 }, assert(heed.models.load(folder)).generation.stop)
    end)
end)

describe("tensors are refused by their names", function()
    it("that hold no floats", function()
        for _, dtype in ipairs { "i64", "u8", "bool" } do
            take "llama"
            resave(function(t) t["model.norm.weight"] = t["model.norm.weight"]:to(dtype) end)
            refused("model.norm.weight: expected a tensor of floats, got " .. dtype)
        end
    end)

    it("that are parts of one, and single numbers or of other columns", function()
        take "llama"
        local name = "model.layers.0.self_attn.q_proj.weight"
        resave(function(t) t[name] = heed.tensor(1.0) end)
        refused("decoder.layers.1.self_attn.in_proj_weight: expected [64, 32], got parts that "
            .. "do not go together; do config and weights belong together?")
        take "whisper"
        resave(function(t)
            local bias = "model.encoder.layers.0.self_attn.q_proj.bias"
            t[bias] = t[bias]:view(1, -1)
        end)
        refused("model.encoder.layers.0.self_attn.q_proj.bias: expected rows of [48], got [1, 16]; "
            .. "do config and weights belong together?")
    end)

    it("and a table of positions that memory does not hold is not made", function()
        take "m2m_100"
        rewrite("config.json", function(c) c.max_position_embeddings = 1 << 21 end)
        refused("config: config.json: max_position_embeddings: expected at most 1048576, got 2097152")
        take "marian"
        rewrite("config.json", function(c) c.max_position_embeddings = 1 << 20 end)
        collectgarbage()
        local before = heed.memory_limit(heed.memory().live + (1 << 26))
        local ok, model, message = pcall(heed.models.load, folder)
        heed.memory_limit(before)
        assert.is_true(ok, model)
        assert.is_nil(model)
        assert.matches("memory: its parameters take 129 MB", message)
    end)
end)

describe("a model that was changed", function()
    local function saved(change, options, name)
        local model = assert(heed.models.load(FOLDER .. (name or "llama_tied")))
        change(model)
        local ok, message = heed.models.save(folder .. "/out", model, nil, options)
        return ok, message, model
    end

    local function untie(model)
        model.output.weight = nn.parameter(model.output.weight:detach() * 2)
    end

    it("is not saved beside a config that says another", function()
        for message, change in pairs {
            ["output.weight: the model has its own, and its config says tokens.weight; "] = untie,
            ["decoder.layers.2.self_attn.in_proj_weight: the model has none, and its config says "]
                = function(model) model.decoder.layers[2] = nil end,
            ["extra.weight: the model has [2, 3], and its config says none; "]
                = function(model) model.extra = nn.Linear(3, 2) end,
            ["decoder.norm.weight: the model has [8], and its config says [32]; "]
                = function(model) model.decoder.norm = nn.RMSNorm(8) end,
        } do
            local ok, problem = saved(change)
            assert.is_nil(ok)
            assert.matches(folder .. "/out: " .. message, problem, 1, true)
            assert.matches("save(path, model, tokenizer, { config = ... })", problem, 1, true)
            assert.is_nil(io.open(folder .. "/out"))
        end
        local ok, problem = saved(function(model) model.output.weight = model.tokens.weight end, nil,
            "llama")
        assert.is_nil(ok)
        assert.matches("output.weight: the model has tokens.weight, and its config says its own",
            problem, 1, true)
    end)

    it("is saved beside one that says it", function()
        local config = select(3, heed.models.load(FOLDER .. "llama_tied"))
        config.tie_word_embeddings = false
        local ok, problem, model = saved(untie, { config = config })
        assert.is_true(ok, problem)
        local again = assert(heed.models.load(folder .. "/out"))
        local ids = heed.ids { { 1, 2, 3 } }
        assert.is_true(again.output.weight:equal(model.output.weight))
        assert.is_close(again(ids), model(ids), 0)
    end)

    it("needs a config that is complete", function()
        local model = heed.models.Llama { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
            num_attention_heads = 2, intermediate_size = 16 }
        for _, path in ipairs { folder .. "/out", folder .. "/out.gguf" } do
            local ok, message = heed.models.save(path, model, nil, { config = { model_type = "llama" } })
            assert.is_nil(ok)
            assert.are.equal(path .. ": vocab_size: expected an integer from 1 to 268435456, got none",
                message)
        end
    end)
end)

describe("misuse of a model says what was expected", function()
    local function raises(message, f, ...)
        local ok, problem = pcall(f, ...)
        assert.is_false(ok)
        assert.matches(message, problem, 1, true)
        assert.matches("^spec/models/refusals_spec.lua:%d+: ", problem)
    end

    it("of options that there are none of", function()
        local ids = heed.ids { { 1, 2 } }
        for _, name in ipairs { "llama", "gpt2", "gemma2" } do
            local model = families.loaded(name)
            raises("expected a table of named options, { cache = ... }, got 5", function()
                model(ids, 5)
            end)
            raises('there is no option "cach"; did you mean cache?', function()
                model(ids, { cach = 1 })
            end)
        end
        for _, name in ipairs { "bert", "albert", "distilbert", "mpnet", "xlm_roberta" } do
            local model = families.loaded(name)
            raises('there is no option "length"; did you mean lengths?', function()
                model(ids, { length = { 1 } })
            end)
        end
        local model = families.loaded "bart"
        raises('there is no option "lengths"', function() model:encode(ids, { lengths = { 2 } }) end)
    end)

    it("of methods without a colon, whatever they are called", function()
        local model = families.loaded "bert"
        raises("heed.nn.Module:embed: expected a colon, model:embed(...), got nil for model",
            function() model.embed() end)
        local bart = families.loaded "bart"
        raises("expected a colon, model:encode(...)", function() bart.encode(heed.ids { { 1 } }) end)
    end)

    it("of paths, vectors and images", function()
        raises("heed.models.load: path: expected one without zero bytes, and not empty, got \"\"",
            function() heed.models.load "" end)
        raises("heed.models.save: path: expected one without zero bytes", function()
            heed.models.save("a\0b", nn.Linear(1, 1))
        end)
        local pooling = heed.models.Pooling()
        raises("hidden: expected a tensor [B, L, E], got \"x\"", function() pooling "x" end)
        raises("lengths: expected 2 numbers from 0 to 3, got [4, 1]", function()
            pooling(heed.zeros(2, 3, 4), { 4, 1 })
        end)
        raises("lengths: expected 2 numbers from 0 to 3, got [1]", function()
            pooling(heed.zeros(2, 3, 4), { 1 })
        end)
        raises("modes: expected at least one", function() heed.models.Pooling { modes = {} } end)
        local processor = heed.models.ImageProcessor { do_resize = false, do_normalize = false }
        raises("images: nowhere.png: No such file", function() processor "nowhere.png" end)
        raises("images: expected at least one", function() processor {} end)
    end)

    it("of a config given by hand, as an error with the line", function()
        raises('config.json: hidden_act: unknown: "mish"', function()
            heed.models.Bert { vocab_size = 20, hidden_size = 8, hidden_act = "mish" }
        end)
    end)
end)
