---@meta heed.core
--- heed.core, the part of heed that is written in C: what a language server needs to know. Never loaded.
---
--- Shapes: sizes as numbers or one table. Dimensions and indices count from 1, negative ones from the end. A trailing table
--- with string keys is the options. Letters: B batch, H heads, L queries, S keys, D head_dim, E d_model, F d_ff, V vocabulary.

local core = {}

---@alias heed.dtype "f32"|"f64"|"i64"|"i32"|"u8"|"bool"|"bf16"|"f16"
---@alias heed.Shape integer[] prints as [2, 4, 8], concatenates, compares with ==
---@alias heed.Dims integer|integer[]
---@alias heed.Ids heed.Tensor|table integers: tokens, classes, positions, from 1; nested Lua tables are converted
---@alias heed.MakeOptions { dtype?: heed.dtype, requires_grad?: boolean }
---@alias heed.DrawOptions { dtype?: heed.dtype, requires_grad?: boolean, generator?: heed.Generator }

---Numbers of one dtype in a shape. `t[key]` reads and `t[key] = v` writes: by a number (`t[n + 1]` is nil, so ipairs ends), by a list of
---numbers, slices `{first, last, step}`, index tensors and bool tensors, or by an index or bool tensor alone. Numbers and slices give
---views, tensors copies; several index tensors broadcast together.
---
---```lua
---local t = heed.range(1, 12):view(3, 4)
---print(t[2], t[{ 2, 3 }], t[{ {}, { 1, 4, 2 } }])
---print(t[t:gt(10)], t[{ -1, heed.ids { 4, 1 } }])
---t[{ {}, 1 }] = 0
---```
---@class heed.Tensor: userdata
---@field shape heed.Shape
---@field dtype heed.dtype
---@field grad heed.Tensor|nil of a leaf, after backward; may be set, also to nil
---@field requires_grad boolean may be set on leaves of f32 and f64
---@field is_leaf boolean made by hand, not by an operation that was recorded
---@operator add(heed.Tensor|number): heed.Tensor
---@operator sub(heed.Tensor|number): heed.Tensor
---@operator mul(heed.Tensor|number): heed.Tensor
---@operator div(heed.Tensor|number): heed.Tensor
---@operator mod(heed.Tensor|number): heed.Tensor
---@operator pow(heed.Tensor|number): heed.Tensor
---@operator idiv(heed.Tensor|number): heed.Tensor
---@operator unm: heed.Tensor
---@operator band(heed.Tensor): heed.Tensor
---@operator bor(heed.Tensor): heed.Tensor
---@operator bxor(heed.Tensor): heed.Tensor
---@operator bnot: heed.Tensor
---@operator len: integer
---@operator concat(string|number): string
local Tensor = {}

---The table of a tensor's methods: what is put into it can be called as t:name(...).
core.methods = Tensor

-- ---- making ----------------------------------------------------------------------------------------------------------

---A tensor of nested tables (or one number); f32, bool for booleans. A tensor is copied.
---@param values table|number|boolean|heed.Tensor ragged tables are an error
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.tensor(values, options) end

---An i64 tensor: tokens, classes, indices.
---@param values table|number|heed.Tensor
---@return heed.Tensor
function core.ids(values) end

---@param bytes string as t:bytes() gave them: elements in order, the machine's byte order
---@param dtype heed.dtype
---@param ... integer|integer[] shape; a vector when left out
---@return heed.Tensor
function core.frombytes(bytes, dtype, ...) end

---@param ... integer|integer[]|heed.MakeOptions shape, options
---@return heed.Tensor
function core.zeros(...) end

---@param ... integer|integer[]|heed.MakeOptions shape, options
---@return heed.Tensor
function core.ones(...) end

---Memory as it comes.
---@param ... integer|integer[]|heed.MakeOptions shape, options
---@return heed.Tensor
function core.empty(...) end

---@param shape integer|integer[]
---@param value number|boolean
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.full(shape, value, options) end

---Ones where row and column are equal.
---@param n integer rows
---@param m? integer columns, n when left out
---@param options? heed.MakeOptions
---@return heed.Tensor [n, m]
function core.eye(n, m, options) end

---first, first + step, ... up to and with last; f32.
---@param first number
---@param last number
---@param step? number 1 when left out, never 0
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.range(first, last, step, options) end

---Uniform in [0, 1).
---@param ... integer|integer[]|heed.DrawOptions shape, options
---@return heed.Tensor
function core.rand(...) end

---Normal, mean 0 and deviation 1.
---@param ... integer|integer[]|heed.DrawOptions shape, options
---@return heed.Tensor
function core.randn(...) end

---Integers, both ends included.
---@param low integer
---@param high integer
---@param ... integer|integer[]|{ generator?: heed.Generator } shape, options
---@return heed.Tensor i64
function core.randint(low, high, ...) end

---1..n in a random order.
---@param n integer
---@param options? { generator?: heed.Generator }
---@return heed.Tensor i64 [n]
function core.randperm(n, options) end

---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.zeros_like(t, options) end
Tensor.zeros_like = core.zeros_like

---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.ones_like(t, options) end
Tensor.ones_like = core.ones_like

---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.empty_like(t, options) end
Tensor.empty_like = core.empty_like

---@param t heed.Tensor
---@param value number|boolean
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.full_like(t, value, options) end
Tensor.full_like = core.full_like

---@param t heed.Tensor
---@param options? heed.DrawOptions
---@return heed.Tensor
function core.rand_like(t, options) end
Tensor.rand_like = core.rand_like

---@param t heed.Tensor
---@param options? heed.DrawOptions
---@return heed.Tensor
function core.randn_like(t, options) end
Tensor.randn_like = core.randn_like

-- ---- asking ----------------------------------------------------------------------------------------------------------

---@param value any
---@return boolean
function core.is_tensor(value) end

---All sizes, or one.
---@param t heed.Tensor
---@param dim? integer
---@return integer ...
function core.size(t, dim) end
Tensor.size = core.size

---The number of dimensions.
---@param t heed.Tensor
---@return integer
function core.dim(t) end
Tensor.dim = core.dim

---The number of elements.
---@param t heed.Tensor
---@return integer
function core.numel(t) end
Tensor.numel = core.numel

---@param t heed.Tensor
---@return boolean
function core.is_contiguous(t) end
Tensor.is_contiguous = core.is_contiguous

---Steps in memory, in elements.
---@param t heed.Tensor
---@return integer[]
function core.stride(t) end
Tensor.stride = core.stride

---The one element.
---@param t heed.Tensor one element
---@return number|boolean
function core.item(t) end
Tensor.item = core.item

---@param t heed.Tensor
---@return table|number|boolean nested tables; the element when there are no dimensions
function core.totable(t) end
Tensor.totable = core.totable

---@param t heed.Tensor
---@return string elements in order, the machine's byte order
function core.bytes(t) end
Tensor.bytes = core.bytes

---Equal for tensors that share memory.
---@param t heed.Tensor
---@return lightuserdata
function core.data_id(t) end
Tensor.data_id = core.data_id

---Lets go of the tensor now; using it afterwards is an error, freeing it twice is not.
function Tensor:free() end

