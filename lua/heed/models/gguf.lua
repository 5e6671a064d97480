--- GGUF files as what Hugging Face's directories are: a config, and tensors under the names that
--- they have there.

local architectures = require "heed.models.gguf_names"
local core = require "heed.core"
local gguf = require "heed.gguf"
local unknown = require "heed.text.tokenizer.unknown"

local function literally(text) return (text:gsub("%W", "%%%0")) end

local models_gguf = {}

---The file's name of a tensor.
---@param tensors { [1]: string, [2]: string }[] of heed.models.gguf_names
---@param theirs string Hugging Face's
---@return string|nil name nil when the table says nothing of it
function models_gguf.name_of(tensors, theirs)
    for _, entry in ipairs(tensors) do
        local pattern = "^" .. literally(entry[1]):gsub("%%#", "(%%d+)")
        local first, last, layer = theirs:find(pattern)
        if first then
            return (entry[2]:gsub("#", layer or "")) .. theirs:sub(last + 1)
        end
    end
end

local function check_scaling(metadata, architecture)
    for _, kind in ipairs { "type", "factor" } do
        if metadata[architecture .. ".rope.scaling." .. kind] ~= nil then
            unknown.kind(architecture, "rope.scaling")
        end
    end
end

-- What files leave out and their tensors tell.
local function complete(config, file, places)
    local metadata = file.metadata
    local tokens = metadata["tokenizer.ggml.tokens"]
    config.vocab_size = config.vocab_size or tokens and #tokens
    local types = places["token_types.weight"]
    if types then config.type_vocab_size = file.tensors[types].shape[1] end
    config.bos_token_id = metadata["tokenizer.ggml.bos_token_id"]
    config.eos_token_id = metadata["tokenizer.ggml.eos_token_id"]
end

local function config_of(file, places)
    local metadata = file.metadata
    local architecture = unknown.check(metadata["general.architecture"], "string",
        "general.architecture")
    local config, known = { model_type = architecture }, architectures[architecture]
    if not known then return config end
    for ours, key in pairs(known.keys) do config[ours] = metadata[architecture .. "." .. key] end
    check_scaling(metadata, architecture)
    complete(config, file, places)
    if architecture == "llama" then
        -- The rows of queries and keys are in another order, for pairs that are neighbours.
        config.rope_interleaved = true
        config.tie_word_embeddings = places["output.weight"] == nil
    end
    return config
end

-- By type the dtype in which it is read; f32 of blocks.
local DTYPES = { F16 = "f16", BF16 = "bf16", F64 = "f64", I8 = "i8", I16 = "i16", I32 = "i32",
    I64 = "i64" }
local IN_PLACE = { F32 = true, F16 = true, BF16 = true, F64 = true }

---Is this a GGUF file?
---@param path string
---@return boolean
function models_gguf.fits(path)
    local file = io.open(path, "rb")
    local begin = file and file:read(4)
    if file then file:close() end
    return begin == "GGUF"
end

---@param path string
---@param map boolean
---@return table config
---@return heed.models.File
function models_gguf.open(path, map)
    local file, message = gguf.open(path)
    if not file then unknown.refuse("%s", message) end
    local list, places = {}, {}
    for i, entry in ipairs(file.tensors) do
        list[i], places[entry.name] = entry.name, i
    end
    local config = config_of(file, places)
    local known = architectures[config.model_type]
    local function name_of(name)
        return known and models_gguf.name_of(known.tensors, name) or name
    end
    local function place(name) return places[name_of(name)] end
    return config, { names = list, name_of = name_of, gguf = file,
        has = function(name) return place(name) ~= nil end,
        info = function(name)
            local entry = file.tensors[place(name)]
            return DTYPES[entry.type] or "f32", entry.shape, map and IN_PLACE[entry.type] == true
        end,
        tensor = function(name)
            local t, problem = core.gguf_tensor(file.core, place(name), map)
            if not t then unknown.refuse("%s", problem) end
            return t
        end,
        into = function(name, t)
            local ok, problem = core.gguf_tensor_into(file.core, place(name), map, t)
            if not ok then unknown.refuse("%s", problem) end
        end }
end

return models_gguf
