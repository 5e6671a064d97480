--- Small arrays in plain Lua, to say what an operation means with nested loops and nothing clever.
---
--- An array is { shape, dtype, data }: data in row-major order, indices from 1; bool data are Lua
--- booleans, those of integers Lua integers. References compute in Lua's numbers: f32 inputs are
--- exact in them. i32 and u8 may be left as they come out in 64 bits: they wrap when they are
--- compared.

local naive = {}

local Array = {}
Array.__index = Array

local function array(shape, dtype, data)
    return setmetatable({ shape = shape, dtype = dtype, data = data }, Array)
end

local function count_of(shape)
    local count = 1
    for _, size in ipairs(shape) do count = count * size end
    return count
end

---The array whose element at `index` (a table that is used again) is f(index).
function naive.build(shape, dtype, f)
    local data, index = {}, {}
    for d = 1, #shape do index[d] = 1 end
    for n = 1, count_of(shape) do
        data[n] = f(index)
        local d = #shape
        while d >= 1 do
            index[d] = index[d] + 1
            if index[d] <= shape[d] then break end
            index[d], d = 1, d - 1
        end
    end
    return array(shape, dtype, data)
end

---An array of the values of a nested table or number.
function naive.nested(nested, shape, dtype)
    return naive.build(shape, dtype, function(index)
        local value = nested
        for d = 1, #shape do value = value[index[d]] end
        return value
    end)
end

---A tensor's contents. totable follows the strides itself, element by element.
function naive.of(tensor) return naive.nested(tensor:totable(), { tensor:size() }, tensor.dtype) end

---Element `index`; an array of fewer dimensions or of sizes 1 is repeated, as broadcasting does.
function Array:at(index)
    local position, lead = 0, #index - #self.shape
    for d, size in ipairs(self.shape) do
        position = position * size + (size == 1 and 1 or index[lead + d]) - 1
    end
    return self.data[position + 1]
end

function Array:numel() return count_of(self.shape) end

---The element at i1, i2, ...
function Array:get(...) return self:at { ... } end

---f(element) of each, as another array.
function Array:map(f, dtype)
    local data = {}
    for i, value in ipairs(self.data) do data[i] = f(value) end
    return array(self.shape, dtype or self.dtype, data)
end

---The same elements in another shape.
function Array:reshaped(shape) return array(shape, self.dtype, self.data) end

-- ---- dtypes -------------------------------------------------------------------------------------

local RANK = { bool = 1, u8 = 2, i32 = 3, i64 = 4, f32 = 5, f64 = 6 }

---Lists of dtypes that are computed with.
naive.dtypes = {
    all = { "f32", "f64", "i64", "i32", "u8", "bool" },
    numbers = { "f32", "f64", "i64", "i32", "u8" },
    floats = { "f32", "f64" },
    stored_integers = { "i16", "i8", "u32", "u16" },
    stored = { "f16", "bf16", "i16", "i8", "u32", "u16" },
    known = { "f32", "f64", "i64", "i32", "i16", "i8", "u32", "u16", "u8", "bool", "f16", "bf16" },
}

function naive.is_float(dtype) return dtype == "f32" or dtype == "f64" end
function naive.is_integer(dtype) return dtype:find "^[iu]" ~= nil end
---What whole numbers come out as: bool counts.
function naive.whole(dtype) return dtype == "bool" and "i64" or dtype end

---PyTorch's common type of tensors.
function naive.promote(a, b) return RANK[a] >= RANK[b] and a or b end

---The least and the greatest integer of a dtype.
naive.limits = { u8 = { 0, 0xff }, u16 = { 0, 0xffff }, u32 = { 0, 0xffffffff },
    i8 = { -0x80, 0x7f }, i16 = { -0x8000, 0x7fff }, i32 = { -0x80000000, 0x7fffffff },
    i64 = { math.mininteger, math.maxinteger } }
naive.limits.bool = naive.limits.i64

-- Towards 0, and what is beyond the dtype's range its end.
local function whole_of(value, dtype)
    if math.type(value) == "integer" then return value end
    if value ~= value then return 0 end
    local least, most = table.unpack(naive.limits[dtype])
    if value >= most then return most end
    if value <= least then return least end
    return (value < 0 and math.ceil or math.floor)(value)
end

-- The low bits of an integer, as those of the dtype.
local function wrapped(value, dtype)
    local least, most = table.unpack(naive.limits[dtype])
    if dtype == "i64" then return value end
    return ((value - least) & (most - least)) + least
end

---A value as a dtype holds it (f32 unrounded: comparing rounds).
function naive.convert(value, dtype)
    if dtype == "bool" then
        if type(value) == "boolean" then return value end
        return value ~= 0
    end
    if type(value) == "boolean" then value = value and 1 or 0 end
    if naive.is_integer(dtype) then return wrapped(whole_of(value, dtype), dtype) end
    return value * 1.0 -- + 0.0 would lose the sign of -0
end

function Array:to(dtype)
    return self:map(function(v) return naive.convert(v, dtype) end, dtype)
end

-- ---- loops --------------------------------------------------------------------------------------