---The same shape and values.
---@param a heed.Tensor
---@param b heed.Tensor
---@return boolean
function core.equal(a, b) end
Tensor.equal = core.equal

---|a - b| <= atol + rtol |b| everywhere, broadcasting.
---@param a heed.Tensor
---@param b heed.Tensor
---@param options? { rtol?: number, atol?: number, equal_nan?: boolean } 1e-5, 1e-8, false
---@return boolean
function core.allclose(a, b, options) end
Tensor.allclose = core.allclose

---The rows of indices of what is not zero, in order. Its columns are a key: `t[t:nonzero():unbind(2)]` is `t[t:ne(0)]`.
---
---```lua
---print(heed.tensor({ { 0, 5 }, { 6, 0 } }):nonzero())
---```
---@param t heed.Tensor
---@return heed.Tensor i64 [count, number of dimensions]
function core.nonzero(t) end
Tensor.nonzero = core.nonzero

-- ---- shapes ----------------------------------------------------------------------------------------------------------

---The same memory in another shape: a view, or an error where the elements do not lie so.
---
---```lua
---print(heed.range(1, 6):view(2, -1))
---```
---@param t heed.Tensor
---@param ... integer|integer[] shape, one size may be -1
---@return heed.Tensor
function core.view(t, ...) end
Tensor.view = core.view

---The same elements, in row-major order, in another shape: a view, or a copy where that cannot be.
---
---```lua
---print(heed.range(1, 6):view(2, 3):t():reshape(6))
---```
---@param t heed.Tensor
---@param ... integer|integer[] shape, one size may be -1
---@return heed.Tensor
function core.reshape(t, ...) end
Tensor.reshape = core.reshape

---Dimensions of size 1 repeated, and dimensions added on the left: a view, nothing is copied. Its gradient is summed over
---the repetitions.
---
---```lua
---print(heed.tensor { { 1 }, { 2 } }:expand(2, 3))
---```
---@param t heed.Tensor
---@param ... integer|integer[] shape; -1 keeps a size
---@return heed.Tensor
function core.expand(t, ...) end
Tensor.expand = core.expand

---Dimensions first..last become one: a view, or a copy where that cannot be.
---
---```lua
---print(heed.zeros(2, 3, 4):flatten(2).shape)
---```
---@param t heed.Tensor
---@param first? integer 1 when left out
---@param last? integer the last when left out
---@return heed.Tensor
function core.flatten(t, first, last) end
Tensor.flatten = core.flatten

---Without dimensions of size 1: those that are named (one that is larger stays), or all. A view.
---
---```lua
---print(heed.zeros(1, 2, 1, 3):squeeze().shape, heed.zeros(1, 2, 1, 3):squeeze(3).shape)
---```
---@param t heed.Tensor
---@param dims? heed.Dims
---@return heed.Tensor
function core.squeeze(t, dims) end
Tensor.squeeze = core.squeeze

---With a new dimension of size 1 that will be number `dim`. A view.
---
---```lua
---print(heed.zeros(2, 3):unsqueeze(2).shape)
---```
---@param t heed.Tensor
---@param dim integer 1 to one more than there are; -1: behind all
---@return heed.Tensor
function core.unsqueeze(t, dim) end
Tensor.unsqueeze = core.unsqueeze

---Two dimensions exchanged. A view.
---
---```lua
---print(heed.zeros(2, 3, 4):transpose(1, -1).shape)
---```
---@param t heed.Tensor
---@param d1 integer
---@param d2 integer
---@return heed.Tensor
function core.transpose(t, d1, d2) end
Tensor.transpose = core.transpose

---The transpose of a matrix. A view.
---
---```lua
---print(heed.range(1, 6):view(2, 3):t())
---```
---@param t heed.Tensor [R, C]
---@return heed.Tensor [C, R]
function core.t(t) end
Tensor.t = core.t

---All dimensions in another order: dimension i of the result is dimension order[i] of t. A view.
---
---```lua
---print(heed.zeros(2, 3, 4):permute(3, 1, 2).shape)
---```
---@param t heed.Tensor
---@param ... integer|integer[] all dimensions in their new order
---@return heed.Tensor
function core.permute(t, ...) end
Tensor.permute = core.permute

---The elements of these dimensions from the last to the first. A copy.
---
---```lua
---print(heed.range(1, 6):view(2, 3):flip(1, 2))
---```
---@param t heed.Tensor
---@param ... integer|integer[] dimensions
---@return heed.Tensor
function core.flip(t, ...) end
Tensor.flip = core.flip

---Elements moved along dimensions, those that leave at one end coming in at the other: element i goes to i + shift.
---Without dims all elements move as one row, in row-major order. A copy.
---
---```lua
---print(heed.range(1, 5):roll(2))
---print(heed.range(1, 6):view(2, 3):roll({ 1, -1 }, { 1, 2 }))
---```
---@param t heed.Tensor
---@param shifts integer|integer[]
---@param dims? heed.Dims one for each shift
---@return heed.Tensor
function core.roll(t, shifts, dims) end
Tensor.roll = core.roll

---The tensor again and again: counts[d] times along dimension d. With fewer counts than dimensions they are those of the last
---ones; with more, dimensions are added on the left. Its gradient is summed over the repetitions. A copy.
---
---```lua
---print(heed.tensor({ 1, 2 }):tile(2))
---print(heed.tensor({ 1, 2 }):tile(2, 2))
---```
---@param t heed.Tensor
---@param ... integer|integer[] counts, 0 or more
---@return heed.Tensor
function core.tile(t, ...) end
Tensor.tile = core.tile

---More elements at the ends of dimensions, from the last dimension on: before and after it, before and after the one before it,
---and so on. Negative amounts take elements away. What is added is, by mode: "constant" value (0), "reflect" the elements
---mirrored at the end without the end itself (at most size - 1), "replicate" the end again, "circular" the other end (at most size).
---The gradient of "constant" is the middle; the others add up what went to several places.
---
---```lua
---print(heed.range(1, 3):pad(1, 2))
---print(heed.range(1, 4):view(2, 2):pad({ 1, 0, 0, 1 }, { value = 9 }))
---print(heed.range(1, 3):pad(2, 2, { mode = "reflect" }))
---```
---@param t heed.Tensor
---@param ... integer|integer[]|{ mode?: "constant"|"reflect"|"replicate"|"circular", value?: number } amounts, two a dimension; options
---@return heed.Tensor
function core.pad(t, ...) end
Tensor.pad = core.pad

---The elements whose indices in two dimensions differ by `offset` (second = first + offset), as the last dimension; the two go
---away. A view; its gradient is 0 beside the diagonal.
---
---```lua
---local t = heed.range(1, 9):view(3, 3)
---print(t:diagonal(), t:diagonal(1), t:diagonal(-1))
---```
---@param t heed.Tensor 2 dimensions or more
---@param offset? integer 0; above 0 above the diagonal, below 0 below it
---@param dim1? integer 1
---@param dim2? integer 2
---@return heed.Tensor [..., size of the diagonal]
function core.diagonal(t, offset, dim1, dim2) end
Tensor.diagonal = core.diagonal

