---@meta _
--- Arithmetic and comparisons.
---
--- Of two operands, element by element.
---
--- The shapes broadcast: sizes of 1 are repeated, dimensions that are missing are added on the
--- left. The dtypes meet at a common one; a number of Lua's is weak and leaves an f32 tensor f32
--- (docs/conventions.md has the tables). Gradients are summed to the shape of each operand. In
--- place the tensor's shape and dtype stay, and the other operand must fit them.

---@class heed.Methods
local both = {}

---y = a + b, as the operator. Of bool: or.
---
---```lua
---local rows, columns = heed.tensor { { 10 }, { 20 } }, heed.tensor { 1, 2 }
---print(rows + columns) --> [[11., 12.], [21., 22.]] f32 [2, 2]
---print(heed.ones(2):add_(0.5)) --> [1.5000, 1.5000] f32 [2]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.add(a, b) end
both.add_ = both.add

---y = a - b, as the operator. bool is refused; logical_xor tells where two differ.
---
---```lua
---local x = heed.tensor { { 1, 3 }, { 2, 8 } }
---print(x - x:mean(2, true)) -- each row about 0
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.sub(a, b) end
both.sub_ = both.sub

---y = a b, element by element, as the operator; matmul is the product of matrices. Of bool: and.
---The gradients are g b and g a.
---
---```lua
---print(heed.tensor { 1, 2, 3 } * heed.tensor { 1, 0, -1 }) --> [ 1., 0., -3.] f32 [3]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.mul(a, b) end
both.mul_ = both.mul

---y = a / b, as the operator. Integers give f32, so div_ of an integer tensor is an error. Division
---by 0 gives what IEEE 754 says. The gradients are g/b and -g a/b².
---
---```lua
---print(heed.ids { 1, 2, 3 } / 2) --> [0.5000, 1.0000, 1.5000] f32 [3]
---print(heed.tensor { 1, 0, -1 } / 0) --> [ inf, nan, -inf] f32 [3]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.div(a, b) end
both.div_ = both.div

---y = a^b, as the operator. Integers stay integers and wrap; a negative exponent of integers is an
---error, of a negative float with a broken exponent NaN. The gradients are g b a^(b-1) and g y log
---a; the latter is 0 where a = 0 and b >= 0.
---
---```lua
---print(heed.range(1, 4) ^ 2) --> [ 1., 4., 9., 16.] f32 [4]
---print(2 ^ heed.ids { 1, 2, 10 }) --> [ 2, 4, 1024] i64 [3]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.pow(a, b) end
both.pow_ = both.pow

---y = a - floor(a/b) b, as the operator: as Lua's %, the result has b's sign. Integers by 0 are an
---error, floats give NaN. The gradients are g and -g floor(a/b).
---
---```lua
---print(heed.ids { 7, -7 } % 3) --> [1, 2] i64 [2]
---print((heed.range(1, 7) - 1) % 3 + 1) -- 1 2 3 over and over
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.mod(a, b) end
both.mod_ = both.mod

---y = floor(a/b), as the operator `//`: rounded down, as in Lua. Integers by 0 are an error. The
---gradients are 0.
---
---```lua
---print(heed.ids { 7, -7 } // 2, heed.tensor { 7.5 } // 2) --> [ 3, -4] i64 [2] [3.] f32 [1]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.floordiv(a, b) end
both.floordiv_ = both.floordiv

---a + weight (b - a), which is a at 0 and b at 1, with the same bits. The three broadcast; integers
---give f32. The gradients are (1 - weight) g, weight g and (b - a) g.
---
---```lua
---print(heed.tensor({ 1, 2 }):lerp(heed.tensor { 3, 6 }, 0.5)) --> [2., 4.] f32 [2]
---```
---@param a heed.Tensor
---@param b heed.Tensor
---@param weight number|heed.Tensor
---@return heed.Tensor
function both.lerp(a, b, weight) end

---The angle of the point (b, a) from the first axis, arctan(a/b) in the right quadrant, between -π
---and π; zeros and infinities as in C. The gradients are g b/(a² + b²) and -g a/(a² + b²), 0 at the
---origin.
---
---```lua
---print(heed.tensor { 1, 1, -1, 0 }:atan2(heed.tensor { 1, -1, 0, -1 })) --> [ 0.7854, 2.3562, -1.5708, 3.1416] f32 [4]
---```
---@param a heed.Tensor|number the second coordinate
---@param b heed.Tensor|number the first coordinate
---@return heed.Tensor
function both.atan2(a, b) end
both.atan2_ = both.atan2

---y = sqrt(a² + b²), also where the squares are out of range; infinite beside NaN too, as in C. The
---gradients are g a/y and g b/y, 0 at the origin.
---
---```lua
---print(heed.tensor { 3, 3e30 }:hypot(heed.tensor { 4, 4e30 })) --> [5.0000e+00, 5.0000e+30] f32 [2]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.hypot(a, b) end
both.hypot_ = both.hypot

