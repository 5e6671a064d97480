---@meta _
--- Along dimensions: sums, extremes, order, softmax.

---@class heed.Methods
local both = {}

---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor
function both.sum(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor
function both.prod(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor
function both.mean(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim? heed.Dims
---@param options? { keepdim?: boolean, correction?: integer } correction 1 when left out
---@return heed.Tensor
function both.var(t, dim, options) end

---@param t heed.Tensor
---@param dim? heed.Dims
---@param options? { keepdim?: boolean, correction?: integer } correction 1 when left out
---@return heed.Tensor
function both.std(t, dim, options) end

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
function both.norm(t, p, dim, keepdim) end

---@param t heed.Tensor
---@param dim? heed.Dims
---@param keepdim? boolean|{ keepdim?: boolean }
---@return boolean|heed.Tensor a boolean without dim
function both.all(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim? heed.Dims
---@param keepdim? boolean|{ keepdim?: boolean }
---@return boolean|heed.Tensor a boolean without dim
function both.any(t, dim, keepdim) end

---The largest (smallest) of all, or along a dimension with the index of the first of equals.
---@param t heed.Tensor
---@param dim? integer
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor values
---@return heed.Tensor? indices i64
function both.max(t, dim, keepdim) end

---The largest (smallest) of all, or along a dimension with the index of the first of equals.
---@param t heed.Tensor
---@param dim? integer
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor values
---@return heed.Tensor? indices i64
function both.min(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim? integer flattened when left out
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor i64
function both.argmax(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim? integer flattened when left out
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor i64
function both.argmin(t, dim, keepdim) end

---@param t heed.Tensor
---@param dim integer
---@return heed.Tensor
function both.cumsum(t, dim) end

---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean }
---@return heed.Tensor
function both.logsumexp(t, dim, keepdim) end

---Rows of -inf give zeros.
---@param t heed.Tensor
---@param dim integer
---@return heed.Tensor
function both.softmax(t, dim) end

---Rows of -inf give zeros.
---@param t heed.Tensor
---@param dim integer
---@return heed.Tensor
function both.log_softmax(t, dim) end

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
function both.sort(t, dim, options) end

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
function both.topk(t, k, dim, options) end
