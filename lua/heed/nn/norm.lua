local check = require "heed.check"
local core = require "heed.core"
local module = require "heed.nn.module"

local layer_norm = core.layer_norm

---y = (x - mean) / sqrt(var + eps) · weight + bias over the last dimension (Ba et al. 2016).
---@class heed.nn.LayerNorm: heed.nn.Module
---@field weight heed.Tensor [dim]
---@field bias heed.Tensor [dim]
local LayerNorm = module.Module:extend "LayerNorm"

---@param dim integer
---@param options? { eps?: number } default 1e-5
function LayerNorm:init(dim, options)
    check.integer("nn.LayerNorm", "dim", dim)
    options = check.options("nn.LayerNorm", options, { eps = true })
    self.eps = check.number("nn.LayerNorm", "eps", options.eps or 1e-5, 0)
    self.weight = module.parameter(core.ones(dim))
    self.bias = module.parameter(core.zeros(dim))
end

---@param x heed.Tensor [..., dim]
---@return heed.Tensor [..., dim]
function LayerNorm:forward(x) return layer_norm(x, self.weight, self.bias, self.eps) end

function LayerNorm:extra() return ("%d"):format(self.weight:size(1)) end

---y = x / sqrt(mean(x²) + eps) · weight over the last dimension (Zhang and Sennrich 2019).
---@class heed.nn.RMSNorm: heed.nn.Module
---@field weight heed.Tensor [dim]
local RMSNorm = module.Module:extend "RMSNorm"

---@param dim integer
---@param options? { eps?: number } default 1e-6
function RMSNorm:init(dim, options)
    check.integer("nn.RMSNorm", "dim", dim)
    options = check.options("nn.RMSNorm", options, { eps = true })
    self.eps = check.number("nn.RMSNorm", "eps", options.eps or 1e-6, 0)
    self.weight = module.parameter(core.ones(dim))
end

---@param x heed.Tensor [..., dim]
---@return heed.Tensor [..., dim]
function RMSNorm:forward(x)
    local mean_square = (x * x):mean(-1, true)
    return x * (mean_square + self.eps):rsqrt() * self.weight
end

RMSNorm.extra = LayerNorm.extra

return { LayerNorm = LayerNorm, RMSNorm = RMSNorm }
