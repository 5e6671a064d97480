--- Writes a model as a GGUF file that llama.cpp loads.

local architectures = require "heed.models.files.gguf_names"
local gguf = require "heed.gguf"
local models_gguf = require "heed.models.files.gguf"
local parts = require "heed.models.save.tensors"
local rope = require "heed.models.settings.rope"
local rows = require "heed.models.save.rotary_rows"
local unknown = require "heed.unknown"
local vocabulary = require "heed.models.save.gguf_vocabulary"

-- ---- tensors ------------------------------------------------------------------------------------

-- What llama.cpp adds to f32 without a product.
local ADDED = { ["position_embd.weight"] = true, ["token_types.weight"] = true }

local function is_matrix(name, t) return t:dim() == 2 and not ADDED[name] end

-- By the file's names.
local function renamed(tensors, known)
    local list = {}
    for theirs, t in pairs(tensors) do
        local name = models_gguf.name_of(known.tensors, theirs)
        if not name then unknown.refuse("%s: llama.cpp has no such tensor", theirs) end
        list[name] = is_matrix(name, t) and t or t:to "f32"
    end
    return list
end

-- Matrices of whole blocks are written as `type`, if there is one.
local function types_of(tensors, type)
    local types = {}
    for name, t in pairs(tensors) do
        if type and is_matrix(name, t) and t:size(2) % 32 == 0 then types[name] = type end
    end
    return types
end

-- ---- metadata -----------------------------------------------------------------------------------

local FLOATS = { rms_norm_eps = true, layer_norm_eps = true, rope_theta = true }

local FILE_TYPES = { F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q8_0 = 7, Q5_0 = 8, Q5_1 = 9, BF16 = 32 }
local OF_DTYPE = { f32 = "F32", f16 = "F16", bf16 = "BF16" }

local more = {}

function more.llama(config, put)
    local rotary = rope(config)
    if rotary.scaling then unknown.kind("GGUF: rope_type", rotary.scaling.type) end
    local of_head = config.head_dim or config.hidden_size // config.num_attention_heads
    put("rope.freq_base", rotary.base + 0.0)
    put("rope.dimension_count", of_head)
    put("attention.value_length", of_head)
    put("attention.head_count_kv", config.num_key_value_heads or config.num_attention_heads)
end

function more.bert(_, put)
    put("attention.causal", false)
    put("pooling_type", 1) -- the mean
end

local function settings(architecture, known, config, metadata)
    local function put(key, value) metadata[architecture .. "." .. key] = value end
    for name, key in pairs(known.keys) do
        local value = config[name]
        if not unknown.absent(value) then put(key, FLOATS[name] and value + 0.0 or value) end
    end
    more[architecture](config, put)
end

-- Of a file that was loaded: what it says of the model, but for how its tensors were stored.
local function kept(file, metadata, kinds)
    for name, value in pairs(file.metadata) do
        if not name:find "^tokenizer%." and name ~= "general.file_type"
            and name ~= "general.quantization_version" then
            metadata[name], kinds[name] = value, file.kinds[name]
        end
    end
end

local function metadata_of(origin, known, architecture)
    local metadata, kinds = {}, {}
    if origin.gguf then
        kept(origin.gguf, metadata, kinds)
    else
        metadata["general.architecture"] = architecture
        settings(architecture, known, origin.config, metadata)
    end
    return metadata, kinds
end

-- ---- all of it ----------------------------------------------------------------------------------

---@param path string
---@param model heed.nn.Module
---@param tokenizer heed.Tokenizer|nil
---@param origin heed.models.Origin
---@param type string|nil of matrices: "Q8_0"
return function(path, model, tokenizer, origin, type)
    local architecture = origin.config.model_type
    local known = architectures[architecture]
    if not known or not more[architecture] then unknown.kind("GGUF: model_type", architecture) end
    local tensors = parts(model, origin.family, origin.config, "")
    if architecture == "llama" and not origin.config.rope_interleaved then
        rows.side_by_side(tensors, origin.config)
    end
    local metadata, kinds = metadata_of(origin, known, architecture)
    tensors = renamed(tensors, known)
    metadata["general.file_type"] = FILE_TYPES[type
        or OF_DTYPE[tensors["token_embd.weight"].dtype]]
    if type then metadata["general.quantization_version"] = 2 end
    if tokenizer then vocabulary(tokenizer, metadata, kinds) end
    local ok, message = gguf.save(path, metadata, tensors,
        { types = types_of(tensors, type), kinds = kinds })
    if not ok then unknown.refuse("%s", message) end
    return true
end
