local check = require "heed.check"
local errors = require "heed.errors"
local module = require "heed.nn.module"

---Modules by name, each a field: `dict.name`, or `dict[name]`. They are registered in the order of
---their names, because a Lua table has none; `dict.another = module` adds one at the end. `for
---name, m in dict:named_children()` goes through them.
---
---```lua
---local heads = nn.ModuleDict { tags = nn.Linear(4, 3), words = nn.Linear(4, 10) }
---heads.score = nn.Linear(4, 1)
---print(heads.tags(heed.ones(2, 4)).shape) --> [2, 3]
---for name in heads:named_children() do print(name) end --> tags words score
---```
---@class heed.nn.ModuleDict: heed.nn.Module
---@field [string] heed.nn.Module
local ModuleDict = module.Module:extend "ModuleDict"

---@param modules? table<string, heed.nn.Module>
function ModuleDict:init(modules)
    local names = {}
    for name, item in pairs(check.type("heed.nn.ModuleDict", "modules", modules or {}, "table")) do
        if module.is_module(modules) or type(name) ~= "string" or not module.is_module(item) then
            errors.raise("heed.nn.ModuleDict: modules: expected a table of modules by name, got "
                .. "%s at %s", check.describe(item),
                tostring(name))
        elseif self[name] ~= nil then
            errors.raise("heed.nn.ModuleDict: modules: %s is a field of every module: choose "
                .. "another name", name)
        end
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do self[name] = modules[name] end
end

function ModuleDict:forward() -- luacheck: ignore self
    errors.raise("heed.nn.ModuleDict: it is a table of modules, not one to call: call those, "
        .. "dict.name(x)")
end

return ModuleDict
