--- More functions, made of those above.
---
--- They are written in Lua on the others, so their gradients are those of what they are made of.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local INDICES = core.dtypes.indices

---@class heed.Methods
local both = {}

-- ---- arguments ----------------------------------------------------------------------------------

-- The names of arguments that may also come as options.
local function named(...) return { names = { ... }, known = check.set(...) } end

-- The arguments in their order, from positions and from the table of options behind the last of
-- these.
local function arguments(where, declared, ...)
    local values, names = { ... }, declared.names
    for i = 1, #names do
        local value = values[i]
        if type(value) == "table" and (next(value) == nil or type(next(value)) == "string") then
            local options = check.options("heed." .. where, value, declared.known)
            for j = i, #names do values[j] = options[names[j]] end
            break
        end
    end
    return table.unpack(values, 1, #names)
end

local function tensor(where, t, name)
    if not check.is_tensor(t) then
        errors.raise("heed.%s: %s: expected a tensor, got %s", where, name or "t",
            check.describe(t))
    end
    -- One that was dropped says so, of the function that was called.
    local ok, message = pcall(core.dim, t)
    if not ok then errors.raise("heed.%s%s", where, message:match "heed%.dim(.*)$") end
    return t
end

-- Integers as those that compute.
local function whole(t) return INDICES[t.dtype] and core.to(t, "i64") or t end

-- A dimension as 1..n.
local function dimension(where, n, dim, name)
    local d = math.type(dim) == "float" and math.tointeger(dim) or dim
    if math.type(d) ~= "integer" or d == 0 or d > n or d < -n then
        errors.raise("heed.%s: %s: expected a dimension 1..%d or -%d..-1, got %s%s", where,
            name or "dim", n, n, check.describe(dim),
            d == 0 and "; dimensions count from 1" or "")
    end
    return d < 0 and n + 1 + d or d
end

-- One dimension or a list of them, each once, as a list.
local function dimensions(where, n, dims, name)
    local list, seen = {}, {}
    for i, dim in ipairs(type(dims) == "table" and dims or { dims }) do
        list[i] = dimension(where, n, dim, name)
        if seen[list[i]] then
            errors.raise("heed.%s: %s: dimension %d occurs twice", where, name or "dim", list[i])
        end
        seen[list[i]] = true
    end
    return list
end

-- ---- order and counts ---------------------------------------------------------------------------

local SORTED = named("dim", "descending")

---The indices that sort: the second of what `sort` gives. Equal elements stay in their order. No
---gradient.
---
---```lua
---print(heed.tensor({ 3, 1, 2 }):argsort()) --> [2, 3, 1] i64 [3]
---print(heed.tensor({ 3, 1, 2 }):argsort({ descending = true }):argsort()) -- the rank of each
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, descending?: boolean } default -1
---@param descending? boolean|{ descending?: boolean } default false
---@return heed.Tensor # i64, of t's shape
function both.argsort(t, dim, descending, ...)
    check.no_more("heed.argsort", 3, ...)
    dim, descending = arguments("argsort", SORTED, dim, descending)
    local n = tensor("argsort", t):dim()
    dim = n > 0 and dimension("argsort", n, check.default(dim, -1)) or -1
    local _, indices = core.sort(t, dim,
        { descending = check.flag("heed.argsort", "descending", descending, false) })
    return indices
end

local COUNTED = named("weights", "minlength")

---How often each of the numbers 1, 2, ... occurs; with weights, the sum of the weights of those
---places.
---
---```lua
---print(heed.bincount { 2, 1, 2, 4 }) --> [1, 2, 0, 1] i64 [4]
---print(heed.bincount(heed.ids { 1, 3 }, { weights = heed.tensor { 0.5, 2 }, minlength = 4 })) --> [0.5000, 0.0000, 2.0000, 0.0000] f32 [4]
---```
---@param t heed.Ids [N], from 1
---@param weights? heed.Tensor|{ weights?: heed.Tensor, minlength?: integer } [N]
---@param minlength? integer|{ minlength?: integer } at least so many are counted, default 0
---@return heed.Tensor # [the largest number]: i64, or the weights' dtype
function both.bincount(t, weights, minlength, ...)
    check.no_more("heed.bincount", 3, ...)
    weights, minlength = arguments("bincount", COUNTED, weights, minlength)
    local index = check.is_tensor(t) and whole(tensor("bincount", t)) or core.ids(t)
    minlength = check.integer("heed.bincount", "minlength", check.default(minlength, 0), 0)
    local least = index:dim() == 1 and INDICES[index.dtype]
        and (index:numel() > 0 and index:min():item() or 1)
    if not least or least < 1 then
        errors.raise("heed.bincount: t: expected a vector of integers from 1, got %s%s",
            check.describe(index),
            least and least < 1 and (" with %s in it"):format(least) or "")
    end
    local length = math.max(minlength, index:numel() > 0 and index:max():item() or 0)
    if weights then
        return core.index_add(core.zeros(length,
            { dtype = tensor("bincount", weights, "weights").dtype }), 1, index, weights)
    end
    -- Ones are read from memory: as narrow as counts may be.
    local narrow = { dtype = index:numel() < 2 ^ 31 and "i32" or "i64" }
    return core.index_add(core.zeros(length, narrow), 1, index,
        core.ones(index:numel(), narrow)):to "i64"
end

local QUANTILES = named("dim", "keepdim", "interpolation")

-- Of q in 0..1 among n elements: the places, from 1, of the two between which it lies, and how far.
local PLACED = {
    linear = function(low, share) return low + 1, share > 0 and low + 2 or low + 1, share end,
    lower = function(low) return low + 1, low + 1, 0 end,
    higher = function(low, share)
        local place = share > 0 and low + 2 or low + 1
        return place, place, 0
    end,
    midpoint = function(low, share)
        return low + 1, share > 0 and low + 2 or low + 1, share > 0 and 0.5 or 0
    end,
    nearest = function(low, share)
        local up = share > 0.5 or share == 0.5 and low % 2 == 1
        return up and low + 2 or low + 1, up and low + 2 or low + 1, 0
    end,
}

-- A list of numbers of 0..1, and whether it was given as one.
local function quantiles_of(q)
    if check.is_tensor(q) then
        if tensor("quantile", q, "q"):dim() > 1 then
            errors.raise("heed.quantile: q: expected a number or a vector, got %s",
                check.describe(q))
        end
        q = q:dim() == 0 and q:item() or q:totable()
    end
    local list = type(q) == "table" and q or { q }
    for _, v in ipairs(list) do
        if type(v) ~= "number" or not (v >= 0 and v <= 1) then
            errors.raise("heed.quantile: q: expected numbers from 0 to 1, got %s",
                check.describe(v))
        end
    end
    return list, type(q) == "table"
end

-- Along the last dimension of t: [.., #list].
local function quantiles_along(t, list, placed)
    local n, sorted = t:size(-1), t:sort(-1)
    local lows, highs, shares = {}, {}, {}
    for i, q in ipairs(list) do
        local at = q * (n - 1)
        local low = math.floor(at)
        lows[i], highs[i], shares[i] = placed(low, at - low)
    end
    local y = sorted:index_select(-1, core.ids(lows)):lerp(sorted:index_select(-1,
        core.ids(highs)), core.tensor(shares, { dtype = t.dtype }))
    local last = sorted:narrow(-1, n, 1) -- NaN, if there is one
    return core.where(last:isnan(), last, y)
end

---The element that a share q of all is not above: of the elements in order the one at 1 + q (n -
---1), by default interpolated between its neighbours; q = 0 and q = 1 give the smallest and the
---largest exactly. A list of q gives a first dimension. NaN is the quantile of what has one.
---Gradients go to the elements that were taken, none to q.
---
---```lua
---local x = heed.tensor { 4, 1, 3, 2 }
---print(x:quantile(0.5), x:quantile({ 0, 0.25, 1 })) --> 2.5000 f32 [] [1.0000, 1.7500, 4.0000] f32 [3]
---print(x:quantile(0.5, { interpolation = "lower" })) --> 2. f32 []
---```
---@param t heed.Tensor integers give f32
---@param q number|number[]|heed.Tensor 0 to 1
---@param dim? integer|{ dim?: integer, keepdim?: boolean, interpolation?: string } default: all
---@param keepdim? boolean|{ keepdim?: boolean, interpolation?: string } default false
---@param interpolation? string|{ interpolation?: string } "linear" (default), "lower", "higher",
---"midpoint" or "nearest"
---@return heed.Tensor
function both.quantile(t, q, dim, keepdim, interpolation, ...)
    check.no_more("heed.quantile", 5, ...)
    dim, keepdim, interpolation = arguments("quantile", QUANTILES, dim, keepdim, interpolation)
    local placed = PLACED[check.default(interpolation, "linear")]
    if not placed then
        errors.raise('heed.quantile: interpolation: expected "linear", "lower", "higher", '
            .. '"midpoint" or "nearest", got %s', check.describe(interpolation))
    end
    keepdim = check.flag("heed.quantile", "keepdim", keepdim, false)
    local rank, list, several = tensor("quantile", t):dim(), quantiles_of(q)
    local widened = t.dtype ~= "f32" and t.dtype ~= "f64"
    local d = dim ~= nil and rank > 0 and dimension("quantile", rank, dim)
    local rows = widened and t:to "f64" or t -- exact up to 2^53
    rows = d and rows:transpose(d, -1) or rows:reshape(-1)
    if rows:size(-1) == 0 then
        errors.raise("heed.quantile: t: expected at least one element, got shape %s",
            tostring(t.shape))
    end
    local y, at = quantiles_along(rows, list, placed), d or 1
    if d then y = y:transpose(d, -1) end
    if keepdim and d then y, at = y:unsqueeze(d), d + 1 end
    if keepdim and not d then
        local shape = { #list }
        for i = 1, rank do shape[i + 1] = 1 end
        y = y:view(shape)
    end
    y = several and both.movedim(y, at, 1) or y:select(at, 1)
    return widened and y:to "f32" or y
end

-- ---- shapes -------------------------------------------------------------------------------------

---A dimension moved to another place, or several to several; the others keep their order. A view.
---
---```lua
---print(heed.zeros(2, 3, 4):movedim(1, -1).shape, heed.zeros(2, 3, 4):movedim({ 1, 2 }, { 3, 1 }).shape) --> [3, 4, 2] [3, 4, 2]
---```
---@param t heed.Tensor
---@param source heed.Dims
---@param destination heed.Dims as many
---@return heed.Tensor
function both.movedim(t, source, destination, ...)
    check.no_more("heed.movedim", 3, ...)
    local n = tensor("movedim", t):dim()
    local from = dimensions("movedim", n, source, "source")
    local to = dimensions("movedim", n, destination, "destination")
    if #from ~= #to then
        errors.raise("heed.movedim: destination: expected as many dimensions as source has, %d, "
            .. "got %d", #from, #to)
    end
    local order, moved, rest = {}, {}, 1
    for i, d in ipairs(from) do order[to[i]], moved[d] = d, true end
    for place = 1, n do
        if not order[place] then
            while moved[rest] do rest = rest + 1 end
            order[place], rest = rest, rest + 1
        end
    end
    return t:permute(order)
end

---One dimension seen as several: what flatten undoes. One size may be -1. A view.
---
---```lua
---print(heed.zeros(2, 12):unflatten(2, { 3, -1 }).shape) --> [2, 3, 4]
---```
---@param t heed.Tensor
---@param dim integer
---@param sizes integer[]
---@return heed.Tensor
function both.unflatten(t, dim, sizes, ...)
    check.no_more("heed.unflatten", 3, ...)
    local d = dimension("unflatten", tensor("unflatten", t):dim(), dim)
    check.type("heed.unflatten", "sizes", sizes, "table")
    local shape, product, open = {}, 1, nil
    for i = 1, d - 1 do shape[i] = t.shape[i] end
    for i, size in ipairs(sizes) do
        if size == -1 and not open then open = d - 1 + i else product = product * check.integer(
            "heed.unflatten", "sizes", size, 0) end
        shape[#shape + 1] = size
    end
    local size = t:size(d)
    if open and product > 0 then shape[open] = size // product end
    if #sizes == 0 or (open and (product == 0 or size % product ~= 0))
        or (not open and product ~= size) then
        errors.raise("heed.unflatten: sizes: expected sizes whose product is %d, the size of "
            .. "dimension %d, got { %s }", size, d,
            table.concat(sizes, ", "))
    end
    for i = d + 1, t:dim() do shape[#shape + 1] = t.shape[i] end
    return t:view(shape)
end

-- 1 1 1 2 2 2 .. n n n
local function repeated(n, times)
    check.integer("heed.repeat_interleave", "times", times, 0)
    return core.range(1, n, { dtype = "i64" }):unsqueeze(2):expand(n, times):reshape(-1)
end

local function counts_of(times)
    if check.is_tensor(times) then return whole(times) end
    if type(times) ~= "table" then return nil end
    for _, count in ipairs(times) do check.integer("heed.repeat_interleave", "times", count, 0) end
    return core.ids(times)
end

-- 1 as often as the first of times says, and so on: how many have begun, where each begins behind
-- those before it.
local function repeated_each(t, d, times)
    local counts, n = counts_of(times), t:size(d)
    if not counts or counts:dim() ~= 1 or counts:numel() ~= n or not INDICES[counts.dtype] then
        errors.raise("heed.repeat_interleave: times: expected an integer, or %d of them "
            .. "(dimension %d of %s), got %s", n, d,
            tostring(t.shape), check.describe(times))
    end
    if n == 0 then return core.zeros(0, { dtype = "i64" }) end
    local least = counts:min():item()
    if least < 0 then
        errors.raise("heed.repeat_interleave: times: expected 0 or more, got %s", least)
    end
    local ends = counts:to "i64":cumsum(1)
    local begun = core.zeros(ends[n] + 1, { dtype = "i64" })
    begun:index_add_(1, ends - counts + 1, core.ones(n, { dtype = "i64" }))
    return begun:narrow(1, 1, ends[n]):cumsum(1)
end

---Every index of a dimension `times` times in a row; without a dimension, of all elements as a
---vector. (`tile` repeats the whole.)
---
---```lua
---print(heed.tensor({ 1, 2 }):repeat_interleave(2)) --> [1., 1., 2., 2.] f32 [4]
---print(heed.tensor({ 1, 2, 3 }):repeat_interleave({ 0, 1, 2 }, 1)) --> [2., 3., 3.] f32 [3]
---```
---@param t heed.Tensor
---@param times integer|heed.Ids a number for all, or one for each index
---@param dim? integer
---@return heed.Tensor
function both.repeat_interleave(t, times, dim, ...)
    check.no_more("heed.repeat_interleave", 3, ...)
    if type(dim) == "table" then
        dim = check.options("heed.repeat_interleave", dim, check.set "dim").dim
    end
    if dim == nil then t, dim = tensor("repeat_interleave", t):reshape(-1), 1 end
    local d = dimension("repeat_interleave", tensor("repeat_interleave", t):dim(), dim)
    if type(times) == "number" then return t:index_select(d, repeated(t:size(d), times)) end
    return t:index_select(d, repeated_each(t, d, times))
end

-- The arguments of meshgrid as a list, and its options.
local function grid_arguments(first, ...)
    local list = { first, ... }
    local options = type(list[#list]) == "table" and type(next(list[#list])) == "string"
        and table.remove(list) or {}
    if #list == 1 and type(list[1]) == "table" then list = list[1] end
    for i, t in ipairs(list) do
        if tensor("meshgrid", t, ("argument %d"):format(i)):dim() > 1 then
            errors.raise("heed.meshgrid: argument %d: expected a vector, got %s", i,
                check.describe(t))
        end
    end
    options = check.options("heed.meshgrid", options, check.set "indexing")
    local indexing = check.default(options.indexing, "ij")
    if indexing ~= "ij" and indexing ~= "xy" then
        errors.raise('heed.meshgrid: indexing: expected "ij" or "xy", got %s',
            check.describe(indexing))
    end
    return list, indexing
end

---The coordinates of all points of a grid: of n vectors, n tensors of n dimensions, the i-th of
---which varies along dimension i as the i-th vector does. With indexing = "xy" the first two
---dimensions are exchanged, as for pictures. Views.
---
---```lua
---local a, b = heed.meshgrid(heed.tensor { 1, 2 }, heed.tensor { 3, 4, 5 })
---print(a, b) --> [[1., 1., 1.], [2., 2., 2.]] f32 [2, 3] [[3., 4., 5.], [3., 4., 5.]] f32 [2, 3]
---```
---@param ... heed.Tensor|heed.Tensor[]|{ indexing?: "ij"|"xy" } vectors, or a list of them, and
---options
---@return heed.Tensor ...
function both.meshgrid(...)
    local list, indexing = grid_arguments(...)
    local shape, grids = {}, {}
    for i, t in ipairs(list) do shape[i] = t:numel() end
    for i, t in ipairs(list) do
        local along = {}
        for d = 1, #list do along[d] = d == i and shape[i] or 1 end
        grids[i] = t:reshape(along):expand(shape)
        if indexing == "xy" and #list > 1 then grids[i] = grids[i]:transpose(1, 2) end
    end
    return table.unpack(grids)
end

-- ---- elements -----------------------------------------------------------------------------------

---1 / x.
---
---```lua
---print(heed.tensor({ 2, 4 }):reciprocal()) --> [0.5000, 0.2500] f32 [2]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.reciprocal(t, ...)
    check.no_more("heed.reciprocal", 1, ...)
    return 1 / tensor("reciprocal", t)
end

-- ---- norms --------------------------------------------------------------------------------------

local NORMED = named("p", "dim", "eps")

---x / max(‖x‖, eps), along a dimension: rows of length 1.
---
---```lua
---print(heed.tensor({ { 3, 4 }, { 0, 0 } }):normalize()) --> [[0.6000, 0.8000], [0.0000, 0.0000]] f32 [2, 2]
---```
---@param t heed.Tensor
---@param p? number|{ p?: number, dim?: heed.Dims, eps?: number } default 2
---@param dim? heed.Dims|{ dim?: heed.Dims, eps?: number } default 2, as in PyTorch
---@param eps? number|{ eps?: number } default 1e-12
---@return heed.Tensor
function both.normalize(t, p, dim, eps, ...)
    check.no_more("heed.normalize", 4, ...)
    p, dim, eps = arguments("normalize", NORMED, p, dim, eps)
    local dims = dimensions("normalize", tensor("normalize", t):dim(), check.default(dim, 2))
    local norm = t:norm(check.default(p, 2), dims, true)
    return t / norm:clamp { min = check.number("heed.normalize", "eps", check.default(eps, 1e-12),
        0) }
end

local COMPARED = named("dim", "eps")

---a · b / (max(‖a‖, eps) · max(‖b‖, eps)) along a dimension; a and b broadcast.
---
---```lua
---print(heed.cosine_similarity(heed.tensor { { 1, 0 }, { 1, 1 } }, heed.tensor { 1, 0 })) --> [1.0000, 0.7071] f32 [2]
---```
---@param a heed.Tensor
---@param b heed.Tensor
---@param dim? integer|{ dim?: integer, eps?: number } default 2, as in PyTorch
---@param eps? number|{ eps?: number } default 1e-8
---@return heed.Tensor
function both.cosine_similarity(a, b, dim, eps, ...)
    check.no_more("heed.cosine_similarity", 4, ...)
    dim, eps = arguments("cosine_similarity", COMPARED, dim, eps)
    eps = check.number("heed.cosine_similarity", "eps", check.default(eps, 1e-8), 0)
    local n = math.max(tensor("cosine_similarity", a, "a"):dim(),
        tensor("cosine_similarity", b, "b"):dim())
    -- From the end, where shapes of different length meet.
    local d = dimension("cosine_similarity", n, check.default(dim, 2)) - n - 1
    -- Each by its own length: their product alone may leave the range.
    local unit_a, unit_b = a / a:norm(2, d, true):clamp { min = eps },
        b / b:norm(2, d, true):clamp { min = eps }
    return (unit_a * unit_b):sum(d)
end

return { both = both }
