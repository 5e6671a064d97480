--- JSON (RFC 8259) that keeps what was written: integers whole, floats to the last bit, null, and
--- empty lists apart from empty objects.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local json = {}

local mathtype = math.type
local DEEPEST = 1000 -- as decode reads
local LIST = {} -- the metatable of lists

---What `null` becomes, and is written from. It is true, as everything but false and nil: compare
---with it, `value == heed.json.null`.
json.null = core.json_null

---Marks a table as a list, which an empty one would not be known to be. Lists of decode are marked.
---
---```lua
---print(heed.json.encode {}, heed.json.encode(heed.json.array {})) --> {} []
---```
---@param list table changed and returned
---@return table
function json.array(list)
    check.type("heed.json.array", "list", list, "table")
    local before = getmetatable(list)
    if before ~= nil and before ~= LIST then
        errors.raise("heed.json.array: list: expected a table without a metatable, got %s",
            check.describe(list))
    end
    return setmetatable(list, LIST)
end

---Was it marked as a list, by heed.json.array or by decode?
---
---```lua
---local list, object = heed.json.decode "[]", heed.json.decode "{}"
---print(heed.json.is_array(list), heed.json.is_array(object)) --> true false
---```
---@param value any
---@return boolean
function json.is_array(value) return type(value) == "table" and getmetatable(value) == LIST end

---The value of a JSON text.
---
---Numbers without point and exponent are integers, others floats; an integer that 64 bits do not
---hold becomes a float if one holds it without loss, and else is refused, as are floats beyond the
---largest. `null` is heed.json.null. Of members with the same name the last counts. Refused are
---text behind the value, bytes that are not UTF-8, half surrogate pairs, and more than 1000 lists
---and objects inside each other. A byte order mark before the text is passed over.
---
---```lua
---local value = heed.json.decode '{"id": 9007199254740993, "scores": [1.0, null]}'
---print(value.id, value.scores[1], value.scores[2]) --> 9007199254740993 1.0 null
---print(heed.json.decode "[1, 2") --> nil line 1, column 6: expected a comma or ], got the end
---```
---@param text string
---@return any value nil when it is not JSON
---@return string? message line and column (in characters) of what is wrong
function json.decode(text)
    check.type("heed.json.decode", "text", text, "string")
    return core.json_decode(text, json.null, LIST)
end

-- ---- writing ------------------------------------------------------------------------------------

-- Why a value cannot be written, by the word that core.json_encode has for it.
local PROBLEMS = {
    number = function(value)
        return ("expected a finite number, got %s; JSON has no other"):format(
            value ~= value and "nan" or tostring(value))
    end,
    text = function(value) return "expected UTF-8, got " .. check.describe(value) end,
    key = function(key)
        return "expected a list without holes, or strings as keys, got the key "
            .. check.describe(key)
    end,
    holes = function(list, count)
        return ("expected a list without holes, got %d values in %d places; heed.json.null stands "
            .. "for none"):format(count, rawlen(list))
    end,
    mixed = function(key)
        return ("expected a list or an object, got a table with the key %q too"):format(key)
    end,
    deep = function()
        return ("expected at most %d tables inside each other, got more, or a circle"):format(
            DEEPEST)
    end,
    kind = function(value)
        local hint = value == nil and "; heed.json.null stands for none"
            or check.is_tensor(value) and "; t:totable() makes a table" or ""
        return ("expected numbers, strings, booleans, tables or heed.json.null, got %s%s"):format(
            check.describe(value), hint)
    end,
}

-- Raises what is wrong and where: `keys` lead there, the last first. Of a circle a few are enough.
local function refuse(problem, culprit, keys, count)
    local path = "value"
    for i = #keys, problem == "deep" and #keys - 2 or 1, -1 do
        local key = keys[i]
        path = path .. (mathtype(key) and ("[%d]"):format(key)
            or key:find "^[%a_][%w_]*$" and "." .. key or ("[%q]"):format(key))
    end
    errors.raise("heed.json.encode: %s: %s", path, PROBLEMS[problem](culprit, count))
end

---A value as JSON text, which decode reads back the same.
---
---A table is a list when its keys are 1, 2, 3, ... or it is marked (heed.json.array); else an
---object, whose names are written in the order of their bytes. Metatables have no say. Floats have
---the fewest digits that read back the same, and stay floats: 1.0. NaN, infinities, text that is
---not UTF-8, tables that are neither list nor object, functions, tensors and circles are errors.
---
---```lua
---print(heed.json.encode { b = "é", a = { 1, 2.0, 0.1 } }) --> {"a":[1,2.0,0.1],"b":"é"}
---print(heed.json.encode({ a = { 1, 2 } }, { indent = 2 }))
---```
---@param value any
---@param options? { indent?: integer } blanks for each level, every value on a line of its own;
---default: all on one line
---@return string
function json.encode(value, options)
    options = check.options("heed.json.encode", options, { indent = true })
    local indent = options.indent
    if indent ~= nil then indent = check.integer("heed.json.encode", "indent", indent, 0) end
    local text, problem, culprit, keys, count = core.json_encode(value, json.null, LIST, indent)
    return text or refuse(problem, culprit, keys, count)
end

return json
