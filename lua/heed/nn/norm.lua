local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local module = require "heed.nn.module"

local layer_norm, rms_norm = core.layer_norm, core.rms_norm

-- What both print: the width, and what is not as usual.
local function described(self)
    if self.weight then
        return ("%d%s"):format(self.dim, self.has_bias and not self.bias and ", bias = false" or "")
    end
    return ("%d, elementwise_affine = false"):format(self.dim)
end

-- Without parameters nobody else would know a wrong width.
local function check_width(self, x)
    if x:dim() < 1 or x:size(-1) ~= self.dim then
        errors.raise("x: expected %d features (dim), got %s", self.dim, tostring(x.shape))
    end
end

---y = (x - mean) / sqrt(var + eps) · weight + bias over the last dimension, var the mean of squares
---of x - mean (Ba, Kiros and Hinton 2016, "Layer Normalization").
---
---```lua
---print(nn.LayerNorm(4)(heed.tensor { 1, 2, 3, 4 })) --> [-1.3416, -0.4472, 0.4472, 1.3416] f32 [4], recorded
---```
---@class heed.nn.LayerNorm: heed.nn.Module
---@field weight heed.Tensor|nil [dim], ones at first
---@field bias heed.Tensor|nil [dim], zeros at first
---@field eps number
local LayerNorm = module.Module:extend "LayerNorm"

LayerNorm.has_bias = true
LayerNorm.norm_kind = "layer" -- for C

---@param dim integer
---@param options? { eps?: number, bias?: boolean, elementwise_affine?: boolean } eps: default 1e-5;
---bias = false: weight alone; elementwise_affine = false: neither
function LayerNorm:init(dim, options)
    self.dim = check.integer("heed.nn.LayerNorm", "dim", dim)
    options = check.options("heed.nn.LayerNorm", options,
        check.set("eps", "bias", "elementwise_affine"))
    self.eps = check.number("heed.nn.LayerNorm", "eps", check.default(options.eps, 1e-5), 0)
    local has_bias = check.flag("heed.nn.LayerNorm", "bias", options.bias, true)
    if not check.flag("heed.nn.LayerNorm", "elementwise_affine", options.elementwise_affine,
        true) then
        return
    end
    self.weight = module.parameter(core.ones(dim))
    if has_bias then self.bias = module.parameter(core.zeros(dim)) end
end

---@param x heed.Tensor [..., dim]
---@return heed.Tensor # [..., dim]
function LayerNorm:forward(x)
    if not self.weight then check_width(self, x) end
    return layer_norm(x, self.weight, self.bias, self.eps)
end

LayerNorm.extra = described

---y = x / sqrt(mean(x²) + eps) · weight over the last dimension (Zhang and Sennrich 2019, "Root
---Mean Square Layer Normalization").
---
---```lua
---print(nn.RMSNorm(2)(heed.tensor { 3, 4 })) --> [0.8485, 1.1314] f32 [2], recorded
---print(nn.RMSNorm(2, { unit_offset = true }).weight) --> [0., 0.] f32 [2], requires_grad
---```
---@class heed.nn.RMSNorm: heed.nn.Module
---@field weight heed.Tensor|nil [dim], ones at first; with unit_offset zeros
---@field eps number
---@field unit_offset boolean
local RMSNorm = module.Module:extend "RMSNorm"

RMSNorm.norm_kind = "rms"

---@param dim integer
---@param options? { eps?: number, elementwise_affine?: boolean, unit_offset?: boolean } eps: default
---1e-6; elementwise_affine = false: no weight; unit_offset: what is multiplied is 1 + weight, as in
---Gemma, so that decay draws it to 1
function RMSNorm:init(dim, options)
    self.dim = check.integer("heed.nn.RMSNorm", "dim", dim)
    options = check.options("heed.nn.RMSNorm", options,
        check.set("eps", "elementwise_affine", "unit_offset"))
    self.eps = check.number("heed.nn.RMSNorm", "eps", check.default(options.eps, 1e-6), 0)
    self.unit_offset = check.flag("heed.nn.RMSNorm", "unit_offset", options.unit_offset, false)
    if not check.flag("heed.nn.RMSNorm", "elementwise_affine", options.elementwise_affine,
        true) then
        return
    end
    self.weight = module.parameter(self.unit_offset and core.zeros(dim) or core.ones(dim))
end

---@param x heed.Tensor [..., dim]
---@return heed.Tensor # [..., dim]
function RMSNorm:forward(x)
    local weight = self.weight
    if not weight then check_width(self, x) end
    return rms_norm(x, weight and self.unit_offset and weight + 1 or weight, self.eps)
end

RMSNorm.extra = described

-- Can C run it as a part of a layer?
local function is_stock(norm)
    local forward = norm.forward
    return forward == LayerNorm.forward or forward == RMSNorm.forward
end

return { LayerNorm = LayerNorm, RMSNorm = RMSNorm, is_stock = is_stock }