---Elements start .. start + length - 1 of a dimension. A view.
---
---```lua
---print(heed.range(1, 5):narrow(1, 2, 3))
---```
---@param t heed.Tensor
---@param dim integer
---@param start integer
---@param length integer
---@return heed.Tensor
function core.narrow(t, dim, start, length) end
Tensor.narrow = core.narrow

---One index of a dimension, which goes away; stays in the graph where t[i] of a vector is a number. A view.
---
---```lua
---print(heed.range(1, 6):view(2, 3):select(2, -1))
---```
---@param t heed.Tensor
---@param dim integer
---@param index integer
---@return heed.Tensor
function core.select(t, dim, index) end
Tensor.select = core.select

---Parts along a dimension, of one size (the last may be smaller) or of given sizes that add up. Views; backward writes the
---gradients of all parts into one tensor.
---
---```lua
---local q, k, v = table.unpack(heed.zeros(2, 12):split(4, 2))
---print(q.shape, heed.range(1, 6):split({ 1, 5 })[2])
---```
---@param t heed.Tensor
---@param size integer|integer[]
---@param dim? integer 1
---@return heed.Tensor[]
function core.split(t, size, dim) end
Tensor.split = core.split

---At most `count` parts along a dimension, of one size, the last may be smaller. Views, as split makes them.
---
---```lua
---for _, part in ipairs(heed.range(1, 5):chunk(2)) do print(part) end
---```
---@param t heed.Tensor
---@param count integer
---@param dim? integer 1
---@return heed.Tensor[]
function core.chunk(t, count, dim) end
Tensor.chunk = core.chunk

---All slices along a dimension, which goes away. Views; backward writes the gradients of all into one tensor.
---
---```lua
---local rows = heed.range(1, 6):view(3, 2):unbind()
---print(#rows, rows[2])
---```
---@param t heed.Tensor
---@param dim? integer 1
---@return heed.Tensor[]
function core.unbind(t, dim) end
Tensor.unbind = core.unbind

---Joined along a dimension, in the common dtype.
---
---```lua
---print(heed.cat({ heed.zeros(2, 1), heed.ones(2, 2) }, 2))
---```
---@param tensors heed.Tensor[] of one shape in all other dimensions
---@param dim? integer 1
---@return heed.Tensor
function core.cat(tensors, dim) end

---Joined along a new dimension, in the common dtype.
---
---```lua
---print(heed.stack { heed.zeros(3), heed.ones(3) })
---```
---@param tensors heed.Tensor[] of one shape
---@param dim? integer 1
---@return heed.Tensor
function core.stack(tensors, dim) end

---An element for each of the index: out[i][j] = t[index[i][j]][j] for dim 1, out[i][j] = t[i][index[i][j]] for dim 2, and so
---on. Gradients of elements that are taken several times add up, in the order of the index.
---
---```lua
---local scores = heed.tensor { { 0.1, 0.9 }, { 0.7, 0.3 } }
---print(scores:gather(2, { { 2 }, { 1 } }))
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids as many dimensions as t, none but dim larger
---@return heed.Tensor of index' shape
function core.gather(t, dim, index) end
Tensor.gather = core.gather

---A copy to which elements are added: out[index[i][j]][j] = t[..][j] + src[i][j] for dim 1, and so on; what an index names several
---times is added in the order of the index, so the bits are the same on any number of threads. The gradient of src is
---gathered, that of t is passed on.
---
---```lua
---print(heed.zeros(3):scatter_add(1, { 1, 3, 1 }, heed.tensor { 1, 2, 3 }))
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids as many dimensions as t, none but dim larger
---@param src heed.Tensor of t's dtype, at least index' shape
---@return heed.Tensor
function core.scatter_add(t, dim, index, src) end
Tensor.scatter_add = core.scatter_add

---scatter_add in place.
---
---```lua
---local counts = heed.zeros(4, { dtype = "i64" })
---print(counts:scatter_add_(1, { 2, 2, 4 }, heed.ones(3, { dtype = "i64" })))
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids
---@param src heed.Tensor
---@return heed.Tensor t
function core.scatter_add_(t, dim, index, src) end
Tensor.scatter_add_ = core.scatter_add_

---Slices of a dimension by an index: out[.., p, ..] = t[.., index[p], ..]. The index may have any number of dimensions, which
---take the place of dim. Gradients of slices that are taken several times add up, in the order of the index.
---
---```lua
---print(heed.range(1, 6):view(3, 2):index_select(1, { 3, 1, 3 }))
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids
---@return heed.Tensor
function core.index_select(t, dim, index) end
Tensor.index_select = core.index_select

---A copy to which slices are added: out[.., index[p], ..] = t[.., index[p], ..] + src[.., p, ..]; what an index names several times
---is added in the order of the index, so the bits are the same on any number of threads. The gradient of src is selected, that of
---t is passed on.
---
---```lua
---print(heed.zeros(3, 2):index_add(1, { 1, 1, 3 }, heed.ones(3, 2)))
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids [N]
---@param src heed.Tensor of t's dtype and shape, but N along dim
---@return heed.Tensor
function core.index_add(t, dim, index, src) end
Tensor.index_add = core.index_add

---index_add in place.
---
---```lua
---local t = heed.zeros(2, 2)
---t:index_add_(2, { 2, 2 }, heed.ones(2, 2))
---print(t)
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids [N]
---@param src heed.Tensor
---@return heed.Tensor t
function core.index_add_(t, dim, index, src) end
Tensor.index_add_ = core.index_add_

---The elements where a mask holds, in row-major order; mask and tensor broadcast. Gradients go back to their places.
---
---```lua
---local t = heed.tensor { { 1, -2 }, { -3, 4 } }
---print(t:masked_select(t:gt(0)))
---```
---@param t heed.Tensor
---@param mask heed.Tensor bool
---@return heed.Tensor [number of places]
function core.masked_select(t, mask) end
Tensor.masked_select = core.masked_select

---1 at the index' place of a new last dimension, 0 elsewhere.
---
---```lua
---print(heed.one_hot({ 2, 1 }, 3))
---```
---@param t heed.Ids [...], in 1..classes
---@param classes integer
---@return heed.Tensor i64 [..., classes]
function core.one_hot(t, classes) end
Tensor.one_hot = core.one_hot

---The same elements in row-major order without gaps: t itself when it is so already, otherwise a copy.
---
---```lua
---print(heed.zeros(2, 3):t():contiguous():is_contiguous())
---```
---@param t heed.Tensor
---@return heed.Tensor
function core.contiguous(t) end
Tensor.contiguous = core.contiguous

---A copy in memory of its own; gradients pass.
---
---```lua
---local a = heed.zeros(2)
---local b = a:clone()
---b[1] = 1
---print(a, b)
---```
---@param t heed.Tensor
---@return heed.Tensor
function core.clone(t) end
Tensor.clone = core.clone

