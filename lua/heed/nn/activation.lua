local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local module = require "heed.nn.module"

local activation = {}

---max(0, x).
---
---```lua
---print(nn.ReLU()(heed.tensor { -1, 0, 2 })) --> [0., 0., 2.] f32 [3]
---```
---@class heed.nn.ReLU: heed.nn.Module
activation.ReLU = module.Module:extend "ReLU"

---@param x heed.Tensor
---@return heed.Tensor
function activation.ReLU:forward(x) return core.relu(x) end -- luacheck: ignore self

---x · Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016, "Gaussian Error Linear Units"),
---or one of its approximations: "tanh" 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), "sigmoid" x ·
---sigmoid(1.702 x).
---
---```lua
---print(nn.GELU()(heed.tensor { -1, 0, 2 })) --> [-0.1587, 0.0000, 1.9545] f32 [3]
---print(nn.GELU { approximate = "tanh" }) --> GELU(approximate = "tanh") 0 parameters
---```
---@class heed.nn.GELU: heed.nn.Module
---@field approximate "none"|"tanh"|"sigmoid"
activation.GELU = module.Module:extend "GELU"

---@param options? { approximate?: "none"|"tanh"|"sigmoid" } default "none"; "tanh" as GPT-2 has it;
---"sigmoid" is called quick gelu
function activation.GELU:init(options)
    options = check.options("heed.nn.GELU", options, check.set("approximate"))
    self.approximate = check.one_of("heed.nn.GELU", "approximate", options.approximate or "none",
        { "none", "tanh", "sigmoid" })
end

---@param x heed.Tensor
---@return heed.Tensor
function activation.GELU:forward(x) return core.gelu(x, { approximate = self.approximate }) end

function activation.GELU:extra()
    return self.approximate ~= "none" and ("approximate = %q"):format(self.approximate) or ""
end

---x · sigmoid(x) (Elfwing et al. 2017, "Sigmoid-Weighted Linear Units"), also called swish.
---
---```lua
---print(nn.SiLU()(heed.tensor { -1, 0, 2 })) --> [-0.2689, 0.0000, 1.7616] f32 [3]
---```
---@class heed.nn.SiLU: heed.nn.Module
activation.SiLU = module.Module:extend "SiLU"

---@param x heed.Tensor
---@return heed.Tensor
function activation.SiLU:forward(x) return core.silu(x) end -- luacheck: ignore self

---The hyperbolic tangent.
---
---```lua
---print(nn.Tanh()(heed.tensor { -1, 0, 2 })) --> [-0.7616, 0.0000, 0.9640] f32 [3]
---```
---@class heed.nn.Tanh: heed.nn.Module
activation.Tanh = module.Module:extend "Tanh"

---@param x heed.Tensor
---@return heed.Tensor
function activation.Tanh:forward(x) return core.tanh(x) end -- luacheck: ignore self

---1 / (1 + e^-x).
---
---```lua
---print(nn.Sigmoid()(heed.tensor { -1, 0, 2 })) --> [0.2689, 0.5000, 0.8808] f32 [3]
---```
---@class heed.nn.Sigmoid: heed.nn.Module
activation.Sigmoid = module.Module:extend "Sigmoid"

---@param x heed.Tensor
---@return heed.Tensor
function activation.Sigmoid:forward(x) return core.sigmoid(x) end -- luacheck: ignore self

---x above 0, slope · x below.
---
---```lua
---print(nn.LeakyReLU(0.1)(heed.tensor { -1, 0, 2 })) --> [-0.1000, 0.0000, 2.0000] f32 [3]
---```
---@class heed.nn.LeakyReLU: heed.nn.Module
---@field slope number
activation.LeakyReLU = module.Module:extend "LeakyReLU"

---@param slope? number default 0.01
function activation.LeakyReLU:init(slope)
    self.slope = check.number("heed.nn.LeakyReLU", "slope", check.default(slope, 0.01))
end

---@param x heed.Tensor
---@return heed.Tensor
function activation.LeakyReLU:forward(x) return core.leaky_relu(x, self.slope) end

function activation.LeakyReLU:extra() return ("%g"):format(self.slope) end

---x above 0, alpha · (e^x - 1) below (Clevert et al. 2016, "Exponential Linear Units").
---
---```lua
---print(nn.ELU()(heed.tensor { -1, 0, 2 })) --> [-0.6321, 0.0000, 2.0000] f32 [3]
---```
---@class heed.nn.ELU: heed.nn.Module
---@field alpha number
activation.ELU = module.Module:extend "ELU"

---@param alpha? number default 1
function activation.ELU:init(alpha)
    self.alpha = check.number("heed.nn.ELU", "alpha", check.default(alpha, 1))
end

---@param x heed.Tensor
---@return heed.Tensor
function activation.ELU:forward(x) return core.elu(x, self.alpha) end

