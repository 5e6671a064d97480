--- GGUF files, which llama.cpp reads and writes: metadata, and tensors of plain or quantised
--- numbers. Loading never runs code.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
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
---@field kinds table<string, string> what numbers the file's metadata are, a list's elements: "u32",
---"f32", "string"; what heed.gguf.save takes
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
---print(select(2, file:tensor "blk.0.weights"):match "tensor.*")
-----> tensor: there is none called "blk.0.weights"; did you mean blk.0.weight?
---os.remove(path)
---```
---@param name string
---@return heed.Tensor|nil tensor nil when the file has none of this name, cannot be read, was
---changed since it was opened, or when the tensor is of another type
---@return string? message
function File:tensor(name)
    check.object(self, "heed.gguf.File", "tensor", "file")
    if getmetatable(self) ~= File then
        errors.raise("heed.gguf.File:tensor: self: expected a file of heed.gguf.open, got %s",
            check.describe(self))
    end
    check.type("heed.gguf.File:tensor", "name", name, "string")
    local place = self.places[name]
    if place then return core.gguf_tensor(self.core, place) end
    return nil, ("%s: tensor: there is none called %s%s"):format(self.path, check.describe(name),
        suggest.near(name, self.places))
end

function File:__tostring()
    return ("GGUF file of %d tensors: %s"):format(#self.tensors, self.path)
end

gguf.File = File

return gguf