---The shape that arrays broadcast to.
function naive.common_shape(...)
    local arrays, shape, ndim = { ... }, {}, 0
    for _, a in ipairs(arrays) do ndim = math.max(ndim, #a.shape) end
    for d = 1, ndim do
        shape[d] = 1
        for _, a in ipairs(arrays) do
            local size = a.shape[d - ndim + #a.shape]
            if size and size ~= 1 then shape[d] = size end
        end
    end
    return shape
end

---f(element of a, element of b, ...) everywhere, broadcasting.
function naive.zip(dtype, f, ...)
    local arrays = { ... }
    return naive.build(naive.common_shape(...), dtype, function(index)
        local values = {}
        for i, a in ipairs(arrays) do values[i] = a:at(index) end
        return f(table.unpack(values))
    end)
end

function naive.dim(a, dim) return dim < 0 and dim + #a.shape + 1 or dim end

---f(list of the elements along `dims`) for each place of the others. dims: a number, a list, or nil
---for all.
function naive.reduce(a, dims, keepdim, dtype, f)
    local reduced, shape, full = {}, {}, {}
    if type(dims) == "number" then dims = { dims } end
    for d = 1, #a.shape do reduced[d] = dims == nil end
    for _, d in ipairs(dims or {}) do reduced[naive.dim(a, d)] = true end
    for d, size in ipairs(a.shape) do
        full[d] = reduced[d] and 1 or size
        if not reduced[d] or keepdim then shape[#shape + 1] = full[d] end
    end
    local lists = naive.build(full, a.dtype, function() return {} end)
    naive.build(a.shape, a.dtype, function(index)
        local list = lists:at(index)
        list[#list + 1] = a:at(index)
        return false
    end)
    return lists:map(f, dtype):reshaped(shape)
end

---f(list) gives a list of as many: in place of the elements along dim.
function naive.along(a, dim, dtype, f)
    if #a.shape == 0 then return array({}, dtype, f(a.data)) end
    dim = naive.dim(a, dim)
    local lists = naive.reduce(a, dim, true, dtype, f)
    return naive.build(a.shape, dtype, function(index) return lists:at(index)[index[dim]] end)
end

---The array's dimensions in another order.
function naive.permute(a, order)
    local shape, from = {}, {}
    for d, source in ipairs(order) do shape[d] = a.shape[naive.dim(a, source)] end
    return naive.build(shape, a.dtype, function(index)
        for d, source in ipairs(order) do from[naive.dim(a, source)] = index[d] end
        return a:at(from)
    end)
end

---a and b as matmul takes them: vectors, matrices, batches.
function naive.matmul(a, b)
    local vector_a, vector_b = #a.shape == 1, #b.shape == 1
    if vector_a then a = a:reshaped { 1, a.shape[1] } end
    if vector_b then b = b:reshaped { b.shape[1], 1 } end
    local function batch(x) return { shape = { table.unpack(x.shape, 1, #x.shape - 2) } } end
    local shape = naive.common_shape(batch(a), batch(b))
    local n, rows, inner, columns = #shape, a.shape[#a.shape - 1], a.shape[#a.shape],
        b.shape[#b.shape]
    shape[n + 1], shape[n + 2] = rows, columns
    local dtype = naive.whole(naive.promote(a.dtype, b.dtype))
    a, b = a:to(dtype), b:to(dtype)
    local result = naive.build(shape, dtype, function(index)
        local left, right = { table.unpack(index) }, { table.unpack(index) }
        local sum = naive.convert(0, dtype)
        for k = 1, inner do
            left[n + 2], right[n + 1] = k, k
            sum = sum + a:at(left) * b:at(right)
        end
        return sum
    end)
    if vector_b then table.remove(shape) end
    if vector_a then table.remove(shape, n + 1) end
    return result:reshaped(shape)
end

-- ---- comparing ----------------------------------------------------------------------------------

---A value as comparing takes it: an integer wrapped, a float of f32 rounded.
function naive.rounded(value, dtype)
    if naive.is_integer(dtype) then return wrapped(value, dtype) end
    if dtype ~= "f32" then return value end
    if value ~= value or math.abs(value) == math.huge then return value end
    return (string.unpack("f", string.pack("f", value)))
end

local function text_of(shape) return "[" .. table.concat(shape, ", ") .. "]" end

local function misses(got, want, tolerance)
    if got == want or (got ~= got and want ~= want) then return false end
    if type(got) ~= "number" or type(want) ~= "number" or math.type(want) == "integer" then
        return true
    end
    local off = math.abs(got - want)
    return off ~= off or off > tolerance * math.max(1, math.abs(want))
end

---nil when the tensor holds what the array does, else a sentence. Integers and booleans are
---compared exactly.
function naive.mismatch(tensor, want, tolerance)
    local got = naive.of(tensor)
    if tensor.dtype ~= want.dtype then
        return ("the dtype is %s, not %s"):format(tensor.dtype, want.dtype)
    end
    if text_of(got.shape) ~= text_of(want.shape) then
        return ("the shape is %s, not %s"):format(text_of(got.shape), text_of(want.shape))
    end
    for i = 1, want:numel() do
        local a, b = got.data[i], naive.rounded(want.data[i], want.dtype)
        if misses(a, b, tolerance) then
            return ("element %d of %s is %s, not %s"):format(i, text_of(want.shape), a, b)
        end
    end
end

return naive
