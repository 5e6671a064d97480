--- Views, order, joins and copies: elements move and nothing is computed.

local core = require "heed.core"
local naive = require "spec.support.naive"
local values = require "spec.support.values"

local entries = {}

local function add(entry)
    if entry.gradient == nil then entry.gradient = true end
    entry.others = true
    entries[#entries + 1] = entry
end

local function copied(_, x) return x end

-- The elements in row-major order under the sizes that the case says it gives.
local function reshaped(case, x) return x:reshaped(case.gives) end

-- In their own order: some layouts have no view.
add {
    name = "view",
    cases = { { { 3, 8 }, to = { 4, 6 }, gives = { 4, 6 } },
        { { 2, 3, 4 }, to = { 2, -1 }, gives = { 2, 12 } },
        { { 1 }, to = {}, gives = {} },
        { {}, to = { 1, 1 }, gives = { 1, 1 } }, { { 0, 3 }, to = { 3, 0 }, gives = { 3, 0 } } },
    large = { { 257, 531 }, to = { -1 }, gives = { 257 * 531 } },
    layouts = { "contiguous" },
    call = function(case, x) return core.view(x, case.to) end,
    naive = reshaped,
}
add {
    name = "reshape",
    cases = { { { 3, 8 }, to = { 4, 6 }, gives = { 4, 6 } },
        { { 2, 3, 4 }, to = { 2, -1 }, gives = { 2, 12 } },
        { { 1 }, to = {}, gives = {} },
        { {}, to = { 1, 1 }, gives = { 1, 1 } }, { { 0, 3 }, to = { 3, 0 }, gives = { 3, 0 } } },
    large = { { 257, 531 }, to = { -1 }, gives = { 257 * 531 } },
    call = function(case, x) return core.reshape(x, case.to) end,
    naive = reshaped,
}
add {
    name = "flatten",
    cases = { { { 2, 3, 4 }, gives = { 24 } }, { { 2, 3, 4 }, first = 2, gives = { 2, 12 } },
        { { 2, 3, 4 }, first = 1, last = 2, gives = { 6, 4 } },
        { {}, gives = { 1 } }, { { 0, 3 }, gives = { 0 } }, { { 5 }, gives = { 5 } } },
    large = { { 257, 531 }, gives = { 257 * 531 } },
    call = function(case, x) return core.flatten(x, case.first, case.last) end,
    naive = reshaped,
}
add {
    name = "squeeze",
    cases = { { { 1, 3, 1 }, gives = { 3 } }, { { 1, 3, 1 }, dim = 1, gives = { 3, 1 } },
        { { 1, 3, 1 }, dim = 2, gives = { 1, 3, 1 } }, { { 1, 3, 1, 1 }, dim = { 1, -1 },
            gives = { 3, 1 } },
        { { 1, 3, 1 }, dim = { 2, 3 }, gives = { 1, 3 } },
        { {}, gives = {} }, { { 1, 0 }, gives = { 0 } } },
    large = false,
    call = function(case, x) return core.squeeze(x, case.dim) end,
    naive = reshaped,
}
add {
    name = "unsqueeze",
    cases = { { { 2, 3 }, dim = 1, gives = { 1, 2, 3 } },
        { { 2, 3 }, dim = -1, gives = { 2, 3, 1 } },
        { {}, dim = 1, gives = { 1 } },
        { { 0 }, dim = 2, gives = { 0, 1 } } },
    large = false,
    call = function(case, x) return core.unsqueeze(x, case.dim) end,
    naive = reshaped,
}
add {
    name = "unfold",
    cases = { { { 3, 37 }, dim = 2, of = 3, step = 1, windows = 35 },
        { { 3, 37 }, dim = -1, of = 5, step = 7, windows = 5 },
        { { 9, 4 }, dim = 1, of = 4, step = 2, windows = 3 },
            { { 2, 8, 3 }, dim = 2, of = 4, step = 4, windows = 2 },
        { { 5 }, dim = 1, of = 5, step = 9, windows = 1 }, { { 0, 3 }, dim = 2, of = 2, step = 1,
            windows = 2 } },
    large = { { 257, 531 }, dim = 1, of = 7, step = 3, windows = 84 },
    call = function(case, x) return core.unfold(x, case.dim, case.of, case.step) end,
    naive = function(case, x)
        local dim, shape = naive.dim(x, case.dim), table.move(x.shape, 1, #x.shape, 1, {})
        shape[dim], shape[#shape + 1] = case.windows, case.of
        return naive.build(shape, x.dtype, function(index)
            local from = table.move(index, 1, #x.shape, 1, {})
            from[dim] = (index[dim] - 1) * case.step + index[#index]
            return x:at(from)
        end)
    end,
}
add {
    name = "expand",
    cases = { { { 3, 1 }, to = { 3, 4 }, gives = { 3, 4 } },
        { { 3 }, to = { 2, -1 }, gives = { 2, 3 } },
        { {}, to = { 2, 2 }, gives = { 2, 2 } },
        { { 1 }, to = { 0 }, gives = { 0 } }, { { 2, 3 }, to = { 2, 3 }, gives = { 2, 3 } } },
    large = { { 257, 1 }, to = { 257, 531 }, gives = { 257, 531 } },
    call = function(case, x) return core.expand(x, case.to) end,
    naive = function(case, x) return naive.build(case.gives, x.dtype,
        function(index) return x:at(index) end) end,
}

-- ---- order --------------------------------------------------------------------------------------

add {
    name = "permute",
    cases = { { { 2, 3, 4 }, order = { 3, 1, 2 } }, { { 2, 3 }, order = { -1, 1 } },
        { {}, order = {} },
        { { 0, 2 }, order = { 2, 1 } } },
    large = { { 257, 531 }, order = { 2, 1 } },
    call = function(case, x) return core.permute(x, case.order) end,
    naive = function(case, x) return naive.permute(x, case.order) end,
}
add {
    name = "transpose",
    cases = { { { 2, 3, 4 }, d1 = 1, d2 = 3 }, { { 2, 3 }, d1 = -1, d2 = -2 },
        { { 2, 3 }, d1 = 1, d2 = 1 },
        { { 0, 2 }, d1 = 1, d2 = 2 } },
    large = { { 257, 531 }, d1 = 1, d2 = 2 },
    call = function(case, x) return core.transpose(x, case.d1, case.d2) end,
    naive = function(case, x)
        local order = {}
        for d = 1, #x.shape do order[d] = d end
        local d1, d2 = naive.dim(x, case.d1), naive.dim(x, case.d2)
        order[d1], order[d2] = order[d2], order[d1]
        return naive.permute(x, order)
    end,
}
add {
    name = "t",
    cases = { { { 2, 3 } }, { { 1, 5 } }, { { 0, 2 } } },
    large = { { 257, 531 } },
    naive = function(_, x) return naive.permute(x, { 2, 1 }) end,
}
add {
    name = "flip",
    cases = { { { 3, 37 }, dims = { 2 } }, { { 2, 3, 4 }, dims = { 1, -1 } },
        { { 2, 3 }, dims = {} },
        { {}, dims = {} }, { { 0, 2 }, dims = { 1 } } },
    large = { { 257, 531 }, dims = { 1, 2 } },
    call = function(case, x) return core.flip(x, case.dims) end,
    naive = function(case, x)
        local flipped = {}
        for _, d in ipairs(case.dims) do flipped[naive.dim(x, d)] = true end
        return naive.build(x.shape, x.dtype, function(index)
            local from = {}
            for d, i in ipairs(index) do from[d] = flipped[d] and x.shape[d] + 1 - i or i end
            return x:at(from)
        end)
    end,
}

add {
    name = "roll",
    cases = { { { 3, 37 }, shifts = 5, dims = 2 }, { { 3, 4, 5 }, shifts = { 1, -2 },
        dims = { 1, 3 } }, { { 3, 7 }, shifts = 2 },
        { { 3, 7 }, shifts = -30, dims = -1 }, { { 4 }, shifts = { 1, 2 }, dims = { 1, 1 } },
            { { 2, 3 }, shifts = 0, dims = 1 },
        { {}, shifts = 3 }, { { 0, 2 }, shifts = 1, dims = 1 } },
    large = { { 257, 531 }, shifts = { 100, -7 }, dims = { 1, 2 } },
    call = function(case, x) return core.roll(x, case.shifts, case.dims) end,
    naive = function(case, x)
        local shifts = type(case.shifts) == "table" and case.shifts or { case.shifts }
        local dims = type(case.dims) == "table" and case.dims or { case.dims }
        local flat = #dims == 0 and x:reshaped { x:numel() } or x
        if #dims == 0 then dims = { 1 } end
        for i, d in ipairs(dims) do
            local whole = flat
            d = naive.dim(whole, d)
            flat = naive.build(whole.shape, x.dtype, function(index)
                local from = table.move(index, 1, #index, 1, {})
                from[d] = (from[d] - 1 - shifts[i]) % whole.shape[d] + 1
                return whole:at(from)
            end)
        end
        return flat:reshaped(x.shape)
    end,
}
add {
    name = "tile",
    cases = { { { 3, 7 }, counts = { 2, 3 } }, { { 3, 7 }, counts = { 3 } },
        { { 3 }, counts = { 2, 1, 2 } },
        { { 2, 3, 4 }, counts = { 2, 1, 1 } }, { { 2, 3 }, counts = { 1, 1 } },
            { {}, counts = { 4 } }, { {}, counts = {} },
        { { 2, 3 }, counts = { 0, 2 } }, { { 0, 2 }, counts = { 2, 2 } } },
    large = { { 257, 53 }, counts = { 2, 5 } },
    call = function(case, x) return core.tile(x, case.counts) end,
    naive = function(case, x)
        local wide = math.max(#case.counts, #x.shape)
        local shape, own = {}, {}
        for d = 1, wide do
            own[d] = x.shape[d - wide + #x.shape] or 1
            shape[d] = own[d] * (case.counts[d - wide + #case.counts] or 1)
        end
        local whole = x:reshaped(own)
        return naive.build(shape, x.dtype, function(index)
            local from = {}
            for d, i in ipairs(index) do from[d] = (i - 1) % own[d] + 1 end
            return whole:at(from)
        end)
    end,
}
add {
    name = "diagonal",
    cases = { { { 4, 4 } }, { { 3, 37 }, offset = 5 }, { { 5, 3 }, offset = -2 },
        { { 2, 3, 4 }, dim1 = 3, dim2 = 1 },
        { { 2, 3, 4 }, offset = 1, dim1 = -2, dim2 = -1 }, { { 2, 3 }, offset = 3 },
            { { 2, 3 }, offset = -7 }, { { 0, 3 } },
        { { 1, 1 } } },
    large = { { 700, 531 }, offset = -3 },
    call = function(case, x) return core.diagonal(x, case.offset, case.dim1, case.dim2) end,
    naive = function(case, x)
        local d1, d2 = naive.dim(x, case.dim1 or 1), naive.dim(x, case.dim2 or 2)
        local first, second = math.max(0, -(case.offset or 0)), math.max(0, case.offset or 0)
        local shape = {}
        for d, size in ipairs(x.shape) do
            if d ~= d1 and d ~= d2 then shape[#shape + 1] = size end
        end
        shape[#shape + 1] = math.max(0, math.min(x.shape[d1] - first, x.shape[d2] - second))
        return naive.build(shape, x.dtype, function(index)
            local from, n, i = {}, 0, index[#index]
            for d = 1, #x.shape do
                if d ~= d1 and d ~= d2 then n = n + 1 end
                from[d] = d == d1 and first + i or d == d2 and second + i or index[n]
            end
            return x:at(from)
        end)
    end,
}

-- Where place i of a dimension of n elements comes from; nil: it is new.
local SOURCE = {
    constant = function(i, n) return i >= 1 and i <= n and i or nil end,
    reflect = function(i, n) return i < 1 and 2 - i or i > n and 2 * n - i or i end,
    replicate = function(i, n) return math.max(1, math.min(n, i)) end,
    circular = function(i, n) return (i - 1) % n + 1 end,
}
add {
    name = "pad",
    cases = { { { 3, 37 }, amounts = { 2, 3 } }, { { 3, 4 }, amounts = { 1, 0, 2, 1 }, value = 1 },
        { { 2, 3, 4 }, amounts = { 0, 0, 1, 1 } },
        { { 4, 5 }, amounts = { -1, 2, 0, -2 } }, { { 4 }, amounts = { -3, -1 } },
            { { 4 }, amounts = { -5, 3 } },
        { { 2, 3 }, amounts = {} },
        { {}, amounts = {} }, { { 0, 2 }, amounts = { 1, 1, 2, 0 } },
        { { 3, 37 }, amounts = { 5, 2 }, mode = "reflect" }, { { 3, 4 }, amounts = { 3, 1, 0, 2 },
            mode = "reflect" },
        { { 3, 4 }, amounts = { 3, 6, 2, 0 }, mode = "replicate" },
            { { 1, 2 }, amounts = { 0, 2, 4, 0 }, mode = "replicate" },
        { { 3, 4 }, amounts = { 4, 1, 0, 3 }, mode = "circular" },
            { { 3, 4 }, amounts = { -1, 2, -2, 0 }, mode = "circular" },
        { { 2, 3, 4 }, amounts = { 1, 1, 1, 1, 1, 1 }, mode = "reflect" } },
    large = { { 257, 531 }, amounts = { 7, 20, 3, 1 }, mode = "reflect" },
    call = function(case, x)
        return core.pad(x, case.amounts, { mode = case.mode or "constant", value = case.value })
    end,
    naive = function(case, x)
        local before, shape, n = {}, {}, #x.shape
        for d, size in ipairs(x.shape) do
            before[d] = case.amounts[2 * (n - d) + 1] or 0
            shape[d] = size + before[d] + (case.amounts[2 * (n - d) + 2] or 0)
        end
        return naive.build(shape, x.dtype, function(index)
            local from = {}
            for d, i in ipairs(index) do
                from[d] = SOURCE[case.mode or "constant"](i - before[d], x.shape[d])
                if not from[d] then return naive.convert(case.value or 0, x.dtype) end
            end
            return x:at(from)
        end)
    end,
}

-- ---- parts --------------------------------------------------------------------------------------

-- Elements start, start + step, ... along dim.
local function part(x, dim, start, length, step)
    dim = naive.dim(x, dim)
    local shape = table.move(x.shape, 1, #x.shape, 1, {})
    shape[dim] = length
    return naive.build(shape, x.dtype, function(index)
        local from = table.move(index, 1, #index, 1, {})
        from[dim] = start + (from[dim] - 1) * (step or 1)
        return x:at(from)
    end)
end

local function without(shape, dim)
    local rest = table.move(shape, 1, #shape, 1, {})
    table.remove(rest, dim)
    return rest
end

add {
    name = "narrow",
    cases = { { { 3, 37 }, dim = 2, start = 5, length = 20 },
        { { 4, 3 }, dim = 1, start = 4, length = 1 },
        { { 4, 3 }, dim = -1, start = 2, length = 0 },
        { { 4 }, dim = 1, start = -2, length = 2 } },
    large = { { 257, 531 }, dim = 2, start = 17, length = 500 },
    call = function(case, x) return core.narrow(x, case.dim, case.start, case.length) end,
    naive = function(case, x)
        local start = case.start < 0 and case.start + x.shape[naive.dim(x, case.dim)] + 1
            or case.start
        return part(x, case.dim, start, case.length)
    end,
}
add {
    name = "select",
    cases = { { { 3, 37 }, dim = 2, index = 5 }, { { 4, 3 }, dim = 1, index = -1 },
        { { 4 }, dim = 1, index = 2 } },
    large = { { 257, 531 }, dim = 1, index = 200 },
    call = function(case, x) return core.select(x, case.dim, case.index) end,
    naive = function(case, x)
        local index = case.index < 0 and case.index + x.shape[case.dim] + 1 or case.index
        return part(x, case.dim, index, 1):reshaped(without(x.shape, naive.dim(x, case.dim)))
    end,
}

local function parts(x, dim, sizes)
    local list, start = {}, 1
    for i, size in ipairs(sizes) do
        list[i] = part(x, dim, start, size)
        start = start + size
    end
    return table.unpack(list)
end

add {
    name = "split",
    cases = { { { 7, 2 }, size = 3, gives = { 3, 3, 1 } }, { { 2, 6 }, size = { 1, 0, 5 }, dim = 2,
        gives = { 1, 0, 5 } },
        { { 0, 2 }, size = 3, gives = { 0 } } },
    large = { { 257, 531 }, size = 100, gives = { 100, 100, 57 } },
    call = function(case, x) return table.unpack(core.split(x, case.size, case.dim)) end,
    naive = function(case, x) return parts(x, case.dim or 1, case.gives) end,
}
add {
    name = "chunk",
    cases = { { { 7, 2 }, count = 3, gives = { 3, 3, 1 } },
        { { 2, 6 }, count = 2, dim = -1, gives = { 3, 3 } },
        { { 2 }, count = 5, gives = { 1, 1 } } },
    large = { { 257, 531 }, count = 2, gives = { 129, 128 } },
    call = function(case, x) return table.unpack(core.chunk(x, case.count, case.dim)) end,
    naive = function(case, x) return parts(x, case.dim or 1, case.gives) end,
}
add {
    name = "unbind",
    cases = { { { 3, 2 } }, { { 2, 4 }, dim = 2 }, { { 3 } } },
    large = { { 3, 45000 } },
    call = function(case, x) return table.unpack(core.unbind(x, case.dim)) end,
    naive = function(case, x)
        local list, dim = {}, case.dim or 1
        for i = 1, x.shape[dim] do list[i] = part(x, dim, i, 1):reshaped(without(x.shape, dim)) end
        return table.unpack(list)
    end,
}

-- ---- joins --------------------------------------------------------------------------------------

local function joined(dim, arrays)
    local first = arrays[1]
    dim = naive.dim(first, dim or 1)
    local shape, dtype = table.move(first.shape, 1, #first.shape, 1, {}), first.dtype
    shape[dim] = 0
    for _, a in ipairs(arrays) do
        shape[dim] = shape[dim] + a.shape[dim]
        dtype = naive.promote(dtype, a.dtype)
    end
    return naive.build(shape, dtype, function(index)
        local from = table.move(index, 1, #index, 1, {})
        for _, a in ipairs(arrays) do
            if from[dim] <= a.shape[dim] then return naive.convert(a:at(from), dtype) end
            from[dim] = from[dim] - a.shape[dim]
        end
    end)
end

add {
    name = "cat",
    cases = { { { 2, 3 }, { 1, 3 }, { 4, 3 } }, { { 2, 3 }, { 2, 0 }, { 2, 37 }, dim = 2 },
        { { 2, 3, 1 }, { 2, 3, 2 }, dim = -1 }, { { 3 } },
        { { 0 }, { 0 } } },
    large = { { 257, 300 }, { 257, 231 }, dim = 2 },
    call = function(case, ...) return core.cat({ ... }, case.dim) end,
    naive = function(case, ...) return joined(case.dim, { ... }) end,
    mixed = true,
}
add {
    name = "stack",
    cases = { { { 2, 3 }, { 2, 3 } }, { { 2, 3 }, { 2, 3 }, { 2, 3 }, dim = 2 },
        { { 37 }, { 37 }, dim = -1 },
        { {}, {} }, { { 0 } } },
    large = { { 257, 300 }, { 257, 300 }, dim = -1 },
    call = function(case, ...) return core.stack({ ... }, case.dim) end,
    naive = function(case, ...)
        local arrays, ndim = { ... }, #(...).shape + 1
        local dim = case.dim or 1
        if dim < 0 then dim = dim + ndim + 1 end
        for i, a in ipairs(arrays) do
            local shape = table.move(a.shape, 1, #a.shape, 1, {})
            table.insert(shape, dim, 1)
            arrays[i] = a:reshaped(shape)
        end
        return joined(dim, arrays)
    end,
    mixed = true,
}

-- ---- copies -------------------------------------------------------------------------------------

local SHAPES = { { { 3, 37 } }, { { 2, 3, 5 } }, { {} }, { { 1 } }, { { 0, 2 } } }
add { name = "contiguous", cases = SHAPES, large = { { 257, 531 } }, naive = copied }
add { name = "clone", cases = SHAPES, large = { { 257, 531 } }, naive = copied }
add { name = "detach", cases = SHAPES, large = false, naive = copied, gradient = false }

local TO = {}
for _, to in ipairs(naive.dtypes.known) do
    local half = to == "f16" or to == "bf16" -- torch_dtypes_spec.lua has them
    for _, case in ipairs(SHAPES) do
        if not half then TO[#TO + 1] = { case[1], to = to, rough = to ~= "f64" } end
    end
end
add {
    name = "to",
    cases = TO,
    large = { { 257, 531 }, to = "f64" },
    call = function(case, x) return core.to(x, case.to) end,
    naive = function(case, x) return x:to(case.to) end,
}

-- ---- triangles ----------------------------------------------------------------------------------

local function triangle(name, keeps)
    add {
        name = name,
            cases = { { { 4, 4 } }, { { 3, 37 }, scalar = 5 }, { { 5, 3 }, scalar = -2 },
                { { 2, 3, 4 } },
                { { 0, 3 } }, { { 1, 1 } } },
        large = { { 257, 531 }, scalar = 3 },
        call = function(case, x) return core[name](x, case.scalar) end,
        naive = function(case, x)
            return naive.build(x.shape, x.dtype, function(index)
                local above = index[#index] - index[#index - 1]
                if keeps(above, case.scalar or 0) then return x:at(index) end
                return naive.convert(0, x.dtype)
            end)
        end,
        inputs = { values.any },
        in_place = name .. "_",
    }
end
triangle("tril", function(above, diagonal) return above <= diagonal end)
triangle("triu", function(above, diagonal) return above >= diagonal end)

return entries
