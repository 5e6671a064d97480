--- Over all elements, one dimension or several.

local core = require "heed.core"
local naive = require "spec.support.naive"
local values = require "spec.support.values"

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

local CASES = {
    { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = 2, keepdim = true }, { { 2, 3, 4 }, dim = { 1, 3 } },
    { { 2, 3, 4 }, dim = -2 }, { { 2, 3, 4 }, dim = { 1, 2 }, keepdim = true }, { {} }, { { 1 } }, { { 1, 5 }, dim = 1 },
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

local function mean(list) return sum(list) / #list end

local function variance(list)
    local middle, total = mean(list), 0
    for _, v in ipairs(list) do total = total + (number(v) - middle) ^ 2 end
    return #list < 2 and 0 / 0 or total / (#list - 1)
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
    for _, v in ipairs(list) do top = math.max(top, number(v)) end
    if top == -math.huge then return top end
    local total = 0
    for _, v in ipairs(list) do total = total + math.exp(number(v) - top) end
    return top + math.log(total)
end

reduction("sum", sums_dtype, sum)
reduction("prod", sums_dtype, function(list)
    local product = 1
    for _, v in ipairs(list) do product = product * number(v) end
    return product
end, { inputs = { values.away },
    cases = with(EMPTY and { { { 2, 5 } }, { { 3, 4, 2 }, dim = 2 }, { { 3, 4, 2 }, dim = { 1, 3 }, keepdim = true },
    { {} } }, EMPTY, EMPTY_ROWS), large = { { 9001, 3 }, dim = 2 } })
reduction("mean", float_dtype, mean)
-- Of a single value the variance is NaN, and so no gradient can be compared.
local SPREAD = { { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = 2, keepdim = true },
    { { 2, 3, 4 }, dim = { 1, 3 } } }
reduction("var", float_dtype, variance, { cases = SPREAD })
reduction("std", float_dtype, function(list) return math.sqrt(variance(list)) end, { cases = SPREAD, varied = true })
reduction("logsumexp", float_dtype, logsumexp)

add {
    name = "norm",
    cases = { { { 3, 37 } }, { { 2, 3, 4 } }, { {} }, { { 1 } }, { { 0 } } },
    large = { { 257, 531 } },
    naive = function(_, x)
        return naive.reduce(x, nil, false, float_dtype(x.dtype), function(list)
            local total = 0.0
            for _, v in ipairs(list) do total = total + number(v) ^ 2 end
            return math.sqrt(total)
        end)
    end,
    gradient = true,
}

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

-- ---- largest and smallest --------------------------------------------------------------------------------------------

local function first_of(best)
    return function(list)
        local value = best(list)
        for i, v in ipairs(list) do
            if v == value or (v ~= v and value ~= value) then return i end
        end
    end
end

local EXTREMES = { { { 3, 37 } }, { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = 2, keepdim = true }, { { 2, 3, 4 }, dim = -2 },
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

local function arg_extreme(name, best)
    add {
        name = name,
        cases = EXTREMES,
        inputs = { values.few },
        large = LARGE,
        call = function(case, x) return core[name](x, case.dim, case.keepdim) end,
        naive = function(case, x) return naive.reduce(x, case.dim, case.keepdim, "i64", first_of(best)) end,
    }
end
arg_extreme("argmax", largest)
arg_extreme("argmin", smallest)

add {
    name = "cumsum",
    cases = { { { 3, 37 }, dim = 1 }, { { 3, 37 }, dim = -1 }, { { 2, 3, 4 }, dim = 2 }, { { 1 }, dim = 1 },
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

return entries
