--- The parameters, buffers and modules inside a module, in the order in which its fields came.

local check = require "heed.check"
local errors = require "heed.errors"
local names = require "heed.nn.names"

local walk = {}

---The tensors that nn.parameter made.
walk.is_parameter = setmetatable({}, { __mode = "k" })

---Is this an instance of a module class: a layer, or a model?
---
---```lua
---print(heed.nn.is_module(nn.Linear(2, 2)), heed.nn.is_module(nn.Linear), heed.nn.is_module {}) --> true false false
---```
---@param value any
---@return boolean
function walk.is_module(value)
    if type(value) ~= "table" then return false end
    local meta = getmetatable(value)
    return type(meta) == "table" and meta.is_heed_module == true
end

local PRIVATE = check.set("_order", "_buffers", "training")

-- The names of a module's fields in order; those that came past assign (rawset) follow, sorted.
local function fields_in_order(self)
    local order, late = rawget(self, "_order"), nil
    for key in next, self do
        if type(key) == "string" and not order[key] and not PRIVATE[key] then
            late = late or {}
            late[#late + 1] = key
        end
    end
    if not late then return order end
    table.sort(late)
    return table.move(late, 1, #late, #order + 1, table.move(order, 1, #order, 1, {}))
end

local look_into_table

-- Calls visit(name, key, owner, value) when the value is a parameter or module, and for those in it
-- when it is a plain table. `outer` is the set of plain tables that it stands in: a table inside
-- itself is not entered again.
local function look(owner, key, value, name, base, visit, outer)
    local kind = type(value)
    if kind == "userdata" then
        if walk.is_parameter[value] then visit(name, key, owner, value) end
    elseif kind == "table" then
        if walk.is_module(value) then
            visit(name, key, owner, value)
        elseif getmetatable(value) == nil then
            outer = outer or {}
            if outer[value] then return end
            outer[value] = true
            look_into_table(value, name, base, visit, outer)
            outer[value] = nil
        end
    end
end

function look_into_table(list, name, base, visit, outer)
    for i, item in ipairs(list) do
        look(list, i, item, name .. "." .. (i - 1 + base), base, visit, outer)
    end
    local keys = {}
    for key in pairs(list) do
        if type(key) == "string" then keys[#keys + 1] = key end
    end
    table.sort(keys)
    for _, key in ipairs(keys) do
        look(list, key, list[key], name .. "." .. key, base, visit, outer)
    end
end

---Calls visit(name, key, owner, value) for each parameter and module in a field; `base` is what
---lists count from.
function walk.each_member(self, base, visit)
    local buffers = rawget(self, "_buffers")
    for _, key in ipairs(fields_in_order(self)) do
        local value = rawget(self, key)
        if value ~= nil and not buffers[key] then look(self, key, value, key, base, visit) end
    end
    for i, item in ipairs(self) do look(self, i, item, tostring(i - 1 + base), base, visit) end
end

-- As each_module; a path that two modules have is no error here.
local function visit_modules(root, base, visit)
    local seen = {}
    local function enter(self, path)
        if seen[self] then return end
        seen[self] = true
        visit(path, self)
        walk.each_member(self, base, function(name, _, _, value)
            if walk.is_module(value) then
                enter(value, path == "" and name or path .. "." .. name)
            end
        end)
    end
    enter(root, "")
end

---Calls visit(path, module) for the module and all below it, each once, parents first.
function walk.each_module(root, base, visit)
    local taken = {}
    visit_modules(root, base, function(path, self)
        names.claim(taken, path, "modules")
        visit(path, self)
    end)
end

---Calls visit(name, tensor, owner, key, kind) for every parameter and buffer, in order: a module's
---own, then its modules'.
function walk.each_tensor(root, base, visit)
    local taken = {}
    local function found(name, tensor, owner, key, kind)
        names.claim(taken, name, "tensors")
        visit(name, tensor, owner, key, kind)
    end
    walk.each_module(root, base, function(path, self)
        local prefix = path == "" and "" or path .. "."
        walk.each_member(self, base, function(name, key, owner, value)
            if type(value) == "userdata" then
                found(prefix .. name, value, owner, key, "parameter")
            end
        end)
        local buffers = rawget(self, "_buffers")
        if next(buffers) == nil then return end
        for _, key in ipairs(fields_in_order(self)) do
            if buffers[key] and rawget(self, key) then
                found(prefix .. key, rawget(self, key), self, key, buffers[key])
            end
        end
    end)
end

errors.is_module = walk.is_module

function errors.path_between(root, leaf)
    local found
    visit_modules(root, 1, function(path, self)
        if self == leaf then found = path end
    end)
    return found
end

return walk
