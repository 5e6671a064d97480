local check = require "heed.check"
local core = require "heed.core"
local module = require "heed.nn.module"

---max(0, x).
---@class heed.nn.ReLU: heed.nn.Module
local ReLU = module.Module:extend "ReLU"
function ReLU:forward(x) return core.relu(x) end -- luacheck: ignore self

---x · Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016), with erf; or 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))).
---@class heed.nn.GELU: heed.nn.Module
local GELU = module.Module:extend "GELU"

---@param options? { approximate?: "none"|"tanh" } "tanh": as GPT-2 has it; default "none"
function GELU:init(options)
    options = check.options("nn.GELU", options, check.set("approximate"))
    self.approximate = check.one_of("nn.GELU", "approximate", options.approximate or "none", { "none", "tanh" })
end

function GELU:forward(x)
    if self.approximate == "none" then return core.gelu(x) end
    local inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
    return x * 0.5 * (inner:tanh() + 1)
end

function GELU:extra() return self.approximate == "tanh" and 'approximate = "tanh"' or "" end

---x · sigmoid(x) (Elfwing et al. 2017).
---@class heed.nn.SiLU: heed.nn.Module
local SiLU = module.Module:extend "SiLU"
function SiLU:forward(x) return core.silu(x) end -- luacheck: ignore self

return { ReLU = ReLU, GELU = GELU, SiLU = SiLU }
