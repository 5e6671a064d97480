--- + - * / // % ** ~ and comparisons, on Python's types.

local failure = require "heed.text.template.failure"
local format = require "heed.text.template.format"
local iteration = require "heed.text.template.iteration"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local arithmetic = {}

local mathtype, number_of = math.type, values.number

local function refuse(operator, a, b)
    failure.raise("%s and %s have no '%s'", values.type_name(a), values.type_name(b), operator)
end

local function too_large() failure.raise "an integer needs more than 64 bits" end

-- ---- numbers ------------------------------------------------------------------------------------

local function sum(x, y)
    local z = x + y
    if mathtype(z) == "integer" and (x ~ z) & (y ~ z) < 0 then too_large() end
    return z
end

local function difference(x, y)
    local z = x - y
    if mathtype(z) == "integer" and (x ~ y) & (x ~ z) < 0 then too_large() end
    return z
end

local function product(x, y)
    local z = x * y
    if mathtype(z) == "integer" and math.abs((x + 0.0) * y - z) > 1e4 then too_large() end
    return z
end

local function divisor(y)
    if y == 0 then failure.raise "a division by 0" end
    return y
end

-- A zero has the divisor's sign.
local function remainder(x, y)
    local z = x % divisor(y)
    if z == 0 and mathtype(z) == "float" then return y < 0 and -0.0 or 0.0 end
    return z
end

-- Of floats it is what is left when the remainder is taken off, as Python has it: not always the
-- floor of the quotient.
local function floor_quotient(x, y)
    if mathtype(x) == "integer" and mathtype(y) == "integer" then return x // divisor(y) end
    x, y = x + 0.0, divisor(y) + 0.0
    local rest = math.fmod(x, y)
    local quotient = (x - rest) / y
    if rest ~= 0 and (y < 0) ~= (rest < 0) then quotient = quotient - 1.0 end
    if quotient == 0 then return x / y < 0 and -0.0 or 0.0 end
    local floor = math.floor(quotient) + 0.0
    return quotient - floor > 0.5 and floor + 1.0 or floor
end

local function power(x, y)
    if mathtype(x) == "integer" and mathtype(y) == "integer" and y >= 0 then
        local z = 1
        if x == 0 or x == 1 then return y == 0 and 1 or x end
        if x == -1 then return y % 2 == 0 and 1 or -1 end
        for _ = 1, math.min(y, 64) do z = product(z, x) end
        return z
    end
    if x == 0 and y < 0 then failure.raise "a division by 0" end
    local z = (x + 0.0) ^ y
    if z ~= z and x == x and y == y then failure.raise "a power that is no real number" end
    local is_finite = math.abs(x) < math.huge and math.abs(y) < math.huge
    if is_finite and math.abs(z) == math.huge then failure.raise "a power beyond all floats" end
    return z
end

local NUMBERS = {
    ["+"] = sum, ["-"] = difference, ["*"] = product, ["**"] = power,
    ["/"] = function(x, y) return x / divisor(y) end,
    ["//"] = floor_quotient,
    ["%"] = remainder,
}

-- ---- texts and lists ----------------------------------------------------------------------------

-- One as long as both, of the same kind; a string that counts as escaped escapes the other.
local function joined(machine, a, b)
    local x, y = values.text(a), values.text(b)
    if x and y then
        local marked = values.kind(a) == "markup" or values.kind(b) == "markup"
        if marked then
            if type(a) == "string" then x = text_of.escaped(x) end
            if type(b) == "string" then y = text_of.escaped(y) end
        end
        machine.budget:bytes_of(#x + #y)
        return marked and values.markup(x .. y) or x .. y
    end
    local kind = values.kind(a)
    if kind ~= values.kind(b) or kind ~= "list" and kind ~= "tuple" then refuse("+", a, b) end
    machine.budget:step(#a + #b)
    local list = table.move(a, 1, #a, 1, {})
    return setmetatable(table.move(b, 1, #b, #a + 1, list), getmetatable(a))
end

local function repeated(machine, a, b)
    local value, count = a, b
    if mathtype(number_of(a)) == "integer" then value, count = b, a end
    count = number_of(count)
    local text, kind = values.text(value), values.kind(value)
    if mathtype(count) ~= "integer" or not text and kind ~= "list" and kind ~= "tuple" then
        refuse("*", a, b)
    end
    count = math.max(count, 0)
    if text then
        if text ~= "" then machine.budget:bytes_of(count > 1 << 30 and 1 << 40 or count * #text) end
        text = text ~= "" and text:rep(count) or ""
        return kind == "markup" and values.markup(text) or text
    end
    local list = setmetatable({}, getmetatable(value))
    if #value == 0 then return list end
    machine.budget:step(count > 1 << 30 and 1 << 40 or count * #value)
    for i = 0, count - 1 do table.move(value, 1, #value, i * #value + 1, list) end
    return list
end

---@param machine heed.text.template.Machine
---@param operator string
function arithmetic.binary(machine, operator, a, b)
    if operator == "%" and values.text(a) then return format.percent(machine, a, b) end
    local x, y = number_of(values.defined(a)), number_of(values.defined(b))
    if x and y then return NUMBERS[operator](x, y) end
    if operator == "+" then return joined(machine, a, b) end
    if operator == "*" then return repeated(machine, a, b) end
    return refuse(operator, a, b)
end

function arithmetic.negative(value)
    local x = number_of(values.defined(value))
    if not x then failure.raise("a %s has no sign", values.type_name(value)) end
    return mathtype(x) == "integer" and difference(0, x) or -x
end

function arithmetic.positive(value)
    local x = number_of(values.defined(value))
    if not x then failure.raise("a %s has no sign", values.type_name(value)) end
    return x
end

-- ---- comparisons --------------------------------------------------------------------------------

local COMPARISONS = {
    ["=="] = function(_, a, b) return values.equal(a, b) end,
    ["!="] = function(_, a, b) return not values.equal(a, b) end,
    ["<"] = function(_, a, b) return values.less(a, b, "<") end,
    [">"] = function(_, a, b) return values.less(b, a, ">") end,
    ["<="] = function(_, a, b) return values.less(a, b, "<=") or values.equal(a, b) end,
    [">="] = function(_, a, b) return values.less(b, a, ">=") or values.equal(a, b) end,
    ["in"] = function(machine, a, b) return iteration.contains(machine, b, a) end,
    ["not in"] = function(machine, a, b) return not iteration.contains(machine, b, a) end,
}

---@param operator string
---@return boolean
function arithmetic.compare(machine, operator, a, b) return COMPARISONS[operator](machine, a, b) end

return arithmetic
