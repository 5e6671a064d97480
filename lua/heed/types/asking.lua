---@meta _
--- Asking tensors: what they are, hold, and whether they are alike.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---@param value any
---@return boolean
function core.is_tensor(value) end

---All sizes, or one.
---@param t heed.Tensor
---@param dim? integer
---@return integer ...
function both.size(t, dim) end

---The number of dimensions.
---@param t heed.Tensor
---@return integer
function both.dim(t) end

---The number of elements.
---@param t heed.Tensor
---@return integer
function both.numel(t) end

---@param t heed.Tensor
---@return boolean
function both.is_contiguous(t) end

---Steps in memory, in elements.
---@param t heed.Tensor
---@return integer[]
function both.stride(t) end

---The one element.
---@param t heed.Tensor one element
---@return number|boolean
function both.item(t) end

---@param t heed.Tensor
---@return table|number|boolean nested tables; the element when there are no dimensions
function both.totable(t) end

---@param t heed.Tensor
---@return string elements in order, the machine's byte order
function both.bytes(t) end

---The same shape and values.
---@param a heed.Tensor
---@param b heed.Tensor
---@return boolean
function both.equal(a, b) end

---|a - b| <= atol + rtol |b| everywhere, broadcasting.
---@param a heed.Tensor
---@param b heed.Tensor
---@param options? { rtol?: number, atol?: number, equal_nan?: boolean } 1e-5, 1e-8, false
---@return boolean
function both.allclose(a, b, options) end
