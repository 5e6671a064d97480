--- Models that predict the next token in GGUF files, as llama.cpp's converter writes them, against
--- the directories that they were made of. (spec/peers/decoders.lua compares with llama.cpp.)

local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local FOLDER = families.FOLDER

local LAYER = { input_layernorm = "attn_norm", post_attention_layernorm = "ffn_norm",
    pre_feedforward_layernorm = "ffn_norm", post_feedforward_layernorm = "post_ffw_norm",
    ["self_attn.q_proj"] = "attn_q", ["self_attn.k_proj"] = "attn_k",
    ["self_attn.v_proj"] = "attn_v", ["self_attn.o_proj"] = "attn_output",
    ["self_attn.q_norm"] = "attn_q_norm", ["self_attn.k_norm"] = "attn_k_norm",
    ["self_attn.qkv_proj"] = "attn_qkv", ["mlp.gate_up_proj"] = "ffn_up",
    ["mlp.gate_proj"] = "ffn_gate", ["mlp.up_proj"] = "ffn_up", ["mlp.down_proj"] = "ffn_down",
    ln_1 = "attn_norm", ln_2 = "ffn_norm", ["attn.c_attn"] = "attn_qkv",
    ["attn.c_proj"] = "attn_output", ["mlp.c_fc"] = "ffn_up", ["mlp.c_proj"] = "ffn_down" }
local OTHERS = { ["model.embed_tokens"] = "token_embd", ["model.norm"] = "output_norm",
    lm_head = "output", ["transformer.wte"] = "token_embd", ["transformer.wpe"] = "position_embd",
    ["transformer.ln_f"] = "output_norm" }

local function name_of(name, is_gemma)
    local before, kind = name:match "^(.*)%.(%a+)$"
    local layer, part = before:match "^%a+%.%a+%.(%d+)%.(.*)$"
    if not layer then return OTHERS[before] .. "." .. kind end
    local there = LAYER[part]
    if is_gemma and part == "post_attention_layernorm" then there = "post_attention_norm" end
    return ("blk.%s.%s.%s"):format(layer, there, kind)
end