---As another dtype; t itself when it is. To integers floats are cut off towards 0, to bool everything but 0 is true. Gradients
---pass between floats.
---
---```lua
---print(heed.tensor({ 1.7, -1.7 }):to "i64")
---```
---@param t heed.Tensor
---@param dtype heed.dtype|{ dtype: heed.dtype }
---@return heed.Tensor
function core.to(t, dtype) end
Tensor.to = core.to

-- ---- elementwise -------------------------------------------------------------------------------------------------------

---@param t heed.Tensor
---@return heed.Tensor
function core.neg(t) end
core.abs, core.sign, core.square, core.sqrt, core.rsqrt = core.neg, core.neg, core.neg, core.neg, core.neg
core.exp, core.log, core.sin, core.cos, core.tanh = core.neg, core.neg, core.neg, core.neg, core.neg
core.sigmoid, core.erf, core.relu, core.silu, core.floor = core.neg, core.neg, core.neg, core.neg, core.neg
Tensor.neg, Tensor.abs, Tensor.sign, Tensor.square, Tensor.sqrt, Tensor.rsqrt = core.neg, core.neg, core.neg, core.neg, core.neg, core.neg
Tensor.exp, Tensor.log, Tensor.sin, Tensor.cos, Tensor.tanh = core.neg, core.neg, core.neg, core.neg, core.neg
Tensor.sigmoid, Tensor.erf, Tensor.relu, Tensor.silu, Tensor.floor = core.neg, core.neg, core.neg, core.neg, core.neg
core.softplus, Tensor.softplus = core.neg, core.neg

---e^x - 1, exact near 0 too. The gradient is g · e^x. Integers give f32.
---
---```lua
---print(heed.expm1(heed.tensor { 0, 1e-6, 1 }))
---```
---@param t heed.Tensor
---@return heed.Tensor
function core.expm1(t) end
Tensor.expm1 = core.expm1

---log(1 + x), exact near 0 too; -inf at -1, NaN below. The gradient is g / (1 + x). Integers give f32.
---
---```lua
---print(heed.log1p(heed.tensor { 0, 1e-6, 1 }))
---```
---@param t heed.Tensor
---@return heed.Tensor
function core.log1p(t) end
Tensor.log1p = core.log1p

---x · Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016). With approximate = "tanh":
---x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2 has it; with "sigmoid": x · sigmoid(1.702 x). Integers give f32.
---
---```lua
---local x = heed.tensor { -1, 0, 1 }
---print(heed.gelu(x), heed.gelu(x, { approximate = "tanh" }))
---```
---@param t heed.Tensor
---@param options? { approximate?: "none"|"tanh"|"sigmoid" } "none" when left out
---@return heed.Tensor
function core.gelu(t, options) end
Tensor.gelu = core.gelu

---x above 0, slope · x below. The gradient at 0 is slope. Integers give f32.
---
---```lua
---print(heed.leaky_relu(heed.tensor { -2, 0, 2 }), heed.leaky_relu(heed.tensor { -2 }, 0.3))
---```
---@param t heed.Tensor
---@param slope? number|{ slope?: number } 0.01
---@return heed.Tensor
function core.leaky_relu(t, slope) end
Tensor.leaky_relu = core.leaky_relu

---x above 0, alpha · (e^x - 1) below (Clevert et al. 2015). The gradient at 0 is alpha. Integers give f32.
---
---```lua
---print(heed.elu(heed.tensor { -2, 0, 2 }))
---```
---@param t heed.Tensor
---@param alpha? number|{ alpha?: number } 1
---@return heed.Tensor
function core.elu(t, alpha) end
Tensor.elu = core.elu

---In place.
---@param t heed.Tensor
---@return heed.Tensor t
function core.neg_(t) end
core.abs_, core.sign_, core.square_, core.sqrt_, core.rsqrt_ = core.neg_, core.neg_, core.neg_, core.neg_, core.neg_
core.exp_, core.log_, core.sin_, core.cos_, core.tanh_ = core.neg_, core.neg_, core.neg_, core.neg_, core.neg_
core.sigmoid_, core.erf_, core.relu_, core.silu_, core.floor_ = core.neg_, core.neg_, core.neg_, core.neg_, core.neg_
Tensor.neg_, Tensor.abs_, Tensor.sign_, Tensor.square_, Tensor.sqrt_, Tensor.rsqrt_ = core.neg_, core.neg_, core.neg_, core.neg_, core.neg_, core.neg_
Tensor.exp_, Tensor.log_, Tensor.sin_, Tensor.cos_, Tensor.tanh_ = core.neg_, core.neg_, core.neg_, core.neg_, core.neg_
Tensor.sigmoid_, Tensor.erf_, Tensor.relu_, Tensor.silu_, Tensor.floor_ = core.neg_, core.neg_, core.neg_, core.neg_, core.neg_
core.softplus_, Tensor.softplus_ = core.neg_, core.neg_

---`expm1` in place.
---
---```lua
---print(heed.tensor { 0, 1 }:expm1_())
---```
---@param t heed.Tensor
---@return heed.Tensor t
function core.expm1_(t) end
Tensor.expm1_ = core.expm1_

---`log1p` in place.
---
---```lua
---print(heed.tensor { 0, 1 }:log1p_())
---```
---@param t heed.Tensor
---@return heed.Tensor t
function core.log1p_(t) end
Tensor.log1p_ = core.log1p_

---`gelu` in place.
---
---```lua
---print(heed.tensor { -1, 1 }:gelu_ { approximate = "tanh" })
---```
---@param t heed.Tensor
---@param options? { approximate?: "none"|"tanh"|"sigmoid" }
---@return heed.Tensor t
function core.gelu_(t, options) end
Tensor.gelu_ = core.gelu_

---`leaky_relu` in place.
---
---```lua
---print(heed.tensor { -2, 2 }:leaky_relu_(0.1))
---```
---@param t heed.Tensor
---@param slope? number|{ slope?: number } 0.01
---@return heed.Tensor t
function core.leaky_relu_(t, slope) end
Tensor.leaky_relu_ = core.leaky_relu_

---`elu` in place.
---
---```lua
---print(heed.tensor { -2, 2 }:elu_())
---```
---@param t heed.Tensor
---@param alpha? number|{ alpha?: number } 1
---@return heed.Tensor t
function core.elu_(t, alpha) end
Tensor.elu_ = core.elu_

---`clamp` in place; the dtype stays, so integers take integer bounds.
---
---```lua
---print(heed.tensor { -2, 0.5, 2 }:clamp_(-1, 1))
---```
---@param t heed.Tensor
---@param min? number|{ min?: number, max?: number } none when left out
---@param max? number
---@return heed.Tensor t
function core.clamp_(t, min, max) end
Tensor.clamp_ = core.clamp_

---@param t heed.Tensor
---@return heed.Tensor bool
function core.logical_not(t) end
core.isnan, core.isfinite = core.logical_not, core.logical_not
Tensor.logical_not, Tensor.isnan, Tensor.isfinite = core.logical_not, core.logical_not, core.logical_not

---Half to even.
---@param t heed.Tensor
---@param decimals? integer
---@return heed.Tensor
function core.round(t, decimals) end
Tensor.round = core.round

