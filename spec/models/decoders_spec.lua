--- Models that predict the next token: spec/fixtures/record_families_decoders.py.

local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local loaded, check_gradients = families.loaded, families.check_gradients

-- Folder, class, what the file has before the names.
local CASES = {
    { "gpt2", "GPT2", "transformer." }, { "gpt2_untied", "GPT2", "transformer." },
    { "mistral", "Llama" }, { "qwen2", "Llama" }, { "qwen3", "Llama" }, { "llama_yarn", "Llama" },
    { "gemma2", "Gemma" }, { "gemma3", "Gemma" }, { "phi3", "Phi3" }, { "phi3_long", "Phi3" },
}

describe("models that predict the next token", function()
    for _, case in ipairs(CASES) do
        local name, class, prefix = table.unpack(case)
        it("give transformers' logits, gradients and tokens: " .. name, function()
            local model, values = loaded(name, { grad = true })
            assert.are.equal(class, model.class_name)
            local ids = values.ids + 1
            local logits = model(ids)
            assert.is_close(logits, values.logits, 1e-5)
            ;(logits * values.weights):sum():backward()
            check_gradients(name, model, heed.models[class], values, prefix)
            for _, cache in ipairs { true, false } do
                local written = heed.generate(model, ids,
                    { max_new_tokens = 12, cache = cache, stop = {} })
                assert.are.same((values.written + 1):narrow(2, 8, 12):totable(), written)
            end
        end)
    end
end)

describe("longrope", function()
    it("reads what a cache holds again where its angles change, there and back", function()
        local model, values = loaded "phi3_long"
        local ids = (values.ids + 1):totable()[1]
        local short = { table.unpack(ids, 1, 2) }
        -- With ends_at the first answer has so many tokens, and its row goes.
        local function scores(prompts, cache, ends_at)
            local count = 0
            local function on_token(row)
                count = count + (row == 1 and 1 or 0)
                return row ~= 1 or count ~= ends_at
            end
            local _, answers = heed.generate(model, prompts, { max_new_tokens = 12, cache = cache,
                stop = {}, scores = true, on_token = on_token })
            local all = {}
            for i, answer in ipairs(answers) do all[i] = heed.tensor(answer.log_probs) end
            return all
        end
        assert.is_close(scores({ ids }, true)[1], scores({ ids }, false)[1], 1e-5)
        local with, without = scores({ ids, short }, true, 7), scores({ ids, short }, false, 7)
        for i, count in ipairs { 7, 12 } do
            assert.has_shape(with[i], { count })
            assert.is_close(with[i], without[i], 1e-5)
        end
    end)
end)

