local check = require "heed.check"
local errors = require "heed.errors"
local module = require "heed.nn.module"

---A list of modules: ipairs, # and list[i] work; list[#list + 1] = another adds one.
---@class heed.nn.ModuleList: heed.nn.Module
local ModuleList = module.Module:extend "ModuleList"

---@param list? heed.nn.Module[]
function ModuleList:init(list)
    for i, item in ipairs(check.type("nn.ModuleList", "list", list or {}, "table")) do
        if not module.is_module(item) then
            errors.raise("nn.ModuleList: expected modules, got %s at %d", check.describe(item), i)
        end
        self[i] = item
    end
end

function ModuleList:forward() -- luacheck: ignore self
    errors.raise "nn.ModuleList is a list of modules, not one to call: loop over it with ipairs, or use nn.Sequential"
end

return ModuleList
