--- More functions, made of those above.
---
--- They are written in Lua on the others, so their gradients are those of what they are made of.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

---@class heed.Methods
local both = {}

---@class heed.Functions
local only = {}

-- ---- arguments -----------------------------------------------------------------------------------------------------

-- The names of arguments that may also come as options.
local function named(...) return { names = { ... }, known = check.set(...) } end

-- The arguments in their order, from positions and from the table of options behind the last of these.
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
        errors.raise("heed.%s: %s: expected a tensor, got %s", where, name or "t", check.describe(t))
    end
    -- One that was dropped says so, of the function that was called.
    local ok, message = pcall(core.dim, t)
    if not ok then errors.raise("heed.%s%s", where, message:match "heed%.dim(.*)$") end
    return t
end

-- A dimension as 1..n.
local function dimension(where, n, dim, name)
    local d = math.type(dim) == "float" and math.tointeger(dim) or dim
    if math.type(d) ~= "integer" or d == 0 or d > n or d < -n then
        errors.raise("heed.%s: %s: expected a dimension 1..%d or -%d..-1, got %s%s", where, name or "dim", n, n, check.describe(dim),
            d == 0 and "; dimensions count from 1" or "")
    end
    return d < 0 and n + 1 + d or d
end

-- One dimension or a list of them, each once, as a list.
local function dimensions(where, n, dims, name)
    local list, seen = {}, {}
    for i, dim in ipairs(type(dims) == "table" and dims or { dims }) do
        list[i] = dimension(where, n, dim, name)
        if seen[list[i]] then errors.raise("heed.%s: %s: dimension %d occurs twice", where, name or "dim", list[i]) end
        seen[list[i]] = true
    end
    return list
end

-- ---- reductions and order ------------------------------------------------------------------------------------------

local REDUCED = named("dim", "keepdim")

