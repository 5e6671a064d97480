--- Arithmetic, functions and choices, element by element.

local core = require "heed.core"
local naive = require "spec.support.naive"
local layer = require "spec.support.naive_layers"
local values = require "spec.support.values"

local ALL, NUMBERS = naive.dtypes.all, naive.dtypes.numbers
local STORED = naive.dtypes.stored_integers

local SHAPES = { { { 3, 37 } }, { { 2, 3, 5 } }, { {} }, { { 1 } }, { { 1, 1 } }, { { 0 } },
    { { 2, 0, 3 } } }
local LARGE = { { 257, 531 } }

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

-- ---- one operand --------------------------------------------------------------------------------

local function float_of(value)
    if type(value) == "boolean" then return value and 1.0 or 0.0 end
    return value * 1.0
end

-- Integers give f32: they become it before.
local function to_float(f)
    return function(_, x)
        if naive.is_float(x.dtype) then return x:map(f) end
        return x:map(function(v) return f(naive.rounded(float_of(v), "f32")) end, "f32")
    end
end

-- Integers stay what they are, booleans give i64.
local function keeps_whole(f)
    return function(_, x) return x:to(naive.whole(x.dtype)):map(f) end
end

local function to_bool(f)
    return function(_, x) return x:map(f, "bool") end
end

local function unary(name, reference, more)
    local entry = { name = name, cases = SHAPES, large = LARGE, naive = reference, gradient = true,
        dtypes = ALL }
    entry.in_place, entry.corners = name .. "_", { 0.0, -0.0, math.huge, -math.huge, 0 / 0, 1e-30,
        -1e-30, 100.0, -100.0 }
    for key, value in pairs(more or {}) do entry[key] = value end
    add(entry)
end

local INF = math.huge

local function tanh(x)
    if math.abs(x) < 1e-5 then return x end
    if math.abs(x) > 20 then return x > 0 and 1.0 or -1.0 end
    local e = math.exp(2 * x)
    return (e - 1) / (e + 1)
end

local function sigmoid(x)
    if x >= 0 then return 1 / (1 + math.exp(-x)) end
    return math.exp(x) / (1 + math.exp(x))
end

-- v times something that goes to 0 faster than v to -infinity.
local function times(v, share) return v == -INF and -0.0 or v * share end

local function round(x)
    if x ~= x or x == 0 or math.abs(x) == INF then return x end
    local low = math.floor(x)
    local apart = x - low
    local up = apart == 0.5 and low % 2 ~= 0 or apart > 0.5
    local nearest = (up and low + 1 or low) * 1.0
    return nearest == 0 and x < 0 and -0.0 or nearest
end

local function floor(x)
    if x ~= x or x == 0 or math.abs(x) == INF then return x end
    return math.type(x) == "integer" and x or math.floor(x) * 1.0
end

local function trunc(x)
    if x ~= x or math.abs(x) == INF or math.type(x) == "integer" then return x end
    return x < 0 and -floor(-x) or floor(x)
end

local function frac(x)
    if math.type(x) == "integer" then return 0 end
    return x - trunc(x)
end

-- 1, 0 or -1 of v's kind.
local function like(v, whole) return math.type(v) == "integer" and whole or whole + 0.0 end

local function sign(v)
    if v ~= v then return v end
    return like(v, v > 0 and 1 or v < 0 and -1 or 0)
end

local function relu(v)
    if v > 0 or v ~= v then return v end
    return like(v, 0)
end

unary("neg", keeps_whole(function(v) return -v end), { dtypes = NUMBERS })
unary("abs", keeps_whole(math.abs))
unary("sign", keeps_whole(sign))
unary("square", keeps_whole(function(v) return v * v end))
unary("relu", keeps_whole(relu))
unary("floor", keeps_whole(floor))
unary("ceil", keeps_whole(function(v) return math.type(v) == "integer" and v or -floor(-v) end))
unary("trunc", keeps_whole(trunc))
unary("frac", keeps_whole(frac))
unary("sqrt", to_float(math.sqrt), { inputs = { values.positive } })
unary("rsqrt", to_float(function(v) return 1 / math.sqrt(v) end), { inputs = { values.positive },
    corners = { 0.0, INF, 0 / 0, -1.0 } })
