---@meta _
--- Memory, threads, time.

---@class heed.Functions
local core = {}

---Tensors made until it closes, in this coroutine, are dropped then. Leaves that want gradients belong to no scope.
---@return heed.Scope
function core.scope() end

---Takes tensors (and those in tables) out of every scope: parameters, moments, caches. Returns its arguments.
---@param ... any
---@return any ...
function core.keep(...) end

---Bytes.
---@param options? { reset_peak?: boolean }
---@return { live: integer, pooled: integer, peak: integer, limit: integer }
function core.memory(options) end

---Past it, allocations are errors. Returns the former limit.
---@param bytes? integer 0 or nothing: none
---@return integer
function core.memory_limit(bytes) end

---Gives idle memory back to the system.
---@return integer bytes
function core.memory_trim() end

---@param n integer
function core.set_num_threads(n) end

---@return integer
function core.get_num_threads() end

---An interrupt (Ctrl-C) waits until fn has returned.
---@param fn fun(...): ...
---@param ... any
---@return any ...
function core.uninterrupted(fn, ...) end

---Seconds that only grow.
---@return number
function core.clock() end

---@return { version: string, lua: string, blis: string, gemm: string, isa: string, cpu: string, threads: integer }
function core.info() end

---@class heed.Scope: userdata for `local scope <close> = heed.scope()`
local Scope = {}

---Lets tensors (and those in tables) out, to the scope around it; returns its arguments.
---@param ... any
---@return any ...
function Scope:keep(...) end

---Drops what was made since and not kept.
function Scope:close() end
