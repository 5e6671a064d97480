---@meta _
--- Choosing elements.
---
--- By indices and masks. Keys, `t[key]`, do more of it: docs/conventions.md.
---
--- An index counts from 1; what is outside of the size is an error that says the position in the
--- index, the value and the range. What takes an index takes integers alone: i64, i32, or Lua
--- tables.

---@class heed.Methods
local both = {}

---An element for each of the index: out[i][j] = t[index[i][j]][j] for dim 1, out[i][j] =
---t[i][index[i][j]] for dim 2, and so on. Gradients of elements that are taken several times add
---up, in the order of the index.
---
---```lua
---local scores = heed.tensor { { 0.1, 0.9 }, { 0.7, 0.3 } }
---print(scores:gather(2, { { 2 }, { 1 } })) --> [[0.9000], [0.7000]] f32 [2, 1]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids as many dimensions as t, none but dim larger
---@return heed.Tensor # of index's shape
function both.gather(t, dim, index) end

---A copy to which elements are added: out[index[i][j]][j] = t[..][j] + src[i][j] for dim 1, and so
---on; what an index names several times is added in the order of the index, so the bits are the
---same on any number of threads. The gradient of src is gathered, that of t is passed on.
---
---```lua
---print(heed.zeros(3):scatter_add(1, { 1, 3, 1 }, heed.tensor { 1, 2, 3 })) --> [4., 0., 2.] f32 [3]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids as many dimensions as t, none but dim larger
---@param src heed.Tensor of t's dtype, at least of index's shape
---@return heed.Tensor
function both.scatter_add(t, dim, index, src) end
both.scatter_add_ = both.scatter_add

---A copy in which, along a dimension, what index says is replaced: with dim 2, out[i][index[i][j]]
---= src[i][j]. Where several places are one, the last counts, and it alone gets the gradient.
---(`scatter_add` adds; `t[key] = v` writes.)
---
---```lua
---print(heed.zeros(2, 3):scatter(2, { { 3 }, { 1 } }, 1)) --> [[0., 0., 1.], [1., 0., 0.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids as many dimensions as t, none but dim larger
---@param src heed.Tensor|number|boolean of t's dtype, at least of index's shape; or one value for
---all
---@return heed.Tensor
function both.scatter(t, dim, index, src) end
both.scatter_ = both.scatter

---A copy in which elements of src meet those that are where index says, as `scatter` has it: "sum",
---"prod", "mean", "amax" or "amin" of t's element and of all src that come to its place; without
---include_self of those src alone (places that no index names keep t's). The gradients are those of
---such a reduction: the largest share it, factors get the product of the others.
---
---```lua
---local t, index, src = heed.tensor { 1, 2, 3 }, heed.ids { 1, 1, 3 }, heed.tensor { 5, 4, 2 }
---print(t:scatter_reduce(1, index, src, "amax")) --> [5., 2., 3.] f32 [3]
---print(t:scatter_reduce(1, index, src, "mean", { include_self = false })) --> [4.5000, 2.0000, 2.0000] f32 [3]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids as many dimensions as t, none but dim larger
---@param src heed.Tensor of t's dtype, at least of index's shape
---@param reduce "sum"|"prod"|"mean"|"amax"|"amin" a mean is of floats
---@param options? { include_self?: boolean } default true
---@return heed.Tensor
function both.scatter_reduce(t, dim, index, src, reduce, options) end
both.scatter_reduce_ = both.scatter_reduce

