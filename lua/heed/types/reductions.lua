---@meta _
--- Reductions, order, softmax.
---
--- dim is one dimension, or for those that say so a list of several; left out, all elements count.
--- The dimensions go away unless keepdim leaves them with size 1. Long sums are cut by the data
--- alone, so the bits are the same on any number of threads.

---@class heed.Methods
local both = {}

---Σ x over all elements or some dimensions; 0 of none. Integers and bool give i64. The gradient is
---g, repeated.
---
---```lua
---local x = heed.range(1, 6):view(2, 3)
---print(x:sum():item(), x:sum(1), x:sum { dim = 2, keepdim = true })
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.sum(t, dim, keepdim) end

---The product over all elements or some dimensions; 1 of none. Integers and bool give i64. The
---gradient is g times the other factors, right with zeros among them too.
---
---```lua
---print(heed.range(1, 5):prod():item(), heed.range(1, 4):view(2, 2):prod(2)) --> 120.0 [ 2., 12.] f32 [2]
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.prod(t, dim, keepdim) end

---Σ x / n over all elements or some dimensions; NaN of none. Integers and bool give f32: the mean
---of a bool tensor is the share that is true. The gradient is g / n, repeated.
---
---```lua
---local x = heed.range(1, 6):view(2, 3)
---print(x:mean():item(), x:mean(1), x:gt(2):mean()) --> 3.5 [2.5000, 3.5000, 4.5000] f32 [3] 0.6667 f32 []
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.mean(t, dim, keepdim) end

---Σ (x - mean)² / (n - correction), the variance over all elements or some dimensions. correction 1
---estimates it from a sample, 0 is the mean square; NaN where no more than correction elements are
---left. Integers give f32. The gradient is 2 g (x - mean) / (n - correction).
---
---```lua
---local x = heed.tensor { 1, 2, 3, 4 }
---print(x:var(), x:var { correction = 0 }) --> 1.6667 f32 [] 1.2500 f32 []
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean, correction?: integer }
---@param keepdim? boolean|{ keepdim?: boolean, correction?: integer } default false; correction:
---default 1
---@return heed.Tensor
function both.var(t, dim, keepdim) end

---√var, the standard deviation over all elements or some dimensions. Its gradient is infinite or
---NaN where the deviation is 0.
---
---```lua
---local x = heed.tensor { { 1, 3 }, { 10, 30 } }
---print((x - x:mean(2, true)) / x:std(2, true)) -- each row normalized
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean, correction?: integer }
---@param keepdim? boolean|{ keepdim?: boolean, correction?: integer } default false; correction:
---default 1
---@return heed.Tensor
function both.std(t, dim, keepdim) end

---(Σ |x|^p)^(1/p) over all elements or some dimensions; p = math.huge: the largest |x|, -math.huge:
---the smallest, 0: how many are not 0. The gradient is 0 where x or the norm is 0; for infinite p,
---equal |x| share. Integers give f32.
---
---```lua
---local x = heed.tensor { { 3, -4 }, { 0, 5 } }
---print(x:norm { dim = 2 }, x:norm { p = 1, dim = 2 }, x:norm(math.huge)) --> [5., 5.] f32 [2] [7., 5.] f32 [2] 5. f32 []
---```
---@param t heed.Tensor
---@param p? number|{ p?: number, dim?: heed.Dims, keepdim?: boolean } default 2
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean } all when left out
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.norm(t, p, dim, keepdim) end

---log Σ e^x over all elements or some dimensions, without overflow. Of nothing but -inf it is -inf,
---with gradient 0. The gradient is g softmax(x). Integers give f32.
---
---```lua
---print(heed.tensor { 1000, 1000 }:logsumexp(1)) --> 1000.6932 f32 []
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.logsumexp(t, dim, keepdim) end

---Are all elements true (not 0)? A boolean of Lua's; with dimensions a bool tensor. True of none.
---
---```lua
---local x = heed.tensor { { 1, 0 }, { 2, 3 } }
---print(x:all(), x:all(2)) --> false [false, true] bool [2]
---assert(x:isfinite():all(), "NaN or infinite")
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return boolean|heed.Tensor # a boolean without dim
function both.all(t, dim, keepdim) end

---Is any element true (not 0)? A boolean of Lua's; with dimensions a bool tensor. False of none.
---
---```lua
---print(heed.tensor { 1, 0 / 0 }:isnan():any()) --> true
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return boolean|heed.Tensor # a boolean without dim
function both.any(t, dim, keepdim) end

