--- Plain data (numbers, strings, booleans, nested tables) as JSON text, and back to exactly the
--- same values.
---
--- Integers and floats stay what they are; infinities, NaN, strings that are not UTF-8, and tables
--- that are neither list nor all of string keys are objects with one key that begins with "$".

local plain = {}

local mathtype = math.type
local DEEPEST = 100 -- tables inside each other
-- a table that is neither list nor object is an object of a list of pairs; and what stands in it
local JSON_DEPTH = 3 * DEEPEST + 1

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

local UNESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\",
    ["/"] = "/" }
local NUMBERS = { nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge }
local CONSTANTS = { { "true", true }, { "false", false } }

local function fail(message) error({ message = message }) end

-- One pass from left to right; `special(object)` may turn an object with a "$" key into its value.
local function reader(text, special)
    local at = 1
    local value

    local function skip() at = text:find("[^ \t\r\n]", at) or #text + 1 end

    local function string_value()
        local parts = {}
        at = at + 1
        while true do
            local last = text:find('["\\]', at)
            if not last then fail "a string without an end" end
            parts[#parts + 1] = text:sub(at, last - 1)
            at = last + 1
            if text:byte(last) == 34 then return table.concat(parts) end
            local escape = text:sub(at, at)
            if escape == "u" then
                local code = tonumber(text:match("^%x%x%x%x", at + 1)
                    or fail "a bad escape in a string", 16)
                at = at + 5
                if code >= 0xD800 and code < 0xDC00 then
                    local low = tonumber(text:match("^\\u(%x%x%x%x)", at)
                        or fail "half a surrogate pair", 16)
                    if low < 0xDC00 or low > 0xDFFF then fail "half a surrogate pair" end
                    code, at = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 6
                end
                parts[#parts + 1] = utf8.char(code)
            else
                parts[#parts + 1] = UNESCAPES[escape] or fail "a bad escape in a string"
                at = at + 1
            end
        end
    end

    local function number_value()
        local digits = text:match("^-?%d+[%d.eE+-]*", at)
        local result = digits and tonumber(digits)
        if not result then fail(("unexpected text at byte %d"):format(at)) end
        at = at + #digits
        return result
    end

    local function items(close, depth, item)
        if depth >= JSON_DEPTH then fail "nested too deeply" end
        at = at + 1
        skip()
        if text:sub(at, at) == close then
            at = at + 1
            return
        end
        while true do
            item(depth + 1)
            skip()
            local mark = text:sub(at, at)
            at = at + 1
            if mark == close then return end
            if mark ~= "," then fail(("expected , or %s at byte %d"):format(close, at - 1)) end
            skip()
        end
    end

    local function list_value(depth)
        local list, n = {}, 0
        items("]", depth, function(inner)
            n = n + 1
            list[n] = value(inner)
        end)
        return list
    end

    local function object_value(depth)
        local object, marked = {}, false
        items("}", depth, function(inner)
            if text:byte(at) ~= 34 then fail(("expected a name at byte %d"):format(at)) end
            local name = string_value()
            skip()
            if text:sub(at, at) ~= ":" then fail(("expected : at byte %d"):format(at)) end
            at = at + 1
            object[name] = value(inner)
            marked = marked or name:sub(1, 1) == "$"
        end)
        return marked and special(object) or object
    end

    function value(depth)
        skip()
        local mark = text:sub(at, at)
        if mark == '"' then return string_value() end
        if mark == "[" then return list_value(depth) end
        if mark == "{" then return object_value(depth) end
        for _, constant in ipairs(CONSTANTS) do
            if text:sub(at, at + #constant[1] - 1) == constant[1] then
                at = at + #constant[1]
                return constant[2]
            end
        end
        return number_value()
    end

    local result = value(0)
    skip()
    if at <= #text then fail(("unexpected text at byte %d"):format(at)) end
    return result
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
    local ok, result = pcall(reader, text, special)
    if ok then return result end
    if type(result) == "table" and result.message then return nil, result.message end
    return error(result, 0)
end

return plain
