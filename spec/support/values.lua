--- Contents for specs: reproducible, exact in f32, and never on a kink (no float is an integer or
--- 0).

local naive = require "spec.support.naive"

local values = {}

-- A generator of its own (Lehmer), so that what is under test does not make its own inputs.
function values.random(seed)
    local state = seed * 7919 % 2147483646 + 1
    for _ = 1, 8 do state = state * 48271 % 2147483647 end
    ---An integer from low to high.
    return function(low, high)
        state = state * 48271 % 2147483647
        return low + state % (high - low + 1)
    end
end

local function of_dtype(float, low, high)
    return function(random, shape, dtype)
        return naive.build(shape, dtype, function()
            if dtype == "bool" then return random(0, 1) == 1 end
            if dtype == "u8" and low < 0 then return random(0, high - low) end
            if naive.is_integer(dtype) then return random(low, high) end
            return float(random)
        end)
    end
end

---Floats in -4..4, integers in -5..5, those of u8 in 0..10.
values.any = of_dtype(function(random) return (2 * random(-256, 255) + 1) / 128 end, -5, 5)

---Above 0.
values.positive = of_dtype(function(random) return (2 * random(16, 255) + 1) / 128 end, 1, 5)

---Floats between -1 and 1, integers of -1..1, those of u8 in 0..2.
values.share = of_dtype(function(random) return (2 * random(-120, 119) + 1) / 256 end, -1, 1)

---Above 1.
values.above_one = of_dtype(function(random) return 1 + (2 * random(16, 255) + 1) / 128 end, 2, 6)

---Further from 0 than 1/4, bool always true: for denominators.
function values.away(random, shape, dtype)
    return naive.build(shape, dtype, function()
        if dtype == "bool" then return true end
        local value = naive.is_integer(dtype) and random(1, 4) or (2 * random(16, 200) + 1) / 128
        return (random(0, 1) == 1 or naive.is_integer(dtype)) and value or -value
    end)
end

---Likewise, and never a divisor of what values.any or values.away make, so that quotients are not
---whole.
function values.divisor(random, shape, dtype)
    return values.away(random, shape, dtype):map(function(v)
        if not naive.is_float(dtype) then return v end
        return v > 0 and v + 1 / 128 or v - 1 / 128
    end)
end

---In 0..4, with many equal: for comparisons and ties.
values.few = of_dtype(function(random) return random(0, 4) / 2 end, 0, 3)

---All different (but u8, which has 256 numbers): for extremes, whose gradients are checked by
---differences.
function values.distinct(random, shape, dtype)
    if dtype == "bool" then return values.any(random, shape, dtype) end
    local order, count = {}, 0
    local result = naive.build(shape, dtype, function()
        count = count + 1
        return count
    end)
    for i = 1, count do order[i] = i end
    for i = count, 2, -1 do
        local j = random(1, i)
        order[i], order[j] = order[j], order[i]
    end
    local middle = count // 2
    return result:map(function(i)
        if dtype == "u8" then return order[i] % 256 end
        return naive.is_integer(dtype) and order[i] - middle or (2 * (order[i] - middle) + 1) / 64
    end)
end

---Always of one dtype, whatever is tried.
function values.of(dtype, make)
    return function(random, shape) return make(random, shape, dtype) end
end

---Index tensors: integers from 1 to count (a number, or read from the case by name).
function values.ids(count)
    return function(random, shape, _, case)
        local high = type(count) == "string" and case[count] or count
        return naive.build(shape, "i64", function() return random(1, high) end)
    end
end

values.mask = values.of("bool", values.any)

return values
