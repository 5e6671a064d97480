---@meta _
--- Making tensors.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---A tensor of nested tables, or of one number. f32 unless options say otherwise, bool for booleans;
---a tensor is copied. Tables must be even at every depth, and numbers must be ones that the dtype
---can hold: 2.5 is an error for "i64".
---
---```lua
---print(heed.tensor { 1, 2.5, 3 }) --> [1.0000, 2.5000, 3.0000] f32 [3]
---print(heed.tensor { { 1, 2 }, { 3, 4 } }.shape) --> [2, 2]
---print(heed.tensor({ 1, 2 }, { dtype = "f64", requires_grad = true }).dtype) --> f64
---```
---@param values table|number|boolean|heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.tensor(values, options) end

---An i64 tensor of integers: tokens, classes, indices. What takes indices refuses floats, so that a
---tensor of numbers is not mistaken for places.
---
---```lua
---local tokens = heed.ids { { 5, 2, 9 }, { 7, 1, 1 } }
---print(tokens.dtype, tokens.shape) --> i64 [2, 3]
---```
---@param values table|number|heed.Tensor
---@return heed.Tensor # i64
function core.ids(values) end

---A tensor of raw bytes, as `t:bytes()` gives them: elements in row-major order, in the machine's
---byte order. As many bytes as the shape needs; bool takes every byte but 0 for true.
---
---```lua
---local t = heed.tensor { { 1, 2 }, { 3, 4 } }
---print(heed.frombytes(t:bytes(), "f32", 2, 2):equal(t)) --> true
---```
---@param bytes string
---@param dtype heed.dtype
---@param ... integer|integer[] shape; a vector when left out
---@return heed.Tensor
function core.frombytes(bytes, dtype, ...) end

---All 0.
---
---```lua
---print(heed.zeros(2, 3)) --> [[0., 0., 0.], [0., 0., 0.]] f32 [2, 3]
---print(heed.zeros({ 2, 3 }, { dtype = "i64" }).dtype) --> i64
---```
---@param ... integer|integer[]|heed.MakeOptions shape, options
---@return heed.Tensor
function core.zeros(...) end

---All 1.
---
---```lua
---print(heed.ones(2, 3) * 7) --> [[7., 7., 7.], [7., 7., 7.]] f32 [2, 3]
---```
---@param ... integer|integer[]|heed.MakeOptions shape, options
---@return heed.Tensor
function core.ones(...) end

---Memory as it comes: any numbers, NaN too, until something is written. In a process of several Lua
---states zeros: what one has computed no other sees.
---
---```lua
---local t = heed.empty(2, 2)
---for i = 1, #t do t[i] = i end
---print(t) --> [[1., 1.], [2., 2.]] f32 [2, 2]
---```
---@param ... integer|integer[]|heed.MakeOptions shape, options
---@return heed.Tensor
function core.empty(...) end

---One value everywhere; bool for true and false, otherwise f32 unless options say otherwise.
---
---```lua
---print(heed.full({ 2, 2 }, -math.huge)) --> [[-inf, -inf], [-inf, -inf]] f32 [2, 2]
---print(heed.full(3, 7, { dtype = "i64" })) --> [7, 7, 7] i64 [3]
---```
---@param shape integer|integer[]
---@param value number|boolean
---@param options? heed.MakeOptions
---@return heed.Tensor
function core.full(shape, value, options) end

---1 where row and column are equal, 0 elsewhere.
---
---```lua
---print(heed.eye(3)) --> [[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]] f32 [3, 3]
---print(heed.eye(2, 3).shape) --> [2, 3]
---```
---@param n integer rows
---@param m? integer columns, n when left out
---@param options? heed.MakeOptions
---@return heed.Tensor # [n, m]
function core.eye(n, m, options) end

---first, first + step, ..., up to last and with it where it is met. f32 unless options say
---otherwise; a step of 0 is an error, and one away from last gives an empty vector.
---
---```lua
---print(heed.range(1, 4)) --> [1., 2., 3., 4.] f32 [4]
---print(heed.range(10, 0, -5, { dtype = "i64" })) --> [10, 5, 0] i64 [3]
---print(heed.range(1, 0).shape) --> [0]
---```
---@param first number
---@param last number
---@param step? number default 1
---@param options? heed.MakeOptions
---@return heed.Tensor # [N]
function core.range(first, last, step, options) end

