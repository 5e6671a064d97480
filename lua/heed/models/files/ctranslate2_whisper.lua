--- What CTranslate2 calls the tensors of Whisper, and where it has the config.

local fields = require "heed.models.settings.config_fields"
local unknown = require "heed.unknown"

local whisper = {}

-- Names there and here, and which part of how many ours is of it.
local ATTENTION, MEMORY = "self_attention/linear_", "attention/linear_"
local OF_LAYERS = {
    { "self_attn.q_proj", ATTENTION .. 0, 1, 3 }, { "self_attn.k_proj", ATTENTION .. 0, 2, 3 },
    { "self_attn.v_proj", ATTENTION .. 0, 3, 3 }, { "self_attn.out_proj", ATTENTION .. 1 },
    { "encoder_attn.q_proj", MEMORY .. 0 }, { "encoder_attn.k_proj", MEMORY .. 1, 1, 2 },
    { "encoder_attn.v_proj", MEMORY .. 1, 2, 2 }, { "encoder_attn.out_proj", MEMORY .. 2 },
    { "self_attn_layer_norm", "self_attention/layer_norm" },
    { "encoder_attn_layer_norm", "attention/layer_norm" },
    { "fc1", "ffn/linear_0" }, { "fc2", "ffn/linear_1" }, { "final_layer_norm", "ffn/layer_norm" },
}
local OTHERS = {
    ["encoder.conv1"] = "encoder/conv1", ["encoder.conv2"] = "encoder/conv2",
    ["encoder.layer_norm"] = "encoder/layer_norm", ["decoder.layer_norm"] = "decoder/layer_norm",
    ["decoder.embed_tokens"] = "decoder/embeddings",
}
local POSITIONS = "^(%l+)%.embed_positions%.weight$"

-- "weight" or "bias" of what.
local function leaf_of(part, leaf)
    if not part:find "layer_norm$" then return part .. "/" .. leaf end
    return part .. "/" .. (leaf == "weight" and "gamma" or "beta")
end

---Where a tensor of Hugging Face's name is.
---@param theirs string
---@return { name: string, part?: integer, of?: integer }|nil
function whisper.place(theirs)
    local name = theirs:gsub("^model%.", "")
    local side = name:match(POSITIONS)
    if side then return { name = side .. "/position_encodings/encodings" } end
    local what, leaf = name:match "^(.*)%.(%l+)$"
    if OTHERS[what] then return { name = leaf_of(OTHERS[what], leaf) } end
    local stack, layer, part = (what or ""):match "^(%l+)%.layers%.(%d+)%.(.*)$"
    for _, entry in ipairs(OF_LAYERS) do
        if entry[1] == part then
            return { name = ("%s/layer_%s/%s"):format(stack, layer, leaf_of(entry[2], leaf)),
                part = entry[3], of = entry[4] }
        end
    end
end

-- CTranslate2's names of lists of tokens.
local LISTS = { suppress_tokens = "suppress_ids", begin_suppress_tokens = "suppress_ids_begin" }

local function called(name) return "config.json: " .. LISTS[name] end

local function generation_of(given)
    local heads = given.alignment_heads
    local generation = { alignment_heads = not unknown.absent(heads) and heads or nil }
    for ours, theirs in pairs(LISTS) do
        if not unknown.absent(given[theirs]) then
            generation[ours] = unknown.check(given[theirs], "table", called(ours))
        end
    end
    fields.check(generation, {}, 0, called)
    return generation
end

local SETTINGS = { pre_norm = 1, scale_embeddings = 0, start_from_zero_embedding = 0 }
local ACTIVATIONS = { [0] = "relu", "gelu_new", "silu", "gelu" }

---The config, as Hugging Face has it.
---@param given table CTranslate2's config.json
---@param shape_of fun(name: string): integer[] of a variable, which has to be there
---@param number fun(name: string): integer
---@param has fun(name: string): boolean
---@return table
function whisper.config(given, shape_of, number, has)
    local function layers(stack)
        local count = 0
        while has(("%s/layer_%d/ffn/layer_norm/gamma"):format(stack, count)) do
            count = count + 1
        end
        return count
    end
    local function size(name, d)
        return shape_of(name)[d] or unknown.refuse("model.bin: %s: expected %d dimensions", name, d)
    end
    for name, wanted in pairs(SETTINGS) do
        local value = number("decoder/" .. name)
        if value ~= wanted then unknown.kind("model.bin: decoder/" .. name, value) end
    end
    local activation = number "decoder/activation"
    if not ACTIVATIONS[activation] then
        unknown.kind("model.bin: decoder/activation", activation)
    end
    return {
        model_type = "whisper", activation_function = ACTIVATIONS[activation],
        vocab_size = size("decoder/embeddings/weight", 1),
        d_model = size("decoder/embeddings/weight", 2),
        num_mel_bins = size("encoder/conv1/weight", 2),
        max_source_positions = size("encoder/position_encodings/encodings", 1),
        max_target_positions = size("decoder/position_encodings/encodings", 1),
        encoder_layers = layers "encoder", decoder_layers = layers "decoder",
        encoder_attention_heads = number "encoder/num_heads",
        decoder_attention_heads = number "decoder/num_heads",
        encoder_ffn_dim = size("encoder/layer_0/ffn/linear_0/bias", 1),
        decoder_ffn_dim = size("decoder/layer_0/ffn/linear_0/bias", 1),
        generation_config = generation_of(given),
    }
end

return whisper
