local check = require "heed.check"
local module = require "heed.nn.module"
local ModuleList = require "heed.nn.module_list"

---Modules, one after another.
---@class heed.nn.Sequential: heed.nn.Module
local Sequential = module.Module:extend "Sequential"

---@param ... heed.nn.Module modules, or one list of them
function Sequential:init(...)
    local list = { ... }
    if #list == 1 and not module.is_module(list[1]) then list = check.type("nn.Sequential", "modules", list[1], "table") end
    ModuleList.fill(self, "nn.Sequential", list)
end

---@param x heed.Tensor
---@return heed.Tensor
function Sequential:forward(x)
    for i = 1, #self do x = self[i](x) end
    return x
end

return Sequential
