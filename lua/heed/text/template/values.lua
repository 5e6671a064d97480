--- The values of a template, which are Python's: what they are made of here, what is true, equal,
--- less, and how long.
---
--- Strings, booleans, integers and floats are Lua's. Everything else is a table with one of the
--- metatables below; so nothing of Lua can be reached.

local failure = require "heed.text.template.failure"

local values = {}

local mathtype = math.type

local function class(kind, name)
    return { kind = kind, name = name or kind }
end

values.None = class("none", "NoneType")
values.List = class "list"        -- [1], [2], ...
values.Tuple = class "tuple"      -- the same
values.Range = class "range"      -- the same, and first, stop, step
values.Dict = class "dict"        -- keys in order, and map from hash(key) to the value
values.View = class "view"        -- dict, of = "keys", "values" or "items"
values.Iterator = class("iterator", "generator") -- next(): the next value, nil at the end; once
values.Markup = class("markup", "Markup") -- text: a string that counts as escaped
values.Undefined = class("undefined", "Undefined") -- message
values.Namespace = class("namespace", "Namespace") -- dict
values.Function = class "function" -- call(machine, args), name
values.Loop = class("loop", "LoopContext")

---@type table
values.none = setmetatable({}, values.None)


---"none", "boolean", "integer", "float", "string", "markup", "list", "tuple", "dict" ...
---@return string
function values.kind(value)
    local kind = type(value)
    if kind == "table" then return getmetatable(value).kind end
    if kind == "number" then return mathtype(value) end
    return kind
end

local NAMES = { boolean = "bool", integer = "int", string = "str" }

---Python's name of the type, for messages.
---@return string
function values.type_name(value)
    if type(value) == "table" then return getmetatable(value).name end
    local kind = values.kind(value)
    return NAMES[kind] or kind
end

function values.list(items) return setmetatable(items or {}, values.List) end

function values.tuple(items) return setmetatable(items or {}, values.Tuple) end

function values.iterator(next_value)
    return setmetatable({ next = next_value }, values.Iterator)
end

---What dict.keys(), .values() and .items() give.
---@param of string "keys", "values" or "items"
function values.view(dict, of) return setmetatable({ dict = dict, of = of }, values.View) end

function values.markup(text) return setmetatable({ text = text }, values.Markup) end

function values.callable(name, call)
    return setmetatable({ name = name, call = call }, values.Function)
end

---@param message string what using it says
function values.undefined(message, ...)
    if select("#", ...) > 0 then message = message:format(...) end
    return setmetatable({ message = message }, values.Undefined)
end

local SEQUENCES = { list = true, tuple = true, range = true }

---Does it lie in [1], [2], ...?
function values.is_sequence(value) return SEQUENCES[values.kind(value)] or false end

---The Lua string of a string; nil of anything else.
---@return string|nil
function values.text(value)
    if type(value) == "string" then return value end
    return getmetatable(value) == values.Markup and value.text or nil
end

---The number of a number or boolean; nil of anything else.
---@return number|nil
function values.number(value)
    if type(value) == "number" then return value end
    if type(value) == "boolean" then return value and 1 or 0 end
    return nil
end

---What is undefined is refused.
function values.defined(value)
    if getmetatable(value) == values.Undefined then failure.raise("%s", value.message) end
    return value
end

-- ---- dictionaries -------------------------------------------------------------------------------

local hash

