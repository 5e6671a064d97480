local core = require "heed.core"
local module = require "heed.nn.module"

---max(0, x).
---@class heed.nn.ReLU: heed.nn.Module
local ReLU = module.Module:extend "ReLU"
function ReLU:forward(x) return core.relu(x) end -- luacheck: ignore self

---x · Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016), with erf.
---@class heed.nn.GELU: heed.nn.Module
local GELU = module.Module:extend "GELU"
function GELU:forward(x) return core.gelu(x) end -- luacheck: ignore self

---x · sigmoid(x) (Elfwing et al. 2017).
---@class heed.nn.SiLU: heed.nn.Module
local SiLU = module.Module:extend "SiLU"
function SiLU:forward(x) return core.silu(x) end -- luacheck: ignore self

return { ReLU = ReLU, GELU = GELU, SiLU = SiLU }