unary("exp", to_float(math.exp))
unary("log", to_float(math.log), { inputs = { values.positive } })
unary("expm1", to_float(function(v)
    if math.abs(v) < 1e-5 then return v == 0 and v or v + v * v / 2 end
    return math.exp(v) - 1
end))
unary("log1p", to_float(function(v)
    if math.abs(v) < 1e-5 then return v - v * v / 2 end
    return math.log(1 + v)
end), { inputs = { values.positive }, corners = { 0.0, -0.0, -1.0, -0.5, -2.0, INF, -INF, 0 / 0,
    1e-30, -1e-30, 1e30 } })
unary("sin", to_float(math.sin))
unary("cos", to_float(math.cos))
unary("tan", to_float(math.tan))
unary("asin", to_float(math.asin), { inputs = { values.share } })
unary("acos", to_float(math.acos), { inputs = { values.share } })
unary("atan", to_float(math.atan))
unary("sinh", to_float(function(v)
    if math.abs(v) < 1e-4 then return v + v * v * v / 6 end
    local half = math.exp(math.abs(v) / 2) -- the square is divided on the way
    local y = half / 2 * half - 0.5 / half / half
    return v < 0 and -y or y
end))
unary("cosh", to_float(function(v)
    local half = math.exp(math.abs(v) / 2)
    return half / 2 * half + 0.5 / half / half
end))
unary("asinh", to_float(function(v)
    local a = math.abs(v)
    local y = a > 1e8 and math.log(a) + math.log(2) or a < 1e-4 and a - a * a * a / 6
        or math.log(a + math.sqrt(a * a + 1))
    return (v < 0 or 1 / v < 0) and -y or y
end))
unary("acosh", to_float(function(v)
    if v < 1 then return 0 / 0 end
    if v > 1e8 then return math.log(v) + math.log(2) end
    local t = v - 1
    local step = t + math.sqrt(t * (t + 2))
    return step < 1e-4 and step - step ^ 2 / 2 + step ^ 3 / 3 or math.log(1 + step)
end), { inputs = { values.above_one }, corners = { 1.0, 0.5, -2.0, INF, -INF, 0 / 0, 1e30, 0.0 } })
unary("atanh", to_float(function(v)
    if math.abs(v) < 1e-4 then return v + v * v * v / 3 end
    if math.abs(v) == 1 then return v * INF end
    return math.log((1 + v) / (1 - v)) / 2
end), { inputs = { values.share }, corners = { 0.0, -0.0, 1.0, -1.0, 1.5, INF, 0 / 0, 1e-30 } })
unary("exp2", to_float(function(v) return 2.0 ^ v end))
unary("log2", to_float(function(v) return math.log(v, 2) end), { inputs = { values.positive } })
unary("log10", to_float(function(v) return math.log(v, 10) end), { inputs = { values.positive } })
unary("tanh", to_float(tanh))
unary("sigmoid", to_float(sigmoid))
unary("erf", to_float(layer.erf))
unary("gelu", to_float(function(v) return times(v, 0.5 * (1 + layer.erf(v / math.sqrt(2)))) end),
    { corners = { 0.0, 0 / 0, INF, 100.0, -100.0, 1e-30 } })
unary("silu", to_float(function(v)
    return times(v, sigmoid(v))
end), { corners = { 0.0, 0 / 0, INF, 100.0, -80.0, 1e-30 } })
unary("softplus", to_float(function(v)
    local e = math.exp(-math.abs(v))
    return math.max(v, 0.0) + (e < 1e-5 and e - e * e / 2 or math.log(1 + e))
end))
unary("softsign", to_float(function(v)
    if math.abs(v) == INF then return sign(v) end
    return v / (1 + math.abs(v))
end))
unary("log_sigmoid", to_float(function(v)
    local e = math.exp(-math.abs(v))
    return math.min(v, 0.0) - (e < 1e-5 and e - e * e / 2 or math.log(1 + e))
end))
unary("logical_not", to_bool(function(v)
    return not naive.convert(v, "bool")
end), { gradient = false, in_place = false })
unary("isnan", to_bool(function(v) return v ~= v end), { gradient = false, in_place = false })
unary("isinf", to_bool(function(v)
    return type(v) ~= "boolean" and math.abs(v) == INF
end), { gradient = false, in_place = false })
unary("isfinite", to_bool(function(v)
    return type(v) == "boolean" or (v == v and math.abs(v) ~= INF)
end),
    { gradient = false, in_place = false })