-- A tuple's parts one after the other, each with its kind and so long that none runs into the next.
local function tuple_hash(tuple)
    local parts = { "\0t" }
    for _, item in ipairs(tuple) do
        local at = hash(item)
        local kind = type(at):sub(1, 1)
        at = math.tointeger(at) or at
        local text = mathtype(at) == "float" and ("%a"):format(at) or tostring(at)
        parts[#parts + 1] = ("%s%d:%s"):format(kind, #text, text)
    end
    return table.concat(parts)
end

local BY_IDENTITY = { none = true, iterator = true, ["function"] = true, namespace = true,
    loop = true, range = true }

-- Of a key: 1, 1.0 and true are the same. Texts that begin with "\0" make room for tuples.
function hash(key)
    local text = values.text(key)
    if text then return text:sub(1, 1) == "\0" and "\0s" .. text or text end
    local number, kind = values.number(key), values.kind(key)
    if number and number == number then return number end
    if kind == "undefined" then return values.Undefined end
    if kind == "tuple" then return tuple_hash(key) end
    if BY_IDENTITY[kind] then return key end
    return failure.raise("a %s cannot be a key", values.type_name(key))
end

values.hash = hash

function values.dict() return setmetatable({ keys = {}, map = {} }, values.Dict) end

function values.put(dict, key, value)
    local at = hash(key)
    if dict.map[at] == nil then dict.keys[#dict.keys + 1] = key end
    dict.map[at] = value
end

---nil when it is not there.
function values.get(dict, key) return dict.map[hash(key)] end

-- ---- truth and length ---------------------------------------------------------------------------

local lengths = {
    string = function(value) return select(2, value:gsub("[^\x80-\xBF]", "")) end,
    markup = function(value) return select(2, value.text:gsub("[^\x80-\xBF]", "")) end,
    list = rawlen, tuple = rawlen, range = rawlen,
    dict = function(value) return #value.keys end,
    view = function(value) return #value.dict.keys end,
    undefined = function() return 0 end,
}

---nil of what has none.
---@return integer|nil
function values.length(value)
    local length = lengths[values.kind(value)]
    return length and length(value)
end

---@return boolean
function values.truth(value)
    local kind = type(value)
    if kind == "boolean" then return value end
    if kind == "number" then return value ~= 0 end
    if kind == "string" then return value ~= "" end
    if value == values.none then return false end
    local length = values.length(value)
    return length == nil or length > 0
end

-- ---- equality and order -------------------------------------------------------------------------

local equal

local function equal_items(a, b)
    if #a ~= #b then return false end
    for i = 1, #a do
        if not equal(a[i], b[i]) then return false end
    end
    return true
end

local function equal_dicts(a, b)
    if #a.keys ~= #b.keys then return false end
    for _, key in ipairs(a.keys) do
        local other = values.get(b, key)
        if other == nil or not equal(values.get(a, key), other) then return false end
    end
    return true
end

---@return boolean
function values.equal(a, b)
    local x, y = values.text(a) or values.number(a), values.text(b) or values.number(b)
    if x ~= nil or y ~= nil then return x == y end
    local kind = values.kind(a)
    if a == b or kind ~= values.kind(b) then return a == b end
    if SEQUENCES[kind] then return equal_items(a, b) end
    if kind == "dict" then return equal_dicts(a, b) end
    return kind == "undefined"
end
equal = values.equal

---a < b; refused where Python has no order.
---@param sign string for the message
---@return boolean
function values.less(a, b, sign)
    values.defined(a)
    values.defined(b)
    local x, y = values.number(a), values.number(b)
    if x and y then return x < y end
    x, y = values.text(a), values.text(b)
    if x and y then return values.before(x, y) end
    local kind = values.kind(a)
    if (kind == "list" or kind == "tuple") and kind == values.kind(b) then
        for i = 1, math.min(#a, #b) do
            if not equal(a[i], b[i]) then return values.less(a[i], b[i], sign) end
        end
        return #a < #b
    end
    return failure.raise("'%s' is not supported between %s and %s", sign or "<",
        values.type_name(a), values.type_name(b))
end

---The order of bytes, which is that of characters; Lua's `<` has the locale's.
---@param x string
---@param y string
function values.before(x, y)
    for i = 1, math.min(#x, #y) do
        local p, q = x:byte(i), y:byte(i)
        if p ~= q then return p < q end
    end
    return #x < #y
end

return values