---The largest element, over all or some dimensions: what `max` gives first, of several dimensions
---too. NaN wins. Of equal ones each gets an equal share of the gradient (along a dimension max
---gives it to the first).
---
---```lua
---print(heed.tensor({ { 1, 5, 2 }, { 7, 0, 7 } }):amax(2)) --> [5., 7.] f32 [2]
---print(heed.randn(2, 3, 4):amax({ 1, 3 }, { keepdim = true }).shape) --> [1, 3, 1]
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.amax(t, dim, keepdim) end

---The smallest element, over all or some dimensions, as amax.
---
---```lua
---print(heed.tensor({ { 1, 5, 2 }, { 7, 0, 7 } }):amin(2)) --> [1., 0.] f32 [2]
---```
---@param t heed.Tensor
---@param dim? heed.Dims|{ dim?: heed.Dims, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor
function both.amin(t, dim, keepdim) end

---The largest of all elements, or along a dimension the largest and where they are. Of equal ones
---the first counts; NaN is larger than all. Without dim equal ones share the gradient, along a
---dimension the first gets it. maximum is of two tensors.
---
---```lua
---local x = heed.tensor { { 1, 7, 2 }, { 9, 0, 9 } }
---print(x:max():item()) --> 9.0
---local values, indices = x:max(2)
---print(values, indices) --> [7., 9.] f32 [2] [2, 1] i64 [2]
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor values
---@return heed.Tensor indices i64, with dim
function both.max(t, dim, keepdim) end

---The smallest of all elements, or along a dimension the smallest and where they are. Of equal ones
---the first counts; NaN is smaller than all. Gradients as for max. minimum is of two tensors.
---
---```lua
---local values, indices = heed.tensor { { 1, 7, 2 }, { 9, 0, 9 } }:min(1)
---print(values, indices) --> [1., 0., 2.] f32 [3] [1, 2, 1] i64 [3]
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor values
---@return heed.Tensor indices i64, with dim
function both.min(t, dim, keepdim) end

---Where the largest is: along a dimension, or in the tensor laid out in row-major order. Of equal
---ones the first; NaN is the largest. No gradient.
---
---```lua
---local logits = heed.tensor { { 0.1, 2, 0.3 }, { 4, 0.5, 0.6 } }
---print(logits:argmax(-1), logits:argmax():item()) -- the likeliest class of each row; the fourth of all
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor # i64
function both.argmax(t, dim, keepdim) end

---Where the smallest is: along a dimension, or in the tensor laid out in row-major order. Of equal
---ones the first; NaN is the smallest. No gradient.
---
---```lua
---local losses = heed.tensor { 0.9, 0.4, 0.6 }
---print(losses:argmin():item()) --> 2
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor # i64
function both.argmin(t, dim, keepdim) end

---y[i] = x[1] + ... + x[i] along a dimension. Integers and bool give i64. The gradient sums from
---the other end.
---
---```lua
---print(heed.tensor { 1, 2, 3 }:cumsum(1)) --> [1., 3., 6.] f32 [3]
---print(heed.tensor { { true, false, true } }:cumsum(2)) -- counts
---```
---@param t heed.Tensor
---@param dim integer|{ dim: integer }
---@return heed.Tensor
function both.cumsum(t, dim) end

---y[i] = x[1] · ... · x[i] along a dimension. Integers and bool give i64, which wraps. The gradient
---is exact where elements are 0 too.
---
---```lua
---print(heed.tensor { 2, 3, 0, 4 }:cumprod(1)) --> [2., 6., 0., 0.] f32 [4]
---```
---@param t heed.Tensor
---@param dim integer|{ dim: integer }
---@return heed.Tensor
function both.cumprod(t, dim) end

---The largest element so far along a dimension, and where it is; of equals the last, as in PyTorch.
---NaN is larger than all and stays. The gradient goes to the elements that were taken.
---
---```lua
---print(heed.tensor { 1, 3, 2, 3 }:cummax(1)) --> [1., 3., 3., 3.] f32 [4] [1, 2, 2, 4] i64 [4]
---```
---@param t heed.Tensor
---@param dim integer|{ dim: integer }
---@return heed.Tensor values
---@return heed.Tensor indices i64
function both.cummax(t, dim) end

---The smallest element so far along a dimension, and where it is; of equals the last, as in
---PyTorch. NaN is smaller than all and stays. The gradient goes to the elements that were taken.
---
---```lua
---print(heed.tensor { 2, 3, 1, 1 }:cummin(1)) --> [2., 2., 1., 1.] f32 [4] [1, 1, 3, 4] i64 [4]
---```
---@param t heed.Tensor
---@param dim integer|{ dim: integer }
---@return heed.Tensor values
---@return heed.Tensor indices i64
function both.cummin(t, dim) end

---e^x / Σ e^x along a dimension: shares that add up to 1, without overflow. A row of nothing but
----inf gives 0s, with gradient 0; NaN makes its row NaN. The gradient is y (g - Σ g y). Integers
---are refused: convert them (`to "f32"`).
---
---```lua
---print(heed.tensor { 1, 2, 3 }:softmax(1)) --> [0.0900, 0.2447, 0.6652] f32 [3]
---print(heed.softmax(heed.tensor { { 0, -math.huge }, { 5, 5 } }, -1))
---```
---@param t heed.Tensor f32 or f64
---@param dim integer|{ dim: integer }
---@return heed.Tensor # of t's shape
function both.softmax(t, dim) end

---x - log Σ e^x along a dimension: the logarithm of softmax, exact where a probability would be 0.
---The gradient is g - softmax(x) Σ g. Integers are refused.
---
---```lua
---print(heed.tensor { 0, 1000 }:log_softmax(1), heed.tensor { 0, 1000 }:softmax(1):log())
---```
---@param t heed.Tensor f32 or f64
---@param dim integer|{ dim: integer }
---@return heed.Tensor # of t's shape
function both.log_softmax(t, dim) end

---The elements in rising order along a dimension, and where they were. Stable: equal elements (0
---and -0 are) keep their order. NaN is the largest. The gradient goes back to where each element
---came from.
---
---```lua
---local values, indices = heed.tensor { 3, 1, 2, 1 }:sort()
---print(values, indices) --> [1., 1., 2., 3.] f32 [4] [2, 4, 3, 1] i64 [4]
---print((heed.tensor { 3, 1, 2 }:sort { descending = true })) --> [3., 2., 1.] f32 [3]
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, descending?: boolean } default -1
---@param options? { descending?: boolean } descending: default false
---@return heed.Tensor values
---@return heed.Tensor indices i64
function both.sort(t, dim, options) end

