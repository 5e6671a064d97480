--- GGUF files as what Hugging Face's directories are: a config, and tensors under the names that
--- they have there.

local gguf = require "heed.gguf"
local unknown = require "heed.text.tokenizer.unknown"

-- Names there and here; `#` is a layer's number, from 0 in both.
local NAMES = {
    { "model.embed_tokens.weight", "token_embd.weight" },
    { "model.norm.weight", "output_norm.weight" },
    { "lm_head.weight", "output.weight" },
    { "model.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight" },
    { "model.layers.#.self_attn.q_proj", "blk.#.attn_q" },
    { "model.layers.#.self_attn.k_proj", "blk.#.attn_k" },
    { "model.layers.#.self_attn.v_proj", "blk.#.attn_v" },
    { "model.layers.#.self_attn.o_proj", "blk.#.attn_output" },
    { "model.layers.#.post_attention_layernorm.weight", "blk.#.ffn_norm.weight" },
    { "model.layers.#.mlp.gate_proj", "blk.#.ffn_gate" },
    { "model.layers.#.mlp.up_proj", "blk.#.ffn_up" },
    { "model.layers.#.mlp.down_proj", "blk.#.ffn_down" },
}

-- What config.json calls the metadata ARCHITECTURE.KEY.
local KEYS = {
    hidden_size = "embedding_length", num_hidden_layers = "block_count",
    intermediate_size = "feed_forward_length", num_attention_heads = "attention.head_count",
    num_key_value_heads = "attention.head_count_kv", head_dim = "attention.key_length",
    rms_norm_eps = "attention.layer_norm_rms_epsilon", rope_theta = "rope.freq_base",
    max_position_embeddings = "context_length", vocab_size = "vocab_size",
}

local function literally(text) return (text:gsub("%W", "%%%0")) end

-- The file's name of a tensor.
local function name_of(theirs)
    for _, entry in ipairs(NAMES) do
        local pattern = "^" .. literally(entry[1]):gsub("%%#", "(%%d+)")
        local first, last, layer = theirs:find(pattern)
        if first then
            return (entry[2]:gsub("#", layer or "")) .. theirs:sub(last + 1)
        end
    end
    return theirs
end

local function config_of(file)
    local metadata = file.metadata
    local architecture = unknown.check(metadata["general.architecture"], "string",
        "general.architecture")
    local config = { model_type = architecture }
    for ours, key in pairs(KEYS) do config[ours] = metadata[architecture .. "." .. key] end
    for _, kind in ipairs { "type", "factor" } do
        if metadata[architecture .. ".rope.scaling." .. kind] ~= nil then
            unknown.kind(architecture, "rope.scaling")
        end
    end
    local tokens = metadata["tokenizer.ggml.tokens"]
    config.vocab_size = config.vocab_size or tokens and #tokens
    -- The rows of queries and keys are in another order here, for pairs that are neighbours.
    config.rope_interleaved = architecture == "llama"
    return config
end

local models_gguf = {}

---@param path string
---@return table config
---@return heed.models.File
function models_gguf.open(path)
    local file, message = gguf.open(path)
    if not file then unknown.refuse("%s", message) end
    local list, place = {}, {}
    for i, entry in ipairs(file.tensors) do
        list[i], place[entry.name] = entry.name, i
    end
    local config = config_of(file)
    config.tie_word_embeddings = place["output.weight"] == nil
    local function used(name) return place[name_of(name)] ~= nil end
    local function tensor(name)
        local t, problem = file:tensor(name_of(name))
        if not t then unknown.refuse("%s", problem) end
        return t
    end
    return config, { names = list, has = used, tensor = tensor, name_of = name_of }
end

return models_gguf
