--- GGUF files as what Hugging Face's directories are: a config, and tensors under the names that
--- they have there.

local architectures = require "heed.models.files.gguf_names"
local core = require "heed.core"
local disk = require "heed.files"
local gguf = require "heed.gguf"
local settings = require "heed.models.files.gguf_settings"
local unknown = require "heed.unknown"

local function literally(text) return (text:gsub("%W", "%%%0")) end

local models_gguf = {}

---The file's name of a tensor.
---@param tensors { [1]: string, [2]: string }[] of heed.models.files.gguf_names
---@param theirs string Hugging Face's
---@return string|nil name nil when the table says nothing of it
---@return table? entry
function models_gguf.name_of(tensors, theirs)
    for _, entry in ipairs(tensors) do
        local pattern = "^" .. literally(entry[1]):gsub("%%#", "(%%d+)")
        local first, last, layer = theirs:find(pattern)
        if first then
            return (entry[2]:gsub("#", layer or "")) .. theirs:sub(last + 1), entry
        end
    end
end

-- By type the dtype in which it is read; f32 of blocks.
local DTYPES = { F16 = "f16", BF16 = "bf16", F64 = "f64", I8 = "i8", I16 = "i16", I32 = "i32",
    I64 = "i64" }
local IN_PLACE = { F32 = true, F16 = true, BF16 = true, F64 = true }

-- What a Hugging Face directory has for what is read here.
local function converted(t, entry)
    if entry.added then t = t - entry.added end
    return entry.transposed and t:dim() == 2 and t:transpose(1, 2) or t
end

local UNCHANGED = {}

-- The tensors under the names that they have in a Hugging Face directory.
local function tensors_of(file, places, known, map)
    local function find(theirs)
        local name, entry = models_gguf.name_of(known.tensors, theirs)
        return places[name or theirs], entry or UNCHANGED, name or theirs
    end
    local self = {}
    function self.name_of(theirs) return (select(3, find(theirs))) end
    function self.has(theirs) return find(theirs) ~= nil end
    function self.info(theirs)
        local place, entry = find(theirs)
        local of_file, changes = file.tensors[place], entry.added or entry.transposed
        local shape = of_file.shape
        if entry.transposed and #shape == 2 then shape = { shape[2], shape[1] } end
        return DTYPES[of_file.type] or "f32", shape,
            map and not changes and IN_PLACE[of_file.type] == true
    end
    function self.tensor(theirs)
        local place, entry = find(theirs)
        local t, problem = core.gguf_tensor(file.core, place, map)
        if not t then unknown.refuse("%s", problem) end
        return converted(t, entry)
    end
    function self.quantized(theirs)
        local place, entry = find(theirs)
        if entry.added or entry.transposed then return false end
        local t, problem = core.gguf_quantized(file.core, place)
        if t == nil then unknown.refuse("%s", problem) end
        return t
    end
    function self.into(theirs, t)
        local place, entry = find(theirs)
        if entry.added or entry.transposed then return t:copy_(self.tensor(theirs)) end
        local ok, problem = core.gguf_tensor_into(file.core, place, map, t)
        if not ok then unknown.refuse("%s", problem) end
    end
    return self
end

---Is this a GGUF file?
---@param path string
---@return boolean
function models_gguf.fits(path)
    return disk.beginning(path, 4) == "GGUF"
end

---@param path string
---@param map boolean
---@return table config
---@return heed.models.File
function models_gguf.open(path, map)
    local file, message = gguf.open(path)
    if not file then unknown.refuse("%s", message) end
    local places, names = {}, {}
    for i, entry in ipairs(file.tensors) do places[entry.name] = i end
    local architecture = unknown.check(file.metadata["general.architecture"], "string",
        "general.architecture")
    local known = architectures[architecture]
    if not known then return { model_type = architecture }, { names = names, gguf = file } end
    local config, said = settings(file, places, architecture, known)
    local tensors = tensors_of(file, places, known, map)
    for _, entry in ipairs(file.tensors) do
        if not said[entry.name] then names[#names + 1] = entry.name end
    end
    tensors.names, tensors.gguf = names, file
    function tensors.called(name)
        return known.keys[name] and ("%s.%s"):format(architecture, known.keys[name]) or name
    end
    return config, tensors
end

return models_gguf
