--- What values look like when they are printed: Python's str() and repr().

local core = require "heed.core"
local failure = require "heed.text.template.failure"
local values = require "heed.text.template.values"

local text_of = {}

-- The digits of the fewest that read back as the same number, and the decimal exponent.
local function digits_of(value)
    local text
    for digits = 0, 16 do
        text = ("%." .. digits .. "e"):format(value)
        if tonumber(text) == value then break end
    end
    local mantissa, exponent = text:match "^(.*)e(.*)$"
    return mantissa:gsub("%D", ""), math.tointeger(tonumber(exponent))
end

---A float as Python prints it.
---@return string
function text_of.float(value)
    if value ~= value then return "nan" end
    if value == math.huge then return "inf" end
    if value == -math.huge then return "-inf" end
    local sign = (value < 0 or 1 / value < 0) and "-" or ""
    local digits, exponent = digits_of(math.abs(value))
    if exponent < -4 or exponent >= 16 then
        local rest = digits:sub(2)
        return ("%s%s%se%s%02d"):format(sign, digits:sub(1, 1), rest ~= "" and "." .. rest or "",
            exponent < 0 and "-" or "+", math.abs(exponent))
    end
    if exponent < 0 then return sign .. "0." .. ("0"):rep(-exponent - 1) .. digits end
    local whole = exponent + 1
    if #digits < whole then digits = digits .. ("0"):rep(whole - #digits) end
    local fraction = digits:sub(whole + 1)
    return sign .. digits:sub(1, whole) .. "." .. (fraction ~= "" and fraction or "0")
end

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\\"] = "\\\\" }

-- Of a character that is not printed as it is.
local function escaped(character)
    local code = utf8.codepoint(character, 1, 1, true)
    if code < 0x100 then return ("\\x%02x"):format(code) end
    return (code < 0x10000 and "\\u%04x" or "\\U%08x"):format(code)
end

-- Is it one that Python does not print: a control, a format, a space but " ", or none yet?
local function is_hidden(character)
    return character ~= " " and core.text_category(character):find "^[CZ]" ~= nil
end

---A string in quotes.
---@return string
function text_of.quoted(text)
    local quote = text:find("'", 1, true) and not text:find('"', 1, true) and '"' or "'"
    text = text:gsub("[%c\\" .. quote .. "]", function(c)
        return ESCAPES[c] or c == quote and "\\" .. c or escaped(c)
    end)
    if text:find "[\xC2-\xF4]" then
        text = text:gsub("[\xC2-\xF4][\x80-\xBF]+", function(c)
            return is_hidden(c) and escaped(c) or nil
        end)
    end
    return quote .. text .. quote
end

local repr

local function joined(machine, items, open, close)
    local parts = {}
    for i, item in ipairs(items) do parts[i] = repr(machine, item) end
    return open .. table.concat(parts, ", ") .. close
end

local function dict_text(machine, dict)
    local parts = {}
    for i, key in ipairs(dict.keys) do
        parts[i] = repr(machine, key) .. ": " .. repr(machine, values.get(dict, key))
    end
    return "{" .. table.concat(parts, ", ") .. "}"
end

local function range_text(_, range)
    local step = range.step ~= 1 and (", %d"):format(range.step) or ""
    return ("range(%d, %d%s)"):format(range.first, range.stop, step)
end

local writers = {
    none = function() return "None" end,
    boolean = function(_, value) return value and "True" or "False" end,
    integer = function(_, value) return ("%d"):format(value) end,
    float = function(_, value) return text_of.float(value) end,
    string = function(_, value) return text_of.quoted(value) end,
    markup = function(_, value) return "Markup(" .. text_of.quoted(value.text) .. ")" end,
    list = function(machine, value) return joined(machine, value, "[", "]") end,
    tuple = function(machine, value)
        return joined(machine, value, "(", #value == 1 and ",)" or ")")
    end,
    range = range_text, dict = dict_text,
    undefined = function() return "Undefined" end,
}

---Python's repr(): strings in quotes.
---@return string
function text_of.repr(machine, value)
    local writer = writers[values.kind(value)]
    if not writer then failure.raise("a %s cannot be printed", values.type_name(value)) end
    machine.budget:step()
    machine.budget:enter()
    local text = machine.budget:text(writer(machine, value))
    machine.budget:leave()
    return text
end
repr = text_of.repr

---Python's str(): strings as they are, nothing for what is undefined.
---@return string
function text_of.str(machine, value)
    if type(value) == "string" then return value end
    local kind = values.kind(value)
    if kind == "markup" then return value.text end
    if kind == "undefined" then return "" end
    if kind == "view" then
        local all = {}
        for item in machine.iterate(value) do all[#all + 1] = item end
        return ("dict_%s(%s)"):format(value.of, repr(machine, values.list(all)))
    end
    return repr(machine, value)
end

---The text with the characters of HTML escaped.
---@return string
function text_of.escaped(text)
    return (text:gsub("[&<>'\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
        ["'"] = "&#39;", ['"'] = "&#34;" }))
end

return text_of