---The k largest (or smallest) along a dimension, the best first, and where they are. Stable; NaN is
---larger than all. The gradient goes back to where each element came from. sorted = false promises
---no order.
---
---```lua
---local values, indices = heed.tensor { 3, 1, 4, 1, 5 }:topk(2)
---print(values, indices) --> [5., 4.] f32 [2] [5, 3] i64 [2]
---print((heed.tensor { { 3, 1 }, { 2, 4 } }:topk(1, 1, { largest = false }))) --> [[2., 1.]] f32 [1, 2]
---```
---@param t heed.Tensor
---@param k integer at most the size of the dimension
---@param dim? integer|{ dim?: integer, largest?: boolean, sorted?: boolean } default -1
---@param options? { largest?: boolean, sorted?: boolean } largest: default true; sorted: default
---true
---@return heed.Tensor values
---@return heed.Tensor indices i64
function both.topk(t, k, dim, options) end

---The middle of all elements in order, of two middles the lower one (`quantile` lies between them).
---With a dimension: the values, and where the first of each is. NaN is the median of what has one.
---The gradient goes to the element that was taken; over all elements those that equal it share it.
---
---```lua
---print(heed.tensor { 3, 1, 4, 2 }:median()) --> 2. f32 []
---print(heed.tensor { { 3, 1, 2 }, { 6, 4, 4 } }:median(2)) --> [2., 4.] f32 [2] [3, 2] i64 [2]
---```
---@param t heed.Tensor
---@param dim? integer|{ dim?: integer, keepdim?: boolean }
---@param keepdim? boolean|{ keepdim?: boolean } default false
---@return heed.Tensor values
---@return heed.Tensor? indices i64; with a dimension
function both.median(t, dim, keepdim) end

---Where values belong in ascending sequences: the index, from 1 to n + 1, of the first element that
---is not smaller than the value; with `right`, of the first that is larger. (So `right = false`
---inserts before equal elements and `right = true` behind them.) NaN is larger than all. One
---sequence, or one for each row of values; that they ascend is not checked. No gradient.
---
---```lua
---local bounds = heed.tensor { 1, 3, 5 }
---print(bounds:searchsorted(heed.tensor { 0, 3, 6 })) --> [1, 2, 4] i64 [3]
---print(bounds:searchsorted(heed.tensor { 0, 3, 6 }, { right = true })) --> [1, 3, 4] i64 [3]
---```
---@param sorted heed.Tensor [n], or [.., n] for values [.., m]
---@param values heed.Tensor
---@param right? boolean|{ right?: boolean } default false
---@return heed.Tensor # i64, of the values' shape
function both.searchsorted(sorted, values, right) end

---The number of the bucket that each element falls into: 1 up to the first boundary, 2 up to the
---second, and so on, n + 1 beyond the last. A boundary itself belongs to the bucket below it, with
---`right` to the one above. It is `searchsorted` with the arguments the other way round. No
---gradient.
---
---```lua
---print(heed.tensor { 0, 3, 6 }:bucketize(heed.tensor { 1, 3, 5 })) --> [1, 2, 4] i64 [3]
---```
---@param t heed.Tensor
---@param boundaries heed.Tensor [n], ascending
---@param right? boolean|{ right?: boolean } default false
---@return heed.Tensor # i64, of t's shape
function both.bucketize(t, boundaries, right) end

---The different elements, in ascending order; which of them each element is; and how often each
---occurs. Each NaN is one of its own. No gradient.
---
---```lua
---local values, inverse, counts = heed.ids({ 3, 1, 3, 3 }):unique()
---print(values, counts, values[inverse]) --> [1, 3] i64 [2] [1, 3] i64 [2] [3, 1, 3, 3] i64 [4]
---```
---@param t heed.Tensor
---@return heed.Tensor values [U]
---@return heed.Tensor inverse i64, of t's shape
---@return heed.Tensor counts i64 [U]
function both.unique(t) end
