--- By index tensors and masks, and t[key] with its assignments.

local core = require "heed.core"
local naive = require "spec.support.naive"
local values = require "spec.support.values"

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

local function copy(list) return table.move(list, 1, #list, 1, {}) end

add {
    name = "index_select",
    cases = { { { 3, 37 }, { 5 }, dim = 2, n = 37 }, { { 4, 5, 3 }, { 6 }, dim = 1, n = 4 },
        { { 4, 5, 3 }, { 2 }, dim = -2, n = 5 },
        { { 4, 3 }, { 0 }, dim = 1, n = 4 }, { { 2, 0 }, { 3 }, dim = 1, n = 2 },
            { { 5 }, {}, dim = 1, n = 5 },
        { { 4, 5, 3 }, { 2, 6 }, dim = 2, n = 5 } },
    inputs = { values.any, values.ids "n" },
    large = { { 257, 531 }, { 300 }, dim = 1, n = 257 },
    call = function(case, x, ids) return core.index_select(x, case.dim, ids) end,
    naive = function(case, x, ids)
        -- The sizes of the index take the place of dimension dim.
        local dim, shape = naive.dim(x, case.dim), copy(x.shape)
        table.remove(shape, dim)
        for d, size in ipairs(ids.shape) do table.insert(shape, dim + d - 1, size) end
        return naive.build(shape, x.dtype, function(index)
            local from = copy(index)
            local at = table.move(index, dim, dim + #ids.shape - 1, 1, {})
            for _ = 1, #ids.shape do table.remove(from, dim) end
            table.insert(from, dim, ids:at(at))
            return x:at(from)
        end)
    end,
    gradient = true,
    others = true,
}

add {
    name = "gather",
    cases = { { { 3, 37 }, { 3, 5 }, dim = 2, n = 37 }, { { 4, 5 }, { 2, 5 }, dim = 1, n = 4 },
        { { 2, 3, 4 }, { 2, 3, 6 }, dim = -1, n = 4 },
        { { 5 }, { 9 }, dim = 1, n = 5 }, { { 4, 5 }, { 0, 5 }, dim = 1, n = 4 } },
    inputs = { values.any, values.ids "n" },
    large = { { 257, 531 }, { 257, 531 }, dim = 2, n = 531 },
    call = function(case, x, ids) return core.gather(x, case.dim, ids) end,
    naive = function(case, x, ids)
        local dim = naive.dim(x, case.dim)
        return naive.build(ids.shape, x.dtype, function(index)
            local from = copy(index)
            from[dim] = ids:at(index)
            return x:at(from)
        end)
    end,
    gradient = true,
    others = true,
}

add {
    name = "masked_select",
    cases = { { { 3, 37 }, { 3, 37 } }, { { 3, 1 }, { 4 } }, { { 5 }, { 3, 1 } }, { {}, { 4 } },
        { { 0 }, { 0 } } },
    inputs = { values.any, values.mask },
    large = { { 257, 531 }, { 257, 531 } },
    naive = function(_, x, mask)
        local list = {}
        naive.zip("bool", function(v, m)
            if m then list[#list + 1] = v end
            return m
        end, x, mask)
        return naive.build({ #list }, x.dtype, function(index) return list[index[1]] end)
    end,
    gradient = true,
    others = true,
}

add {
    name = "one_hot",
    cases = { { { 3, 7 }, classes = 5 }, { {}, classes = 5 }, { { 0 }, classes = 5 } },
    inputs = { values.ids(5) },
    dtypes = { "i64" },
    others = { "i32", table.unpack(naive.dtypes.stored_integers) },
    large = { { 300, 40 }, classes = 20 },
    call = function(case, ids) return core.one_hot(ids, case.classes) end,
    naive = function(case, ids)
        local shape = copy(ids.shape)
        shape[#shape + 1] = case.classes
        return naive.build(shape, "i64", function(index)
            local from = copy(index)
            local class = table.remove(from)
            return ids:at(from) == class and 1 or 0
        end)
    end,
}

add {
    name = "nonzero",
    cases = { { { 3, 37 } }, { { 5 } }, { {} }, { { 0, 2 } } },
    inputs = { values.few },
    others = naive.dtypes.stored,
    large = { { 257, 531 } },
    naive = function(_, x)
        local rows = {}
        naive.build(x.shape, "bool", function(index)
            if naive.convert(x:at(index), "bool") then rows[#rows + 1] = copy(index) end
            return false
        end)
        return naive.build({ #rows, #x.shape }, "i64", function(index)
            return rows[index[1]][index[2]]
        end)
    end,
}

-- ---- t[key] -------------------------------------------------------------------------------------

-- { first, step, count, gone } for each dimension of x, as the key says.
local function places(x, key)
    local list = {}
    for d, size in ipairs(x.shape) do
        local k = key[d] or {}
        local function from_end(i) return i < 0 and i + size + 1 or i end
        if type(k) == "number" then
            list[d] = { from_end(k), 1, 1, true }
        else
            local first, last, step = from_end(k[1] or 1), from_end(k[2] or k[1] or size), k[3] or 1
            list[d] = { first, step, last < first and 0 or (last - first) // step + 1, false }
        end
    end
    return list
end

local function shape_of(list)
    local shape = {}
    for _, p in ipairs(list) do
        if not p[4] then shape[#shape + 1] = p[3] end
    end
    return shape
end

-- From an index into the part to one into the whole.
local function into_whole(list, index)
    local whole, n = {}, 0
    for d, p in ipairs(list) do
        if p[4] then
            whole[d] = p[1]
        else
            n = n + 1
            whole[d] = p[1] + (index[n] - 1) * p[2]
        end
    end
    return whole
end

-- x with value written to where `place` maps each index of `shape`.
local function written(x, shape, place, value)
    local result = naive.build(x.shape, x.dtype, function(index) return x:at(index) end)
    naive.build(shape, x.dtype, function(index)
        local position = 0
        for d, i in ipairs(place(index)) do position = position * x.shape[d] + i - 1 end
        result.data[position + 1] = naive.convert(value:at(index), x.dtype)
        return false
    end)
    return result
end

local KEYS = {
    { { 3, 37 }, key = { { 1, 2 }, { 4, 30, 3 } } }, { { 3, 37 }, key = { -1 } },
        { { 4, 3, 2 }, key = { { 2, 4 }, {}, -1 } },
    { { 4, 3 }, key = { { 2, 1 } } }, { { 4, 3 }, key = { { 3 }, { -2, -1 } } },
}
add {
    name = "t[key]",
    syntax = true,
    cases = KEYS,
    large = { { 257, 531 }, key = { { 2, 250, 2 }, { 3, 500 } } },
    call = function(case, x) return x[case.key] end,
    naive = function(case, x)
        local list = places(x, case.key)
        return naive.build(shape_of(list), x.dtype, function(index)
            return x:at(into_whole(list, index))
        end)
    end,
    gradient = true,
    others = true,
}

local function with_value(cases, shapes)
    local list = {}
    for i, case in ipairs(cases) do list[i] = { case[1], shapes[i], key = case.key } end
    return list
end

-- Assignments write into a copy: of leaves that want gradients nobody may.
add {
    name = "t[key] = v",
    syntax = true,
    cases = with_value(KEYS, { { 2, 9 }, {}, { 3, 1 }, { 0, 3 }, { 1, 2 } }),
    large = { { 257, 531 }, { 498 }, key = { { 2, 250, 2 }, { 3, 500 } } },
    call = function(case, x, v)
        local y = x:clone()
        y[case.key] = v
        return y
    end,
    naive = function(case, x, v)
        local list = places(x, case.key)
        return written(x, shape_of(list), function(index) return into_whole(list, index) end, v)
    end,
    gradient = true,
    others = true,
}

local function chosen(mask)
    local list = {}
    naive.build(mask.shape, "bool", function(index)
        if mask:at(index) then list[#list + 1] = copy(index) end
        return false
    end)
    return list
end

add {
    name = "t[mask]",
    syntax = true,
    cases = { { { 3, 37 }, { 3, 37 } }, { { 5 }, { 5 } }, { { 0 }, { 0 } } },
    inputs = { values.any, values.mask },
    large = { { 257, 531 }, { 257, 531 } },
    call = function(_, x, mask) return x[mask] end,
    naive = function(_, x, mask)
        local list = chosen(mask)
        return naive.build({ #list }, x.dtype, function(index) return x:at(list[index[1]]) end)
    end,
    gradient = true,
    others = true,
}
add {
    name = "t[mask] = v",
    syntax = true,
    cases = { { { 3, 37 }, { 3, 37 }, {} }, { { 5, 2 }, { 5, 2 }, { 1 } }, { { 0 }, { 0 }, {} } },
    inputs = { values.any, values.mask, values.any },
    large = { { 257, 531 }, { 257, 531 }, {} },
    call = function(_, x, mask, v)
        local y = x:clone()
        y[mask] = v
        return y
    end,
    naive = function(_, x, mask, v)
        local list = chosen(mask)
        return written(x, { #list }, function(index) return list[index[1]] end, v)
    end,
    gradient = true,
    others = true,
}
add {
    name = "t[ids]",
    syntax = true,
    cases = { { { 4, 5 }, { 7 }, n = 4 }, { { 4, 37 }, { 2, 3 }, n = 4 }, { { 4 }, { 0 }, n = 4 } },
    inputs = { values.any, values.ids "n" },
    large = { { 257, 531 }, { 300 }, n = 257 },
    call = function(_, x, ids) return x[ids] end,
    naive = function(_, x, ids)
        local shape = copy(ids.shape)
        for d = 2, #x.shape do shape[#shape + 1] = x.shape[d] end
        return naive.build(shape, x.dtype, function(index)
            return x:at { ids:at { table.unpack(index, 1, #ids.shape) },
                table.unpack(index, #ids.shape + 1) }
        end)
    end,
    gradient = true,
    others = true,
}
add {
    name = "t[ids] = v",
    syntax = true,
    cases = { { { 4, 5 }, { 3 }, { 5 }, n = 4 }, { { 4, 37 }, { 6 }, { 6, 37 }, n = 4 },
        { { 4, 2 }, { 0 }, {}, n = 4 } },
    inputs = { values.any, values.ids "n", values.any },
    large = { { 257, 531 }, { 300 }, { 531 }, n = 257 },
    call = function(_, x, ids, v)
        local y = x:clone()
        y[ids] = v
        return y
    end,
    naive = function(_, x, ids, v)
        return written(x, { ids:numel(), table.unpack(x.shape, 2) }, function(index)
            return { ids.data[index[1]], table.unpack(index, 2) }
        end, v)
    end,
    gradient = true,
    others = true,
}

-- ---- lists with tensors among them --------------------------------------------------------------

-- Keys have "ids" and "mask" where the tensors go.
local function with_tensors(case, tensors)
    local key, n = {}, 0
    for i, k in ipairs(case.key) do
        if type(k) == "string" then n = n + 1 end
        key[i] = type(k) == "string" and tensors[n] or k
    end
    return key
end

-- A part for each dimension of x: { index = array } or { first, step, count, gone } as above. A
-- mask is an index for each of its dimensions.
local function parts_of(x, key)
    local parts = {}
    for _, k in ipairs(key) do
        local d = #parts + 1
        if type(k) == "table" and k.dtype == "bool" then
            local list = chosen(k)
            for m = 1, #k.shape do
                parts[d + m - 1] = { index = naive.build({ #list }, "i64", function(at)
                    return list[at[1]][m]
                end) }
            end
        elseif type(k) == "table" and k.dtype then
            parts[d] = { index = k }
        else
            parts[d] = places({ shape = { x.shape[d] } }, { k })[1]
        end
    end
    for d = #parts + 1, #x.shape do parts[d] = { 1, 1, x.shape[d], false } end
    return parts
end

-- The shape that the indices have together, and before which of the dimensions that stay it stands:
-- where the indexed ones were when they are neighbours, otherwise first.
local function block_of(parts)
    local arrays, first, last, staying, neighbours = {}, nil, nil, 0, true
    for _, p in ipairs(parts) do
        if p.index then
            arrays[#arrays + 1] = p.index
            if last and staying > last then neighbours = false end
            first, last = first or staying, staying
        elseif not p[4] then
            staying = staying + 1
        end
    end
    return naive.common_shape(table.unpack(arrays)), neighbours and first or 0
end

-- The shape of what a key names, and a function from an index into that to one into x.
local function named(x, key)
    local parts, shape = parts_of(x, key), {}
    local block, at = block_of(parts)
    for _, p in ipairs(parts) do
        if not p.index and not p[4] then shape[#shape + 1] = p[3] end
    end
    for i, size in ipairs(block) do table.insert(shape, at + i, size) end
    return shape, function(index)
        local inside, whole, n = table.move(index, at + 1, at + #block, 1, {}), {}, 0
        for d, p in ipairs(parts) do
            if p.index then
                local v = p.index:at(inside)
                whole[d] = v < 0 and v + x.shape[d] + 1 or v
            elseif p[4] then
                whole[d] = p[1]
            else
                n = n + 1
                whole[d] = p[1] + (index[n > at and n + #block or n] - 1) * p[2]
            end
        end
        return whole
    end
end

-- Indices 1..n, and -n..-1 where the case says so.
local function any_ids(random, shape, _, case)
    return naive.build(shape, "i64", function()
        local i = random(1, case.n)
        return case.negative and random(0, 1) == 1 and i - case.n - 1 or i
    end)
end

local MIXED = {
    { { 4, 4, 3 }, { 5 }, key = { "ids", {}, 2 }, n = 4 },
        { { 3, 4, 5 }, { 6 }, key = { {}, "ids" }, n = 4 },
    { { 3, 4, 5 }, { 2, 3 }, key = { { 1, 3, 2 }, "ids", { 2, 4 } }, n = 4 },
    { { 3, 4, 5 }, { 6 }, key = { -1, "ids" }, n = 4, negative = true },
    { { 4, 5 }, { 6 }, key = { "ids" }, n = 4, negative = true },
        { { 4 }, { 3, 2 }, key = { "ids" }, n = 4 },
    { { 3, 4 }, { 0 }, key = { {}, "ids" }, n = 4 }, { { 3, 4 }, {}, key = { {}, "ids" }, n = 4 },
}
local PAIRS = {
    { { 4, 5 }, { 6 }, { 6 }, key = { "ids", "ids" }, n = 4 },
        { { 4, 5 }, { 3, 1 }, { 2 }, key = { "ids", "ids" }, n = 4 },
    { { 2, 4, 5 }, { 6 }, { 6 }, key = { {}, "ids", "ids" }, n = 4, negative = true },
    { { 4, 3, 5 }, { 6 }, { 6 }, key = { "ids", {}, "ids" }, n = 4 },
        { { 4, 3, 5 }, { 6 }, { 2, 1 }, key = { "ids", 2, "ids" }, n = 4 },
    { { 2, 4, 3, 5 }, { 2 }, { 3, 2 }, key = { {}, "ids", { 2, 3 }, "ids" }, n = 4 },
    { { 2, 4, 5, 3 }, { 2 }, { 3, 1 }, key = { { 2 }, "ids", "ids", { 1, 3, 2 } }, n = 4 },
}
local MASKED = {
    { { 3, 4, 5 }, { 3 }, key = { "mask", 2 } }, { { 3, 4, 5 }, { 4 }, key = { { 2, 3 }, "mask" } },
    { { 3, 4, 5 }, { 4, 5 }, key = { {}, "mask" } },
    { { 3, 4, 5 }, { 3, 4 }, key = { "mask", { 1, 5, 2 } } },
        { { 3, 4 }, { 4 }, key = { -1, "mask" } },
}

local function lookup(name, cases, generators, large)
    add {
        name = name,
        syntax = true,
        cases = cases,
        inputs = { values.any, table.unpack(generators) },
        large = large,
        call = function(case, x, ...) return x[with_tensors(case, { ... })] end,
        naive = function(case, x, ...)
            local shape, at = named(x, with_tensors(case, { ... }))
            return naive.build(shape, x.dtype, function(index) return x:at(at(index)) end)
        end,
        gradient = true,
        others = true,
    }
    local assignments, tensors = {}, #generators
    for i, case in ipairs(cases) do
        assignments[i] = { table.unpack(case) }
        assignments[i].key, assignments[i].n, assignments[i].negative = case.key, case.n,
            case.negative
        table.insert(assignments[i], case.value or {})
    end
    add {
        name = name .. " = v",
        syntax = true,
        cases = assignments,
        inputs = table.move({ values.any }, 1, 1, tensors + 2, table.move(generators, 1, tensors, 2,
            { values.any })),
        large = false,
        call = function(case, x, ...)
            local y, list = x:clone(), { ... }
            y[with_tensors(case, list)] = list[tensors + 1]
            return y
        end,
        naive = function(case, x, ...)
            local list = { ... }
            local shape, at = named(x, with_tensors(case, list))
            return written(x, shape, at, list[tensors + 1])
        end,
        gradient = true,
        others = true,
    }
end
-- Values: numbers, and shapes that broadcast or fit; where places are named twice the last one
-- counts.
MIXED[2].value, MIXED[3].value, MIXED[4].value, MIXED[5].value = { 6, 5 }, { 2, 1, 3 }, { 5 },
    { 6, 5 }
PAIRS[1].value, PAIRS[2].value, PAIRS[3].value, PAIRS[4].value, PAIRS[6].value = { 6 }, { 2 },
    { 2, 6 }, { 6, 3 }, { 3, 2, 2, 2 }
MASKED[3].value = { 3, 1 }
lookup("t[{.., ids, ..}]", MIXED, { any_ids },
    { { 257, 531 }, { 300 }, key = { { 2, 250, 3 }, "ids" }, n = 531 })
lookup("t[{.., ids, ids, ..}]", PAIRS, { any_ids, any_ids }, { { 257, 20, 531 }, { 300 }, { 300 },
    key = { "ids", {}, "ids" }, n = 257 })
lookup("t[{.., mask, ..}]", MASKED, { values.mask },
    { { 57, 20, 131 }, { 57, 20 }, key = { "mask", { 2, 130 } } })

return entries