function activation.ELU:extra() return ("%g"):format(self.alpha) end

---log(1 + e^x).
---
---```lua
---print(nn.Softplus()(heed.tensor { -1, 0, 2 })) --> [0.3133, 0.6931, 2.1269] f32 [3]
---```
---@class heed.nn.Softplus: heed.nn.Module
activation.Softplus = module.Module:extend "Softplus"

---@param x heed.Tensor
---@return heed.Tensor
function activation.Softplus:forward(x) return core.softplus(x) end -- luacheck: ignore self

-- Of a tensor, in the core.
local MOST_DIMENSIONS = 8

local function dimension(where, dim, name)
    local whole = math.type(dim) == "integer" and dim ~= 0
    if whole and dim >= -MOST_DIMENSIONS and dim <= MOST_DIMENSIONS then return dim end
    return errors.raise("%s: %s: expected a dimension, 1, 2, ... or -1, -2, ..., got %s", where,
        name or "dim", check.describe(dim))
end

---The softmax along a dimension: e^x / Σ e^x.
---
---```lua
---print(nn.Softmax(-1)(heed.tensor { { 1, 1 }, { 0, math.log(3) } })) --> [[0.5000, 0.5000], [0.2500, 0.7500]] f32 [2, 2]
---```
---@class heed.nn.Softmax: heed.nn.Module
---@field dim integer
activation.Softmax = module.Module:extend "Softmax"

---@param dim integer
function activation.Softmax:init(dim) self.dim = dimension("heed.nn.Softmax", dim) end

---@param x heed.Tensor
---@return heed.Tensor
function activation.Softmax:forward(x) return core.softmax(x, self.dim) end

function activation.Softmax:extra() return ("dim = %d"):format(self.dim) end

---The logarithm of the softmax along a dimension.
---
---```lua
---print(nn.LogSoftmax(-1)(heed.tensor { 1, 1 })) --> [-0.6931, -0.6931] f32 [2]
---```
---@class heed.nn.LogSoftmax: heed.nn.Module
---@field dim integer
activation.LogSoftmax = module.Module:extend "LogSoftmax"

---@param dim integer
function activation.LogSoftmax:init(dim) self.dim = dimension("heed.nn.LogSoftmax", dim) end

---@param x heed.Tensor
---@return heed.Tensor
function activation.LogSoftmax:forward(x) return core.log_softmax(x, self.dim) end

function activation.LogSoftmax:extra() return ("dim = %d"):format(self.dim) end

---The dimensions from first to last as one; by default all but the first.
---
---```lua
---print(nn.Flatten()(heed.zeros(8, 3, 4, 5)).shape, nn.Flatten(3)(heed.zeros(8, 3, 4, 5)).shape) --> [8, 60] [8, 3, 20]
---```
---@class heed.nn.Flatten: heed.nn.Module
---@field first integer
---@field last integer
activation.Flatten = module.Module:extend "Flatten"

---@param first? integer default 2
---@param last? integer default -1
function activation.Flatten:init(first, last)
    self.first = dimension("heed.nn.Flatten", check.default(first, 2), "first")
    self.last = dimension("heed.nn.Flatten", check.default(last, -1), "last")
end

---@param x heed.Tensor
---@return heed.Tensor
function activation.Flatten:forward(x) return core.flatten(x, self.first, self.last) end

function activation.Flatten:extra() return ("%d, %d"):format(self.first, self.last) end

---What it is given. For a place in a model that wants some module.
---
---```lua
---print(nn.Identity()(3)) --> 3
---```
---@class heed.nn.Identity: heed.nn.Module
activation.Identity = module.Module:extend "Identity"

---@param ... any
---@return any ...
function activation.Identity:forward(...) return ... end -- luacheck: ignore self

-- ---- by name: what feed-forward parts take ------------------------------------------------------

local TANH, SIGMOID = { approximate = "tanh" }, { approximate = "sigmoid" }

---The function of each name; C joins it to the linear map before it.
---@type table<string, fun(x: heed.Tensor): heed.Tensor>
activation.by_name = {
    relu = core.relu, gelu = core.gelu, silu = core.silu, tanh = core.tanh, sigmoid = core.sigmoid,
    gelu_tanh = function(x) return core.gelu(x, TANH) end,
    gelu_sigmoid = function(x) return core.gelu(x, SIGMOID) end,
}

---The activation inside each gated one.
activation.gated = { swiglu = "silu", geglu = "gelu", geglu_tanh = "gelu_tanh", reglu = "relu" }

---All names, for messages.
activation.names = { table.unpack(core.activations) }
for _, name in ipairs { "swiglu", "geglu", "geglu_tanh", "reglu" } do
    activation.names[#activation.names + 1] = name
end

return activation
