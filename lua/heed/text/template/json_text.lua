--- JSON texts to values and back: objects keep the order of their keys, and the writing is that of
--- Python's json.dumps, which templates expect of tojson.

local failure = require "heed.text.template.failure"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local json_text = {}

local DEEPEST = 200

-- ---- reading ------------------------------------------------------------------------------------

local function wrong(text, at, expected)
    local got = at > #text and "the end" or ("%q"):format(text:sub(at, at))
    failure.raise("JSON, byte %d: expected %s, got %s", at, expected, got)
end

local function behind_blanks(text, at) return (text:find("[^ \t\r\n]", at)) or #text + 1 end

local UNESCAPED = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\",
    ["/"] = "/" }

-- The character of \uXXXX, of two where the first is half of one, and the position behind.
local function unicode_escape(text, at)
    local digits = text:match("^%x%x%x%x", at)
    if not digits then wrong(text, at, "four hexadecimal digits") end
    local code = tonumber(digits, 16)
    if code >= 0xD800 and code <= 0xDFFF then
        local second = code < 0xDC00 and text:match("^\\u(%x%x%x%x)", at + 4)
        local low = second and tonumber(second, 16) or 0
        if low < 0xDC00 or low > 0xDFFF then wrong(text, at, "a whole character") end
        return utf8.char(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 10
    end
    return utf8.char(code), at + 4
end

local function read_string(text, at)
    local parts = {}
    while true do
        local stop = text:find('[%c"\\]', at)
        if not stop then wrong(text, #text + 1, "a quote") end
        parts[#parts + 1] = text:sub(at, stop - 1)
        local mark = text:sub(stop, stop)
        if mark == '"' then return table.concat(parts), stop + 1 end
        if mark == "\127" then
            parts[#parts + 1], at = mark, stop + 1
        elseif mark ~= "\\" then
            wrong(text, stop, "no control character in a string")
        else
            local letter = text:sub(stop + 1, stop + 1)
            if letter == "u" then
                parts[#parts + 1], at = unicode_escape(text, stop + 2)
            else
                parts[#parts + 1] = UNESCAPED[letter] or wrong(text, stop + 1, "an escape")
                at = stop + 2
            end
        end
    end
end

local function read_number(text, at)
    local whole = text:match("^-?%d+", at)
    if not whole or whole:find "^-?0%d" then wrong(text, at, "a value") end
    local fraction = text:match("^%.%d+", at + #whole) or ""
    local exponent = text:match("^[eE][+-]?%d+", at + #whole + #fraction) or ""
    local number = whole .. fraction .. exponent
    local value = #number > #whole and tonumber(number) or math.tointeger(whole)
    if not value then failure.raise("JSON, byte %d: %s needs more than 64 bits", at, number) end
    return value, at + #number
end

local read

local function read_list(text, at, depth)
    local list = values.list()
    at = behind_blanks(text, at)
    if text:sub(at, at) == "]" then return list, at + 1 end
    while true do
        list[#list + 1], at = read(text, at, depth + 1)
        at = behind_blanks(text, at)
        local mark = text:sub(at, at)
        if mark == "]" then return list, at + 1 end
        if mark ~= "," then wrong(text, at, "a comma or ]") end
        at = at + 1
    end
end

local function read_object(text, at, depth)
    local dict = values.dict()
    at = behind_blanks(text, at)
    if text:sub(at, at) == "}" then return dict, at + 1 end
    while true do
        at = behind_blanks(text, at)
        if text:sub(at, at) ~= '"' then wrong(text, at, "a name in quotes") end
        local key, value
        key, at = read_string(text, at + 1)
        at = behind_blanks(text, at)
        if text:sub(at, at) ~= ":" then wrong(text, at, "a colon") end
        value, at = read(text, at + 1, depth + 1)
        values.put(dict, key, value)
        at = behind_blanks(text, at)
        local mark = text:sub(at, at)
        if mark == "}" then return dict, at + 1 end
        if mark ~= "," then wrong(text, at, "a comma or }") end
        at = at + 1
    end
end

local WORDS = { { "true", true }, { "false", false }, { "null", values.none } }

function read(text, at, depth)
    if depth > DEEPEST then
        failure.raise("JSON: more than %d values inside each other", DEEPEST)
    end
    at = behind_blanks(text, at)
    local mark = text:sub(at, at)
    if mark == "{" then return read_object(text, at + 1, depth) end
    if mark == "[" then return read_list(text, at + 1, depth) end
    if mark == '"' then return read_string(text, at + 1) end
    for _, word in ipairs(WORDS) do
        if text:sub(at, at + #word[1] - 1) == word[1] then return word[2], at + #word[1] end
    end
    return read_number(text, at)
end

---The value of a JSON text; a failure when it is none.
---@param text string
---@return any
function json_text.read(text)
    if not utf8.len(text) then failure.raise "JSON: expected UTF-8" end
    local value, at = read(text, 1, 0)
    at = behind_blanks(text, at)
    if at <= #text then wrong(text, at, "the end") end
    return value
end

-- ---- writing ------------------------------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
    ["\b"] = "\\b", ["\f"] = "\\f", ["\127"] = "\127" }

local function ascii_escape(character)
    local code = utf8.codepoint(character, 1, 1, true)
    if code < 0x10000 then return ("\\u%04x"):format(code) end
    code = code - 0x10000
    return ("\\u%04x\\u%04x"):format(0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
end

local function quoted(writer, text)
    if not utf8.len(text) then failure.raise "tojson: expected UTF-8" end
    text = text:gsub('[%c"\\]', function(c)
        return ESCAPES[c] or ("\\u%04x"):format(c:byte())
    end)
    if writer.ascii then text = text:gsub("[\xC2-\xF4][\x80-\xBF]+", ascii_escape) end
    return '"' .. writer.machine.budget:text(text) .. '"'
end

local CONSTANTS = { ["nan"] = "NaN", ["inf"] = "Infinity", ["-inf"] = "-Infinity" }

local function scalar(value)
    local kind = values.kind(value)
    if kind == "none" then return "null" end
    if kind == "boolean" then return value and "true" or "false" end
    if kind == "integer" then return ("%d"):format(value) end
    if kind == "float" then
        local text = text_of.float(value)
        return CONSTANTS[text] or text
    end
    return nil
end

local write

local function bracketed(writer, parts, open, close, depth)
    if #parts == 0 then return open .. close end
    local separator, before, after = writer.comma, "", ""
    if writer.indent then
        before = "\n" .. writer.indent:rep(depth + 1)
        separator, after = separator .. before, "\n" .. writer.indent:rep(depth)
    end
    return open .. before .. table.concat(parts, separator) .. after .. close
end

local function write_dict(writer, dict, depth)
    local keys, parts = dict.keys, {}
    if writer.sorted then
        keys = table.move(keys, 1, #keys, 1, {})
        table.sort(keys, values.less)
    end
    for i, key in ipairs(keys) do
        local name = values.text(key) or scalar(key)
        if not name then failure.raise("tojson: a %s cannot be a key", values.type_name(key)) end
        parts[i] = quoted(writer, name) .. writer.colon
            .. write(writer, values.get(dict, key), depth + 1)
    end
    return bracketed(writer, parts, "{", "}", depth)
end

function write(writer, value, depth)
    if depth > DEEPEST then
        failure.raise("tojson: more than %d values inside each other", DEEPEST)
    end
    writer.machine.budget:step()
    local text, kind = values.text(value), values.kind(value)
    if text then return quoted(writer, text) end
    if kind == "dict" then
        return writer.machine.budget:text(write_dict(writer, value, depth))
    elseif kind == "list" or kind == "tuple" then
        local parts = {}
        for i, item in ipairs(value) do parts[i] = write(writer, item, depth + 1) end
        return writer.machine.budget:text(bracketed(writer, parts, "[", "]", depth))
    end
    return scalar(value)
        or failure.raise("tojson: a %s cannot be written", values.type_name(value))
end

---@class heed.text.template.JsonStyle
---@field indent? string before each value, on a line of its own, so often as it is deep
---@field comma string
---@field colon string
---@field ascii boolean everything else as \uXXXX
---@field sorted boolean the keys in order

---The value as JSON.
---@param machine heed.text.template.Machine
---@param value any
---@param style heed.text.template.JsonStyle
---@return string
function json_text.write(machine, value, style)
    style.machine = machine
    return write(style, value, 0)
end

return json_text
