---@meta _
--- Writing into a tensor.
---
--- Most functions have a form in place besides, `exp_` of `exp`: it writes into its tensor, whose
--- shape and dtype stay, and returns it.

---@class heed.Methods
local both = {}

---Writes one value everywhere. The dtype stays; a number that it cannot hold is an error. A leaf
---that wants a gradient is refused outside of heed.no_grad.
---
---```lua
---local t = heed.zeros(2, 3)
---t[{ {}, 2 }]:fill_(9)
---print(t) --> [[0., 9., 0.], [0., 9., 0.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param value number|boolean
---@return heed.Tensor t
function both.fill_(t, value) end

---Writes 0 everywhere.
---
---```lua
---local sums = heed.ones(3)
---print(sums:zero_()) --> [0., 0., 0.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor t
function both.zero_(t) end

---Writes another tensor's elements, which are broadcast, and converted as `to` does. The gradient
---passes to the source.
---
---```lua
---local t = heed.zeros(2, 3)
---t:copy_(heed.ids { 1, 2, 3 })
---print(t) --> [[1., 2., 3.], [1., 2., 3.]] f32 [2, 3]
---```
---@param t heed.Tensor
---@param source heed.Tensor
---@return heed.Tensor t
function both.copy_(t, source) end

---Draws every element anew, uniform in [low, high).
---
---```lua
---local w = heed.empty(64, 64):uniform_(-0.1, 0.1)
---print(w:abs():max():item() <= 0.1) --> true
---```
---@param t heed.Tensor f32 or f64
---@param low? number default 0
---@param high? number default 1
---@param options? { generator?: heed.Generator } the training stream when left out
---@return heed.Tensor t
function both.uniform_(t, low, high, options) end

---Draws every element anew, normal with this mean and deviation.
---
---```lua
---local w = heed.empty(64, 64):normal_(0, 0.02, { generator = heed.generator(1) })
---print(("%.3f"):format(w:std():item())) --> 0.020
---```
---@param t heed.Tensor f32 or f64
---@param mean? number default 0
---@param std? number default 1
---@param options? { generator?: heed.Generator } the training stream when left out
---@return heed.Tensor t
function both.normal_(t, mean, std, options) end
