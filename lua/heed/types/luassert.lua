---@meta _
--- Assertions for busted.
---
--- `require "heed.luassert"` adds them.

---@class luassert
local assert = {}

---Are two tensors (or tables of numbers) of one shape, and |got - want| <= tolerance (1 + |want|)
---everywhere? NaN is close to NaN. When not, the message names the element that is furthest off.
---assert.is_not_close is the opposite.
---
---```lua
---local assert = require "heed.luassert"
---assert.is_close(heed.tensor { 1, 2 }:mean(), heed.tensor(1.5), 1e-6)
---print(select(2, pcall(assert.is_close, heed.tensor { 1, 2 }, { 1, 3 })))
---```
---@param got heed.Tensor|table|number
---@param want heed.Tensor|table|number
---@param tolerance? number default 1e-6
function assert.is_close(got, want, tolerance) end

---Is it a tensor of this shape? assert.has_no_shape is the opposite.
---
---```lua
---local assert = require "heed.luassert"
---assert.has_shape(heed.zeros(2, 3), { 2, 3 })
---```
---@param t any
---@param shape integer[]
function assert.has_shape(t, shape) end
