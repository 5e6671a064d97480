--- The activations of configs as those of heed.nn.

local check = require "heed.check"
local unknown = require "heed.unknown"

local PLAIN = { relu = "relu", gelu = "gelu", gelu_new = "gelu_tanh", gelu_fast = "gelu_tanh",
    gelu_pytorch_tanh = "gelu_tanh", quick_gelu = "gelu_sigmoid", silu = "silu", swish = "silu",
    tanh = "tanh", sigmoid = "sigmoid" }
local GATED = { relu = "reglu", gelu = "geglu", gelu_new = "geglu_tanh",
    gelu_pytorch_tanh = "geglu_tanh", silu = "swiglu", swish = "swiglu" }

local activations = {}

local function of(list, c, key, default)
    local name = c[key] == nil and default or c[key]
    if not list[name] then unknown.kind("config.json: " .. key, check.describe(name)) end
    return list[name]
end

---@param c table config
---@param key string of it, which has a name as configs have it: "gelu_new"
---@param default? string where there is none
---@return heed.Activation
function activations.of(c, key, default) return of(PLAIN, c, key, default) end

---The one whose result a third map's multiplies.
---@param c table
---@param key string
---@return heed.Activation
function activations.gated(c, key) return of(GATED, c, key) end

return activations
