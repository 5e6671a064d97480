--- Elements that go where an index says: put there, added, reduced.

local core = require "heed.core"
local naive = require "spec.support.naive"
local values = require "spec.support.values"

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

local function copy(list) return table.move(list, 1, #list, 1, {}) end

-- A tensor, an index, and what goes there, of which the index may cover a part.
local SCATTERED = { { { 3, 37 }, { 3, 50 }, { 3, 50 }, dim = 2, n = 37 },
    { { 4, 5 }, { 7, 3 }, { 7, 3 }, dim = 1, n = 4 },
    { { 2, 3, 4 }, { 2, 2, 6 }, { 2, 3, 7 }, dim = -1, n = 4 },
        { { 2, 3, 70 }, { 2, 5, 70 }, { 2, 5, 70 }, dim = 2, n = 3 },
    { { 5 }, { 9 }, { 9 }, dim = 1, n = 5 }, { { 4, 5 }, { 0, 5 }, { 0, 5 }, dim = 1, n = 4 } }
local LARGE = { { 257, 531 }, { 300, 531 }, { 300, 531 }, dim = 1, n = 257 }

-- Sums where an index says; of booleans: whether any holds.
local function summed(a, b)
    if type(a) == "boolean" then return a or b end
    return a + b
end

local function with_sums(x, source, place)
    local result = naive.build(x.shape, x.dtype, function(index) return x:at(index) end)
    naive.build(source.shape, source.dtype, function(index)
        local position = 0
        for d, i in ipairs(place(index)) do position = position * x.shape[d] + i - 1 end
        result.data[position + 1] = summed(result.data[position + 1], source:at(index))
        return false
    end)
    return result
end

local function scatter_add(name, call)
    add {
        name = name,
        cases = SCATTERED,
        inputs = { values.any, values.ids "n", values.any },
        large = LARGE,
        call = call,
        naive = function(case, x, ids, src)
            local dim = naive.dim(x, case.dim)
            local used = naive.build(ids.shape, src.dtype, function(index) return src:at(index) end)
            return with_sums(x, used, function(index)
                local to = copy(index)
                to[dim] = ids:at(index)
                return to
            end)
        end,
        gradient = true,
    }
end
scatter_add("scatter_add", function(case, x, ids, src)
    return core.scatter_add(x, case.dim, ids, src)
end)
-- In place: on a copy, because nobody may write to leaves that want gradients.
scatter_add("scatter_add_", function(case, x, ids, src)
    return core.scatter_add_(x:clone(), case.dim, ids, src)
end)

local function scatter(name, call)
    add {
        name = name,
        cases = SCATTERED,
        inputs = { values.any, values.ids "n", values.any },
        large = LARGE,
        call = call,
        naive = function(case, x, ids, src)
            local dim = naive.dim(x, case.dim)
            local result = naive.build(x.shape, x.dtype, function(index) return x:at(index) end)
            naive.build(ids.shape, "bool", function(index)
                local position = 0
                for d, i in ipairs(index) do
                    position = position * x.shape[d] + (d == dim and ids:at(index) or i) - 1
                end
                result.data[position + 1] = src:at(index)
                return false
            end)
            return result
        end,
        gradient = true,
        others = true,
    }
end
scatter("scatter", function(case, x, ids, src) return core.scatter(x, case.dim, ids, src) end)
scatter("scatter_", function(case, x, ids, src)
    return core.scatter_(x:clone(), case.dim, ids, src)
end)

-- ---- scatter_reduce: of each place, t's element and the src that come to it, in order -----------

local function number(v) return v == true and 1 or v == false and 0 or v end
local function factor(list)
    local product = 1
    for _, v in ipairs(list) do product = product * number(v) end
    return product
end
local function total(list)
    local sum = 0
    for _, v in ipairs(list) do sum = sum + number(v) end
    return sum
end
local function best_by(better)
    return function(list)
        local best = list[1]
        for _, v in ipairs(list) do
            if v ~= v then return v end
            if better(number(v), number(best)) then best = v end
        end
        return best
    end
end
-- Never equal to one of values.distinct.
local function between(random, shape, dtype)
    return values.distinct(random, shape, dtype):map(function(v)
        return naive.is_float(dtype) and v + 1 / 128 or v
    end)
end
local REDUCED = {
    sum = total,
    prod = factor,
    mean = function(list) return total(list) / #list end,
    amax = best_by(function(a, b) return a > b end),
    amin = best_by(function(a, b) return a < b end),
}

local function scatter_reduce(name, reduce, call, more)
    local entry = {
        name = name,
        variant = reduce,
        cases = { { { 3, 37 }, { 3, 50 }, { 3, 50 }, dim = 2, n = 37 },
            { { 4, 5 }, { 7, 3 }, { 7, 3 }, dim = 1, n = 4 },
            { { 2, 3, 4 }, { 2, 2, 6 }, { 2, 3, 7 }, dim = -1, n = 4, without = true },
            { { 2, 3, 70 }, { 2, 5, 70 }, { 2, 5, 70 }, dim = 2, n = 3, without = true },
            { { 5 }, { 9 }, { 9 }, dim = 1, n = 5 }, { { 4, 5 }, { 0, 5 }, { 0, 5 }, dim = 1, n = 4,
                without = true } },
        inputs = { values.distinct, values.ids "n", between },
        large = LARGE,
        call = call,
        naive = function(case, x, ids, src)
            local dim, lists = naive.dim(x, case.dim), {}
            local function position_of(shape, index)
                local position = 0
                for d, i in ipairs(index) do position = position * shape[d] + i - 1 end
                return position + 1
            end
            for i, v in ipairs(x.data) do lists[i] = { v } end
            naive.build(ids.shape, "bool", function(index)
                local to = copy(index)
                to[dim] = ids:at(index)
                local list = lists[position_of(x.shape, to)]
                if case.without and not list.met then list[1] = nil end
                list.met = true
                list[#list + 1] = src:at(index)
                return false
            end)
            return naive.build(x.shape, x.dtype, function(index)
                return naive.convert(REDUCED[reduce](lists[position_of(x.shape, index)]), x.dtype)
            end)
        end,
        gradient = true,
        varied = true,
    }
    for key, value in pairs(more or {}) do entry[key] = value end
    add(entry)
end
for _, entry in ipairs {
    { "sum", {} }, { "prod", { inputs = { values.away, values.ids "n", values.away } } },
        { "mean", { dtypes = naive.dtypes.floats } },
    { "amax", {} }, { "amin", {} },
} do
    local reduce = entry[1]
    scatter_reduce("scatter_reduce", reduce, function(case, x, ids, src)
        return core.scatter_reduce(x, case.dim, ids, src, reduce,
            { include_self = not case.without })
    end, entry[2])
end
scatter_reduce("scatter_reduce_", "amax", function(case, x, ids, src)
    return core.scatter_reduce_(x:clone(), case.dim, ids, src, "amax",
        { include_self = not case.without })
end)

local function index_add(name, call)
    add {
        name = name,
        cases = { { { 3, 37 }, { 50 }, { 3, 50 }, dim = 2, n = 37 },
            { { 4, 5, 3 }, { 6 }, { 6, 5, 3 }, dim = 1, n = 4 },
            { { 4, 5, 3 }, { 2 }, { 4, 2, 3 }, dim = -2, n = 5 }, { { 4 }, { 9 }, { 9 }, dim = 1,
                n = 4 },
            { { 4, 3 }, { 0 }, { 0, 3 }, dim = 1, n = 4 }, { { 2, 0 }, { 3 }, { 3, 0 }, dim = 1,
                n = 2 } },
        inputs = { values.any, values.ids "n", values.any },
        large = { { 257, 531 }, { 300 }, { 300, 531 }, dim = 1, n = 257 },
        call = call,
        naive = function(case, x, ids, src)
            local dim = naive.dim(x, case.dim)
            return with_sums(x, src, function(index)
                local to = copy(index)
                to[dim] = ids:at { index[dim] }
                return to
            end)
        end,
        gradient = true,
    }
end
index_add("index_add", function(case, x, ids, src) return core.index_add(x, case.dim, ids, src) end)
index_add("index_add_", function(case, x, ids, src)
    return core.index_add_(x:clone(), case.dim, ids, src)
end)

return entries
