---@meta _
--- Making tensors: from values, of one value, at random.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

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
function both.zeros_like(t, options) end

---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.ones_like(t, options) end

---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.empty_like(t, options) end

---@param t heed.Tensor
---@param value number|boolean
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.full_like(t, value, options) end

---@param t heed.Tensor
---@param options? heed.DrawOptions
---@return heed.Tensor
function both.rand_like(t, options) end

---@param t heed.Tensor
---@param options? heed.DrawOptions
---@return heed.Tensor
function both.randn_like(t, options) end
