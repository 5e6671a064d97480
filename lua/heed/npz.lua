--- Files of named tensors as numpy.savez and numpy.load have them: a zip archive of npy files.
--- Loading never runs code.

local check = require "heed.check"
local core = require "heed.core"
local named = require "heed.named"

local npz = {}

---The tensors of a .npz file by their names; nil and a message when it cannot be read, is not of
---this form, or holds what no tensor is. numpy's savez and savez_compressed are read, also beyond 4
---GB. Arrays of Python objects, which are pickles, are refused.
---
---```lua
---local path = os.tmpname()
---assert(heed.npz.save(path, { x = heed.range(1, 3), y = heed.ids { 7 } }))
---local data = assert(heed.npz.load(path))
---print(data.x, data.y) --> [1., 2., 3.] f32 [3] [7] i64 [1]
---os.remove(path)
---print((heed.npz.load "nowhere.npz")) --> nil
---```
---@param path string
---@return table<string, heed.Tensor>|nil tensors by name
---@return string? message
function npz.load(path)
    return core.npz_load(check.type("heed.npz.load", "path", path, "string"))
end

---Writes tensors to a .npz file, in the order of their names, whole or not at all. Nothing is
---compressed, as with numpy.savez. bf16 is refused: numpy has no such type.
---
---```lua
---local path = os.tmpname()
---print(heed.npz.save(path, { images = heed.zeros(2, 8, 8, { dtype = "u8" }) })) --> true
---os.remove(path)
---```
---@param path string
---@param tensors table<string, heed.Tensor> any shape and layout; written contiguous
---@return true|nil ok
---@return string? message
function npz.save(path, tensors, ...)
    local where = "heed.npz.save"
    check.type(where, "path", path, "string")
    check.no_more(where, 2, ...)
    return core.npz_save(path, named.list(where, tensors))
end

return npz