-- Of elements that are equally extreme each gets its share of the gradient; max and min give it to the first.
local extremes = {}
for _, name in ipairs { "max", "min" } do
    extremes[name] = core.func(function(ctx, t, dims)
        local y = t
        for _, dim in ipairs(dims) do y = core[name](y, dim, true) end
        ctx:save(t, y)
        return y
    end, function(ctx, g)
        local t, y = ctx:saved()
        local chosen, dims = t:eq(y), {}
        for d, size in ipairs(y.shape) do
            if size ~= t.shape[d] then dims[#dims + 1] = d end
        end
        if #dims == 0 then return g end
        return core.where(chosen, g / chosen:sum(dims, true), 0)
    end)
end

local function extreme(where, name, t, dim, keepdim)
    dim, keepdim = arguments(where, REDUCED, dim, keepdim)
    local all = {}
    for d = 1, tensor(where, t):dim() do all[d] = d end
    local dims = dim == nil and all or dimensions(where, t:dim(), dim)
    local y = extremes[name](t, dims)
    if check.flag("heed." .. where, "keepdim", keepdim, false) or #dims == 0 then return y end
    return y:squeeze(dims)
end

---The largest element, over all or some dimensions: what `max` gives first, of several dimensions too. Of equal ones each gets an
---equal share of the gradient (along a dimension max gives it to the first).
---
---```lua
---print(heed.tensor({ { 1, 5, 2 }, { 7, 0, 7 } }):amax(2)) --> [5., 7.] f32 [2]
---print(heed.randn(2, 3, 4):amax({ 1, 3 }, { keepdim = true }).shape) --> [1, 3, 1]
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.amax(t, dim, keepdim) return extreme("amax", "max", t, dim, keepdim) end

---The smallest element, over all or some dimensions, as amax.
---
---```lua
---print(heed.tensor({ { 1, 5, 2 }, { 7, 0, 7 } }):amin(2)) --> [1., 0.] f32 [2]
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.amin(t, dim, keepdim) return extreme("amin", "min", t, dim, keepdim) end

local SORTED = named("dim", "descending")

---The indices that sort: the second of what `sort` gives. Equal elements stay in their order. No gradient.
---
---```lua
---print(heed.tensor({ 3, 1, 2 }):argsort()) --> [2, 3, 1] i64 [3]
---print(heed.tensor({ 3, 1, 2 }):argsort({ descending = true }):argsort()) -- the rank of each
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, descending?: boolean } default -1
---@param descending? boolean|{ descending?: boolean } default false
---@return heed.Tensor # i64, of t's shape
function both.argsort(t, dim, descending)
    dim, descending = arguments("argsort", SORTED, dim, descending)
    local n = tensor("argsort", t):dim()
    dim = n > 0 and dimension("argsort", n, check.default(dim, -1)) or -1
    local _, indices = core.sort(t, dim, { descending = check.flag("heed.argsort", "descending", descending, false) })
    return indices
end

local COUNTED = named("weights", "minlength")

---How often each of the numbers 1, 2, ... occurs; with weights, the sum of the weights of those places.
---
---```lua
---print(heed.bincount { 2, 1, 2, 4 }) --> [1, 2, 0, 1] i64 [4]
---print(heed.bincount(heed.ids { 1, 3 }, { weights = heed.tensor { 0.5, 2 }, minlength = 4 })) --> [0.5000, 0.0000, 2.0000, 0.0000] f32 [4]
---```
---@param t heed.Ids [N], from 1
---@param weights? heed.Tensor|{ weights?: heed.Tensor, minlength?: integer } [N]
---@param minlength? integer|{ minlength?: integer } at least so many are counted, default 0
---@return heed.Tensor # [the largest number]: i64, or the weights' dtype
function both.bincount(t, weights, minlength)
    weights, minlength = arguments("bincount", COUNTED, weights, minlength)
    local index = check.is_tensor(t) and tensor("bincount", t) or core.ids(t)
    minlength = check.integer("heed.bincount", "minlength", check.default(minlength, 0), 0)
    local least = index:dim() == 1 and (index:numel() > 0 and index:min():item() or 1)
    if not least or least < 1 or index.dtype:find "^i" == nil then
        errors.raise("heed.bincount: t: expected a vector of integers from 1, got %s%s", check.describe(index),
            least and least < 1 and (" with %s in it"):format(least) or "")
    end
    local length = math.max(minlength, index:numel() > 0 and index:max():item() or 0)
    if weights == nil then weights = core.ones(index:numel(), { dtype = "i64" }) end
    return core.index_add(core.zeros(length, { dtype = tensor("bincount", weights, "weights").dtype }), 1, index, weights)
end

---The different elements, in ascending order; which of them each element is; and how often each occurs. No gradient.
---
---```lua
---local values, inverse, counts = heed.ids({ 3, 1, 3, 3 }):unique()
---print(values, counts, values[inverse]) --> [1, 3] i64 [2] [1, 3] i64 [2] [3, 1, 3, 3] i64 [4]
---```
---@param t heed.Tensor
---@return heed.Tensor values [U]
---@return heed.Tensor inverse i64, of t's shape
---@return heed.Tensor counts i64 [U]
function both.unique(t)
    local flat = tensor("unique", t):detach():reshape(-1)
    local sorted, order = core.sort(flat, 1)
    local n = flat:numel()
    local first = core.ones(n, { dtype = "bool" })
    if n > 1 then first[{ { 2, n } }] = sorted:narrow(1, 2, n - 1):ne(sorted:narrow(1, 1, n - 1)) end
    local number = first:cumsum(1)
    local inverse = core.zeros(n, { dtype = "i64" }):index_add(1, order, number)
    local values = sorted:masked_select(first)
    local counts = core.zeros(values:numel(), { dtype = "i64" }):index_add(1, number, core.ones(n, { dtype = "i64" }))
    return values, inverse:view(t.shape), counts
end

-- ---- shapes --------------------------------------------------------------------------------------------------------

---A dimension moved to another place, or several to several; the others keep their order. A view.
---
---```lua
---print(heed.zeros(2, 3, 4):movedim(1, -1).shape, heed.zeros(2, 3, 4):movedim({ 1, 2 }, { 3, 1 }).shape) --> [3, 4, 2] [3, 4, 2]
---```
---@param t heed.Tensor
---@param source heed.Dims
---@param destination heed.Dims as many
---@return heed.Tensor
function both.movedim(t, source, destination)
    local n = tensor("movedim", t):dim()
    local from = dimensions("movedim", n, source, "source")
    local to = dimensions("movedim", n, destination, "destination")
    if #from ~= #to then
        errors.raise("heed.movedim: destination: expected as many dimensions as source has, %d, got %d", #from, #to)
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
function both.unflatten(t, dim, sizes)
    local d = dimension("unflatten", tensor("unflatten", t):dim(), dim)
    check.type("heed.unflatten", "sizes", sizes, "table")
    local shape, product, open = {}, 1, nil
    for i = 1, d - 1 do shape[i] = t.shape[i] end
    for i, size in ipairs(sizes) do
        if size == -1 and not open then open = d - 1 + i else product = product * check.integer("heed.unflatten", "sizes", size, 0) end
        shape[#shape + 1] = size
    end
    local size = t:size(d)
    if open and product > 0 then shape[open] = size // product end
    if #sizes == 0 or (open and (product == 0 or size % product ~= 0)) or (not open and product ~= size) then
        errors.raise("heed.unflatten: sizes: expected sizes whose product is %d, the size of dimension %d, got { %s }", size, d,
            table.concat(sizes, ", "))
    end
    for i = d + 1, t:dim() do shape[#shape + 1] = t.shape[i] end
    return t:view(shape)
end

---Windows of `size` neighbours along a dimension, a new one after every `step`: windows stand along that dimension, their elements
---along a new last one. What is left over at the end is left out. A view where windows do not overlap or leave gaps; otherwise a copy,
---and the gradient of an element is the sum over its windows.
---
---```lua
---print(heed.range(1, 5):unfold(1, 3, 1)) --> [[1., 2., 3.], [2., 3., 4.], [3., 4., 5.]] f32 [3, 3]
---local images = heed.zeros(8, 3, 32, 32)
---print(images:unfold(3, 4, 4):unfold(4, 4, 4).shape) --> [8, 3, 8, 8, 4, 4]
---```
---@param t heed.Tensor
---@param dim integer
---@param size integer of a window
---@param step integer
---@return heed.Tensor
function both.unfold(t, dim, size, step)
    local n = tensor("unfold", t):dim()
    local d = dimension("unfold", n, dim)
    check.integer("heed.unfold", "step", step)
    if check.integer("heed.unfold", "size", size) > t:size(d) then
        errors.raise("heed.unfold: size: expected at most %d, the size of dimension %d, got %d", t:size(d), d, size)
    end
    local windows = (t:size(d) - size) // step + 1
    local parts
    if step == size then
        parts = t:narrow(d, 1, windows * size)
    else
        local starts = core.range(0, windows - 1, { dtype = "i64" }):unsqueeze(2) * step
        parts = t:index_select(d, (starts + core.range(1, size, { dtype = "i64" })):view(-1))
    end
    return both.movedim(both.unflatten(parts, d, { windows, size }), d + 1, n + 1)
end

---Every index of a dimension `times` times in a row; without a dimension, of all elements as a vector. (`tile` repeats the whole.)
---
---```lua
---print(heed.tensor({ 1, 2 }):repeat_interleave(2)) --> [1., 1., 2., 2.] f32 [4]
---print(heed.tensor({ 1, 2, 3 }):repeat_interleave({ 0, 1, 2 }, 1)) --> [2., 3., 3.] f32 [3]
---```
---@param t heed.Tensor
---@param times integer|heed.Ids a number for all, or one for each index
---@param dim? integer
---@return heed.Tensor
function both.repeat_interleave(t, times, dim)
    if type(dim) == "table" then dim = check.options("heed.repeat_interleave", dim, check.set "dim").dim end
    if dim == nil then t, dim = tensor("repeat_interleave", t):reshape(-1), 1 end
    local d = dimension("repeat_interleave", tensor("repeat_interleave", t):dim(), dim)
    local list, n = check.is_tensor(times) and times:totable() or times, t:size(d)
    if type(list) == "number" then
        check.integer("heed.repeat_interleave", "times", list, 0)
        return t:index_select(d, core.range(1, n, { dtype = "i64" }):unsqueeze(2):expand(n, list):reshape(-1))
    end
    if type(list) ~= "table" or #list ~= n then
        errors.raise("heed.repeat_interleave: times: expected an integer, or %d of them (dimension %d of %s), got %s", n, d,
            tostring(t.shape), check.describe(times))
    end
    local index = {}
    for i, count in ipairs(list) do
        for _ = 1, check.integer("heed.repeat_interleave", "times", count, 0) do index[#index + 1] = i end
    end
    return t:index_select(d, core.ids(index))
end

-- ---- elements ------------------------------------------------------------------------------------------------------

-- By keys, one after the other: the last of several values for one place stays.
local function write_in_order(t, d, index, src)
    local key, n = {}, t:dim()
    for i = 1, n do
        local shape = {}
        for j = 1, n do shape[j] = j == i and index:size(i) or 1 end
        key[i] = i == d and index or core.range(1, index:size(i), { dtype = "i64" }):view(shape)
        src = src:narrow(i, 1, index:size(i))
    end
    local y = t:clone()
    y[key] = src
    return y
end

local function check_scattered(t, d, index, src)
    if index:dim() ~= t:dim() or src:dim() ~= t:dim() then
        errors.raise("heed.scatter: index: expected index and src of %d dimensions as t, got %s and %s", t:dim(), check.describe(index),
            check.describe(src))
    end
    for i, size in ipairs(index.shape) do
        local small = i ~= d and size > t:size(i) and "t" or size > src:size(i) and "src"
        if small then
            errors.raise("heed.scatter: index: expected at most the size of %s in dimension %d, got %s for t %s and src %s", small, i,
                tostring(index.shape), tostring(t.shape), tostring(src.shape))
        end
    end
    if src.dtype ~= t.dtype then errors.raise("heed.scatter: src: expected %s as t, got %s", t.dtype, check.describe(src)) end
end

---A copy of t in which, along a dimension, what index says is replaced: with dim 2, y[i][index[i][j]] = src[i][j]. Where several
---places are one, the last counts. (`scatter_add` adds; `t[key] = v` writes.)
---
---```lua
---local y = heed.zeros(2, 3):scatter(2, heed.ids { { 3 }, { 1 } }, 1)
---print(y) --> [[0., 0., 1.], [1., 0., 0.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids of as many dimensions, nowhere larger than src, or than t but along dim
---@param src heed.Tensor|number|boolean of t's dtype
---@return heed.Tensor
function both.scatter(t, dim, index, src)
    local d = dimension("scatter", tensor("scatter", t):dim(), dim)
    if not check.is_tensor(index) then index = core.ids(index) end
    if type(src) == "boolean" then src = src and 1 or 0 end
    if type(src) == "number" then src = core.full(index.shape, src, { dtype = t.dtype }) end
    check_scattered(t, d, index, tensor("scatter", src, "src"))
    if index:numel() == 0 then return t:clone() end
    local counts = core.zeros(t.shape, { dtype = "i32" })
        :scatter_add(d, index, core.ones(index.shape, { dtype = "i32" }))
    if counts:max():item() > 1 then return write_in_order(t, d, index, src) end
    return core.where(counts:ne(0), core.zeros(t.shape, { dtype = t.dtype }):scatter_add(d, index, src), t)
end

---The least integer that is no smaller. The gradient is 0.
---
---```lua
---print(heed.tensor({ 1.2, -1.2, 3 }):ceil()) --> [ 2., -1., 3.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.ceil(t)
    if tensor("ceil", t).dtype:find "^f" == nil then return core.floor(t) end
    return -core.floor(-t)
end

---Is it ∞ or -∞?
---
---```lua
---print(heed.tensor({ 1, -math.huge, 0 / 0 }):isinf()) --> [false, true, false] bool [3]
---```
---@param t heed.Tensor
---@return heed.Tensor # bool
function both.isinf(t)
    if tensor("isinf", t).dtype:find "^f" == nil then return core.zeros(t.shape, { dtype = "bool" }) end
    return t:abs():eq(math.huge)
end

---1 / x.
---
---```lua
---print(heed.tensor({ 2, 4 }):reciprocal()) --> [0.5000, 0.2500] f32 [2]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.reciprocal(t) return 1 / tensor("reciprocal", t) end

---a + weight · (b - a), which is a at 0 and b at 1, with the same bits.
---
---```lua
---print(heed.tensor({ 1, 2 }):lerp(heed.tensor { 3, 6 }, 0.5)) --> [2., 4.] f32 [2]
---```
---@param a heed.Tensor
---@param b heed.Tensor
---@param weight number|heed.Tensor
---@return heed.Tensor
function both.lerp(a, b, weight)
    local difference = tensor("lerp", b, "b") - tensor("lerp", a, "a")
    if check.is_tensor(weight) then
        return core.where(weight:abs():lt(0.5), a + weight * difference, b - difference * (1 - weight))
    end
    if check.number("heed.lerp", "weight", weight) < 0.5 and weight > -0.5 then return a + weight * difference end
    return b - difference * (1 - weight)
end

-- ---- norms ---------------------------------------------------------------------------------------------------------

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
function both.normalize(t, p, dim, eps)
    p, dim, eps = arguments("normalize", NORMED, p, dim, eps)
    local dims = dimensions("normalize", tensor("normalize", t):dim(), check.default(dim, 2))
    local norm = t:norm(check.default(p, 2), dims, true)
    return t / norm:clamp { min = check.number("heed.normalize", "eps", check.default(eps, 1e-12), 0) }
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
function both.cosine_similarity(a, b, dim, eps)
    dim, eps = arguments("cosine_similarity", COMPARED, dim, eps)
    eps = check.number("heed.cosine_similarity", "eps", check.default(eps, 1e-8), 0)
    local n = math.max(tensor("cosine_similarity", a, "a"):dim(), tensor("cosine_similarity", b, "b"):dim())
    -- From the end, where shapes of different length meet.
    local d = dimension("cosine_similarity", n, check.default(dim, 2)) - n - 1
    return (a * b):sum(d) / (a:norm(2, d):clamp { min = eps } * b:norm(2, d):clamp { min = eps })
end

-- ---- making --------------------------------------------------------------------------------------------------------

---`count` numbers from first to last, both included, at equal distances.
---
---```lua
---print(heed.linspace(0, 1, 5)) --> [0.0000, 0.2500, 0.5000, 0.7500, 1.0000] f32 [5]
---```
---@param first number
---@param last number
---@param count integer
---@param options? heed.MakeOptions
---@return heed.Tensor
function only.linspace(first, last, count, options)
    options = check.options("heed.linspace", options, check.set("dtype", "requires_grad"))
    check.number("heed.linspace", "first", first)
    check.number("heed.linspace", "last", last)
    local values = core.zeros(check.integer("heed.linspace", "count", count, 0), { dtype = "f64" })
    if count > 0 then
        local i, step = core.range(0, count - 1, { dtype = "f64" }), count > 1 and (last - first) / (count - 1) or 0
        -- From both ends, so that both are met.
        values = core.where(i:lt(count / 2), first + i * step, last - (count - 1 - i) * step)
    end
    values = values:to(options.dtype or "f32")
    if options.requires_grad then values.requires_grad = true end
    return values
end

return { both = both, only = only }