-- gelu's approximations; the exact one stands above.
local function gelu(approximate, reference)
    local options = { approximate = approximate }
    unary("gelu", to_float(reference), {
        corners = { 0.0, 0 / 0, INF, 100.0, -100.0, 1e-30 },
        cases = { { { 3, 37 }, scalar = options }, { {}, scalar = options },
            { { 0 }, scalar = options } },
        call = function(case, x) return core.gelu(x, case.scalar or options) end,
        variant = approximate,
    })
end
gelu("tanh", function(v)
    if v > 50 then return v end
    return times(v, 0.5 * (1 + tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ^ 3))))
end)
gelu("sigmoid", function(v) return times(v, sigmoid(1.702 * v)) end)

-- With a parameter, which has a default.
local function shaped(name, default, other, reference)
    unary(name, nil, {
        cases = { { { 3, 37 } }, { { 2, 3, 5 }, scalar = other }, { {} }, { { 1 } },
            { { 0 }, scalar = other }, { { 2, 0, 3 } } },
        call = function(case, x) return core[name](x, case.scalar) end,
        naive = function(case, x)
            return to_float(function(v) return reference(v, case.scalar or default) end)(case, x)
        end,
    })
end
shaped("leaky_relu", 0.01, -0.5, function(v, slope) return v > 0 and v or slope * v end)
shaped("elu", 1.0, 2.5, function(v, alpha)
    if v > 0 then return v end
    return math.abs(v) < 1e-5 and alpha * v or alpha * (math.exp(v) - 1)
end)

