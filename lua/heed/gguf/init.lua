--- GGUF files, which llama.cpp reads and writes: metadata, and tensors of plain or quantised
--- numbers. Loading never runs code.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local metadata_bytes = require "heed.gguf.metadata"
local named = require "heed.named"
local suggest = require "heed.suggest"

local gguf = {}

---What a GGUF file says of one of its tensors.
---@class heed.gguf.Entry
---@field name string
---@field shape integer[] the outermost dimension first, as tensors have it
---@field type string as llama.cpp calls it: "F32", "Q4_K"
---@field offset integer of its data in the file
---@field bytes integer|nil that its data take; nil for types that are not read

---An open GGUF file: what it says, and a way to its tensors, each of which is read when it is asked
---for. The file is not held open: it is opened again by its path, and one that was replaced or
---written to since gives nil and a message.
---@class heed.gguf.File
---@field path string
---@field version integer of the format: 2 or 3
---@field metadata table<string, any> strings, booleans, numbers, and lists of them
---@field kinds table<string, string> of what kind the file's metadata are, a list's elements:
---"u32", "f32", "string"; heed.gguf.save takes them
---@field tensors heed.gguf.Entry[] in the file's order
local File = {}
File.__index = File
File.__name = "heed.gguf.File"

---Reads what a GGUF file of version 2 or 3 says: its metadata and the list of its tensors, whose
---data are read by `file:tensor(name)`. A file that is too short for its tensors is refused here.
---Integers beyond 2^63 - 1 become floats.
---
---```lua
---local path = os.tmpname()
---assert(heed.gguf.save(path, { ["general.name"] = "tiny" }, { weight = heed.ones(2, 3) }))
---local file = assert(heed.gguf.open(path))
---print(file.metadata["general.name"], #file.tensors) --> tiny 1
---local entry = file.tensors[1]
---print(entry.name, entry.type, table.concat(entry.shape, "x")) --> weight F32 2x3
---print(file:tensor "weight") --> [[1., 1., 1.], [1., 1., 1.]] f32 [2, 3]
---os.remove(path)
---print(heed.gguf.open "nowhere.gguf") --> nil nowhere.gguf: No such file or directory
---```
---@param path string
---@return heed.gguf.File|nil file nil when it cannot be read or is not of this form
---@return string? message
function gguf.open(path)
    check.type("heed.gguf.open", "path", path, "string")
    local metadata, tensors, kinds, version, file = core.gguf_open(path)
    if not metadata then return nil, tensors end
    local places = {}
    for i, entry in ipairs(tensors) do places[entry.name] = i end
    return setmetatable({ path = path, version = version, metadata = metadata, kinds = kinds,
        tensors = tensors, core = file, places = places }, File)
end

---A tensor of the file: F32, F16, BF16, F64, I8, I16, I32 and I64 as their dtype, quantised types
---dequantised to f32. These are Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, TQ1_0,
---TQ2_0, MXFP4 and NVFP4, with the same bits as the Python package `gguf` gives.
---
---```lua
---local path = os.tmpname()
---assert(heed.gguf.save(path, {}, { bias = heed.zeros(2), ["blk.0.weight"] = heed.eye(2) }))
---local file = assert(heed.gguf.open(path))
---print(file:tensor("blk.0.weight"):to "f64") --> [[1., 0.], [0., 1.]] f64 [2, 2]
---local _, message = file:tensor "bais"
---print(message:match "tensor.*") --> tensor: there is none called "bais"; did you mean bias?
---os.remove(path)
---```
---@param name string
---@param options? { map?: boolean } map: plain numbers stay in the file's pages, as
---heed.safetensors.load says, and blocks are dequantised from there; default false
---@return heed.Tensor|nil tensor nil when the file has none of this name, cannot be read, was
---changed since it was opened, or when the tensor is of another type
---@return string? message
function File:tensor(name, options)
    check.object(self, "heed.gguf.File", "tensor", "file")
    if getmetatable(self) ~= File then
        errors.raise("heed.gguf.File:tensor: self: expected a file of heed.gguf.open, got %s",
            check.describe(self))
    end
    check.type("heed.gguf.File:tensor", "name", name, "string")
    local place = self.places[name]
    options = check.options("heed.gguf.File:tensor", options, { map = true })
    local map = check.flag("heed.gguf.File:tensor", "map", options.map, false)
    if place then return core.gguf_tensor(self.core, place, map) end
    return nil, ("%s: tensor: there is none called %s%s"):format(self.path, check.describe(name),
        suggest.near(name, self.places))
end

