--- Files of one tensor, as numpy.load and numpy.save have them. Loading never runs code.

local check = require "heed.check"
local core = require "heed.core"

local npy = {}

---The tensor of a .npy file. Either byte order is read; one that numpy kept in Fortran's order
---comes as a transposed view.
---
---```lua
---local path = os.tmpname()
---assert(heed.npy.save(path, heed.range(1, 6):view(2, 3)))
---print(heed.npy.load(path)) --> [[1., 2., 3.], [4., 5., 6.]] f32 [2, 3]
---print(heed.npy.load "nowhere.npy") --> nil nowhere.npy: No such file or directory
---os.remove(path)
---```
---@param path string
---@return heed.Tensor|nil tensor nil when the file cannot be read, is not of this form, or of a
---dtype that no tensor has
---@return string? message
function npy.load(path)
    return core.npy_load(check.type("heed.npy.load", "path", path, "string"))
end

---Writes a tensor to a .npy file, whole or not at all. bf16 is refused: numpy has no such type.
---
---```lua
---local path = os.tmpname()
---print(heed.npy.save(path, heed.eye(2)), heed.npy.load(path):equal(heed.eye(2))) --> true true
---os.remove(path)
---```
---@param path string
---@param t heed.Tensor any shape and layout; written contiguous
---@return true|nil ok
---@return string? message
function npy.save(path, t)
    return core.npy_save(check.type("heed.npy.save", "path", path, "string"), t)
end

return npy
