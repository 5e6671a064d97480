---@meta _
--- Gradients: backward, and what is recorded for it.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

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
function both.backward(t, gradient, options) end

---The same values outside the graph, in the same memory.
---
---```lua
---local x = heed.tensor({ 1.0 }, { requires_grad = true })
---print((x * 2):detach().requires_grad)
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.detach(t) end

---@param t heed.Tensor
---@param wanted? boolean true
---@return heed.Tensor t
function both.requires_grad_(t, wanted) end

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

---An operation of one's own. forward runs unrecorded and returns tensors; backward gets a gradient for each of them and returns one
---(or nil) for each argument of forward after ctx.
---@param forward fun(ctx: heed.FuncContext, ...): heed.Tensor ...
---@param backward fun(ctx: heed.FuncContext, grad: heed.Tensor, ...): heed.Tensor|nil ...
---@return fun(...): heed.Tensor ...
function core.func(forward, backward) end

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
