local check = require "heed.check"
local module = require "heed.nn.module"
local ModuleList = require "heed.nn.module_list"

---Modules, one after another: each is called with what the one before it gave.
---
---```lua
---local net = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 1))
---print(net(heed.randn(3, 2)).shape, #net, net[1].weight.shape) --> [3, 1] 3 [8, 2]
---```
---@class heed.nn.Sequential: heed.nn.Module
local Sequential = module.Module:extend "Sequential"

---@param ... heed.nn.Module modules, or one list of them
function Sequential:init(...)
    local list = { ... }
    if #list == 1 and not module.is_module(list[1]) then
        list = check.type("heed.nn.Sequential", "modules", list[1], "table")
    end
    ModuleList.fill(self, "heed.nn.Sequential", list)
end

Sequential.append = ModuleList.append

---@param x heed.Tensor
---@return heed.Tensor
function Sequential:forward(x)
    for i = 1, #self do x = self[i](x) end
    return x
end

return Sequential