---Slices of a dimension by an index: out[.., p, ..] = t[.., index[p], ..]. The index may have any
---number of dimensions, which take the place of dim. Gradients of slices that are taken several
---times add up, in the order of the index.
---
---```lua
---print(heed.range(1, 6):view(3, 2):index_select(1, { 3, 1, 3 })) --> [[5., 6.], [1., 2.], [5., 6.]] f32 [3, 2]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids
---@return heed.Tensor
function both.index_select(t, dim, index) end

---A copy to which slices are added: out[.., index[p], ..] = t[.., index[p], ..] + src[.., p, ..];
---what an index names several times is added in the order of the index, so the bits are the same on
---any number of threads. The gradient of src is selected, that of t is passed on.
---
---```lua
---print(heed.zeros(3, 2):index_add(1, { 1, 1, 3 }, heed.ones(3, 2))) --> [[2., 2.], [0., 0.], [1., 1.]] f32 [3, 2]
---```
---@param t heed.Tensor
---@param dim integer
---@param index heed.Ids [N]
---@param src heed.Tensor of t's dtype and shape, but N along dim
---@return heed.Tensor
function both.index_add(t, dim, index, src) end
both.index_add_ = both.index_add

---The elements where a mask holds, in row-major order; mask and tensor broadcast. Gradients go back
---to their places.
---
---```lua
---local t = heed.tensor { { 1, -2 }, { -3, 4 } }
---print(t:masked_select(t:gt(0))) --> [1., 4.] f32 [2]
---```
---@param t heed.Tensor
---@param mask heed.Tensor bool
---@return heed.Tensor # [number of places]
function both.masked_select(t, mask) end

---A copy with value where the mask holds; the mask broadcasts to t. The gradient there is 0,
---selected and not multiplied: what is hidden never leaks, be it NaN. The value must be one that
---the dtype can hold.
---
---```lua
---local scores = heed.tensor { { 1, 2 }, { 3, 4 } }
---print(scores:masked_fill(heed.ones(2, 2):triu(1):ne(0), -math.huge)) --> [[ 1., -inf], [ 3., 4.]] f32 [2, 2]
---```
---@param t heed.Tensor
---@param mask heed.Tensor bool
---@param value number
---@return heed.Tensor
function both.masked_fill(t, mask, value) end
both.masked_fill_ = both.masked_fill

---a where the condition holds, b elsewhere; all three broadcast, in the common dtype. What is not
---chosen leaks neither value nor gradient, be it NaN.
---
---```lua
---local x = heed.tensor { 4, 0, -1 }
---print(heed.where(x:gt(0), x:sqrt(), 0)) --> [2., 0., 0.] f32 [3]
---```
---@param condition heed.Tensor bool
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.where(condition, a, b) end

---1 at the place that the index says, of a new last dimension, 0 elsewhere.
---
---```lua
---print(heed.one_hot({ 2, 1 }, 3)) --> [[0, 1, 0], [1, 0, 0]] i64 [2, 3]
---print(heed.one_hot({ 1, 1, 3 }, 3):sum(1)) -- how often each occurs
---```
---@param t heed.Ids [...], in 1..classes
---@param classes integer
---@return heed.Tensor # i64 [..., classes]
function both.one_hot(t, classes) end

---The rows of indices of what is not zero, in order. Its columns are a key:
---`t[t:nonzero():unbind(2)]` is `t[t:ne(0)]`.
---
---```lua
---print(heed.tensor({ { 0, 5 }, { 6, 0 } }):nonzero()) --> [[1, 2], [2, 1]] i64 [2, 2]
---```
---@param t heed.Tensor
---@return heed.Tensor # i64 [count, number of dimensions]
function both.nonzero(t) end

---The lower triangle of the last two dimensions, 0 elsewhere: column <= row + diagonal stays. The
---gradient is the triangle of g.
---
---```lua
---print(heed.ones(3, 3):tril()) --> [[1., 0., 0.], [1., 1., 0.], [1., 1., 1.]] f32 [3, 3]
---print(heed.ones(3, 3):tril(-1)) --> [[0., 0., 0.], [1., 0., 0.], [1., 1., 0.]] f32 [3, 3]
---```
---@param t heed.Tensor [..., R, C]
---@param diagonal? integer|{ diagonal?: integer } default 0, the main one; 1 the next above it, -1
---the next below
---@return heed.Tensor
function both.tril(t, diagonal) end
both.tril_ = both.tril

---The upper triangle of the last two dimensions, 0 elsewhere: column >= row + diagonal stays. The
---gradient is the triangle of g.
---
---```lua
---print(heed.ones(3, 3):triu(1)) --> [[0., 1., 1.], [0., 0., 1.], [0., 0., 0.]] f32 [3, 3]
---```
---@param t heed.Tensor [..., R, C]
---@param diagonal? integer|{ diagonal?: integer } default 0, the main one; 1 the next above it, -1
---the next below
---@return heed.Tensor
function both.triu(t, diagonal) end
both.triu_ = both.triu
