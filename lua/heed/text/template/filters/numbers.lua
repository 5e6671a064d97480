--- Filters that make numbers, and default, attr.

local arguments = require "heed.text.template.arguments"
local arithmetic = require "heed.text.template.arithmetic"
local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local values = require "heed.text.template.values"

local bind = arguments.bind

local numbers = {}

-- "1_000" to "1000"; nil when underlines do not stand between digits.
local function without_underlines(text)
    for _, wrong in ipairs { "^_", "_$", "_[^%w]", "[^%w]_" } do
        if text:find(wrong) then return nil end
    end
    return (text:gsub("_", ""))
end

-- A string as int(text, base) reads it; nil when it does not.
local function integer_of(text, base)
    text = without_underlines(characters.strip(text))
    local sign, digits = (text or ""):match "^([+-]?)(%w+)$"
    if not sign then return nil end
    local prefix = ({ [16] = "^0[xX]", [8] = "^0[oO]", [2] = "^0[bB]" })[base]
    if prefix then digits = digits:gsub(prefix, "", 1) end
    if base == 10 and not digits:find "^%d+$" then return nil end
    if base == 10 and #digits:gsub("^0+", "") > 18 then
        local value = math.tointeger(tonumber(sign .. digits))
        if not value or math.type(tonumber(sign .. digits)) ~= "integer" then
            failure.raise "int: an integer needs more than 64 bits"
        end
        return value
    end
    local value = tonumber(digits, base)
    return value and (sign == "-" and -value or value)
end

local WORDS = { inf = math.huge, infinity = math.huge, nan = 0 / 0 }

-- A string as float(text) reads it.
local function float_of(text)
    text = without_underlines(characters.strip(text))
    if not text then return nil end
    local sign, rest = text:match "^([+-]?)(.*)$"
    local word = WORDS[rest:lower()]
    if word then return sign == "-" and -word or word end
    if not rest:find "^%.?%d+%.?%d*[eE]?[+-]?%d*$" then return nil end
    local value = tonumber(text)
    return value and value + 0.0
end

-- Towards 0; nil of what no integer is.
local function whole(number)
    if math.type(number) == "integer" then return number end
    if number ~= number then return nil end
    if math.abs(number) == math.huge then return nil end
    local cut = math.tointeger(number < 0 and math.ceil(number) or math.floor(number))
    return cut or failure.raise "int: an integer needs more than 64 bits"
end

function numbers.int(_, value, args)
    local default, base = bind("int", args, 0, "default", "base")
    default = default == nil and 0 or default
    local number, text = values.number(values.defined(value)), values.text(value)
    if number then return whole(number) or default end
    if not text then return default end
    base = arguments.integer("int", base) or 10
    local found = (base >= 2 and base <= 36) and integer_of(text, base)
    if found then return found end
    local float = float_of(text)
    return float and whole(float) or default
end

numbers["float"] = function(_, value, args)
    local default = bind("float", args, 0, "default")
    local number, text = values.number(values.defined(value)), values.text(value)
    if number then return number + 0.0 end
    local found = text and float_of(text)
    if found then return found end
    return default == nil and 0.0 or default
end

function numbers.abs(_, value, args)
    bind("abs", args, 0)
    local number = values.number(values.defined(value))
    if not number then failure.raise("abs: a number is needed, got %s", values.type_name(value)) end
    return number < 0 and arithmetic.negative(number) or number == 0 and math.abs(number) or number
end

local METHODS = { common = true, ceil = math.ceil, floor = math.floor }

-- To the nearest with so many digits; ties by the digits that the number really has.
local function rounded(number, precision)
    if number ~= number or math.abs(number) == math.huge or precision > 300 then return number end
    if precision >= 0 then
        return tonumber((("%." .. math.min(precision, 99) .. "f"):format(number))) + 0.0
    end
    local scale = 10.0 ^ -precision
    local quotient = number / scale
    local low = math.floor(quotient)
    local rest = quotient - low
    if rest > 0.5 or rest == 0.5 and low % 2 == 1 then low = low + 1 end
    return low * scale
end

function numbers.round(_, value, args)
    local precision, method = bind("round", args, 0, "precision", "method")
    precision = arguments.integer("round", precision) or 0
    method = method == nil and "common" or method
    local number = values.number(values.defined(value))
    local f = METHODS[method]
    if not f then failure.raise "round: the method is common, ceil or floor" end
    if not number then
        failure.raise("round: a number is needed, got %s", values.type_name(value))
    end
    if f == true then
        if math.type(number) ~= "integer" then return rounded(number, precision) end
        if precision >= 0 then return number end
        return math.tointeger(rounded(number + 0.0, precision)) or number
    end
    local scale = precision >= 0 and 10 ^ precision or 10.0 ^ precision
    return f(number * scale) / scale
end

function numbers.default(_, value, args)
    local default, boolean = bind("default", args, 0, "default_value", "boolean")
    local is_missing = values.kind(value) == "undefined"
        or boolean ~= nil and values.truth(boolean) and not values.truth(value)
    if not is_missing then return value end
    return default == nil and "" or default
end
numbers.d = numbers.default

function numbers.attr(machine, value, args)
    local name = arguments.text("attr", (bind("attr", args, 1, "name")))
    return machine.only_attribute(machine, value, name)
end

return numbers