---`round` in place.
---
---```lua
---print(heed.tensor { 0.15, 2.5 }:round_(1))
---```
---@param t heed.Tensor
---@param decimals? integer|{ decimals?: integer } 0
---@return heed.Tensor t
function core.round_(t, decimals) end
Tensor.round_ = core.round_

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function core.add(a, b) end
core.sub, core.mul, core.div, core.pow, core.mod, core.floordiv = core.add, core.add, core.add, core.add, core.add, core.add
core.maximum, core.minimum = core.add, core.add
Tensor.add, Tensor.sub, Tensor.mul, Tensor.div, Tensor.pow, Tensor.mod = core.add, core.add, core.add, core.add, core.add, core.add
Tensor.floordiv, Tensor.maximum, Tensor.minimum = core.add, core.add, core.add

---In place; the dtype stays.
---@param t heed.Tensor
---@param b heed.Tensor|number
---@return heed.Tensor t
function core.add_(t, b) end
core.sub_, core.mul_, core.div_, core.pow_, core.mod_, core.floordiv_ = core.add_, core.add_, core.add_, core.add_, core.add_, core.add_
Tensor.add_, Tensor.sub_, Tensor.mul_, Tensor.div_, Tensor.pow_, Tensor.mod_ = core.add_, core.add_, core.add_, core.add_, core.add_, core.add_
Tensor.floordiv_ = core.add_
core.maximum_, core.minimum_ = core.add_, core.add_
Tensor.maximum_, Tensor.minimum_ = core.add_, core.add_

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function core.eq(a, b) end
core.ne, core.lt, core.le, core.gt, core.ge = core.eq, core.eq, core.eq, core.eq, core.eq
core.logical_and, core.logical_or, core.logical_xor = core.eq, core.eq, core.eq
Tensor.eq, Tensor.ne, Tensor.lt, Tensor.le, Tensor.gt, Tensor.ge = core.eq, core.eq, core.eq, core.eq, core.eq, core.eq
Tensor.logical_and, Tensor.logical_or, Tensor.logical_xor = core.eq, core.eq, core.eq

---a where the condition holds, else b.
---@param condition heed.Tensor bool
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function core.where(condition, a, b) end
Tensor.where = core.where

---@param t heed.Tensor
---@param mask heed.Tensor bool
---@param value number
---@return heed.Tensor
function core.masked_fill(t, mask, value) end
Tensor.masked_fill = core.masked_fill

---@param t heed.Tensor
---@param mask heed.Tensor bool
---@param value number
---@return heed.Tensor t
function core.masked_fill_(t, mask, value) end
Tensor.masked_fill_ = core.masked_fill_

---Gradients pass at the bounds.
---@param t heed.Tensor
---@param min? number|{ min?: number, max?: number }
---@param max? number
---@return heed.Tensor
function core.clamp(t, min, max) end
Tensor.clamp = core.clamp

---Zeros above the diagonal (0 the main one, 1 the next above it).
---@param t heed.Tensor
---@param diagonal? integer
---@return heed.Tensor
function core.tril(t, diagonal) end
Tensor.tril = core.tril

---Zeros below the diagonal.
---@param t heed.Tensor
---@param diagonal? integer
---@return heed.Tensor
function core.triu(t, diagonal) end
Tensor.triu = core.triu

---`tril` in place.
---
---```lua
---print(heed.ones(2, 2):tril_(-1))
---```
---@param t heed.Tensor
---@param diagonal? integer|{ diagonal?: integer } 0
---@return heed.Tensor t
function core.tril_(t, diagonal) end
Tensor.tril_ = core.tril_

---`triu` in place.
---
---```lua
---print(heed.ones(2, 2):triu_(1))
---```
---@param t heed.Tensor
---@param diagonal? integer|{ diagonal?: integer } 0
---@return heed.Tensor t
function core.triu_(t, diagonal) end
Tensor.triu_ = core.triu_

---@param t heed.Tensor
---@param value number|boolean
---@return heed.Tensor t
function core.fill_(t, value) end
Tensor.fill_ = core.fill_

---@param t heed.Tensor
---@return heed.Tensor t
function core.zero_(t) end
Tensor.zero_ = core.zero_

---Broadcasts, and converts.
---@param t heed.Tensor
---@param source heed.Tensor
---@return heed.Tensor t
function core.copy_(t, source) end
Tensor.copy_ = core.copy_

---@param t heed.Tensor
---@param low? number 0
---@param high? number 1
---@param options? { generator?: heed.Generator }
---@return heed.Tensor t
function core.uniform_(t, low, high, options) end
Tensor.uniform_ = core.uniform_

---@param t heed.Tensor
---@param mean? number 0
---@param std? number 1
---@param options? { generator?: heed.Generator }
---@return heed.Tensor t
function core.normal_(t, mean, std, options) end
Tensor.normal_ = core.normal_

---n classes (i64, from 1) of each row, drawn as often as its weights say; they need not add up to 1. Without replacement no class comes
---twice, and the draws are in the order they were made (Efraimidis and Spirakis 2006). An error for negative weights, NaN, rows
---of zeros, and more draws without replacement than weights above 0. No gradient.
---
---```lua
---local weights = heed.tensor { { 1, 2, 7 }, { 0, 1, 1 } }
---print(weights:multinomial(2), weights:multinomial(5, { replacement = true, generator = heed.generator(1) }))
---```
---@param t heed.Tensor [classes] or [rows, classes], f32 or f64
---@param n? integer 1
---@param options? { replacement?: boolean, generator?: heed.Generator } false; the training stream
---@return heed.Tensor [n] or [rows, n]
function core.multinomial(t, n, options) end
Tensor.multinomial = core.multinomial

-- ---- products and reductions --------------------------------------------------------------------------------------------

---Vectors, matrices, batches of them with broadcasting.
---@param a heed.Tensor
---@param b heed.Tensor
---@return heed.Tensor
function core.matmul(a, b) end
Tensor.matmul = core.matmul

---The product of all pairs: out[i][j] = a[i] b[j].
---
---```lua
---print(heed.outer(heed.tensor { 1, 2 }, heed.tensor { 1, 2, 3 }))
---```
---@param a heed.Tensor [N]
---@param b heed.Tensor [M]
---@return heed.Tensor [N, M]
function core.outer(a, b) end
Tensor.outer = core.outer

---Sums of products over named dimensions: a letter for each dimension of each operand, commas between operands, and behind `->` the
---dimensions of the result; all other letters are summed over. Without `->` the result has the letters that occur once,
---sorted. A letter twice in one operand takes its diagonal; `...` stands for any further dimensions, which broadcast, as sizes of 1
---do. It is computed as products of matrices, two operands at a time (of three and more in the cheapest order), never as one
---product over all letters. bool counts as i64. Errors name the letter with both sizes, or position and character.
---
---```lua
---local q, k = heed.ones(2, 3, 8), heed.ones(2, 5, 8)
---print(heed.einsum("bld,bsd->bls", q, k).shape)                        -- scores of attention
---print(heed.einsum("ii", heed.eye(3)), heed.einsum("...i->...", q).shape) -- the trace; a sum
---```
---@param equation string
---@param ... heed.Tensor|heed.Tensor[] the operands
---@return heed.Tensor
function core.einsum(equation, ...) end

