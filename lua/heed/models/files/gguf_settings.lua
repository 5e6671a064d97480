--- The metadata of a GGUF file as a config.json says the same.

local unknown = require "heed.unknown"

-- ---- rotary positions ---------------------------------------------------------------------------

-- Factors of the rates are tensors here: of Llama 3, and of longrope.
local FACTORS = { same = "rope_freqs.weight", short = "rope_factors_short.weight",
    long = "rope_factors_long.weight" }

local function list_of(file, name, places)
    if not places[name] then return nil end
    local t, message = file:tensor(name)
    if not t then unknown.refuse("%s", message) end
    return t:totable()
end

local function factor_of(get)
    return unknown.check(get "rope.scaling.factor", "number", "rope.scaling.factor")
end

local function longrope(get, short, long)
    return { rope_type = "longrope", short_factor = short, long_factor = long,
        attention_factor = get "rope.scaling.attn_factor" or 1 }
end

-- Here the default is multiplied by attn_factor.
local function yarn(get)
    local factor = factor_of(get)
    local more = get "rope.scaling.yarn_attn_factor" or get "rope.scaling.attn_factor"
    if get "rope.scaling.yarn_log_multiplier" then
        unknown.kind("rope.scaling", "yarn_log_multiplier")
    end
    return { rope_type = "yarn", factor = factor,
        beta_fast = get "rope.scaling.yarn_beta_fast",
        beta_slow = get "rope.scaling.yarn_beta_slow",
        attention_factor = more and more * (0.1 * math.log(factor) + 1) or nil }
end

local function scaling_of(get, file, places)
    local short, long = list_of(file, FACTORS.short, places), list_of(file, FACTORS.long, places)
    local same, kind = list_of(file, FACTORS.same, places), get "rope.scaling.type"
    if short and long then return longrope(get, short, long) end
    if kind == nil and get "rope.scale_linear" then
        return { rope_type = "linear", factor = get "rope.scale_linear" }
    end
    if kind == nil and get "rope.scaling.factor" then kind = "linear" end
    if kind == "none" then kind = nil end
    if same and kind then unknown.kind("rope.scaling.type beside rope_freqs", kind) end
    if same then return { rope_type = "linear", factor = same } end
    if kind == nil then return nil end
    if kind == "linear" then
        return { rope_type = "linear", factor = factor_of(get) }
    elseif kind == "yarn" then
        return yarn(get)
    end
    return unknown.kind("rope.scaling.type", kind)
end

-- ---- what files of an architecture leave out ----------------------------------------------------

local add = {}

function add.llama(config, places)
    -- The rows of queries and keys are in another order, for pairs that are neighbours.
    config.rope_interleaved = true
    config.qkv_bias = places["blk.0.attn_q.bias"] ~= nil
    config.attention_bias = places["blk.0.attn_output.bias"] ~= nil
    config.mlp_bias = places["blk.0.ffn_up.bias"] ~= nil
end

-- The largest of each has another scale, and is known by its layers.
local function gemma(config, largest)
    local of_head = config.hidden_size // config.num_attention_heads
    config.head_dim = config.head_dim or of_head
    config.query_pre_attn_scalar = config.num_hidden_layers == largest and of_head
        or config.head_dim
end

function add.gemma2(config) gemma(config, 46) end

function add.gemma3(config)
    gemma(config, 62)
    if not config.sliding_window then config.sliding_window_pattern = 1 end
end

function add.phi3(config)
    config.sliding_window = config.sliding_window ~= 0 and config.sliding_window or nil
end

-- Ids that end an answer: of a text, of a turn, of a message.
local function ends_of(metadata)
    local list = {}
    for _, name in ipairs { "eos", "eot", "eom" } do
        list[#list + 1] = metadata[("tokenizer.ggml.%s_token_id"):format(name)]
    end
    return list
end

---@param file heed.gguf.File
---@param places table<string, integer> of tensors by name
---@param architecture string
---@param known heed.models.GGUFNames
---@return table config
---@return table<string, boolean> used tensors that are said in it
return function(file, places, architecture, known)
    local metadata = file.metadata
    local function get(key) return metadata[architecture .. "." .. key] end
    local config = { model_type = known.model_type or architecture }
    for ours, key in pairs(known.keys) do config[ours] = get(key) end
    local tokens, types = metadata["tokenizer.ggml.tokens"], places["token_types.weight"]
    config.vocab_size = config.vocab_size or tokens and #tokens
    if types then config.type_vocab_size = file.tensors[types].shape[1] end
    config.bos_token_id = metadata["tokenizer.ggml.bos_token_id"]
    config.eos_token_id = ends_of(metadata)
    config.rope_scaling = scaling_of(get, file, places)
    config.rotary_dim = get "rope.dimension_count"
    config.original_max_position_embeddings = get "rope.scaling.original_context_length"
    if known.ties then config.tie_word_embeddings = places["output.weight"] == nil end
    if add[architecture] then add[architecture](config, places) end
    local used = {}
    for _, name in pairs(FACTORS) do used[name] = true end
    return config, used
end
