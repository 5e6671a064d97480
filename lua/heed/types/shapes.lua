---@meta _
--- Shapes.
---
--- The same elements seen otherwise, parts of them, and parts joined. What is a view shares its
--- memory with t: writing into one writes into the other. Gradients go back to where each element
--- came from.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---The same memory in another shape: a view, or an error where the elements do not lie so.
---
---```lua
---print(heed.range(1, 6):view(2, -1)) --> [[1., 2., 3.], [4., 5., 6.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param ... integer|integer[] shape, one size may be -1
---@return heed.Tensor
function both.view(t, ...) end

---The same elements, in row-major order, in another shape: a view, or a copy where that cannot be.
---
---```lua
---print(heed.range(1, 6):view(2, 3):t():reshape(6)) --> [1., 4., 2., 5., 3., 6.] f32 [6]
---```
---@param t heed.Tensor
---@param ... integer|integer[] shape, one size may be -1
---@return heed.Tensor
function both.reshape(t, ...) end

---Dimensions of size 1 repeated, and dimensions added on the left: a view, nothing is copied. Its
---gradient is summed over the repetitions.
---
---```lua
---print(heed.tensor { { 1 }, { 2 } }:expand(2, 3)) --> [[1., 1., 1.], [2., 2., 2.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param ... integer|integer[] shape; -1 keeps a size
---@return heed.Tensor
function both.expand(t, ...) end

---Dimensions first..last become one: a view, or a copy where that cannot be.
---
---```lua
---print(heed.zeros(2, 3, 4):flatten(2).shape) --> [2, 12]
---```
---@param t heed.Tensor
---@param first? integer 1 when left out
---@param last? integer the last when left out
---@return heed.Tensor
function both.flatten(t, first, last) end

---Without dimensions of size 1: those that are named (one that is larger stays), or all. A view.
---
---```lua
---print(heed.zeros(1, 2, 1, 3):squeeze().shape, heed.zeros(1, 2, 1, 3):squeeze(3).shape) --> [2, 3] [1, 2, 3]
---```
---@param t heed.Tensor
---@param dims? heed.Dims
---@return heed.Tensor
function both.squeeze(t, dims) end

---With a new dimension of size 1 that will be number `dim`. A view.
---
---```lua
---print(heed.zeros(2, 3):unsqueeze(2).shape) --> [2, 1, 3]
---```
---@param t heed.Tensor
---@param dim integer 1 to one more than there are; -1: behind all
---@return heed.Tensor
function both.unsqueeze(t, dim) end

---Windows of `size` neighbours along a dimension, a new one after every `step`: windows stand along
---that dimension, their elements along a new last one; what is left over at the end is left out. A
---view: where windows overlap, nothing may write into it (`clone` it first). The gradient of an
---element is the sum over its windows.
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
function both.unfold(t, dim, size, step) end

---Two dimensions exchanged. A view.
---
---```lua
---print(heed.zeros(2, 3, 4):transpose(1, -1).shape) --> [4, 3, 2]
---```
---@param t heed.Tensor
---@param d1 integer
---@param d2 integer
---@return heed.Tensor
function both.transpose(t, d1, d2) end

---The transpose of a matrix. A view.
---
---```lua
---print(heed.range(1, 6):view(2, 3):t()) --> [[1., 4.], [2., 5.], [3., 6.]] f32 [3, 2]
---```
---@param t heed.Tensor [R, C]
---@return heed.Tensor # [C, R]
function both.t(t) end

---All dimensions in another order: dimension i of the result is dimension order[i] of t. A view.
---
---```lua
---print(heed.zeros(2, 3, 4):permute(3, 1, 2).shape) --> [4, 2, 3]
---```
---@param t heed.Tensor
---@param ... integer|integer[] all dimensions in their new order
---@return heed.Tensor
function both.permute(t, ...) end

---The elements of these dimensions from the last to the first. A copy.
---
---```lua
---print(heed.range(1, 6):view(2, 3):flip(1, 2)) --> [[6., 5., 4.], [3., 2., 1.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param ... integer|integer[] dimensions
---@return heed.Tensor
function both.flip(t, ...) end

---Elements moved along dimensions, those that leave at one end coming in at the other: element i
---goes to i + shift. Without dims all elements move as one row, in row-major order. A copy.
---
---```lua
---print(heed.range(1, 5):roll(2)) --> [4., 5., 1., 2., 3.] f32 [5]
---print(heed.range(1, 6):view(2, 3):roll({ 1, -1 }, { 1, 2 })) --> [[5., 6., 4.], [2., 3., 1.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param shifts integer|integer[]
---@param dims? heed.Dims one for each shift
---@return heed.Tensor
function both.roll(t, shifts, dims) end

---The tensor again and again: counts[d] times along dimension d. With fewer counts than dimensions
---they are those of the last ones; with more, dimensions are added on the left. Its gradient is
---summed over the repetitions. A copy.
---
---```lua
---print(heed.tensor({ 1, 2 }):tile(2)) --> [1., 2., 1., 2.] f32 [4]
---print(heed.tensor({ 1, 2 }):tile(2, 2)) --> [[1., 2., 1., 2.], [1., 2., 1., 2.]] f32 [2, 4]
---```
---@param t heed.Tensor
---@param ... integer|integer[] counts, 0 or more
---@return heed.Tensor
function both.tile(t, ...) end

---More elements at the ends of dimensions, from the last dimension on: before and after it, before
---and after the one before it, and so on. Negative amounts take elements away. What is added is, by
---mode: "constant" value (0), "reflect" the elements mirrored at the end without the end itself (at
---most size - 1), "replicate" the end again, "circular" the other end (at most size). The gradient
---of "constant" is the middle; the others add up what went to several places.
---
---```lua
---print(heed.range(1, 3):pad(1, 2)) --> [0., 1., 2., 3., 0., 0.] f32 [6]
---print(heed.range(1, 4):view(2, 2):pad({ 1, 0, 0, 1 }, { value = 9 }))
---print(heed.range(1, 3):pad(2, 2, { mode = "reflect" })) --> [3., 2., 1., 2., 3., 2., 1.] f32 [7]
---```
---@param t heed.Tensor
---@param ... integer|integer[]|{ mode?: "constant"|"reflect"|"replicate"|"circular", value?: number }
---amounts, two a dimension; mode: default "constant"; value: of "constant", default 0
---@return heed.Tensor
function both.pad(t, ...) end

---The elements whose indices in two dimensions differ by `offset` (second = first + offset), as the
---last dimension; the two go away. A view; its gradient is 0 beside the diagonal.
---
---```lua
---local t = heed.range(1, 9):view(3, 3)
---print(t:diagonal(), t:diagonal(1), t:diagonal(-1)) --> [1., 5., 9.] f32 [3] [2., 6.] f32 [2] [4., 8.] f32 [2]
---```
---@param t heed.Tensor 2 dimensions or more
---@param offset? integer default 0; above 0 above the diagonal, below 0 below it
---@param dim1? integer default 1
---@param dim2? integer default 2
---@return heed.Tensor # [..., size of the diagonal]
function both.diagonal(t, offset, dim1, dim2) end

---Elements start .. start + length - 1 of a dimension. A view.
---
---```lua
---print(heed.range(1, 5):narrow(1, 2, 3)) --> [2., 3., 4.] f32 [3]
---```
---@param t heed.Tensor
---@param dim integer
---@param start integer
---@param length integer
---@return heed.Tensor
function both.narrow(t, dim, start, length) end

---One index of a dimension, which goes away; stays in the graph where t[i] of a vector is a number.
---A view.
---
---```lua
---print(heed.range(1, 6):view(2, 3):select(2, -1)) --> [3., 6.] f32 [2]
---```
---@param t heed.Tensor
---@param dim integer
---@param index integer
---@return heed.Tensor
function both.select(t, dim, index) end

---Parts along a dimension, of one size (the last may be smaller) or of given sizes that add up.
---Views; backward writes the gradients of all parts into one tensor.
---
---```lua
---local q, k, v = table.unpack(heed.zeros(2, 12):split(4, 2))
---print(q.shape, heed.range(1, 6):split({ 1, 5 })[2]) --> [2, 4] [2., 3., 4., 5., 6.] f32 [5]
---```
---@param t heed.Tensor
---@param size integer|integer[]
---@param dim? integer default 1
---@return heed.Tensor[]
function both.split(t, size, dim) end

---At most `count` parts along a dimension, of one size, the last may be smaller. Views, as split
---makes them.
---
---```lua
---for _, part in ipairs(heed.range(1, 5):chunk(2)) do print(part) end
---```
---@param t heed.Tensor
---@param count integer
---@param dim? integer default 1
---@return heed.Tensor[]
function both.chunk(t, count, dim) end

---All slices along a dimension, which goes away. Views; backward writes the gradients of all into
---one tensor.
---
---```lua
---local rows = heed.range(1, 6):view(3, 2):unbind()
---print(#rows, rows[2]) --> 3 [3., 4.] f32 [2]
---```
---@param t heed.Tensor
---@param dim? integer default 1
---@return heed.Tensor[]
function both.unbind(t, dim) end

---Joined along a dimension, in the common dtype.
---
---```lua
---print(heed.cat({ heed.zeros(2, 1), heed.ones(2, 2) }, 2)) --> [[0., 1., 1.], [0., 1., 1.]] f32 [2, 3]
---```
---@param tensors heed.Tensor[] of one shape in all other dimensions
---@param dim? integer default 1
---@return heed.Tensor
function core.cat(tensors, dim) end

---Joined along a new dimension, in the common dtype.
---
---```lua
---print(heed.stack { heed.zeros(3), heed.ones(3) }) --> [[0., 0., 0.], [1., 1., 1.]] f32 [2, 3]
---```
---@param tensors heed.Tensor[] of one shape
---@param dim? integer default 1
---@return heed.Tensor
function core.stack(tensors, dim) end

---The same elements in row-major order without gaps: t itself when it is so already, otherwise a
---copy.
---
---```lua
---print(heed.zeros(2, 3):t():contiguous():is_contiguous()) --> true
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.contiguous(t) end

---A copy in memory of its own; gradients pass.
---
---```lua
---local a = heed.zeros(2)
---local b = a:clone()
---b[1] = 1
---print(a, b) --> [0., 0.] f32 [2] [1., 0.] f32 [2]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.clone(t) end

---As another dtype; t itself when it is. To integers floats are cut off towards 0, to bool
---everything but 0 is true. Gradients pass between floats.
---
---```lua
---print(heed.tensor({ 1.7, -1.7 }):to "i64") --> [ 1, -1] i64 [2]
---```
---@param t heed.Tensor
---@param dtype heed.dtype|{ dtype: heed.dtype }
---@return heed.Tensor
function both.to(t, dtype) end
