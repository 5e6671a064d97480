---@meta _
--- Gradients.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---Gradients of t by every leaf that wants one, added to leaf.grad. What the graph saved is released
---on the way: a second time is an error unless the first had retain. Gradients of gradients are not
---supported: what backward computes is not recorded.
---
---```lua
---local x = heed.tensor({ 1, 2 }, { requires_grad = true })
---local squares = (x * x):sum()
---squares:backward()
---print(x.grad) --> [2., 4.] f32 [2]
---local y = x * 3
---y:backward(heed.tensor { 1, 10 }) -- the gradient of what comes after y
---print(x.grad) --> [ 5., 34.] f32 [2]
---```
---@param t heed.Tensor
---@param gradient? heed.Tensor|{ retain?: boolean } of t's shape; needed unless t has one element
---@param options? { retain?: boolean } retain: so that it can be done again
function both.backward(t, gradient, options) end

---The same values in the same memory, outside the graph: no gradient flows back through them.
---
---```lua
---local x = heed.tensor({ 2 }, { requires_grad = true })
---local y = (x * x:detach()):sum()
---y:backward()
---print(x.grad) -- of 2x, not of x²
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.detach(t) end

---Makes t a leaf that wants a gradient, or that does not: `t.requires_grad = wanted` as a method.
---Leaves are made by hand, of f32 or f64; what an operation recorded is an error.
---
---```lua
---local w = heed.randn(3, 3):requires_grad_()
---w:sum():backward()
---print(w.grad.shape) --> [3, 3]
---```
---@param t heed.Tensor
---@param wanted? boolean default true
---@return heed.Tensor t
function both.requires_grad_(t, wanted) end

---Calls fn with recording off: nothing is saved for backward, and leaves may be written. Without
---fn, a value that keeps recording off until its scope ends. Holds for this coroutine alone.
---
---```lua
---local w = heed.tensor({ 1 }, { requires_grad = true })
---print(heed.no_grad(function() return (w * 2).requires_grad end)) --> false
---do
---    local _ <close> = heed.no_grad()
---    w:add_(1)
---end
---print((w * 2).requires_grad) --> true
---```
---@param fn? fun(...: any): ... or a module
---@param ... any arguments of fn
---@return any ... what fn returns
function core.no_grad(fn, ...) end

---Calls fn with recording on, inside no_grad or the backward of heed.func. Without fn, a value for
---`local _ <close> =`.
---
---```lua
---local w = heed.tensor({ 3 }, { requires_grad = true })
---heed.no_grad(function()
---    heed.enable_grad(function() return (w * w):sum() end):backward()
---end)
---print(w.grad) --> [6.] f32 [1]
---```
---@param fn? fun(...: any): ... or a module
---@param ... any arguments of fn
---@return any ... what fn returns
function core.enable_grad(fn, ...) end

---Is what is computed here recorded?
---
---```lua
---print(heed.is_grad_enabled(), heed.no_grad(heed.is_grad_enabled)) --> true false
---```
---@return boolean
function core.is_grad_enabled() end

---Calls fn, or holds until the end of a scope, so that every operation remembers the line that made
---it, and backward raises at the operation whose gradient first has NaN, naming both. For finding a
---fault: it costs time. Holds for this coroutine alone.
---
---```lua
---local x = heed.tensor({ 0 }, { requires_grad = true })
---local _ <close> = heed.detect_anomaly()
---local y = (x - 1):sqrt()
---print(select(2, pcall(y.backward, y)))
---```
---@param fn? fun(...: any): ...
---@param ... any arguments of fn
---@return any ... what fn returns
function core.detect_anomaly(fn, ...) end

---fn(...), which is not recorded but run again, with the same random numbers of the training
---stream, when backward comes to it: what it computes inside takes no memory until then, and one
---more forward pass of time. Gradients reach the arguments, the parameters and whatever else fn
---knows. Nested calls are fine.
---
---fn returns tensors, the same in both runs; it must not write into its arguments, and a
---heed.generator that it draws from is not put back. (Chen et al. 2016, "Training deep nets with
---sublinear memory cost")
---
---```lua
---local block = nn.FeedForward(8, 32)
---local x = heed.randn(4, 8)
---local y = heed.recompute(block, x)
---y:sum():backward()
---print(block.linear1.weight.grad.shape) --> [32, 8]
---```
---@param fn fun(...: any): heed.Tensor ... or a module
---@param ... any arguments of fn
---@return heed.Tensor ... what fn returns
function core.recompute(fn, ...) end

---An operation of one's own. forward runs unrecorded and returns tensors; backward gets a gradient
---for each of them (nil where none came) and returns one, or nil, for each argument of forward
---after ctx. heed.gradcheck tells whether the two agree.
---
---```lua
---local cube = heed.func(function(ctx, x)
---    ctx:save(x)
---    return x * x * x
---end, function(ctx, grad)
---    local x = ctx:saved()
---    return grad * 3 * x * x
---end)
---local x = heed.tensor({ 2 }, { requires_grad = true })
---cube(x):backward()
---print(x.grad) --> [12.] f32 [1]
---```
---@param forward fun(ctx: heed.FuncContext, ...: any): heed.Tensor ...
---@param backward fun(ctx: heed.FuncContext, grad: heed.Tensor, ...: any): heed.Tensor|nil ...
---@return fun(...: any): heed.Tensor ...
function core.func(forward, backward) end

---What the functions of a heed.func have in common in one call. It takes fields of one's own
---besides: sizes, flags.
---@class heed.FuncContext: userdata
local Context = {}

---Keeps tensors for backward, guarded: writing into one before backward is an error there. nil
---holds its place.
---@param ... heed.Tensor|nil
function Context:save(...) end

---What forward saved, in its order.
---@return heed.Tensor|nil ...
function Context:saved() end

---Does argument i of forward (counted after ctx) want a gradient? What is not wanted need not be
---computed.
---@param i integer
---@return boolean
function Context:needs(i) end