---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor
function core.sum(t, dim, keepdim) end
core.prod, core.mean, core.logsumexp = core.sum, core.sum, core.sum
Tensor.sum, Tensor.prod, Tensor.mean, Tensor.logsumexp = core.sum, core.sum, core.sum, core.sum

---@param t heed.Tensor
---@param dim? heed.Dims
---@param options? { keepdim?: boolean, correction?: integer } correction 1 when left out
---@return heed.Tensor
function core.var(t, dim, options) end
core.std = core.var
Tensor.var, Tensor.std = core.var, core.var

---(Σ |x|^p)^(1/p) over all elements or some dimensions; p = math.huge: the largest |x|, -math.huge: the smallest, 0: how many are
---not 0. The gradient is 0 where x or the norm is 0; for infinite p, equal |x| share. Integers give f32.
---
---```lua
---local x = heed.tensor { { 3, -4 }, { 0, 5 } }
---print(x:norm(), x:norm { dim = 2 }, x:norm { p = 1, dim = 2, keepdim = true }, x:norm { p = math.huge })
---```
---@param t heed.Tensor
---@param p? number|{ p?: number, dim?: heed.Dims, keepdim?: boolean } 2
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean } all when left out
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor
function core.norm(t, p, dim, keepdim) end
Tensor.norm = core.norm

---@param t heed.Tensor
---@param dim? heed.Dims
---@param keepdim? boolean|{ keepdim?: boolean }
---@return boolean|heed.Tensor a boolean without dim
function core.all(t, dim, keepdim) end
core.any = core.all
Tensor.all, Tensor.any = core.all, core.all

---The largest (smallest) of all, or along a dimension with the index of the first of equals.
---@param t heed.Tensor
---@param dim? integer
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor values
---@return heed.Tensor? indices i64
function core.max(t, dim, keepdim) end
core.min = core.max
Tensor.max, Tensor.min = core.max, core.max

---@param t heed.Tensor
---@param dim? integer flattened when left out
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor i64
function core.argmax(t, dim, keepdim) end
core.argmin = core.argmax
Tensor.argmax, Tensor.argmin = core.argmax, core.argmax

---@param t heed.Tensor
---@param dim integer
---@return heed.Tensor
function core.cumsum(t, dim) end
Tensor.cumsum = core.cumsum

