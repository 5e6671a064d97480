--- The keys and values of a cache: [B, max_len, Hk, D] each, written behind what is there, read
--- where they lie, and their rows put into another order.

local core = require "heed.core"
local states = require "heed.nn.cache.states"

local HALVES = core.dtypes.halves

local buffers = {}

-- A run on shapes alone makes tensors without numbers, which no slot may hold.
local function keep(t) return core.shapes_only() and t or core.keep(t) end

-- Zeros: what was never written is hidden, but it is read.
local function new_buffer(self, attention, dtype)
    local shape = { self.batch, self.max_len, attention.num_kv_heads, attention.head_dim }
    return keep(core.zeros(shape, { dtype = dtype }))
end

---The buffers of a slot, made when they are first written.
---@param self heed.Cache
---@param slot table
---@param attention heed.nn.MultiHeadAttention
---@param dtype heed.dtype
---@return heed.Tensor k
---@return heed.Tensor v
function buffers.of(self, slot, attention, dtype)
    if slot.k then return slot.k, slot.v end
    dtype = self.dtype or dtype
    local k, v = new_buffer(self, attention, dtype), new_buffer(self, attention, dtype)
    if not core.shapes_only() then slot.k, slot.v = k, v end
    return k, v
end

local function write(step, buffer, t)
    if t.dtype ~= buffer.dtype then t = t:to(buffer.dtype) end
    if step.places then
        local rows, features = buffer:size(1) * buffer:size(2), t:size(3) * t:size(4)
        buffer:view(rows, features)[step.places] = t:reshape(-1, features)
    else
        buffer:narrow(2, step.before + 1, t:size(2)):copy_(t)
    end
end

---Writes the keys and values [B, L, Hk, D] of new tokens.
---@param step heed.CacheStep
---@param k heed.Tensor
---@param v heed.Tensor
function buffers.write(step, k, v)
    write(step, step.k, k)
    write(step, step.v, v)
end

---All that a step attends to, [B, Hk, S, D].
---@param step heed.CacheStep
---@param dtype heed.dtype of the queries
---@return heed.Tensor keys
---@return heed.Tensor values
function buffers.read(step, dtype)
    local function part(buffer)
        local t = buffer:narrow(2, 1, step.length):transpose(2, 3)
        -- Attention reads halves as they lie.
        local goes = t.dtype == dtype or dtype == "f32" and HALVES[t.dtype]
        return goes and t or t:to(dtype)
    end
    return part(step.k), part(step.v)
end

-- ---- other rows ---------------------------------------------------------------------------------

-- Which rows become others, and which: `to` and `from`, nil when all stay.
local function moves_of(list)
    local to, from = {}, {}
    for i, b in ipairs(list) do
        if i ~= b then to[#to + 1], from[#from + 1] = i, b end
    end
    if #to == 0 then return nil end
    return { to = core.tensor(to, { dtype = "i64" }), from = core.tensor(from, { dtype = "i64" }) }
end

-- The chosen rows of a buffer, of which the first `length` tokens count. Where they are not more
-- than it has, they will lie in its own memory: `moved` is what to write there, at moves.to.
local function reordered_buffer(self, buffer, rows, moves, length)
    local count, old = rows:size(1), buffer:narrow(2, 1, length)
    if count <= self.batch then
        return {
            buffer = count < self.batch and core.keep(buffer:narrow(1, 1, count)) or buffer,
            old = old, moved = moves and old:index_select(1, moves.from),
        }
    end
    local shape = { count, self.max_len, buffer:size(3), buffer:size(4) }
    local larger = core.keep(core.zeros(shape, { dtype = buffer.dtype }))
    larger:narrow(2, 1, length):copy_(old:index_select(1, rows))
    return { buffer = larger }
end

-- Beams of one sentence share its memory: rows that come from the same one stay. What a memory
-- becomes: { origin =, k =, v = }, or nil when it stays.
local function reordered_memory(entry, rows, list, batch)
    if not entry.memory_k then return nil end
    local origin, changed = {}, #list ~= batch
    for i, b in ipairs(list) do
        origin[i] = entry.origin and entry.origin[b] or b
        changed = changed or origin[i] ~= (entry.origin and entry.origin[i] or i)
    end
    if not changed then return nil end
    local k, v = entry.memory_k:index_select(1, rows), entry.memory_v:index_select(1, rows)
    return { origin = origin, k = core.keep(k), v = core.keep(v) }
end

---Makes what is needed for row i to become what row list[i] was, in all slots of all entries and in
---their memories: what may fail does so here, and changes nothing.
---@param self heed.Cache
---@param list integer[]
---@return function apply makes the change
function buffers.reorder(self, list)
    local rows, moves = core.tensor(list, { dtype = "i64" }), moves_of(list)
    local memories, changes, recurrent = {}, {}, {}
    for _, entry in pairs(self.entries) do
        memories[entry] = reordered_memory(entry, rows, list, self.batch)
        for _, slot in ipairs(entry) do
            recurrent[slot] = states.reordered(slot.states, list)
            for _, name in ipairs { "k", "v" } do
                local made = slot[name]
                    and reordered_buffer(self, slot[name], rows, moves, slot.state.longest)
                if made then
                    made.slot, made.name = slot, name
                    changes[#changes + 1] = made
                end
            end
        end
    end
    return function()
        for slot, kept in pairs(recurrent) do slot.states = kept end
        for entry, memory in pairs(memories) do
            entry.origin, entry.memory_k, entry.memory_v = memory.origin, memory.k, memory.v
        end
        for _, change in ipairs(changes) do
            if change.moved then change.old[moves.to] = change.moved end
            change.slot[change.name] = change.buffer
        end
    end
end

return buffers
