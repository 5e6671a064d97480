---@meta _
--- Asking tensors.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---Is this a tensor?
---
---```lua
---print(heed.is_tensor(heed.zeros(2)), heed.is_tensor { 0, 0 }) --> true false
---```
---@param value any
---@return boolean
function core.is_tensor(value) end

---All sizes as several results, or the size of one dimension. `t.shape` has them as one table.
---
---```lua
---local x = heed.zeros(2, 5, 8)
---local B, L, E = x:size()
---print(B, L, E, x:size(-1)) --> 2 5 8 8
---```
---@param t heed.Tensor
---@param dim? integer
---@return integer ...
function both.size(t, dim) end

---The number of dimensions.
---
---```lua
---print(heed.zeros(2, 5, 8):dim(), heed.tensor(1):dim()) --> 3 0
---```
---@param t heed.Tensor
---@return integer
function both.dim(t) end

---The number of elements: the product of the sizes. `#t` is the first size only.
---
---```lua
---print(heed.zeros(2, 5, 8):numel(), #heed.zeros(2, 5, 8)) --> 80 2
---```
---@param t heed.Tensor
---@return integer
function both.numel(t) end

---Do the elements lie in memory in row-major order, without gaps?
---
---```lua
---local t = heed.zeros(2, 3)
---print(t:is_contiguous(), t:t():is_contiguous()) --> true false
---```
---@param t heed.Tensor
---@return boolean
function both.is_contiguous(t) end

---How many elements in memory lie between neighbours along each dimension.
---
---```lua
---print(table.concat(heed.zeros(2, 3):stride(), " "), table.concat(heed.zeros(2, 3):t():stride(), " ")) --> 3 1 1 3
---```
---@param t heed.Tensor
---@return integer[]
function both.stride(t) end

---The one element of a tensor, as a number of Lua's: for losses and counts. A tensor of more than
---one element is an error.
---
---```lua
---print(heed.tensor { 1, 2, 3 }:sum():item(), heed.ids { 7 }:item()) --> 6.0 7
---```
---@param t heed.Tensor one element, in any number of dimensions
---@return number|boolean
function both.item(t) end

---Nested tables of numbers (of booleans for bool); the element itself when there are no dimensions.
---`heed.tensor` is the way back.
---
---```lua
---for _, row in ipairs(heed.range(1, 4):view(2, 2):totable()) do print(table.concat(row, " ")) end
---```
---@param t heed.Tensor
---@return table|number|boolean
function both.totable(t) end

---The elements as raw bytes, in row-major order and the machine's byte order; `heed.frombytes` is
---the way back.
---
---```lua
---print(#heed.zeros(2, 3):bytes(), ("<f"):unpack(heed.tensor { 1.5 }:bytes())) --> 24 1.5 5
---```
---@param t heed.Tensor
---@return string
function both.bytes(t) end

---Have two tensors the same shape and the same values? A boolean of Lua's; `==` asks whether two
---names are one tensor, `eq` compares element by element. NaN equals nothing.
---
---```lua
---local a, b = heed.tensor { 1, 2 }, heed.ids { 1, 2 }
---print(a:equal(b), a == b, a == a) --> true false true
---```
---@param a heed.Tensor
---@param b heed.Tensor
---@return boolean
function both.equal(a, b) end

---Is |a - b| <= atol + rtol |b| everywhere? The shapes broadcast; infinities must be equal, and NaN
---is close to nothing unless equal_nan.
---
---```lua
---local a = heed.tensor { 1, 100 }
---print(a:allclose(a + 1e-6), a:allclose(a + 0.5, { rtol = 0.01 }),
---    a:allclose(a + 0.5, { atol = 1 }))
---```
---@param a heed.Tensor
---@param b heed.Tensor
---@param options? { rtol?: number, atol?: number, equal_nan?: boolean } rtol: default 1e-5; atol:
---default 1e-8; equal_nan: NaN is close to NaN
---@return boolean
function both.allclose(a, b, options) end