---The elements in rising order along a dimension, and where they were. Stable: equal elements (0 and -0 are) keep their order. NaN is
---the largest. The gradient goes back to where each element came from.
---
---```lua
---local values, indices = heed.sort(heed.tensor { 3, 1, 2, 1 })
---print(values, indices)
---print((heed.sort(heed.tensor { 3, 1, 2 }, { descending = true })))
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, descending?: boolean } -1
---@param options? { descending?: boolean } false
---@return heed.Tensor values
---@return heed.Tensor indices i64
function core.sort(t, dim, options) end
Tensor.sort = core.sort

---The k largest (smallest) along a dimension, the largest first, and where they are. Stable; NaN is larger than all. The gradient goes
---back to where each element came from. sorted = false promises no order.
---
---```lua
---local values, indices = heed.topk(heed.tensor { 3, 1, 4, 1, 5 }, 2)
---print(values, indices)
---print((heed.topk(heed.tensor { { 3, 1 }, { 2, 4 } }, 1, 1, { largest = false })))
---```
---@param t heed.Tensor
---@param k integer at most the size of the dimension
---@param dim? integer|{ dim?: integer, largest?: boolean, sorted?: boolean } -1
---@param options? { largest?: boolean, sorted?: boolean } both true
---@return heed.Tensor values
---@return heed.Tensor indices i64
function core.topk(t, k, dim, options) end
Tensor.topk = core.topk

---Rows of -inf give zeros.
---@param t heed.Tensor
---@param dim integer
---@return heed.Tensor
function core.softmax(t, dim) end
core.log_softmax = core.softmax
Tensor.softmax, Tensor.log_softmax = core.softmax, core.softmax

-- ---- networks: positional arguments, called by heed.nn --------------------------------------------------------------------

---softmax(scale q k^T + bias) v. A mask of floats is added as a bias is; [B, L, S] serves all heads.
---@param q heed.Tensor [B, H, L, D], [B, L, D] or [L, D]
---@param k heed.Tensor [B, Hk, S, D]
---@param v heed.Tensor [B, Hk, S, Dv]
---@param scale? number 1/sqrt(D)
---@param softcap? number
---@param dropout? number
---@param causal? boolean aligned to the end
---@param key_lengths? heed.Ids [B]
---@param mask? heed.Tensor bool: true may attend
---@param bias? heed.Tensor
---@param want_weights? boolean
---@return heed.Tensor out [B, H, L, Dv]
---@return heed.Tensor? weights [B, H, L, S]
function core.attention(q, k, v, scale, softcap, dropout, causal, key_lengths, mask, bias, want_weights) end

---dropout(act(x W^T + b))
---@param x heed.Tensor [..., in]
---@param weight heed.Tensor [out, in]
---@param bias? heed.Tensor [out]
---@param activation? "relu"|"gelu"|"silu"
---@param dropout? number
---@return heed.Tensor [..., out]
function core.linear(x, weight, bias, activation, dropout) end

---@param x heed.Tensor [..., E]
---@param weight? heed.Tensor [E]
---@param bias? heed.Tensor [E]
---@param eps? number 1e-5
---@return heed.Tensor
function core.layer_norm(x, weight, bias, eps) end

---x / sqrt(mean(x²) + eps) · weight over the last dimension (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization").
---With eps 0 a row of zeros gives NaN.
---
---```lua
---print(heed.rms_norm(heed.tensor { { 3, 4 } }))
---```
---@param x heed.Tensor [..., E] f32 or f64
---@param weight? heed.Tensor [E]
---@param eps? number 1e-6
---@return heed.Tensor [..., E]
function core.rms_norm(x, weight, eps) end

---Pairs of features turned by angles: y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin. heed.nn.Rotary gives it its tables.
---@param x heed.Tensor [..., L, D]
---@param cos heed.Tensor [L, P] or [B, L, P], 2P at most D: the features after the pairs pass
---@param sin heed.Tensor as cos
---@param interleaved? boolean pair i is (2i - 1, 2i); default (i, P + i)
---@return heed.Tensor [..., L, D]
function core.rotary(x, cos, sin, interleaved) end

---@param weight heed.Tensor [V, E]
---@param tokens heed.Ids [...]
---@param padding_idx? integer this row gets no gradient
---@param scale? number
---@return heed.Tensor [..., E]
function core.embedding(weight, tokens, padding_idx, scale) end

---@param x heed.Tensor
---@param p number
---@param options? { generator?: heed.Generator }
---@return heed.Tensor
function core.dropout(x, p, options) end

---residual + dropout(x)
---@param residual heed.Tensor
---@param x heed.Tensor
---@param p number
---@return heed.Tensor
function core.dropout_add(residual, x, p) end

---@param logits heed.Tensor [..., V]
---@param targets heed.Ids [...] 1..V or ignore_index
---@param ignore_index? integer
---@param label_smoothing? number
---@param weight? heed.Tensor [V]
---@param reduction? "mean"|"sum"|"none"
---@param smoothing_exclude? integer[]
---@return heed.Tensor
function core.cross_entropy(logits, targets, ignore_index, label_smoothing, weight, reduction, smoothing_exclude) end

---@param hidden heed.Tensor [..., E]
---@param weight heed.Tensor [V, E]
---@param targets heed.Ids [...] 1..V or ignore_index
---@param bias? heed.Tensor [V]
---@param ignore_index? integer
---@param label_smoothing? number
---@param class_weight? heed.Tensor [V]
---@param reduction? "mean"|"sum"|"none"
---@param smoothing_exclude? integer[]
---@return heed.Tensor
function core.linear_cross_entropy(hidden, weight, targets, bias, ignore_index, label_smoothing, class_weight, reduction, smoothing_exclude) end

---@param log_probs heed.Tensor [..., V]
---@param targets heed.Ids [...] 1..V or ignore_index
---@param ignore_index? integer
---@param weight? heed.Tensor [V]
---@param reduction? "mean"|"sum"|"none"
---@return heed.Tensor
function core.nll_loss(log_probs, targets, ignore_index, weight, reduction) end

---(input - target)², times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function core.mse_loss(input, target, reduction, weight, pos_weight, parameter, factor) end

---|input - target|, times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function core.l1_loss(input, target, reduction, weight, pos_weight, parameter, factor) end

---d²/2 where |d| < parameter, else parameter (|d| - parameter/2), times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function core.huber_loss(input, target, reduction, weight, pos_weight, parameter, factor) end

---binary cross entropy of logits, times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function core.bce_with_logits(input, target, reduction, weight, pos_weight, parameter, factor) end

---target (log target - input), times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"|"batchmean"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function core.kl_div(input, target, reduction, weight, pos_weight, parameter, factor) end

---e^target (target - input), times weight and factor
---@param input heed.Tensor
---@param target heed.Tensor
---@param reduction? "mean"|"sum"|"none"|"batchmean"
---@param weight? heed.Tensor broadcast to the input
---@param pos_weight? heed.Tensor
---@param parameter? number
---@param factor? number
---@return heed.Tensor
function core.kl_div_log(input, target, reduction, weight, pos_weight, parameter, factor) end

---A batch without its padding: the first lengths[b] elements of each x[b], one behind the other. Any dtype.
---@param x heed.Tensor [B, L, ...]
---@param lengths heed.Ids [B], 0..L
---@return heed.Tensor [N, ...], N the sum of lengths
function core.pack_sequences(x, lengths) end

---The way back from pack_sequences, with zeros after each sequence.
---@param x heed.Tensor [N, ...]
---@param lengths heed.Ids [B]
---@param L integer
---@return heed.Tensor [B, L, ...]
function core.unpack_sequences(x, lengths, L) end

---How many elements stand before each packed sequence, and all of them.
---@param lengths heed.Ids [B]
---@return heed.Tensor i64 [B + 1]
function core.sequence_starts(lengths) end

---Sines and cosines of positions (Vaswani et al. 2017, section 3.5).
---@param max_len integer
---@param d_model integer
---@param first_position? integer 0
---@param layout? "interleaved"|"halves"
---@param rates? number[] one a pair of columns
---@return heed.Tensor [max_len, d_model]
function core.sinusoidal_positions(max_len, d_model, first_position, layout, rates) end

---@param in_w heed.Tensor [3E, E]
---@param in_b heed.Tensor|nil [3E]
---@param out_w heed.Tensor [E, E]
---@param out_b heed.Tensor|nil [E]
---@param num_heads integer
---@param dropout number
---@param training boolean
---@param query heed.Tensor [B, L, E] or [L, E]
---@param key? heed.Tensor [B, S, E]
---@param value? heed.Tensor [B, S, E]
---@param causal? boolean
---@param key_lengths? heed.Ids
---@param mask? heed.Tensor
---@param bias? heed.Tensor
---@param want_weights? boolean
---@return heed.Tensor out
---@return heed.Tensor? weights
function core.multi_head_attention(in_w, in_b, out_w, out_b, num_heads, dropout, training, query, key, value, causal, key_lengths, mask, bias, want_weights) end

---@param w1 heed.Tensor [F, E]
---@param b1 heed.Tensor|nil [F]
---@param w2 heed.Tensor [E, F]
---@param b2 heed.Tensor|nil [E]
---@param activation? "relu"|"gelu"|"silu"
---@param dropout number
---@param training boolean
---@param x heed.Tensor [..., E]
---@return heed.Tensor
function core.feed_forward(w1, b1, w2, b2, activation, dropout, training, x) end

---(x, causal, key_lengths, mask, bias, training, dropout, attention_dropout, num_heads, activation, norm_first, eps,
---in_w, in_b, out_w, out_b, w1, b1, w2, b2, n1w, n1b, n2w, n2b)
---@return heed.Tensor
function core.encoder_layer(...) end

---(x, memory, causal, key_lengths, mask, bias, and the same four of memory, training, dropout, attention_dropout, num_heads,
---activation, norm_first, eps, in_w, in_b, out_w, out_b of self-attention, the same of cross-attention, w1, b1, w2, b2,
---n1w, n1b, n2w, n2b, n3w, n3b)
---@return heed.Tensor
function core.decoder_layer(...) end

-- ---- gradients --------------------------------------------------------------------------------------------------------

---Gradients of t by every leaf that wants one, added to leaf.grad. What the graph saved is released on the way: a second time
---is an error unless the first had retain. Gradients of gradients are not supported: what backward computes is not recorded.
---
---```lua
---local x = heed.tensor({ 1.0, 2.0 }, { requires_grad = true })
---(x * x):sum():backward()
---print(x.grad)
---local y = x * 3
---y:backward(heed.tensor { 1.0, 10.0 }, { retain = true })
---y:backward(heed.tensor { 1.0, 10.0 })
---print(x.grad)
---```
---@param t heed.Tensor
---@param gradient? heed.Tensor|{ retain?: boolean } needed unless t has one element
---@param options? { retain?: boolean } so that it can be done again
function core.backward(t, gradient, options) end
Tensor.backward = core.backward

---The same values outside the graph, in the same memory.
---
---```lua
---local x = heed.tensor({ 1.0 }, { requires_grad = true })
---print((x * 2):detach().requires_grad)
---```
---@param t heed.Tensor
---@return heed.Tensor
function core.detach(t) end
Tensor.detach = core.detach

---@param t heed.Tensor
---@param wanted? boolean true
---@return heed.Tensor t
function core.requires_grad_(t, wanted) end
Tensor.requires_grad_ = core.requires_grad_

---Calls fn with recording off; without fn a value for `local _ <close> =`. Holds for this coroutine alone.
---
---```lua
---local w = heed.tensor({ 1.0 }, { requires_grad = true })
---print(heed.no_grad(function() return (w * 2).requires_grad end))
---```
---@param fn? fun(...): ...
---@param ... any arguments of fn
---@return any ... what fn returns
function core.no_grad(fn, ...) end

---The opposite, inside no_grad or a backward function.
---@param fn? fun(...): ...
---@param ... any
---@return any ...
function core.enable_grad(fn, ...) end

---@return boolean
function core.is_grad_enabled() end

---Calls fn, or holds until the end of a scope, so that every operation remembers the line that made it, and backward raises at
---the operation whose gradient first has NaN, naming both. For finding a fault: it costs time. Holds for this coroutine alone.
---
---```lua
---local x = heed.tensor({ 0.0 }, { requires_grad = true })
---local _ <close> = heed.detect_anomaly()
---local y = (x * 0):sqrt() * 0
---print(select(2, pcall(y.backward, y)))
---```
---@param fn? fun(...): ...
---@param ... any arguments of fn
---@return any ... what fn returns
function core.detect_anomaly(fn, ...) end

---fn(...), which is not recorded but run again, with the same random numbers of the training stream, when backward comes to it:
---what it computes inside takes no memory until then, and one more forward pass of time. Gradients reach the arguments,
---the parameters and whatever else fn knows. Nested calls are fine.
---
---fn returns tensors, the same in both runs; it must not write into its arguments, and a heed.generator that it draws from is
---not put back. (Chen et al. 2016, "Training deep nets with sublinear memory cost")
---
---```lua
---local block = nn.FeedForward(8, 32)
---local x = heed.randn(4, 8)
---local y = heed.recompute(block, x)
---y:sum():backward()
---print(block.linear1.weight.grad.shape)
---```
---@param fn fun(...): heed.Tensor ... or a module
---@param ... any arguments of fn
---@return heed.Tensor ... what fn returns
function core.recompute(fn, ...) end

---@class heed.FuncContext: userdata takes fields of one's own
local Context = {}
---Tensors for backward, guarded against being overwritten; nil holds its place.
---@param ... heed.Tensor|nil
function Context:save(...) end
---@return heed.Tensor|nil ...
function Context:saved() end
---Does argument i of forward want a gradient?
---@param i integer
---@return boolean
function Context:needs(i) end

---An operation of one's own. forward runs unrecorded and returns tensors; backward gets a gradient for each of them and returns one
---(or nil) for each argument of forward after ctx.
---@param forward fun(ctx: heed.FuncContext, ...): heed.Tensor ...
---@param backward fun(ctx: heed.FuncContext, grad: heed.Tensor, ...): heed.Tensor|nil ...
---@return fun(...): heed.Tensor ...
function core.func(forward, backward) end

---An interrupt (Ctrl-C) waits until fn has returned.
---@param fn fun(...): ...
---@param ... any
---@return any ...
function core.uninterrupted(fn, ...) end

-- ---- optimisers ---------------------------------------------------------------------------------------------------------

---One step of all groups, { params, m, v, steps, lr, ... }; parameters without a gradient are passed over. Never left half done;
---steps, a list, counts up for those that moved.
---@param kind "sgd"|"adam"|"adamw"
---@param groups table[]
function core.optim_step(kind, groups) end

---averages = decay averages + (1 - decay) tensors
---@param averages heed.Tensor[]
---@param tensors heed.Tensor[]
---@param decay number
function core.average_all(averages, tensors, decay) end

---The contents of the tensors of two lists change places.
---@param a heed.Tensor[]
---@param b heed.Tensor[]
function core.swap_all(a, b) end

---The 2-norm of all their gradients together.
---@param params heed.Tensor[]
---@return number
function core.grad_norm(params) end

---@param params heed.Tensor[]
---@param factor number
function core.scale_grads(params, factor) end

---@param params heed.Tensor[]
function core.zero_grads(params) end

---From now on tensors of floats have shapes and no numbers, and nothing is computed from them: heed.nn.Module:check.
---@param on? boolean only asks when left out
---@return boolean before
function core.shapes_only(on) end

-- ---- random numbers -----------------------------------------------------------------------------------------------------

---@class heed.Generator: userdata a stream of random numbers of one's own
local Generator = {}
---Gives the state, or sets it.
---@param saved? heed.Tensor i64 [2]
---@return heed.Tensor?
function Generator:state(saved) end

---@param seed integer
---@return heed.Generator
function core.generator(seed) end

---Starts the training stream anew.
---@param n integer
function core.manual_seed(n) end

---The state of the training stream, or sets it.
---@param saved? heed.Tensor i64 [2]
---@return heed.Tensor?
function core.rng_state(saved) end

-- ---- memory -------------------------------------------------------------------------------------------------------------

---@class heed.Scope: userdata for `local scope <close> = heed.scope()`
local Scope = {}
---Lets tensors (and those in tables) out, to the scope around it; returns its arguments.
---@param ... any
---@return any ...
function Scope:keep(...) end
---Drops what was made since and not kept.
function Scope:close() end

---Tensors made until it closes, in this coroutine, are dropped then. Leaves that want gradients belong to no scope.
---@return heed.Scope
function core.scope() end

---Takes tensors (and those in tables) out of every scope: parameters, moments, caches. Returns its arguments.
---@param ... any
---@return any ...
function core.keep(...) end

---Bytes.
---@param options? { reset_peak?: boolean }
---@return { live: integer, pooled: integer, peak: integer, limit: integer }
function core.memory(options) end

---Past it, allocations are errors. Returns the former limit.
---@param bytes? integer 0 or nothing: none
---@return integer
function core.memory_limit(bytes) end

---Gives idle memory back to the system.
---@return integer bytes
function core.memory_trim() end

---For specs: the n-th allocation from now fails.
---@param n integer 0: none does
function core.fail_allocation(n) end

-- ---- files, threads, the rest ---------------------------------------------------------------------------------------------

---@param path string
---@return table<string, heed.Tensor>|nil tensors
---@return table<string, string>|string metadata or message
---@return string[]? names in the file's order
function core.safetensors_load(path) end

---@param path string
---@param tensors { [1]: string, [2]: heed.Tensor }[] in this order
---@param metadata? table<string, string>
---@return true|nil
---@return string? message
function core.safetensors_save(path, tensors, metadata) end

---heed.npy.load.
---@param path string
---@return heed.Tensor|nil t
---@return string? message
function core.npy_load(path) end

---heed.npy.save.
---@param path string
---@param t heed.Tensor
---@return true|nil
---@return string? message
function core.npy_save(path, t) end

---Replaces a file whole or not at all.
---@param path string
---@param bytes string
---@return true|nil
---@return string? message
function core.replace_file(path, bytes) end

---@param n integer
function core.set_num_threads(n) end

---@return integer
function core.get_num_threads() end

---Seconds that only grow.
---@return number
function core.clock() end

---@param descriptor integer 0 standard input, 1 output, 2 errors
---@return boolean
function core.isatty(descriptor) end

---@return { version: string, lua: string, blis: string, gemm: string, isa: string, cpu: string, threads: integer }
function core.info() end

---What makes the message of every error of this module, with its position.
---@param fn fun(name: string, message: string): string
function core.locate_errors(fn) end

return core
