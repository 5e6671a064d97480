--- Plain data (numbers, strings, booleans, nested tables) as JSON text, and back to exactly the
--- same values.
---
--- Integers and floats stay what they are; infinities, NaN, strings that are not UTF-8, and tables
--- that are neither list nor all of string keys are objects with one key that begins with "$".

local core = require "heed.core"

local plain = {}

local mathtype = math.type
local DEEPEST = 100 -- tables inside each other

-- ---- writing ------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(text)
    if not utf8.len(text) then
        return ('{"$bytes":"%s"}'):format((text:gsub(".", function(c)
            return ("%02x"):format(c:byte())
        end)))
    end
    return '"' .. text:gsub('[%c"\\]', function(c)
        return ESCAPES[c] or ("\\u%04x"):format(c:byte())
    end) .. '"'
end

local function number(value)
    if mathtype(value) == "integer" then return ("%d"):format(value) end
    if value ~= value then return '{"$number":"nan"}' end
    if value == math.huge then return '{"$number":"inf"}' end
    if value == -math.huge then return '{"$number":"-inf"}' end
    local text = ("%.17g"):format(value):gsub(",", ".")
    return text:find "[.eE]" and text or text .. ".0"
end

-- Keys that are something by their value; of others not even an order is the same tomorrow.
local KEYS = { boolean = true, number = true, string = true }

local function key_before(a, b)
    local kind = type(a)
    if kind ~= type(b) then return kind < type(b) end
    if kind == "boolean" then return not a and b end
    return KEYS[kind] ~= nil and a < b
end

---The keys of a table in the order in which they are written.
---@param t table
---@return any[]
function plain.sorted_keys(t)
    local keys = {}
    for key in pairs(t) do keys[#keys + 1] = key end
    table.sort(keys, key_before)
    return keys
end

-- Has it the keys 1, 2, 3, ... and no others? (#t alone may count past a hole.)
local function is_list(t)
    local count = 0
    for _ in pairs(t) do
        count = count + 1
        if t[count] == nil then return false end
    end
    return true
end

local function is_object(keys)
    for _, key in ipairs(keys) do
        if type(key) ~= "string" or key:sub(1, 1) == "$" or not utf8.len(key) then return false end
    end
    return true
end

local function refuse(what) error({ message = what .. " cannot be saved" }) end

---@param value any
---@param foreign? fun(value: any): string|nil gives the text of a value that is not plain, or nil
---@return string|nil text nil when something in it is not plain
---@return string? message
function plain.encode(value, foreign)
    local encode

    local function encode_table(t, depth)
        local parts = {}
        if is_list(t) then
            for i, item in ipairs(t) do parts[i] = encode(item, depth) end
            return "[" .. table.concat(parts, ",") .. "]"
        end
        local keys = plain.sorted_keys(t)
        local as_object = is_object(keys)
        for i, key in ipairs(keys) do
            if not KEYS[type(key)] then refuse("a " .. type(key) .. " as a key") end
            local text = encode(t[key], depth)
            parts[i] = as_object and quoted(key) .. ":" .. text
                or ("[%s,%s]"):format(encode(key, depth), text)
        end
        local text = table.concat(parts, ",")
        return as_object and "{" .. text .. "}" or '{"$map":[' .. text .. "]}"
    end

    function encode(v, depth)
        local kind = type(v)
        if kind == "number" then return number(v) end
        if kind == "string" then return quoted(v) end
        if kind == "boolean" then return tostring(v) end
        if foreign then
            local text = foreign(v)
            if text then return text end
        end
        if kind ~= "table" then refuse("a " .. kind) end
        if depth >= DEEPEST then
            error({ message = "tables are nested too deeply, or in a circle" })
        end
        return encode_table(v, depth + 1)
    end

    local ok, result = pcall(encode, value, 0)
    if ok then return result end
    if type(result) == "table" and result.message then return nil, result.message end
    return error(result, 0)
end

-- ---- reading ------------------------------------------------------------------------------------

local NUMBERS = { nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge }
local LIST = {} -- the metatable of lists while they are read

local function fail(message) error({ message = message }) end

-- What heed.json makes of the text as what was written; `special(object)` turns an object with a
-- "$" key into its value.
local function restored(value, special)
    if value == core.json_null then fail "null, which is not written" end
    if type(value) ~= "table" then return value end
    if getmetatable(value) == LIST then
        setmetatable(value, nil)
        for i, item in ipairs(value) do value[i] = restored(item, special) end
        return value
    end
    local marked = false
    for name, item in pairs(value) do
        value[name] = restored(item, special)
        marked = marked or name:sub(1, 1) == "$"
    end
    return marked and special(value) or value
end

local function from_bytes(hex)
    if type(hex) ~= "string" or #hex % 2 ~= 0 or hex:find "%X" then
        fail "bytes that are not hexadecimal"
    end
    return (hex:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

local function from_map(entries)
    local map = {}
    if type(entries) ~= "table" then fail "a map without entries" end
    for _, entry in ipairs(entries) do
        if type(entry) ~= "table" or entry[1] == nil or entry[1] ~= entry[1] then
            fail "a map with a bad key"
        end
        map[entry[1]] = entry[2]
    end
    return map
end

---@param text string
---@param foreign? fun(object: table): any what an object with another "$" key stands for; nil
---refuses it
---@return any value nil when the text is not of encode's form
---@return string? message
function plain.decode(text, foreign)
    local function special(object)
        if object["$bytes"] then return from_bytes(object["$bytes"]) end
        if object["$map"] then return from_map(object["$map"]) end
        local name = object["$number"]
        if name then return NUMBERS[name] or fail "an unknown number" end
        local result = foreign and foreign(object)
        if result == nil then fail "an object of an unknown kind" end
        return result
    end
    local value, message = core.json_decode(text, core.json_null, LIST)
    if message then return nil, message end
    local ok, result = pcall(restored, value, special)
    if ok then return result end
    if type(result) == "table" and result.message then return nil, result.message end
    return error(result, 0)
end

return plain
