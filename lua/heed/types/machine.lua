---@meta _
--- Memory, threads, time.
---
--- Nothing here has to be called: tensors are collected by Lua.

---@class heed.Functions
local core = {}

---Tensors made from here until it closes, in this coroutine, are dropped then, unless they were
---kept. For loops that make much in a round and have no use for it in the next. Leaves that want
---gradients belong to no scope.
---
---With a function the scope ends when that returns; its results (tensors, and those in tables) are
---kept.
---
---```lua
---local best
---do
---    local scope <close> = heed.scope()
---    local scores = heed.randn(1000, 1000)
---    best = scope:keep(scores:max(2)) -- scores itself goes
---end
---print(best.shape) --> [1000]
---print(heed.scope(function() return heed.randn(1000, 1000):max(2) end).shape) --> [1000]
---```
---@param fn? fun(...): any
---@param ... any its arguments
---@return heed.Scope|any scope or the results of fn
function core.scope(fn, ...) end

---Takes tensors (and those in tables) out of every scope: for what outlives a round, such as
---caches. Returns its arguments.
---
---```lua
---local cache
---do
---    local scope <close> = heed.scope()
---    cache = heed.keep { k = heed.zeros(4, 8), v = heed.zeros(4, 8) }
---end
---print(cache.k.shape) --> [4, 8]
---```
---@param ... any
---@return any ... the arguments
function core.keep(...) end

---Bytes of this Lua state: live in tensors, pooled (given back and kept for reuse), the peak of
---what was live, and the limit (0: none). Pages of mapped files (heed.safetensors.load,
---heed.models.load) are in none of these.
---
---```lua
---heed.memory { reset_peak = true }
---local t = heed.zeros(1000, 1000)
---local m = heed.memory()
---print(m.live >= 4e6, m.peak >= m.live) --> true true
---```
---@param options? { reset_peak?: boolean } reset_peak: the peak counts anew after this call
---@return { live: integer, pooled: integer, peak: integer, limit: integer }
function core.memory(options) end

---From now on an allocation that would take more than so many bytes is an error, after what is
---garbage was collected.
---
---```lua
---local before = heed.memory_limit(64 * 2 ^ 20)
---print((pcall(heed.zeros, 1000, 100000))) --> false
---heed.memory_limit(before)
---```
---@param bytes? integer 0 or nothing: no limit
---@return integer bytes the former limit
function core.memory_limit(bytes) end

---Gives memory that lies idle in the pool back to the system.
---
---```lua
---heed.zeros(1000, 1000):free()
---local idle = heed.memory().pooled
---heed.memory_trim()
---print(heed.memory().pooled <= idle) --> true
---```
---@return integer bytes given back
function core.memory_trim() end

---How many threads compute, in this Lua state. The default is OMP_NUM_THREADS, or as many as the
---machine has cores. The results are the same bits on any number.
---
---```lua
---local before = heed.get_num_threads()
---heed.set_num_threads(1)
---print(heed.get_num_threads()) --> 1
---heed.set_num_threads(before)
---```
---@param n integer
function core.set_num_threads(n) end

---How many threads compute.
---
---```lua
---print(("%d threads"):format(heed.get_num_threads())) --> 2 threads
---```
---@return integer
function core.get_num_threads() end

---Calls fn while interrupts (Ctrl-C) wait: what is half done when they come is finished first.
---Optimisers step so.
---
---```lua
---local a, b = heed.uninterrupted(function(x) return x, x * 2 end, 21)
---print(a, b) --> 21 42
---```
---@param fn fun(...: any): ...
---@param ... any arguments of fn
---@return any ... what fn returns
function core.uninterrupted(fn, ...) end

---Seconds, which only grow: for measuring time.
---
---```lua
---local start = heed.clock()
---local _ = heed.randn(100, 100):matmul(heed.randn(100, 100))
---print(("%.3f s"):format(heed.clock() - start))
---```
---@return number seconds
function core.clock() end

---What drops tensors when it closes: `local scope <close> = heed.scope()`.
---@class heed.Scope: userdata
local Scope = {}

---Lets tensors (and those in tables) out, to the scope around it. Returns its arguments.
---@param ... any
---@return any ... the arguments
function Scope:keep(...) end

---Drops what was made since and not kept, as the end of the block does.
function Scope:close() end