---`count` numbers from first to last, both included, at equal distances.
---
---```lua
---print(heed.linspace(0, 1, 5)) --> [0.0000, 0.2500, 0.5000, 0.7500, 1.0000] f32 [5]
---```
---@param first number
---@param last number
---@param count integer
---@param options? heed.MakeOptions
---@return heed.Tensor # [count]
function core.linspace(first, last, count, options) end

---Uniform in [0, 1). Drawn from the training stream unless a generator is given: element i of a
---draw is the same number on any number of threads.
---
---```lua
---heed.manual_seed(1)
---local a = heed.rand(2, 3)
---heed.manual_seed(1)
---print(a:equal(heed.rand(2, 3))) --> true
---```
---@param ... integer|integer[]|heed.DrawOptions shape, options; generator: default the training
---stream
---@return heed.Tensor
function core.rand(...) end

---Normal: mean 0 and deviation 1.
---
---```lua
---local noise = heed.randn(100, 100, { generator = heed.generator(7) })
---print(("%.1f %.1f"):format(noise:mean():item(), noise:std():item())) --> -0.0 1.0
---```
---@param ... integer|integer[]|heed.DrawOptions shape, options; generator: default the training
---stream
---@return heed.Tensor
function core.randn(...) end

---Integers from low to high, both included, each as likely.
---
---```lua
---local dice = heed.randint(1, 6, 100)
---print(dice:min() .. " to " .. dice:max(), dice.dtype) --> 1 to 6 i64
---```
---@param low integer
---@param high integer at least low
---@param ... integer|integer[]|{ generator?: heed.Generator } shape, options; generator: default
---the training stream
---@return heed.Tensor # i64
function core.randint(low, high, ...) end

---1..n in a random order.
---
---```lua
---local rows = heed.range(1, 6):view(3, 2)
---print(rows[heed.randperm(3)].shape) -- the rows shuffled
---```
---@param n integer
---@param options? { generator?: heed.Generator } the training stream when left out
---@return heed.Tensor # i64 [n]
function core.randperm(n, options) end

---All 0, in the shape and dtype of t.
---
---```lua
---print(heed.ids { { 1, 2 }, { 3, 4 } }:zeros_like()) --> [[0, 0], [0, 0]] i64 [2, 2]
---```
---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.zeros_like(t, options) end

---All 1, in the shape and dtype of t.
---
---```lua
---print(heed.zeros(2):ones_like { dtype = "i64" }) --> [1, 1] i64 [2]
---```
---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.ones_like(t, options) end

---Memory as it comes, in the shape and dtype of t.
---
---```lua
---local x = heed.randn(2, 3)
---local buffer = x:empty_like():copy_(x)
---print(buffer:equal(x)) --> true
---```
---@param t heed.Tensor
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.empty_like(t, options) end

---One value everywhere, in the shape and dtype of t.
---
---```lua
---print(heed.zeros(3):full_like(0.5)) --> [0.5000, 0.5000, 0.5000] f32 [3]
---```
---@param t heed.Tensor
---@param value number|boolean
---@param options? heed.MakeOptions
---@return heed.Tensor
function both.full_like(t, value, options) end

---Uniform in [0, 1), in the shape and dtype of t, which is of floats unless options give a dtype.
---
---```lua
---local t = heed.zeros(2, 3, { dtype = "f64" })
---print(t:rand_like().dtype) --> f64
---```
---@param t heed.Tensor
---@param options? heed.DrawOptions generator: default the training stream
---@return heed.Tensor
function both.rand_like(t, options) end

---Normal, mean 0 and deviation 1, in the shape and dtype of t, which is of floats unless options
---give a dtype.
---
---```lua
---local x = heed.ones(2, 3)
---local noisy = x + 0.1 * x:randn_like()
---print(noisy.shape) --> [2, 3]
---```
---@param t heed.Tensor
---@param options? heed.DrawOptions generator: default the training stream
---@return heed.Tensor
function both.randn_like(t, options) end
