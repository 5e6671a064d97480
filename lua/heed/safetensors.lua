--- Files of named tensors (https://github.com/huggingface/safetensors). Loading never runs code.

local check = require "heed.check"
local core = require "heed.core"
local named = require "heed.named"

local safetensors = {}

---The tensors of a file by their names, and its metadata; nil and a message when it cannot be read
---or is not of this form.
---
---With `map` the tensors are the file's own pages (all but those of bool, and those that do not lie
---at a multiple of their element's size, which are read): a large file opens at once, its pages are
---read when they are used, shared with other processes, and not counted by heed.memory. Writing to
---such a tensor copies the page and never reaches the file. Without it they are copies, which stay
---what they were whatever becomes of the file; with it the file must not be written over in place
---(heed.safetensors.save and other programs that replace a file whole do no harm). If it becomes
---shorter, what uses its tensors raises an error with its name.
---
---```lua
---local path = os.tmpname()
---assert(heed.safetensors.save(path, { weight = heed.ones(2, 3) },
---    { metadata = { made = "by hand" } }))
---local tensors, metadata = heed.safetensors.load(path)
---print(tensors.weight.shape, metadata.made) --> [2, 3] by hand
---os.remove(path)
---print((heed.safetensors.load "no such file")) --> nil
---```
---@param path string
---@param options? { map?: boolean } map: the file's pages instead of copies; default false
---@return table<string, heed.Tensor>|nil tensors by name; nil when the file cannot be read or is
---not of this form
---@return table<string, string>|string metadata or the message
function safetensors.load(path, options)
    local where = "heed.safetensors.load"
    check.type(where, "path", path, "string")
    options = check.options(where, options, { map = true })
    return core.safetensors_load(path, check.flag(where, "map", options.map, false))
end

---Writes a file whole or not at all; tensors stand in it in the order of their names.
---
---```lua
---local path = os.tmpname()
---local model = nn.Linear(3, 2)
---print(heed.safetensors.save(path, model:state_dict { names = "torch" })) -- for PyTorch
---print(model:load_state_dict(assert(heed.safetensors.load(path)), { names = "torch" }))
---os.remove(path)
---```
---@param path string
---@param tensors table<string, heed.Tensor>
---@param options? { metadata?: table<string, string> }
---@return true|nil ok
---@return string? message
function safetensors.save(path, tensors, options)
    local where = "heed.safetensors.save"
    check.type(where, "path", path, "string")
    local list = named.list(where, tensors)
    options = check.options(where, options, { metadata = true })
    return core.safetensors_save(path, list, options.metadata)
end

return safetensors