describe("configs of models that predict the next token", function()
    local folder

    before_each(function() folder = shell.lines "mktemp -d"[1] end)
    after_each(function() os.execute("rm -r " .. folder) end)

    local function put(name, value)
        local file <close> = assert(io.open(folder .. "/" .. name, "w"))
        file:write(heed.json.encode(value))
    end

    -- The recorded model with another config.
    local function load_with(name, change)
        local from = families.FOLDER .. name
        local c = assert(heed.json.decode(shell.read(from .. "/config.json")))
        change(c)
        os.execute(("cp %s/model.safetensors %s"):format(from, folder))
        put("config.json", c)
        return heed.models.load(folder)
    end

    local function same(name, change)
        local model, message = load_with(name, change)
        assert(model, message)
        local values = assert(heed.safetensors.load(families.FOLDER .. name .. "/values.safetensors"))
        assert.is_close(model(values.ids + 1), values.logits, 1e-5)
    end

    local function refused(name, message, change)
        local model, problem = load_with(name, change)
        assert.is_nil(model)
        assert.matches(message, problem)
    end

    it("may be of older files", function()
        same("gemma3", function(c)
            c.rope_parameters, c.layer_types, c.sliding_window_pattern = nil, nil, 2
            c.rope_theta, c.rope_local_base_freq = 1000, 100
            c.rope_scaling = { type = "linear", factor = 2 }
        end)
        same("phi3_long", function(c)
            local rope = c.rope_parameters
            c.rope_theta, c.rope_parameters = rope.rope_theta, nil
            c.rope_scaling = { type = "su", short_factor = rope.short_factor,
                long_factor = rope.long_factor }
        end)
        same("phi3", function(c)
            c.partial_rotary_factor, c.rope_parameters = 0.5, nil
            c.rope_scaling = heed.json.null
        end)
        same("qwen2", function(c) c.layer_types = nil end)
        same("qwen3", function(c) c.layer_types, c.rope_theta, c.rope_parameters = nil, 500, nil end)
    end)

    it("say null for none", function()
        local function logits(window)
            return load_with("mistral", function(c) c.sliding_window = window end)(
                heed.ids { { 3, 5, 9, 2, 7, 8 } })
        end
        local null = logits(heed.json.null)
        assert.is_false(null:allclose(logits(4)))
        assert.is_close(null, logits(40), 0)
        assert.is_close(logits(nil), logits(4096), 0)
    end)

    it("are refused by the name of what is not built in", function()
        refused("qwen3", 'hidden_act: unknown: "mish"', function(c) c.hidden_act = "mish" end)
        refused("gpt2", 'activation_function: unknown: "mish"', function(c) c.activation_function = "mish" end)
        refused("gpt2", "attention: unknown: scale_attn_by_inverse_layer_idx",
            function(c) c.scale_attn_by_inverse_layer_idx = true end)
        refused("gemma2", "attention: unknown: use_bidirectional_attention",
            function(c) c.use_bidirectional_attention = true end)
        refused("qwen2", "layer_types: unknown: chunked_attention",
            function(c) c.layer_types[2] = "chunked_attention" end)
        refused("qwen2", "layer_types: expected 2 %(num_hidden_layers%), got 1", function(c) c.layer_types[2] = nil end)
        refused("qwen2", "sliding_window: expected a number, got a boolean",
            function(c) c.sliding_window = heed.json.null end)
        refused("gemma3", "rope_type: unknown: proportional",
            function(c) c.rope_parameters.full_attention.rope_type = "proportional" end)
        refused("phi3_long", "long_factor: expected 4 numbers, one for each pair of features, got 3",
            function(c) c.rope_parameters.long_factor[4] = nil end)
        refused("phi3", "linear1.weight: expected %[20, 16%], got %[24, 16%]",
            function(c) c.intermediate_size = 20 end)
    end)

    it("say what ends an answer, and generation_config.json before them", function()
        local model, values = loaded "qwen3"
        local ids, written = values.ids + 1, (values.written + 1):narrow(2, 8, 12):totable()[1]
        local function writes(eos, generation, options)
            if generation then put("generation_config.json", generation) end
            local own = load_with("qwen3", function(c) c.eos_token_id = eos end)
            return heed.generate(own, ids, options or { max_new_tokens = 12 })[1]
        end
        local fourth, second = written[4] - 1, written[2] - 1
        assert.are.same({ table.unpack(written, 1, 3) }, writes(fourth))
        assert.are.same({ table.unpack(written, 1, 1) }, writes({ fourth, second }))
        assert.are.same({ table.unpack(written, 1, 3) },
            writes(second, { eos_token_id = { 59, fourth } }))
        assert.are.same(written, writes(second, nil, { max_new_tokens = 12, stop = {} }))
        assert.are.same({ table.unpack(written, 1, 2) },
            writes(second, nil, { max_new_tokens = 12, stop = written[3] }))
        assert.are.same({ 3 }, model.generation.stop)
    end)

    it("leave it to the tokenizer where they do not say it", function()
        put("tokenizer.json", { version = "1.0",
            added_tokens = { { id = 1, content = "</s>", special = true } },
            model = { type = "BPE", vocab = { a = 0, ["</s>"] = 1 }, merges = {} } })
        put("tokenizer_config.json", { eos_token = "</s>" })
        local model, reader = load_with("qwen3", function(c) c.eos_token_id = heed.json.null end)
        assert.are.equal(2, reader.eos)
        assert.are.same({ 2 }, model.generation.stop)
    end)
end)
