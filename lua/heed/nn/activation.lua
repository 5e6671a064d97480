local check = require "heed.check"
local core = require "heed.core"
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

---x · Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016, "Gaussian Error Linear Units"), or one of its approximations:
---"tanh" 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), "sigmoid" x · sigmoid(1.702 x).
---
---```lua
---print(nn.GELU()(heed.tensor { -1, 0, 2 })) --> [-0.1587, 0.0000, 1.9545] f32 [3]
---print(nn.GELU { approximate = "tanh" }) --> GELU(approximate = "tanh") 0 parameters
---```
---@class heed.nn.GELU: heed.nn.Module
---@field approximate "none"|"tanh"|"sigmoid"
activation.GELU = module.Module:extend "GELU"

---@param options? { approximate?: "none"|"tanh"|"sigmoid" } default "none"; "tanh" as GPT-2 has it; "sigmoid" is called quick gelu
function activation.GELU:init(options)
    options = check.options("heed.nn.GELU", options, check.set("approximate"))
    self.approximate = check.one_of("heed.nn.GELU", "approximate", options.approximate or "none", { "none", "tanh", "sigmoid" })
end

---@param x heed.Tensor
---@return heed.Tensor
function activation.GELU:forward(x) return core.gelu(x, { approximate = self.approximate }) end

function activation.GELU:extra() return self.approximate ~= "none" and ("approximate = %q"):format(self.approximate) or "" end

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

-- ---- by name: what feed-forward parts take -------------------------------------------------------------------------

local TANH, SIGMOID = { approximate = "tanh" }, { approximate = "sigmoid" }

---The function of each name.
---@type table<string, fun(x: heed.Tensor): heed.Tensor>
activation.by_name = {
    relu = core.relu, gelu = core.gelu, silu = core.silu, tanh = core.tanh, sigmoid = core.sigmoid,
    gelu_tanh = function(x) return core.gelu(x, TANH) end,
    gelu_sigmoid = function(x) return core.gelu(x, SIGMOID) end,
}

---Those that C joins to the linear map before them.
activation.fuses = check.set("relu", "gelu", "gelu_tanh", "gelu_sigmoid", "silu")

---The activation inside each gated one.
activation.gated = { swiglu = "silu", geglu = "gelu", geglu_tanh = "gelu_tanh" }

---All names, for messages.
activation.names = { "relu", "gelu", "gelu_tanh", "gelu_sigmoid", "silu", "tanh", "sigmoid", "swiglu", "geglu", "geglu_tanh" }

return activation