function File:__tostring()
    return ("GGUF file of %d tensors: %s"):format(#self.tensors, self.path)
end

-- ---- writing ------------------------------------------------------------------------------------

local SAVE = "heed.gguf.save"
local OPTIONS = check.set("types", "kinds")

-- By dtype what is written as it is; by type the dtype that it is written from.
local PLAIN = { f32 = "F32", f16 = "F16", bf16 = "BF16", f64 = "F64", i8 = "I8", i16 = "I16",
    i32 = "I32", i64 = "I64" }
local FROM = { F32 = "f32", F16 = "f16", BF16 = "bf16", F64 = "f64", I8 = "i8", I16 = "i16",
    I32 = "i32", I64 = "i64", Q4_0 = "f32", Q4_1 = "f32", Q5_0 = "f32", Q5_1 = "f32",
    Q8_0 = "f32" }

local function is_float(dtype) return dtype:find "f%d" ~= nil end

-- The tensor and its type: as `types` says, or as it is.
local function typed(name, t, type_wanted)
    if type_wanted == nil then
        if PLAIN[t.dtype] then return { name, t, PLAIN[t.dtype] } end
        errors.raise('%s: tensors: %s: the format has no %s; t:to "%s" can be saved', SAVE,
            check.describe(name), t.dtype, t.dtype == "u32" and "i64" or "i32")
    end
    if not FROM[type_wanted] then
        errors.raise("%s: types: %s: expected a type that is written, got %s%s", SAVE,
            check.describe(name), check.describe(type_wanted),
            type(type_wanted) == "string" and suggest.near(type_wanted, FROM) or "")
    end
    if not is_float(t.dtype) or not is_float(FROM[type_wanted]) then
        if FROM[type_wanted] ~= t.dtype then
            errors.raise("%s: types: %s: expected a tensor of floats for %s, got %s", SAVE,
                check.describe(name), type_wanted, check.describe(t))
        end
    end
    return { name, t:detach():to(FROM[type_wanted]), type_wanted }
end

local function table_option(options, name)
    return options[name] == nil and {} or check.type(SAVE, name, options[name], "table")
end

---Writes a GGUF file of version 3, whole or not at all: metadata and tensors in the order of their
---names. Tensors are f32, f16, bf16, f64, i8, i16, i32 or i64 of at most four dimensions, and are
---written as they are; `types` names others for tensors of floats: "F32", "F16", "BF16", "F64", or
---quantised, "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", whose rows are multiples of 32. The quantised
---bits are those of the Python package `gguf`; numbers that are not finite are refused.
---
---Metadata are strings, booleans, numbers, and lists of one of them. A float is written as f32. An
---integer becomes u32, i32 if it is negative, i64 if it is larger; a list of integers becomes i32,
---or u32, or i64 if it must: so readers expect it. `{ kind = "u8", value = 3 }` is of another kind,
---the elements' kind if the value is a list: u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool,
---string. `kinds` says the same by names: `file.kinds` keeps what a file had.
---
---```lua
---local path = os.tmpname()
---local metadata = { ["general.architecture"] = "llama", ["llama.block_count"] = 2 }
---local weights = { weight = heed.ones(2, 32) }
---print(heed.gguf.save(path, metadata, weights, { types = { weight = "Q8_0" } })) --> true
---local file = assert(heed.gguf.open(path))
---print(file.tensors[1].type, file.kinds["llama.block_count"]) --> Q8_0 u32
---
---weights.weight, file.metadata["llama.block_count"] = file:tensor "weight", 3
---print(heed.gguf.save(path, file.metadata, weights, { kinds = file.kinds })) --> true
---os.remove(path)
---```
---@param path string
---@param metadata table<string, any>
---@param tensors table<string, heed.Tensor> any layout; written contiguous
---@param options? { types?: table<string, string>, kinds?: table<string, string> } by the names of
---tensors and of metadata
---@return true|nil ok
---@return string? message
function gguf.save(path, metadata, tensors, options)
    check.type(SAVE, "path", path, "string")
    check.type(SAVE, "metadata", metadata, "table")
    local list = named.list(SAVE, tensors)
    options = check.options(SAVE, options, OPTIONS)
    local types, kinds = table_option(options, "types"), table_option(options, "kinds")
    for name in pairs(types) do
        if not tensors[name] then
            errors.raise("%s: types: there is no tensor %s%s", SAVE, check.describe(name),
                type(name) == "string" and suggest.near(name, tensors) or "")
        end
    end
    for i, pair in ipairs(list) do list[i] = typed(pair[1], pair[2], types[pair[1]]) end
    local alignment = metadata_bytes.alignment(metadata, kinds)
    local bytes, count = metadata_bytes.pack(metadata, kinds)
    return core.gguf_save(path, list, count, bytes, alignment)
end

return gguf
