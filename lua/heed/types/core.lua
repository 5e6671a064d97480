---@meta heed.core
--- Tensors.
---
--- Sizes are given as numbers or as one table. Dimensions and indices count from 1, dimensions from
--- the end as -1, -2. A table with names behind the arguments is the options: `x:sum { dim = 2 }`
--- is `x:sum(2)`. Letters in shapes: B batch, H heads, L queries, S keys, D head_dim, E d_model, F
--- d_ff, V vocabulary; N, M, R, C any size.

-- This folder describes heed.core, the part of heed that is written in C, for language servers,
-- help and the API pages; nothing here is ever loaded. The functions stand in the files beside this
-- one: in `core` (the class heed.Functions) what is a function only, as heed.zeros; in `both`
-- (heed.Methods) what is a method of tensors too, as heed.exp(t) and t:exp(); inside.lua has what
-- is not for users. `both.exp_ = both.exp` says that exp_ is exp in place.

---@alias heed.dtype
---| "f32"|"f64"|"i64"|"i32"|"u8"|"bool" computed with; f32 where nothing is said
---| "bf16"|"f16"|"i16"|"i8"|"u32"|"u16" stored
---@alias heed.Shape integer[] prints as [2, 4, 8], concatenates, compares with ==
---@alias heed.Dims integer|integer[]
---@alias heed.Ids heed.Tensor|table integers: tokens, classes, positions, from 1; nested Lua tables are converted
---@alias heed.MakeOptions { dtype?: heed.dtype, requires_grad?: boolean }
---@alias heed.DrawOptions { dtype?: heed.dtype, requires_grad?: boolean, generator?: heed.Generator }

---Numbers of one dtype in a shape. `t[key]` reads and `t[key] = v` writes: by a number (`t[n + 1]`
---is nil, so ipairs ends), by a list of numbers, slices `{first, last, step}`, index tensors and
---bool tensors, or by an index or bool tensor alone. Numbers and slices give views, tensors copies;
---several index tensors broadcast together. `v` is a number, a table, or a tensor that broadcasts.
---
---Everything that computes is a function and a method: `heed.exp(t)` is `t:exp()`. `+ - * / ^ % //`
---and unary minus work element by element, `& | ~` on bool tensors; `==` asks whether two names are
---one tensor, `..` takes tensors of one element.
---
---```lua
---local t = heed.range(1, 12):view(3, 4)
---print(t[2], t[{ 2, 3 }]) --> [5., 6., 7., 8.] f32 [4] 7.0
---print(t[{ {}, { 1, 4, 3 } }]) -- columns 1 and 4
---print(t[t:gt(10)], t[{ -1, heed.ids { 4, 1 } }]) --> [11., 12.] f32 [2] [12., 9.] f32 [2]
---t[{ {}, 1 }] = 0
---print(t[3] * 2 + 1) --> [ 1., 21., 23., 25.] f32 [4]
---```
---@class heed.Tensor: userdata, heed.Methods
---@field shape heed.Shape
---@field dtype heed.dtype
---@field grad heed.Tensor|nil of a leaf, after backward; may be set, also to nil
---@field requires_grad boolean may be set on leaves of f32 and f64
---@field is_leaf boolean made by hand, not by an operation that was recorded
---@operator add(heed.Tensor|number): heed.Tensor
---@operator sub(heed.Tensor|number): heed.Tensor
---@operator mul(heed.Tensor|number): heed.Tensor
---@operator div(heed.Tensor|number): heed.Tensor
---@operator mod(heed.Tensor|number): heed.Tensor
---@operator pow(heed.Tensor|number): heed.Tensor
---@operator idiv(heed.Tensor|number): heed.Tensor
---@operator unm: heed.Tensor
---@operator band(heed.Tensor): heed.Tensor
---@operator bor(heed.Tensor): heed.Tensor
---@operator bxor(heed.Tensor): heed.Tensor
---@operator bnot: heed.Tensor
---@operator len: integer
---@operator concat(string|number): string
local Tensor = {}

---Lets go of the memory now rather than when it is collected. Using the tensor afterwards is an
---error, freeing it twice is not; views of the same memory live on.
---
---```lua
---local t = heed.zeros(1000, 1000)
---t:free()
---print((pcall(t.sum, t))) --> false
---```
function Tensor:free() end

---Which memory it is: equal for tensors that share theirs.
---
---```lua
---local t = heed.zeros(2, 3)
---print(t:view(6):data_id() == t:data_id(), t:clone():data_id() == t:data_id()) --> true false
---```
---@return lightuserdata
function Tensor:data_id() end

---@type heed.core
local core

return core
