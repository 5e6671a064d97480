local check = require "heed.check"
local core = require "heed.core"
local initial = require "heed.nn.initial"
local module = require "heed.nn.module"

local linear, parameter = core.linear, module.parameter

---y = x W^T + b.
---
---Weights are tied by assignment, `self.head.weight = self.embedding.weight`: one parameter under two
---names, with the sum of both gradients, counted and optimised once, and still one after `to` and
---load_state_dict, and in files that are loaded into such a model.
---
---```lua
---print(nn.Linear(3, 2)(heed.randn(4, 3)).shape) --> [4, 2]
---local embedding, head = nn.Embedding(10, 4), nn.Linear(4, 10, { bias = false })
---head.weight = embedding.weight
---print(#nn.Sequential(embedding, head):parameters()) --> 1
---```
---@class heed.nn.Linear: heed.nn.Module
---@field weight heed.Tensor [out, in]
---@field bias heed.Tensor|nil [out]
local Linear = module.Module:extend "Linear"

Linear.takes_quantized = true -- of its matrices

---Initial values U(±1/sqrt(inputs)), as PyTorch's.
---@param inputs integer
---@param outputs integer
---@param options? { bias?: boolean } default true
function Linear:init(inputs, outputs, options)
    check.integer("heed.nn.Linear", "in", inputs)
    check.integer("heed.nn.Linear", "out", outputs)
    options = check.options("heed.nn.Linear", options, { bias = true })
    local bound = 1 / math.sqrt(inputs)
    local has_bias = check.flag("heed.nn.Linear", "bias", options.bias, true)
    self.weight = parameter(initial.uniform_(core.empty(outputs, inputs), -bound, bound))
    if has_bias then self.bias = parameter(initial.uniform_(core.empty(outputs), -bound, bound)) end
end

---@param x heed.Tensor [..., in]
---@return heed.Tensor # [..., out]
function Linear:forward(x) return linear(x, self.weight, self.bias) end

function Linear:extra()
    return ("%d, %d%s"):format(self.weight:size(2), self.weight:size(1),
        self.bias and "" or ", bias = false")
end

return Linear
