local check = require "heed.check"
local errors = require "heed.errors"
local module = require "heed.nn.module"

---A list of modules: ipairs, # and list[i] work; list[#list + 1] = another, or
---list:append(another), adds one.
---
---```lua
---local list = nn.ModuleList { nn.Linear(2, 2), nn.Linear(2, 2) }
---list:append(nn.Linear(2, 1))
---local x = heed.ones(1, 2)
---for _, layer in ipairs(list) do x = layer(x) end
---print(#list, x.shape) --> 3 [1, 1]
---```
---@class heed.nn.ModuleList: heed.nn.Module
local ModuleList = module.Module:extend "ModuleList"

-- Puts the modules of a list under 1, 2, ... of a module. A key beside them would be left out
-- without a word.
function ModuleList.fill(self, where, list)
    if module.is_module(list) then
        errors.raise("%s: expected a list of modules, {module, ...}, got a module, %s", where,
            list.class_name)
    end
    local count = 0
    for _ in pairs(list) do count = count + 1 end
    for i = 1, count do
        local item = list[i]
        if item == nil then
            errors.raise("%s: expected a list of modules, got a table with other keys than 1, 2, "
                .. "...", where)
        elseif not module.is_module(item) then
            errors.raise("%s: expected modules, got %s at %d", where, check.describe(item), i)
        end
        self[i] = item
    end
end

---@param list? heed.nn.Module[]
function ModuleList:init(list, ...)
    ModuleList.fill(self, "heed.nn.ModuleList", check.type("heed.nn.ModuleList", "list", list or {},
        "table"))
    check.no_more("heed.nn.ModuleList", 1, ...)
end

---Adds a module at the end.
---@param another heed.nn.Module
---@return heed.nn.ModuleList self
function ModuleList:append(another)
    if not module.is_module(another) then
        errors.raise("heed.nn.%s:append: expected a module, got %s", self.class_name,
            check.describe(another))
    end
    self[#self + 1] = another
    return self
end

function ModuleList:forward() -- luacheck: ignore self
    errors.raise("heed.nn.ModuleList: it is a list of modules, not one to call: loop over it "
        .. "with ipairs, or use nn.Sequential")
end

return ModuleList
