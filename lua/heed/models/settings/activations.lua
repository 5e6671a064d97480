--- The activations of configs as those of heed.nn.

local unknown = require "heed.unknown"

local PLAIN = { relu = "relu", gelu = "gelu", gelu_new = "gelu_tanh", gelu_fast = "gelu_tanh",
    gelu_pytorch_tanh = "gelu_tanh", quick_gelu = "gelu_sigmoid", silu = "silu", swish = "silu",
    tanh = "tanh", sigmoid = "sigmoid" }
local GATED = { relu = "reglu", gelu = "geglu", gelu_new = "geglu_tanh",
    gelu_pytorch_tanh = "geglu_tanh", silu = "swiglu", swish = "swiglu" }

local activations = {}

local function of(list, name)
    if not list[name] then unknown.kind("config.json: activation", name) end
    return list[name]
end

---@param name string as a config has it: "gelu_new"
---@return heed.Activation
function activations.of(name) return of(PLAIN, name) end

---The one whose result a third map's multiplies.
---@param name string
---@return heed.Activation
function activations.gated(name) return of(GATED, name) end

return activations
