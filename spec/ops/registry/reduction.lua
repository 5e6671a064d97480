--- Over all elements, one dimension or several.

local core = require "heed.core"
local naive = require "spec.support.naive"
local values = require "spec.support.values"

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

local CASES = {
    { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = 2, keepdim = true },
        { { 2, 3, 4 }, dim = { 1, 3 } },
    { { 2, 3, 4 }, dim = -2 }, { { 2, 3, 4 }, dim = { 1, 2 }, keepdim = true }, { {} }, { { 1 } },
        { { 1, 5 }, dim = 1 },
    { { 3, 0 }, dim = 1 },
}
local EMPTY = { { 0 } }
local EMPTY_ROWS = { { 2, 0, 3 }, dim = 2 }
local LARGE = { { 257, 531 }, dim = 1 }

local function with(list, ...)
    return table.move({ ... }, 1, select("#", ...), #list + 1, table.move(list, 1, #list, 1, {}))
end

local function number(v) return v == true and 1 or v == false and 0 or v end
local function sums_dtype(dtype) return naive.is_float(dtype) and dtype or "i64" end
local function float_dtype(dtype) return naive.is_float(dtype) and dtype or "f32" end

local function reduction(name, result, f, more)
    local entry = {
        name = name,
        cases = with(CASES, EMPTY, EMPTY_ROWS),
        large = LARGE,
        call = function(case, x) return core[name](x, case.dim, case.keepdim) end,
        naive = function(case, x)
            return naive.reduce(x, case.dim, case.keepdim, result(x.dtype), function(list)
                return naive.convert(f(list, x.dtype), result(x.dtype))
            end)
        end,
        gradient = true,
    }
    for key, value in pairs(more or {}) do entry[key] = value end
    add(entry)
end

local function sum(list)
    local total = 0
    for _, v in ipairs(list) do total = total + number(v) end
    return total
end

-- Of integers exactly, by quotients and remainders; of others so that no sum is beyond f64.
local function mean(list)
    local n, whole, rest = #list, 0, 0.0
    if n == 0 then return 0 / 0 end
    for _, v in ipairs(list) do
        v = number(v)
        if math.type(v) == "integer" then
            local remainder = math.fmod(v, n)
            whole, rest = whole + (v - remainder) // n, rest + remainder / n
        else
            rest = rest + v / n
        end
    end
    return whole + rest
end

-- About the first, so that nothing of integers is rounded.
local function apart(a, b)
    local difference = a - b
    if math.type(a) == "integer" and (difference < 0) ~= (a < b) then return a * 1.0 - b end
    return difference * 1.0
end

local function variance(list)
    local off, total = {}, 0
    for i, v in ipairs(list) do off[i] = apart(number(v), number(list[1])) end
    local middle = mean(off)
    for _, v in ipairs(off) do total = total + (v - middle) ^ 2 end
    return #list < 2 and 0 / 0 or total / (#list - 1)
end

-- Of floats scaled by a power of two: squares leave the range of f64 before their root does.
local function deviation(list)
    local most = 0
    for _, v in ipairs(list) do
        if math.type(v) == "float" and math.abs(v) < math.huge then
            most = math.max(most, math.abs(v))
        end
    end
    if most == 0 then return math.sqrt(variance(list)) end
    local scale, scaled = 2.0 ^ math.max(-1000, math.min(1000, -math.floor(math.log(most, 2)))), {}
    for i, v in ipairs(list) do scaled[i] = v * scale end
    return math.sqrt(variance(scaled)) / scale
end

local function largest(list)
    local best = list[1]
    for _, v in ipairs(list) do
        if v ~= v then return v end
        if number(v) > number(best) then best = v end
    end
    return best
end

local function smallest(list)
    local best = list[1]
    for _, v in ipairs(list) do
        if v ~= v then return v end
        if number(v) < number(best) then best = v end
    end
    return best
end

local function logsumexp(list)
    local top = -math.huge
    for _, v in ipairs(list) do
        if v ~= v then return v end
        top = math.max(top, number(v))
    end
    if math.abs(top) == math.huge then return top end
    local total = 0
    for _, v in ipairs(list) do total = total + math.exp(number(v) * 1.0 - top) end
    return top + math.log(total)
end

reduction("sum", sums_dtype, sum)
reduction("prod", sums_dtype, function(list)
    local product = 1
    for _, v in ipairs(list) do product = product * number(v) end
    return product
end, { inputs = { values.away },
    cases = with(EMPTY and { { { 2, 5 } }, { { 3, 4, 2 }, dim = 2 },
        { { 3, 4, 2 }, dim = { 1, 3 }, keepdim = true },
    { {} } }, EMPTY, EMPTY_ROWS), large = { { 9001, 3 }, dim = 2 } })
reduction("mean", float_dtype, mean)
-- Of a single value the variance is NaN, and so no gradient can be compared.
local SPREAD = { { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = 2, keepdim = true },
    { { 2, 3, 4 }, dim = { 1, 3 } } }
reduction("var", float_dtype, function(list)
    return math.type(list[1]) == "float" and deviation(list) ^ 2 or variance(list)
end, { cases = SPREAD })
reduction("std", float_dtype, deviation, { cases = SPREAD, varied = true })
reduction("logsumexp", float_dtype, logsumexp)

local function norm(p)
    return function(list)
        local total, count, most, least, spoilt = 0.0, 0, -math.huge, math.huge, false
        for _, v in ipairs(list) do
            local size = math.abs(number(v) * 1.0)
            count, spoilt = count + (size == 0 and 0 or 1), spoilt or size ~= size
            most, least = math.max(most, size), math.min(least, size)
        end
        if p == 0 then return count end
        if spoilt then return 0 / 0 end
        if p == math.huge then return most end
        if p == -math.huge then return least end
        -- About one of the sizes, because their powers alone may be beyond f64.
        local about = p > 0 and most or least
        if #list == 0 then return 0.0 end
        if about == 0 or about == math.huge then return about end
        for _, v in ipairs(list) do total = total + (math.abs(number(v) * 1.0) / about) ^ p end
        return about * total ^ (1 / p)
    end
end

local NORMS = { { { 3, 37 } }, { { 2, 3, 4 } }, { {} }, { { 1 } }, { { 0 } }, { { 3, 5 }, dim = 1 },
    { { 3, 5 }, p = 1 } }
for _, p in ipairs { 0, 1, 2, 3, 0.5, -1, math.huge, -math.huge } do
    NORMS[#NORMS + 1] = { { 3, 37 }, p = p, dim = 2 }
    NORMS[#NORMS + 1] = { { 2, 3, 4 }, p = p, dim = { 1, 3 }, keepdim = true }
end
-- No two of one size, none 0.
local function sizes(random, shape, dtype)
    return values.distinct(random, shape, dtype):map(function(v)
        if type(v) == "boolean" then return v end
        if math.type(v) == "integer" then return v >= 0 and 2 * v + 1 or 2 * v end
        return v > 0 and v + 1 / 4 or v - 17 / 64
    end)
end
reduction("norm", float_dtype, nil, {
    cases = NORMS,
    inputs = { sizes },
    large = { { 257, 531 }, p = 3, dim = 1 },
    call = function(case, x)
        return core.norm(x, { p = case.p or 2, dim = case.dim, keepdim = case.keepdim })
    end,
    naive = function(case, x)
        return naive.reduce(x, case.dim, case.keepdim, float_dtype(x.dtype), norm(case.p or 2))
    end,
    varied = true,
})

-- Without a dimension a Lua boolean, which is put into a tensor here.
local function truth(name, f)
    add {
        name = name,
        cases = with(CASES, EMPTY, EMPTY_ROWS),
        inputs = { values.few },
        large = LARGE,
        call = function(case, x)
            local answer = core[name](x, case.dim, case.keepdim)
            if case.dim then return answer end
            assert(type(answer) == "boolean")
            return core.tensor(answer)
        end,
        naive = function(case, x)
            local keepdim = case.dim and case.keepdim
            return naive.reduce(x, case.dim, keepdim, "bool", f)
        end,
    }
end
truth("all", function(list)
    for _, v in ipairs(list) do
        if not naive.convert(v, "bool") then return false end
    end
    return true
end)
truth("any", function(list)
    for _, v in ipairs(list) do
        if naive.convert(v, "bool") then return true end
    end
    return false
end)

-- ---- largest and smallest -----------------------------------------------------------------------

local function first_of(best)
    return function(list)
        local value = best(list)
        for i, v in ipairs(list) do
            if v == value or (v ~= v and value ~= value) then return i end
        end
    end
end

local EXTREMES = { { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = 2, keepdim = true },
    { { 2, 3, 4 }, dim = -2 },
    { {} }, { { 1 } }, { { 1, 5 }, dim = 1 }, { { 3, 0 }, dim = 1 } }

local function extreme(name, best)
    add {
        name = name,
        cases = EXTREMES,
        inputs = { values.distinct },
        large = LARGE,
        call = function(case, x) return core[name](x, case.dim, case.keepdim) end,
        naive = function(case, x)
            if not case.dim then return naive.reduce(x, nil, false, x.dtype, best) end
            return naive.reduce(x, case.dim, case.keepdim, x.dtype, best),
                naive.reduce(x, case.dim, case.keepdim, "i64", first_of(best))
        end,
        gradient = true,
    }
end
extreme("max", largest)
extreme("min", smallest)

-- Over several dimensions, values alone.
local function extreme_value(name, best)
    reduction(name, function(dtype) return dtype end, best,
        { cases = CASES, inputs = { values.distinct } })
end
extreme_value("amax", largest)
extreme_value("amin", smallest)

local function arg_extreme(name, best)
    add {
        name = name,
        cases = EXTREMES,
        inputs = { values.few },
        large = LARGE,
        call = function(case, x) return core[name](x, case.dim, case.keepdim) end,
        naive = function(case, x)
            return naive.reduce(x, case.dim, case.keepdim, "i64", first_of(best))
        end,
    }
end
arg_extreme("argmax", largest)
arg_extreme("argmin", smallest)

-- ---- in order -----------------------------------------------------------------------------------

-- The places of a list's elements in order: stable, NaN the largest.
local function order(list, descending)
    local places = {}
    local function rank(v) return v ~= v and math.huge or number(v), v ~= v and 1 or 0 end
    for i in ipairs(list) do places[i] = i end
    table.sort(places, function(i, j)
        local a, a_nan = rank(list[i])
        local b, b_nan = rank(list[j])
        if a == b and a_nan == b_nan then return i < j end
        local smaller = a < b or (a == b and a_nan < b_nan)
        if descending then return not smaller end
        return smaller
    end)
    return places
end

local function sorted(case, x, descending)
    local function places(list) return order(list, descending) end
    local function in_order(list)
        local result = {}
        for i, place in ipairs(order(list, descending)) do result[i] = list[place] end
        return result
    end
    local dim = #x.shape == 0 and 1 or case.dim or -1
    return naive.along(x, dim, x.dtype, in_order), naive.along(x, dim, "i64", places)
end

local SORTS = { { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 2, 3, 70 }, descending = true },
    { { 2, 3, 4 }, dim = 2, descending = true }, { {} }, { { 1 } }, { { 3, 0 } }, { { 0, 3 } } }
add {
    name = "sort",
    cases = SORTS,
    inputs = { values.distinct },
    large = { { 257, 531 }, dim = 1, descending = true },
    call = function(case, x)
        return core.sort(x, { dim = case.dim or -1, descending = case.descending })
    end,
    naive = function(case, x) return sorted(case, x, case.descending) end,
    gradient = true,
    varied = true,
    corners = { 1.0, 0 / 0, -math.huge, 0.0, -0.0, math.huge, 1.0, 0 / 0, -1.0, 1e-40, -1e-40 },
}
add {
    name = "unique",
    cases = { { { 3, 37 } }, { { 2, 3, 4 } }, { {} }, { { 1 } }, { { 0 } }, { { 3, 0 } } },
    inputs = { values.few },
    large = { { 257, 531 } },
    naive = function(_, x)
        local places, found, inverse, counts = order(x.data), {}, {}, {}
        for _, place in ipairs(places) do
            local v = x.data[place]
            if #found == 0 or v ~= found[#found] then
                found[#found + 1], counts[#found + 1] = v, 0
            end
            inverse[place], counts[#found] = #found, counts[#found] + 1
        end
        local function vector(list, dtype) return naive.build({ #list }, dtype,
            function(index) return list[index[1]] end) end
        local at = 0
        return vector(found, x.dtype), naive.build(x.shape, "i64", function()
            at = at + 1
            return inverse[at]
        end), vector(counts, "i64")
    end,
    corners = { 1.0, 0 / 0, -math.huge, 0.0, -0.0, math.huge, 1.0, 0 / 0, -1.0, 1e-40, -1e-40 },
}
add {
    name = "topk",
    cases = { { { 3, 37 }, k = 5 }, { { 5, 37 }, k = 2, dim = 1 },
        { { 2, 3, 70 }, k = 60, smallest = true },
        { { 2, 3, 4 }, k = 2, dim = 2, smallest = true }, { {}, k = 1 }, { { 1 }, k = 1 },
            { { 3, 4 }, k = 0 },
        { { 0, 3 }, k = 2 } },
    inputs = { values.distinct },
    large = { { 257, 531 }, k = 9, dim = 1 },
    call = function(case, x)
        return core.topk(x, case.k, { dim = case.dim, largest = not case.smallest })
    end,
    naive = function(case, x)
        local y, places = sorted(case, x, not case.smallest)
        if #x.shape == 0 then return y, places end
        local shape, dim = table.move(x.shape, 1, #x.shape, 1, {}), naive.dim(x, case.dim or -1)
        shape[dim] = case.k
        local function first(a) return naive.build(shape, a.dtype,
            function(index) return a:at(index) end) end
        return first(y), first(places)
    end,
    gradient = true,
    varied = true,
    corners = { 1.0, 0 / 0, -math.huge, 0.0, -0.0, math.huge, 1.0, 0 / 0, -1.0, 1e-40, -1e-40 },
}

add {
    name = "cumsum",
    cases = { { { 3, 37 }, dim = 1 }, { { 6, 37 }, dim = -1 }, { { 2, 3, 4 }, dim = 2 },
        { { 1 }, dim = 1 },
        { { 0 }, dim = 1 }, { { 2, 0, 3 }, dim = 3 } },
    large = { { 257, 531 }, dim = 1 },
    call = function(case, x) return core.cumsum(x, case.dim) end,
    naive = function(case, x)
        local dtype = sums_dtype(x.dtype)
        return naive.along(x, case.dim, dtype, function(list)
            local sums, total = {}, naive.convert(0, dtype)
            for i, v in ipairs(list) do
                total = total + number(v)
                sums[i] = total
            end
            return sums
        end)
    end,
    gradient = true,
}

local RUNNING = { { { 3, 37 }, dim = 1 }, { { 6, 7 }, dim = -1 }, { { 2, 3, 4 }, dim = 2 },
    { { 1 }, dim = 1 }, { {}, dim = 1 }, { { 0 }, dim = 1 }, { { 2, 0, 3 }, dim = 3 } }

local function along(case, x, dtype, f)
    if #x.shape == 0 then return naive.nested(f(x.data)[1], {}, dtype) end
    return naive.along(x, case.dim, dtype, f)
end

add {
    name = "cumprod",
    cases = RUNNING,
    inputs = { values.away },
    large = { { 9, 531 }, dim = 1 },
    call = function(case, x) return core.cumprod(x, case.dim) end,
    naive = function(case, x)
        local dtype = sums_dtype(x.dtype)
        return along(case, x, dtype, function(list)
            local products, product = {}, naive.convert(1, dtype)
            for i, v in ipairs(list) do
                product = product * number(v)
                products[i] = product
            end
            return products
        end)
    end,
    gradient = true,
}

-- The places so far of the last of the best; NaN is better than all.
local function running(better)
    return function(list)
        local places, best = {}, 1
        for i, v in ipairs(list) do
            local now, so_far = number(v), number(list[best])
            if now ~= now or now == so_far or better(now, so_far) then best = i end
            places[i] = best
        end
        return places
    end
end

local function running_extreme(name, better)
    add {
        name = name,
        cases = RUNNING,
        inputs = { values.distinct },
        large = { { 257, 531 }, dim = 1 },
        call = function(case, x) return core[name](x, case.dim) end,
        naive = function(case, x)
            local places = running(better)
            return along(case, x, x.dtype, function(list)
                local y = places(list)
                for i, place in ipairs(y) do y[i] = list[place] end
                return y
            end), along(case, x, "i64", places)
        end,
        gradient = true,
        varied = true,
    }
end
running_extreme("cummax", function(a, b) return a > b end)
running_extreme("cummin", function(a, b) return a < b end)

-- The middle, of two the lower one; the first NaN.
local function middle(list)
    for _, v in ipairs(list) do
        if v ~= v then return v end
    end
    return list[order(list)[(#list + 1) // 2]]
end
add {
    name = "median",
    cases = EXTREMES,
    inputs = { values.distinct },
    large = LARGE,
    call = function(case, x) return core.median(x, case.dim, case.keepdim) end,
    naive = function(case, x)
        if not case.dim then return naive.reduce(x, nil, false, x.dtype, middle) end
        return naive.reduce(x, case.dim, case.keepdim, x.dtype, middle),
            naive.reduce(x, case.dim, case.keepdim, "i64", first_of(middle))
    end,
    gradient = true,
    varied = true,
}

-- ---- places in ascending sequences --------------------------------------------------------------

local function ascending(random, shape, dtype)
    local x = values.few(random, shape, dtype)
    return naive.along(x, -1, dtype, function(list)
        local result = {}
        for i, place in ipairs(order(list)) do result[i] = list[place] end
        return result
    end)
end

-- Before it stand the elements that are smaller; with `right`, those that are not larger.
local function place_in(list, v, right)
    local place = 1
    for _, s in ipairs(list) do
        local a, b = number(s), number(v)
        local smaller = a < b or (a == a and b ~= b)
        local larger = b < a or (b == b and a ~= a)
        if smaller or (right and not larger) then place = place + 1 end
    end
    return place
end

local function places_in(sequence, x, right)
    local n = sequence.shape[#sequence.shape]
    return naive.build(x.shape, "i64", function(index)
        local first = 1
        if #sequence.shape > 1 then
            local row = 0
            for d = 1, #index - 1 do row = row * x.shape[d] + index[d] - 1 end
            first = row * n + 1
        end
        local list = table.move(sequence.data, first, first + n - 1, 1, {})
        local common = naive.promote(sequence.dtype, x.dtype)
        for i, v in ipairs(list) do list[i] = naive.convert(v, common) end
        return place_in(list, naive.convert(x:at(index), common), right)
    end)
end

add {
    name = "searchsorted",
    cases = { { { 7 }, { 3, 37 } }, { { 7 }, { 3, 37 }, right = true },
        { { 2, 3, 5 }, { 2, 3, 4 } },
        { { 3, 5 }, { 3, 4 }, right = true }, { { 1 }, {} }, { { 0 }, { 3 } }, { { 4 }, { 0 } },
        { { 3, 0 }, { 3, 2 } } },
    inputs = { ascending, values.few },
    large = { { 100 }, { 257, 531 } },
    mixed = true,
    call = function(case, sequence, x) return core.searchsorted(sequence, x, case.right) end,
    naive = function(case, sequence, x) return places_in(sequence, x, case.right) end,
}
add {
    name = "bucketize",
    cases = { { { 3, 37 }, { 7 } }, { { 3, 37 }, { 7 }, right = true }, { {}, { 1 } },
        { { 3 }, { 0 } }, { { 0 }, { 4 } } },
    inputs = { values.few, ascending },
    large = { { 257, 531 }, { 100 } },
    mixed = true,
    call = function(case, x, boundaries) return core.bucketize(x, boundaries, case.right) end,
    naive = function(case, x, boundaries) return places_in(boundaries, x, case.right) end,
}

return entries
