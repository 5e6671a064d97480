---@meta _
--- Random numbers: streams, and drawing from weights.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---@param seed integer
---@return heed.Generator
function core.generator(seed) end

---Starts the training stream anew.
---@param n integer
function core.manual_seed(n) end

---The state of the training stream, or sets it.
---@param saved? heed.Tensor i64 [2]
---@return heed.Tensor?
function core.rng_state(saved) end

---n classes (i64, from 1) of each row, drawn as often as its weights say; they need not add up to 1. Without replacement no class comes
---twice, and the draws are in the order they were made (Efraimidis and Spirakis 2006). An error for negative weights, NaN, rows
---of zeros, and more draws without replacement than weights above 0. No gradient.
---
---```lua
---local weights = heed.tensor { { 1, 2, 7 }, { 0, 1, 1 } }
---print(weights:multinomial(2), weights:multinomial(5, { replacement = true, generator = heed.generator(1) }))
---```
---@param t heed.Tensor [classes] or [rows, classes], f32 or f64
---@param n? integer 1
---@param options? { replacement?: boolean, generator?: heed.Generator } false; the training stream
---@return heed.Tensor [n] or [rows, n]
function both.multinomial(t, n, options) end

---@class heed.Generator: userdata a stream of random numbers of one's own
local Generator = {}

---Gives the state, or sets it.
---@param saved? heed.Tensor i64 [2]
---@return heed.Tensor?
function Generator:state(saved) end