---y = the larger of a and b, element by element; max is the largest element of a tensor. NaN wins.
---Where they are equal each gets half of the gradient.
---
---```lua
---print(heed.tensor { 1, 5, 3 }:maximum(heed.tensor { 2, 4, 3 })) --> [2., 5., 3.] f32 [3]
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.maximum(a, b) end
both.maximum_ = both.maximum

---y = the smaller of a and b, element by element. NaN wins. Where they are equal each gets half of
---the gradient.
---
---```lua
---local steps = heed.range(1, 5)
---print(steps:minimum(3)) -- a ramp that stays at 3
---```
---@param a heed.Tensor|number
---@param b heed.Tensor|number
---@return heed.Tensor
function both.minimum(a, b) end
both.minimum_ = both.minimum

---y = is a equal to b? bool, element by element: `==` asks whether two names are one tensor,
---`equal` compares as a whole. NaN equals nothing.
---
---```lua
---local guess, target = heed.ids { 3, 1, 2 }, heed.ids { 3, 2, 2 }
---print(guess:eq(target), guess:eq(target):mean()) --> [ true, false, true] bool [3] 0.6667 f32 []
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.eq(a, b) end

---y = is a another than b? bool, element by element.
---
---```lua
---local tokens = heed.ids { 5, 2, 1, 1 }
---print(tokens:ne(1)) -- what is not padding
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.ne(a, b) end

---y = is a below b? bool. The operator < cannot be used: Lua would make one truth value of it; it
---raises and says so.
---
---```lua
---print(heed.range(1, 4):lt(3)) --> [ true, true, false, false] bool [4]
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.lt(a, b) end

---y = is a at most b? bool.
---
---```lua
---local positions, lengths = heed.range(1, 4), heed.tensor { { 2 }, { 4 } }
---print(positions:le(lengths)) -- which places of a batch are no padding
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.le(a, b) end

---y = is a above b? bool.
---
---```lua
---local x = heed.tensor { 3, -1, 2 }
---print(x[x:gt(0)]) --> [3., 2.] f32 [2]
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.gt(a, b) end

---y = is a at least b? bool.
---
---```lua
---print(heed.tensor { 0.2, 0.5, 0.9 }:ge(0.5)) --> [false, true, true] bool [3]
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.ge(a, b) end

---y = a and b; everything but 0 is true. bool. `&` of two bool tensors.
---
---```lua
---local x = heed.range(1, 5)
---print(x:gt(1):logical_and(x:lt(4)), x:gt(1) & x:lt(4))
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.logical_and(a, b) end

---y = a or b; everything but 0 is true. bool. `|` of two bool tensors.
---
---```lua
---print(heed.tensor { 0, 0, 2 }:logical_or(heed.tensor { 0, 1, 0 })) --> [false, true, true] bool [3]
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.logical_or(a, b) end

---y = one of a and b, but not both; everything but 0 is true. bool.
---
---```lua
---print(heed.tensor { true, true, false }:logical_xor(heed.tensor { true, false, false }))
---```
---@param a heed.Tensor|number|boolean
---@param b heed.Tensor|number|boolean
---@return heed.Tensor # bool
function both.logical_xor(a, b) end