-- As architecture llama keeps the rows of queries and keys: features i and i + D/2 are neighbours.
local function neighbours(w, heads)
    local rows = w:size(1)
    return w:reshape(heads, 2, rows // heads // 2, -1):transpose(2, 3):reshape(w.shape)
end

local function tensors_of(name, c, architecture)
    local tensors, is_gemma = {}, architecture:find "^gemma" ~= nil
    for their, t in pairs(assert(heed.safetensors.load(FOLDER .. name .. "/model.safetensors"))) do
        if architecture == "llama" and their:find "[qk]_proj" then
            t = neighbours(t, their:find "q_proj" and c.num_attention_heads
                or c.num_key_value_heads)
        elseif is_gemma and their:find "norm" then
            t = t + 1
        elseif architecture == "gpt2" and t:dim() == 2 and their:find "%.h%." then
            t = t:transpose(1, 2):contiguous()
        end
        tensors[name_of(their, is_gemma)] = t
    end
    return tensors
end

local KEYS = { context_length = "max_position_embeddings", embedding_length = "hidden_size",
    block_count = "num_hidden_layers", feed_forward_length = "intermediate_size",
    ["attention.head_count"] = "num_attention_heads",
    ["attention.head_count_kv"] = "num_key_value_heads", ["attention.key_length"] = "head_dim",
    ["attention.layer_norm_rms_epsilon"] = "rms_norm_eps",
    ["attention.sliding_window"] = "sliding_window", vocab_size = "vocab_size",
    attn_logit_softcapping = "attn_logit_softcapping",
    final_logit_softcapping = "final_logit_softcapping" }
local GPT2_KEYS = { context_length = "n_positions", embedding_length = "n_embd",
    block_count = "n_layer", ["attention.head_count"] = "n_head", vocab_size = "vocab_size",
    ["attention.layer_norm_epsilon"] = "layer_norm_epsilon" }

local function metadata_of(c, architecture, more)
    local metadata = { ["general.architecture"] = architecture }
    local function put(key, value) metadata[architecture .. "." .. key] = value end
    for key, name in pairs(architecture == "gpt2" and GPT2_KEYS or KEYS) do
        if c[name] ~= heed.json.null then put(key, c[name]) end
    end
    local rope = c.rope_parameters and (c.rope_parameters.full_attention or c.rope_parameters)
    if rope then put("rope.freq_base", rope.rope_theta) end
    for key, value in pairs(more) do
        if key:find "^tokenizer" then metadata[key] = value else put(key, value) end
    end
    return metadata
end

-- Folder, architecture, further metadata and tensors, and what its config is there.
local CASES = {
    { "gpt2", "gpt2", {}, {} },
    { "qwen2", "qwen2", { ["tokenizer.ggml.eos_token_id"] = 7, ["tokenizer.ggml.eot_token_id"] = 9 },
        {}, function(c) c.use_sliding_window, c.layer_types, c.eos_token_id = false, nil, { 7, 9 } end },
    { "qwen3", "qwen3", {}, {} },
    { "gemma2", "gemma2", {}, {}, function(c) c.query_pre_attn_scalar = c.head_dim end },
    { "gemma3", "gemma3", { ["rope.scaling.type"] = "linear", ["rope.scaling.factor"] = 2.0,
        ["rope.freq_base_swa"] = 100.0 }, {},
        function(c) c.query_pre_attn_scalar, c.layer_types = c.head_dim, nil end },
    { "phi3", "phi3", { ["rope.dimension_count"] = 4 }, {} },
    { "phi3_long", "phi3", { ["rope.scaling.original_context_length"] = 5,
        ["rope.scaling.attn_factor"] = 1.25 },
        { ["rope_factors_short.weight"] = { 1, 1.1, 1.2, 1.5 },
            ["rope_factors_long.weight"] = { 1, 2.5, 4, 8 } },
        function(c)
            c.rope_parameters.attention_factor, c.original_max_position_embeddings = 1.25, 5
        end },
    { "llama_tied", "llama", { ["rope.freq_base"] = 5000.0 },
        { ["rope_freqs.weight"] = { 1, 1.25, 2, 8 } },
        function(c)
            c.rope_parameters = { rope_type = "linear", rope_theta = 5000, factor = { 1, 1.25, 2, 8 } }
        end },
    { "llama_yarn", "llama", { ["rope.scaling.type"] = "yarn", ["rope.scaling.factor"] = 4.0,
        ["rope.scaling.original_context_length"] = 10, ["rope.scaling.yarn_beta_fast"] = 4.0,
        ["rope.scaling.attn_factor"] = 0.5 }, {},
        function(c)
            c.rope_parameters.mscale = nil
            c.rope_parameters.attention_factor = 0.5 * (0.1 * math.log(4) + 1)
        end },
    { "mistral", "llama", {}, {}, function(c) c.sliding_window = heed.json.null end },
}

describe("models that predict the next token, in GGUF files", function()
    local path, folder

    before_each(function()
        path, folder = os.tmpname() .. ".gguf", shell.lines "mktemp -d"[1]
    end)
    after_each(function()
        os.remove(path)
        os.execute("rm -r " .. folder)
    end)

    local function config_of(name)
        return assert(heed.json.decode(shell.read(FOLDER .. name .. "/config.json")))
    end

    local function write(name, architecture, more, added)
        local c = config_of(name)
        local tensors = tensors_of(name, c, architecture)
        for key, values in pairs(added) do tensors[key] = heed.tensor(values) end
        assert(heed.gguf.save(path, metadata_of(c, architecture, more), tensors))
    end

    -- The directory with a config that says the same as the file.
    local function of_directory(name, change)
        local c = config_of(name)
        if change then change(c) end
        os.execute(("cp %s%s/model.safetensors %s"):format(FOLDER, name, folder))
        local file <close> = assert(io.open(folder .. "/config.json", "w"))
        file:write(heed.json.encode(c))
        file:close()
        return assert(heed.models.load(folder))
    end

    for _, case in ipairs(CASES) do
        local name, architecture, more, added, change = table.unpack(case, 1, 5)
        it("compute as the directory does: " .. name, function()
            write(name, architecture, more, added)
            local ids = heed.ids { { 4, 18, 43, 6, 10, 31, 3 } }
            local model, want = assert(heed.models.load(path)), of_directory(name, change)
            assert.is_close(model(ids), want(ids), 1e-6)
            if more["tokenizer.ggml.eos_token_id"] then
                assert.are.same({ 8, 10 }, model.generation.stop)
                assert.are.same({ 8, 10 }, want.generation.stop)
            end
        end)
    end

    it("are written as directories that give the same, or refused", function()
        local function saved(name, architecture, more, added, place)
            write(name, architecture, more, added)
            local model = assert(heed.models.load(path))
            return model, heed.models.save(place, model)
        end
        local ids = heed.ids { { 4, 18, 43, 6, 10, 31, 3 } }
        for _, case in ipairs(CASES) do
            if case[1] ~= "llama_tied" then
                local model = saved(case[1], case[2], case[3], case[4], folder)
                assert.is_close(assert(heed.models.load(folder))(ids), model(ids), 1e-6)
            end
        end
        local factors = { ["rope_freqs.weight"] = { 1, 1.25, 2, 8 } }
        for _, place in ipairs { folder, folder .. "/a.gguf" } do
            local _, ok, message = saved("llama_tied", "llama", {}, factors, place)
            assert.is_nil(ok)
            assert.matches("rope_scaling: unknown: a list of factors", message)
        end
        local _, ok, message = saved("gemma2", "gemma2", {}, {}, folder .. "/a.gguf")
        assert.is_nil(ok)
        assert.matches("GGUF: model_type: unknown: gemma2", message)
    end)

    it("are refused by the name of a scaling that is not known", function()
        local function refused(more, message, added)
            write("qwen3", "qwen3", more, added or {})
            local model, problem = heed.models.load(path)
            assert.is_nil(model)
            assert.matches(message, problem)
        end
        refused({ ["rope.scaling.type"] = "spiral" }, "rope.scaling.type: unknown: spiral")
        refused({ ["rope.scaling.type"] = "yarn" },
            "rope.scaling.factor: expected a number, got a nil")
        refused({ ["rope.scaling.type"] = "yarn", ["rope.scaling.factor"] = 2.0,
            ["rope.scaling.yarn_log_multiplier"] = 0.1 }, "unknown: yarn_log_multiplier")
        refused({ ["rope.scaling.type"] = "linear", ["rope.scaling.factor"] = 2.0 },
            "rope.scaling.type beside rope_freqs: unknown: linear",
            { ["rope_freqs.weight"] = { 1, 1, 1, 1, 1 } })
    end)
end)
