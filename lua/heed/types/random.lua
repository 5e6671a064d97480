---@meta _
--- Random numbers.
---
--- The numbers are counter-based (Philox 4x32-10): element i of draw n under a seed is one number,
--- on any number of threads.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---A stream of random numbers of one's own, for whatever takes `generator`: it neither moves the
---training stream nor is moved by it.
---
---```lua
---local shuffle = heed.generator(1)
---print(heed.randperm(5, { generator = shuffle })) --> [1, 5, 3, 2, 4] i64 [5]
---```
---@param seed integer
---@return heed.Generator
function core.generator(seed) end

---Starts the training stream of this Lua state anew: what is drawn after it is the same again.
---
---```lua
---heed.manual_seed(42)
---local first = heed.randn(3)
---heed.manual_seed(42)
---print(first:equal(heed.randn(3))) --> true
---```
---@param n integer the seed
function core.manual_seed(n) end

---The state of the training stream as a tensor; or puts a saved one back, to go on from there.
---
---```lua
---local saved = heed.rng_state()
---local a = heed.rand(3)
---heed.rng_state(saved)
---print(a:equal(heed.rand(3))) --> true
---```
---@param saved? heed.Tensor i64 [2]
---@return heed.Tensor? state i64 [2], when nothing was put back
function core.rng_state(saved) end

---n classes (from 1) of each row, drawn as often as their weights say; they need not add up to 1.
---Without replacement no class comes twice, and the draws are in the order they were made
---(Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir"). An error for
---negative weights, NaN, rows of zeros, and more draws without replacement than weights above 0. No
---gradient.
---
---```lua
---local probabilities = heed.tensor { 2, 1, 0.1 }:softmax(1)
---print(probabilities:multinomial(8, { replacement = true, generator = heed.generator(1) }))
---```
---@param t heed.Tensor [classes] or [rows, classes], f32 or f64
---@param n? integer default 1
---@param options? { replacement?: boolean, generator?: heed.Generator } replacement: default false;
---generator: default the training stream
---@return heed.Tensor # i64 [n] or [rows, n]
function both.multinomial(t, n, options) end

---A stream of random numbers of one's own. heed.checkpoint saves it.
---@class heed.Generator: userdata
local Generator = {}

---The state as a tensor; or puts a saved one back.
---@param saved? heed.Tensor i64 [2]
---@return heed.Tensor? state i64 [2], when nothing was put back
function Generator:state(saved) end
