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

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
    ["\b"] = "\\b", ["\f"] = "\\f" }

local function quoted(text)
    if not text:find '[%c"\\]' then return '"' .. text .. '"' end
    return '"' .. text:gsub('[%c"\\]', function(c)
        return ESCAPES[c] or c ~= "\127" and ("\\u%04x"):format(c:byte()) or nil
    end) .. '"'
end

local SMALLEST_NORMAL = 0x1p-1022
local FORMATS = {}
for digits = 1, 17 do FORMATS[digits] = ("%%.%dg"):format(digits) end

-- The fewest digits that read back as the same float. Below the normal ones few may do; elsewhere
-- no float needs less than it has in %.15g, whose zeros at the end are not written.
local function float_text(value)
    local first = math.abs(value) < SMALLEST_NORMAL and 1 or 15
    local text
    for digits = first, 17 do
        text = FORMATS[digits]:format(value)
        if tonumber(text) == value then break end
    end
    text = text:gsub(",", ".") -- the locale's point
    return text:find "[.e]" and text or text .. ".0"
end

-- Where in the value something stands that cannot be written: the keys that lead there.
local function refuse(writer, what)
    local path = "value"
    for _, key in ipairs(writer.path) do
        path = path .. (mathtype(key) and ("[%d]"):format(key)
            or key:find "^[%a_][%w_]*$" and "." .. key or ("[%q]"):format(key))
    end
    errors.raise("heed.json.encode: %s: %s", path, what)
end

-- The strings among the keys in order; nil when the table is a list.
local function names_of(writer, t)
    local names, count, length = {}, 0, rawlen(t)
    for key in next, t do
        count = count + 1
        if type(key) == "string" then
            names[#names + 1] = key
        elseif mathtype(key) ~= "integer" or key < 1 or key > length then
            refuse(writer, ("expected a list without holes, or strings as keys, got the key %s")
                :format(check.describe(key)))
        end
    end
    if #names == 0 and (count > 0 or json.is_array(t)) then
        if count == length then return nil end
        refuse(writer, ("expected a list without holes, got %d values in %d places; "
            .. "heed.json.null stands for none"):format(count, length))
    end
    if #names < count or json.is_array(t) then
        refuse(writer, ("expected a list or an object, got a table with the key %q too"):format(
            names[1]))
    end
    table.sort(names)
    return names
end

local write

local function write_string(writer, text)
    if not utf8.len(text) then
        refuse(writer, ("expected UTF-8, got %s"):format(check.describe(text)))
    end
    return quoted(text)
end

-- Brackets around items, each on its own line where there is an indent.
local function bracketed(writer, open, close, items)
    if #items == 0 then return open .. close end
    if not writer.indent then return open .. table.concat(items, ",") .. close end
    local outer = "\n" .. writer.indent:rep(#writer.path)
    local inner = outer .. writer.indent
    return open .. inner .. table.concat(items, "," .. inner) .. outer .. close
end

local function write_table(writer, t)
    local path = writer.path
    local depth = #path + 1
    if depth > DEEPEST then
        writer.path = { table.unpack(path, 1, 3) }
        refuse(writer, ("expected at most %d tables inside each other, got more, or a circle")
            :format(DEEPEST))
    end
    local names, items = names_of(writer, t), {}
    for i = 1, names and #names or rawlen(t) do
        local key = names and names[i] or i
        path[depth] = key
        local name = names and write_string(writer, key) .. (writer.indent and ": " or ":") or ""
        items[i] = name .. write(writer, rawget(t, key))
    end
    path[depth] = nil
    return bracketed(writer, names and "{" or "[", names and "}" or "]", items)
end

local function write_number(writer, value)
    if mathtype(value) == "integer" then return ("%d"):format(value) end
    if value ~= value or value == math.huge or value == -math.huge then
        refuse(writer, ("expected a finite number, got %s; JSON has no other"):format(
            value ~= value and "nan" or tostring(value)))
    end
    return float_text(value)
end

function write(writer, value)
    local kind = type(value)
    if kind == "table" then return write_table(writer, value) end
    if kind == "string" then return write_string(writer, value) end
    if kind == "number" then return write_number(writer, value) end
    if kind == "boolean" then return value and "true" or "false" end
    if value == json.null then return "null" end
    local hint = value == nil and "; heed.json.null stands for none"
        or check.is_tensor(value) and "; t:totable() makes a table" or ""
    return refuse(writer, ("expected numbers, strings, booleans, tables or heed.json.null, "
        .. "got %s%s"):format(check.describe(value), hint))
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
    if indent ~= nil then
        indent = (" "):rep(check.integer("heed.json.encode", "indent", indent, 0))
    end
    return write({ path = {}, indent = indent }, value)
end

return json
