--- The fields of configs: what each holds, so that a damaged file is refused by its key before a
--- model is made of it.

local check = require "heed.check"
local unknown = require "heed.unknown"

local config_fields = {}

-- ---- kinds: what is expected, and whether a value is that ---------------------------------------

local WIDEST, LONGEST, MOST_LAYERS = 1 << 20, 1 << 28, 1000

local function is_integer(value, least)
    return type(value) == "number" and math.tointeger(value) and value >= least
end

local function is_finite(value, low, high)
    return type(value) == "number" and value >= low and value <= high
end

local function is_list(value, holds)
    if type(value) ~= "table" then return false end
    for key, each in pairs(value) do
        if math.type(key) ~= "integer" or not holds(each) then return false end
    end
    return true
end

local function is_token(value) return is_integer(value, math.mininteger) end

local function is_string(value) return type(value) == "string" end

local LARGEST = 3.4e38 -- of f32

local size = { ("an integer from 1 to %d"):format(LONGEST),
    function(value) return is_integer(value, 1) and value <= LONGEST end }
local buckets = { ("an integer from 4 to %d"):format(WIDEST),
    function(value) return is_integer(value, 4) and value <= WIDEST end }
local count = { "an integer of at least 0", function(value) return is_integer(value, 0) end }
local width = { ("an integer from 1 to %d"):format(WIDEST),
    function(value) return is_integer(value, 1) and value <= WIDEST end }
local layers = { "an integer of at least 1, and not far more than the file has tensors",
    function(value, most) return is_integer(value, 1) and value <= most end }
local share = { "a number from 0 to 1", function(value) return is_finite(value, 0, 1) end }
local positive = { "a number above 0",
    function(value) return is_finite(value, 0, LARGEST) and value > 0 end }
local rate = { "a number of at least 1", function(value) return is_finite(value, 1, LARGEST) end }
local small = { "a number of at least 0", function(value) return is_finite(value, 0, LARGEST) end }
local number = { "a number", function(value) return is_finite(value, -LARGEST, LARGEST) end }
local flag = { "true or false", function(value) return type(value) == "boolean" end }
local text = { "a string", is_string }
local texts = { "a list of strings", function(value) return is_list(value, is_string) end }
local object = { "an object", function(value) return type(value) == "table" end }
local token = { "an integer", is_token }
local tokens = { "an integer, or a list of integers",
    function(value) return is_token(value) or is_list(value, is_token) end }

-- ---- fields -------------------------------------------------------------------------------------

local FIELDS = {}

local function are(kind, ...)
    for _, name in ipairs { ... } do FIELDS[name] = kind end
end

are(layers, "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
    "encoder_layers", "decoder_layers", "num_hidden_groups", "inner_group_num", "enc-depth",
    "dec-depth")
are(width, "hidden_size", "d_model", "n_embd", "dim", "embedding_size", "dim-emb", "patch_size",
    "num_mel_bins", "num_attention_heads", "num_key_value_heads", "n_head", "n_heads", "num_heads",
    "encoder_attention_heads", "decoder_attention_heads", "transformer-heads", "head_dim", "d_kv",
    "num_channels", "rotary_dim")
are(size, "vocab_size", "intermediate_size", "max_position_embeddings", "type_vocab_size", "d_ff",
    "n_inner", "n_positions", "hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim",
    "max_source_positions", "max_target_positions", "image_size", "projection_dim", "num_labels",
    "relative_attention_max_distance", "sliding_window",
    "sliding_window_pattern", "original_max_position_embeddings", "transformer-dim-ffn",
    "source_vocab", "target_vocab")
are(buckets, "relative_attention_num_buckets")
are(count, "max_window_layers", "max_initial_timestamp_index")
are(share, "hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout", "dropout",
    "dropout_rate", "resid_pdrop", "embd_pdrop", "attn_pdrop", "partial_rotary_factor")
are(rate, "rope_theta", "rope_local_base_freq")
are(positive, "query_pre_attn_scalar",
    "attn_logit_softcapping", "final_logit_softcapping")
are(small, "layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps")
are(number, "logit_scale_init_value")
are(flag, "attention_bias", "mlp_bias", "qkv_bias", "qk_norm", "tie_word_embeddings",
    "use_sliding_window", "scale_embedding", "scale_attn_weights", "scale_decoder_outputs",
    "add_cross_attention", "scale_attn_by_inverse_layer_idx", "is_decoder",
    "use_bidirectional_attention", "is_multilingual")
are(text, "hidden_act", "hidden_activation", "activation", "activation_function",
    "feed_forward_proj", "position_embedding_type", "transformer-ffn-activation")
are(texts, "architectures", "layer_types")
are(object, "id2label", "rope_parameters", "rope_scaling", "text_config", "vision_config",
    "generation_config", "dim-vocabs")
are(token, "pad_token_id")
are(tokens, "bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "suppress_tokens", "begin_suppress_tokens")

-- How many heads share how many features, where no other field says how many each has.
local SHARED = { { "hidden_size", "num_attention_heads", "head_dim" }, { "n_embd", "n_head" },
    { "dim", "n_heads" }, { "d_model", "num_heads", "d_kv" }, { "dim-emb", "transformer-heads" },
    { "d_model", "encoder_attention_heads" }, { "d_model", "decoder_attention_heads" },
    { "num_attention_heads", "num_key_value_heads" } }

-- What may be null although the family has it otherwise.
local NULLABLE = check.set("rope_theta", "head_dim", "sliding_window", "attn_logit_softcapping",
    "final_logit_softcapping", "rope_local_base_freq", "max_window_layers", "pad_token_id",
    "bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "suppress_tokens", "begin_suppress_tokens")

-- ---- checks -------------------------------------------------------------------------------------

-- false stands for null, too (heed.models.config).
local function fits(kind, name, value, most)
    if value == nil or value == false and NULLABLE[name] then return true end
    return kind[2](value, most)
end

local function refuse(name, expected, got)
    unknown.refuse("%s: expected %s, got %s", name, expected,
        got == nil and "none" or check.describe(got))
end

local function check_shared(config, called)
    for _, names in ipairs(SHARED) do
        local whole, parts = config[names[1]], config[names[2]]
        if whole and parts and not config[names[3]] and whole % parts ~= 0 then
            refuse(called(names[1]), ("a multiple of %s (%d)"):format(names[2], parts),
                whole)
        end
    end
end

-- Distances up to some have a bucket of their own; those beyond share the others.
local function check_distances(config, called)
    local given = config.relative_attention_num_buckets
    local most, part = config.relative_attention_max_distance, 2
    if not most then most, part = 128, 4 end -- MPNet's, of both sides
    if given and given // part >= most then
        refuse(called "relative_attention_num_buckets",
            ("at most %d for relative_attention_max_distance (%d)"):format(most * part - 1, most),
            given)
    end
end

local function same(name) return name end

---Refuses a config with a field that holds what it cannot, or without one that its family needs.
---@param config table complete
---@param needs string[] fields that have to be there
---@param tensors integer how many the file has
---@param called? fun(name: string): string what the file calls a field, where not so
function config_fields.check(config, needs, tensors, called)
    called = called or same
    local most = math.max(tensors, MOST_LAYERS)
    for name, kind in pairs(FIELDS) do
        if not fits(kind, name, config[name], most) then
            refuse(called(name), kind[1], config[name])
        end
    end
    for _, name in ipairs(needs) do
        if not config[name] then refuse(called(name), FIELDS[name][1], nil) end
    end
    check_shared(config, called)
    check_distances(config, called)
end

return config_fields
