--- Lua's values to those of a template.

local errors = require "heed.errors"
local check = require "heed.check"
local json = require "heed.json"
local values = require "heed.text.template.values"

local DEEPEST = 200

local convert

local function list_of(where, path, t, depth)
    local list = values.list()
    for i = 1, rawlen(t) do
        list[i] = convert(where, ("%s[%d]"):format(path, i), rawget(t, i), depth + 1)
    end
    return list
end

-- Names in order, since a Lua table has none.
local function dict_of(where, path, t, depth)
    local names = {}
    for name in next, t do
        if type(name) ~= "string" then
            errors.raise("%s: %s: expected a list without holes, or strings as keys, got the "
                .. "key %s", where, path, check.describe(name))
        end
        names[#names + 1] = name
    end
    table.sort(names, values.before)
    local dict = values.dict()
    for _, name in ipairs(names) do
        values.put(dict, name, convert(where, path .. "." .. name, rawget(t, name), depth + 1))
    end
    return dict
end

local function is_list(t)
    if json.is_array(t) then return true end
    local count, length = 0, rawlen(t)
    if length == 0 then return false end
    for key in next, t do
        if math.type(key) ~= "integer" or key < 1 or key > length then return false end
        count = count + 1
    end
    return count == length
end

function convert(where, path, value, depth)
    local kind = type(value)
    if kind == "string" or kind == "number" or kind == "boolean" then return value end
    if value == nil or value == json.null then return values.none end
    if kind ~= "table" then
        errors.raise("%s: %s: expected numbers, strings, booleans, tables or heed.json.null, "
            .. "got %s", where, path, check.describe(value))
    end
    if depth > DEEPEST then
        errors.raise("%s: %s: expected at most %d tables inside each other, got more, or a circle",
            where, path:sub(1, 60), DEEPEST)
    end
    return is_list(value) and list_of(where, path, value, depth)
        or dict_of(where, path, value, depth)
end

---A Lua value, with heed.json.null for None. A table is a list when its keys are 1, 2, 3 ... or
---heed.json marked it; else a dictionary, with its keys in the order of their bytes.
---@param where string the function, for messages
---@param name string the argument
---@param value any
---@return any
return function(where, name, value) return convert(where, name, value, 1) end
