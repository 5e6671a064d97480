local check = require "heed.check"
local core = require "heed.core"
local module = require "heed.nn.module"

local dropout = core.dropout

---In training each element is 0 with probability p, the others are divided by 1 - p (Srivastava et
---al. 2014).
---
---```lua
---local dropout = nn.Dropout(0.5)
---print(dropout(heed.ones(4)), dropout:eval()(heed.ones(4)))
---```
---@class heed.nn.Dropout: heed.nn.Module
---@field p number
local Dropout = module.Module:extend "Dropout"

---@param p? number default 0.5
function Dropout:init(p) self.p = check.number("heed.nn.Dropout", "p", p or 0.5, 0, 1) end

---@param x heed.Tensor
---@return heed.Tensor
function Dropout:forward(x)
    if not self.training or self.p == 0 then return x end
    return dropout(x, self.p)
end

function Dropout:extra() return ("%g"):format(self.p) end

return Dropout
