---@meta _
--- Two operands, element by element: arithmetic and comparisons. They broadcast.

---@class heed.Methods
local both = {}

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.add(a, b) end
both.add_ = both.add

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.sub(a, b) end
both.sub_ = both.sub

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.mul(a, b) end
both.mul_ = both.mul

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.div(a, b) end
both.div_ = both.div

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.pow(a, b) end
both.pow_ = both.pow

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.mod(a, b) end
both.mod_ = both.mod

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.floordiv(a, b) end
both.floordiv_ = both.floordiv

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.maximum(a, b) end
both.maximum_ = both.maximum

---Broadcasting. % and // are floored, as Lua's; / of integers gives f32. One side may be a number, which is weak in promotion.
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.minimum(a, b) end
both.minimum_ = both.minimum

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.eq(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.ne(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.lt(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.le(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.gt(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.ge(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.logical_and(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.logical_or(a, b) end

---Broadcasting.
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor bool
function both.logical_xor(a, b) end