-- The nearest multiple, half to the even one; beyond what the dtype holds its end.
local function whole_multiple(v, unit, limits)
    local rest = math.fmod(v, unit)
    local down, twice = v - rest, 2 * math.abs(rest)
    if twice < unit or (twice == unit and (down // unit) % 2 == 0) then return down end
    if v > 0 then return down > limits[2] - unit and limits[2] or down + unit end
    return down < limits[1] + unit and limits[1] or down - unit
end

add {
    name = "round",
    cases = { { { 3, 37 } }, { {} }, { { 0 } }, { { 4, 5 }, scalar = 1 },
        { { 4, 5 }, scalar = -1 } },
    large = LARGE,
    call = function(case, x) return core.round(x, case.scalar) end,
    naive = function(case, x)
        local scale, unit = 10.0 ^ math.abs(case.scalar or 0),
            math.tointeger(10 ^ math.abs(case.scalar or 0))
        local up = (case.scalar or 0) >= 0
        local function decimals(v)
            return up and round(v * scale) / scale or round(v / scale) * scale
        end
        -- What is beyond the range with its decimals has none.
        local function rounded(v) return math.abs(decimals(v)) < INF and decimals(v) or v end
        if naive.is_float(x.dtype) then return x:map(rounded) end
        local whole = x:to(naive.whole(x.dtype))
        if up then return whole end
        return whole:map(function(v) return whole_multiple(v, unit, naive.limits[x.dtype]) end)
    end,
    dtypes = ALL,
    gradient = true,
    in_place = "round_",
    corners = { 0.5, 1.5, 2.5, -0.5, INF, 0 / 0 },
}

-- ---- two operands -------------------------------------------------------------------------------

local PAIRS = {
    { { 3, 37 }, { 3, 37 } }, { { 4, 5 }, { 5 } }, { { 4, 5 }, { 4, 1 } }, { { 4, 1 }, { 1, 3 } },
        { { 2, 3 }, {} },
        { {}, {} },
    { { 3 }, { 2, 4, 3 } }, { { 1 }, { 1, 1 } }, { { 0 }, { 1 } }, { { 2, 0, 3 }, { 3 } },
        { { 2, 3 }, scalar = 2 },
    { { 2, 3 }, scalar = 1.5 }, { { 2, 3 }, scalar = 3, first = true },
        { { 2, 3 }, scalar = 2.5, first = true },
}

local function scalar_array(x, scalar)
    local dtype = x.dtype
    if not naive.is_float(dtype) and math.type(scalar) == "float" then dtype = "f32" end
    dtype = naive.whole(dtype)
    return naive.nested(scalar, {}, dtype):to(dtype)
end

-- reference(a, b): elements, converted to their common type. result(dtype): of the result.
local function binary(name, reference, more)
    local entry = {
        name = name,
        cases = PAIRS,
        large = { { 257, 531 }, { 257, 1 } },
        gradient = true,
        dtypes = ALL,
        call = function(case, a, b)
            if case.first then return core[name](case.scalar, a) end
            return core[name](a, b or case.scalar)
        end,
        in_place = name .. "_",
        mixed = true,
    }
    for key, value in pairs(more or {}) do entry[key] = value end
    local result = entry.result or function(dtype) return dtype end
    function entry.naive(case, a, b)
        b = b or scalar_array(a, case.scalar)
        if case.first then a, b = b, a end
        local common = naive.promote(a.dtype, b.dtype)
        local dtype = result(common)
        local function f(x, y)
            x, y = naive.convert(x, common), naive.convert(y, common)
            if entry.result and naive.is_float(dtype) then x, y = float_of(x), float_of(y) end
            return naive.convert(reference(x, y, common), dtype)
        end
        return naive.zip(dtype, f, a, b)
    end
    add(entry)
end

local function number(v) return v == true and 1 or v == false and 0 or v end
local function to_bool_dtype() return "bool" end
local function quotient_dtype(dtype) return naive.is_float(dtype) and dtype or "f32" end

binary("add", function(a, b) return number(a) + number(b) end)
binary("sub", function(a, b) return a - b end, { dtypes = NUMBERS })
binary("mul", function(a, b) return number(a) * number(b) end)
binary("div", function(a, b) return a / b end,
    { result = quotient_dtype, inputs = { values.any, values.away } })
binary("pow", function(a, b)
    if math.type(number(a)) ~= "integer" then return a ^ b end
    local product, base, exponent = 1, number(a), number(b)
    while exponent > 0 do
        if exponent % 2 == 1 then product = product * base end
        base, exponent = base * base, exponent // 2
    end
    return product
end, { result = naive.whole, inputs = { values.positive, values.away } })

binary("atan2", math.atan, { result = quotient_dtype, inputs = { values.away, values.away } })
binary("hypot", function(a, b)
    a, b = math.abs(a), math.abs(b)
    local most, least = math.max(a, b), math.min(a, b)
    if a == INF or b == INF then return INF end
    if a ~= a or b ~= b then return 0 / 0 end
    return most == 0 and 0.0 or most * math.sqrt(1 + (least / most) ^ 2)
end, { result = quotient_dtype, inputs = { values.away, values.away } })

local QUOTIENTS = { result = naive.whole, inputs = { values.away, values.divisor } }
binary("mod", function(a, b) return number(a) % number(b) end, QUOTIENTS)
binary("floordiv", function(a, b) return number(a) // number(b) end, QUOTIENTS)

local function extremum(name, wins)
    binary(name, function(a, b)
        if a ~= a or wins(number(a), number(b)) then return a end
        return b
    end)
end
extremum("maximum", function(a, b) return a >= b end)
extremum("minimum", function(a, b) return a <= b end)

local function comparison(name, f, others)
    binary(name, f, { result = to_bool_dtype, gradient = false, in_place = false,
        inputs = { values.few, values.few }, others = others })
end
comparison("eq", function(a, b) return a == b end, STORED)
comparison("ne", function(a, b) return a ~= b end, STORED)
comparison("lt", function(a, b) return number(a) < number(b) end, STORED)
comparison("le", function(a, b) return number(a) <= number(b) end, STORED)
comparison("gt", function(a, b) return number(a) > number(b) end, STORED)
comparison("ge", function(a, b) return number(a) >= number(b) end, STORED)
comparison("logical_and", function(a, b)
    return naive.convert(a, "bool") and naive.convert(b, "bool")
end)
comparison("logical_or", function(a, b)
    return naive.convert(a, "bool") or naive.convert(b, "bool")
end)
comparison("logical_xor", function(a, b)
    return naive.convert(a, "bool") ~= naive.convert(b, "bool")
end)

-- ---- choosing -----------------------------------------------------------------------------------

add {
    name = "where",
    cases = {
        { { 3, 37 }, { 3, 37 }, { 3, 37 } }, { { 4, 1, 3 }, { 2, 1 }, { 3 } },
            { { 1, 3 }, { 2, 3 }, {} }, { {}, {}, {} },
        { { 0 }, { 1 }, {} }, { { 2, 3 }, { 2, 3 }, scalar = 2 },
    },
    inputs = { values.mask, values.any, values.any },
    large = { { 257, 1 }, { 257, 531 }, { 531 } },
    call = function(case, c, a, b) return core.where(c, a, b or case.scalar) end,
    naive = function(case, c, a, b)
        b = b or scalar_array(a, case.scalar)
        local dtype = naive.promote(a.dtype, b.dtype)
        return naive.zip(dtype, function(chosen, x, y)
            if chosen then return naive.convert(x, dtype) end
            return naive.convert(y, dtype)
        end, c, a, b)
    end,
    gradient = true,
    mixed = true,
}

local function masked(name, call)
    return {
        name = name,
        cases = { { { 3, 37 }, { 3, 37 } }, { { 4, 2, 3 }, { 3 } }, { { 2, 3 }, {} }, { {}, {} },
            { { 0, 3 }, { 3 } } },
        inputs = { values.any, values.mask },
        large = { { 257, 531 }, { 531 } },
        call = call,
        naive = function(_, x, mask)
            return naive.zip(x.dtype, function(v, m)
                if m then return naive.convert(1, x.dtype) end
                return v
            end, x, mask)
        end,
        gradient = name == "masked_fill",
    }
end
add(masked("masked_fill", function(_, x, mask) return core.masked_fill(x, mask, 1) end))
add(masked("masked_fill_", function(_, x, mask) return core.masked_fill_(x:clone(), mask, 1) end))

add {
    name = "clamp",
    cases = {
        { { 3, 37 }, scalar = { min = -1, max = 2 }, signed = true },
            { { 2, 3, 5 }, scalar = { min = -1 }, signed = true },
        { { 3, 4 }, scalar = { max = 1 } }, { { 3, 37 }, scalar = { min = 1, max = 4 } },
        { {}, scalar = { min = 0, max = 1 } }, { { 0 }, scalar = { min = 0 } },
    },
    large = { { 257, 531 }, scalar = { min = -1, max = 1 } },
    call = function(case, x) return core.clamp(x, case.scalar) end,
    naive = function(case, x)
        local low, high = case.scalar.min, case.scalar.max
        local dtype = naive.whole(x.dtype)
        return keeps_whole(function(v)
            if low and v < low then v = naive.convert(low, dtype) end
            if high and v > high then v = naive.convert(high, dtype) end
            return v
        end)(case, x)
    end,
    gradient = true,
    corners = { INF, -INF, 0 / 0 },
    in_place = "clamp_",
}

-- ---- writing ------------------------------------------------------------------------------------

local function constant(value)
    return function(_, x) return x:map(function() return naive.convert(value, x.dtype) end) end
end
add { name = "fill_", cases = SHAPES, large = LARGE, call = function(_, x)
    return core.fill_(x:clone(), 1)
end,
    naive = constant(1), others = true }
add { name = "zero_", cases = SHAPES, large = LARGE, call = function(_, x)
    return core.zero_(x:clone())
end,
    naive = constant(0), others = true }

add {
    name = "copy_",
    cases = { { { 3, 37 }, { 3, 37 } }, { { 4, 2, 3 }, { 3 } }, { { 4, 3 }, { 4, 1 } },
        { { 2, 3 }, {} }, { {}, {} },
        { { 0 }, { 1 } } },
    large = { { 257, 531 }, { 531 } },
    call = function(_, x, source) return core.copy_(x:clone(), source) end,
    naive = function(_, x, source) return naive.zip(x.dtype, function(_, v) return v end, x,
        source) end,
    gradient = true,
    others = true,
}

-- ---- between two --------------------------------------------------------------------------------

add {
    name = "lerp",
    cases = { { { 3, 37 }, { 3, 37 }, { 3, 37 } }, { { 4, 1, 3 }, { 2, 1 }, { 3 } },
        { {}, {}, { 2 } }, { { 0 }, { 0 }, { 1 } },
        { { 3, 37 }, { 3, 37 }, weight = 0.25 }, { { 3, 37 }, { 37 }, weight = 1.5 },
            { {}, {}, weight = 1 } },
    large = { { 257, 531 }, { 257, 531 }, { 531 } },
    call = function(case, a, b, w) return core.lerp(a, b, w or case.weight) end,
    naive = function(case, a, b, w)
        local dtype = naive.is_float(a.dtype) and a.dtype or "f32"
        local weight = w and w:to(dtype) or naive.build({}, dtype, function()
            return case.weight + 0.0
        end)
        local function between(x, y, share)
            if x ~= x or y ~= y then return 0 / 0 end
            if share == 0 or share == 1 then return share == 0 and x or y end
            return (1 - share) * x + share * y
        end
        return naive.zip(dtype, between, a:to(dtype), b:to(dtype), weight)
    end,
    gradient = true,
}

return entries
