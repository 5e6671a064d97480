--- Files of named tensors (https://github.com/huggingface/safetensors). Loading never runs code.

local check = require "heed.check"
local core = require "heed.core"
local named = require "heed.named"

local safetensors = {}

---The tensors of a file by their names, and its metadata; nil and a message when it cannot be read
---or is not of this form.
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
---@return table<string, heed.Tensor>|nil tensors by name; nil when the file cannot be read or is
---not of this form
---@return table<string, string>|string metadata or the message
function safetensors.load(path)
    return core.safetensors_load(check.type("heed.safetensors.load", "path", path, "string"))
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
