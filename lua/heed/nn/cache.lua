local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local mask = require "heed.mask"
local masks = require "heed.masks"
local row_masks = require "heed.nn.row_masks"
local walk = require "heed.nn.walk"

local WHERE = "heed.nn.Module:new_cache"
local KNOWN = check.set("batch", "max_len", "dtype")

---What a model has read so far: the keys and values of its attentions, so that each new token costs one token. Made by
---`model:new_cache`, given as `cache=` to attentions, layers, stacks, positions and nn.Transformer's decode, under heed.no_grad.
---
---Row b of the batch holds its first lengths[b] tokens, and what is new comes behind them; masks, positions and rotary count from
---there. Tokens that a padding mask hides are not kept (its numbers count the kept ones too). Keys and values of a memory are made
---once, until another memory comes.
---
---```lua
---local layers = nn.TransformerEncoder(2, 8, 2, 16, { dropout = 0, rotary = true }) -- a decoder-only model, under a causal mask
---local x, causal = heed.randn(1, 5, 8), heed.mask.causal()
---heed.no_grad(function()
---    local cache = layers:new_cache { batch = 1, max_len = 5 }
---    layers(x:narrow(2, 1, 4), { mask = causal, cache = cache })
---    local last = layers(x:narrow(2, 5, 1), { mask = causal, cache = cache })
---    print(last:allclose(layers(x, { mask = causal }):narrow(2, 5, 1), { atol = 1e-5 }), cache:lengths()) --> true [5] i64 [1]
---end)
---```
---@class heed.Cache
---@field batch integer rows
---@field max_len integer the most that a row holds
local Cache = {}
Cache.__index = Cache
Cache.__name = "heed.Cache"

-- What the layers call.
local cache = {}

-- ---- lengths: values that layers share, so that what follows from them is made once --------------------------------------

-- How many tokens each row holds; uniform: the number, when it is one for all.
local function new_state(lengths)
    local low, high = math.maxinteger, 0
    for _, n in ipairs(lengths) do low, high = math.min(low, n), math.max(high, n) end
    return { lengths = lengths, longest = high, uniform = (low == high or #lengths == 0) and high or nil }
end

local function empty_state(batch)
    local lengths = {}
    for b = 1, batch do lengths[b] = 0 end
    return new_state(lengths)
end

local function tensor_of(state)
    if not state.tensor then state.tensor = core.keep(core.tensor(state.lengths, { dtype = "i64" })) end
    return state.tensor
end

-- What L new tokens a row make of a state: where they are written (nil: behind state.uniform), and the next state.
local function make_step(state, L, padding, max_len)
    local after, rows = {}, not state.uniform and {} or nil
    for b, before in ipairs(state.lengths) do
        after[b] = before + L
        if padding then after[b] = math.max(before, math.min(after[b], padding.values[b] or 0)) end
        for i = 1, rows and L or 0 do rows[#rows + 1] = (b - 1) * max_len + before + i end
    end
    return { before = state, after = new_state(after), length = L, padding = padding, masks = {},
        rows = rows and core.keep(core.tensor(rows, { dtype = "i64" })) }
end

local function step_of(state, L, padding, max_len)
    local step = state.step
    if not (step and step.length == L and step.padding == padding) then
        step = make_step(state, L, padding, max_len)
        state.step = step
    end
    return step
end

-- ---- masks -----------------------------------------------------------------------------------------------------------------

-- The mask of a step, in which rows may end at different keys.
local function make_mask(step, given, heads)
    if step.before.uniform then return given end
    if step.length == 1 and row_masks.is_causal(given) then return mask.padding(tensor_of(step.after)) end
    return row_masks.dense(given, step.before.lengths, step.length, heads)
end

local function mask_of(step, given, heads)
    local key = given or "none"
    if step.masks[key] == nil then step.masks[key] = make_mask(step, given, heads) or false end
    return step.masks[key] or nil
end

-- ---- what attention asks for -----------------------------------------------------------------------------------------------

local function entry_of(self, attention)
    local entry = self.entries[attention]
    if not entry then
        errors.raise "cache: expected one that new_cache of this model made, got one of a model without this attention"
    end
    return entry
end

local function check_batch(self, t)
    if t:size(1) ~= self.batch then errors.raise("cache: expected a batch of %d, got %d", self.batch, t:size(1)) end
    if t.requires_grad then errors.raise "cache: expected a call under heed.no_grad: nothing goes back through a cache" end
end

---How many tokens came before a query [B, ...], for an attention: one number, or a tensor [B].
---@param attention heed.nn.MultiHeadAttention
---@param query heed.Tensor
---@return integer|heed.Tensor
function cache.before(self, attention, query)
    local state = entry_of(self, attention).state
    check_batch(self, query)
    return state.uniform or tensor_of(state)
end

-- Zeros: what was never written is hidden, but it is read.
local function new_buffer(self, t)
    return core.keep(core.zeros({ self.batch, self.max_len, t:size(3), t:size(4) }, { dtype = self.dtype or t.dtype }))
end

local function write(self, buffer, t, step)
    if t.dtype ~= buffer.dtype then t = t:to(buffer.dtype) end
    if step.rows then
        local Hk, D = t:size(3), t:size(4)
        buffer:view(self.batch * self.max_len, Hk * D)[step.rows] = t:reshape(-1, Hk * D)
    else
        buffer:narrow(2, step.before.uniform + 1, step.length):copy_(t)
    end
end

local function written(buffer, length, dtype)
    local t = buffer:narrow(2, 1, length):transpose(2, 3)
    return t.dtype ~= dtype and t:to(dtype) or t
end

---Takes the keys and values of new tokens; all that is kept, and the mask of the new ones over it.
---@param attention heed.nn.MultiHeadAttention
---@param k heed.Tensor [B, L, Hk, D]
---@param v heed.Tensor [B, L, Hk, D]
---@param given heed.Mask|nil
---@return heed.Tensor keys [B, Hk, S, D]
---@return heed.Tensor values [B, Hk, S, D]
---@return heed.Mask|nil mask
function cache.append(self, attention, k, v, given)
    local entry, L = entry_of(self, attention), k:size(2)
    check_batch(self, k)
    local state = entry.state
    local longest = state.longest + L
    if longest > self.max_len then
        errors.raise("cache: expected at most %d tokens (max_len), got %d: %d kept and %d new", self.max_len, longest,
            state.longest, L)
    end
    local step = step_of(state, L, row_masks.padding_of(given), self.max_len)
    local seen = mask_of(step, given, attention.num_heads)
    entry.k, entry.v = entry.k or new_buffer(self, k), entry.v or new_buffer(self, v)
    write(self, entry.k, k, step)
    write(self, entry.v, v, step)
    entry.state = step.after
    self.first = self.first or entry
    return written(entry.k, longest, k.dtype), written(entry.v, longest, v.dtype), seen
end

---Has it keys and values of this memory?
---@return boolean
function cache.knows(self, attention, key, value)
    local entry = entry_of(self, attention)
    return entry.key == key and entry.value == value
end

---The keys and values of a memory: made by make() when it is a new one.
---@param attention heed.nn.MultiHeadAttention
---@param key heed.Tensor
---@param value heed.Tensor
---@param make fun(): heed.Tensor, heed.Tensor [B, Hk, S, D]
---@return heed.Tensor keys
---@return heed.Tensor values
function cache.memory(self, attention, key, value, make)
    local entry = entry_of(self, attention)
    if not cache.knows(self, attention, key, value) then
        check_batch(self, key)
        local k, v = make()
        check_batch(self, k)
        local dtype = self.dtype or k.dtype
        entry.compute = k.dtype
        entry.memory_k, entry.memory_v = core.keep(k:to(dtype)), core.keep(v:to(dtype))
        entry.key, entry.value, entry.origin = key, value, nil
    end
    local k, v, dtype = entry.memory_k, entry.memory_v, entry.compute
    if k.dtype ~= dtype then return k:to(dtype), v:to(dtype) end
    return k, v
end

-- ---- what users ask for ----------------------------------------------------------------------------------------------------

local function state_of(self) return self.first and self.first.state or self.empty end

---How many tokens each row holds.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---print(mha:new_cache({ batch = 2, max_len = 4 }):lengths()) --> [0, 0] i64 [2]
---```
---@return heed.Tensor lengths i64 [B]
function Cache:lengths() return tensor_of(state_of(self)) end

---How many tokens came before, for positions: one number while all rows have the same, or a tensor [B].
---
---```lua
---print(nn.MultiHeadAttention(8, 2):new_cache({ max_len = 4 }):offset()) --> 0
---```
---@return integer|heed.Tensor
function Cache:offset()
    local state = state_of(self)
    return state.uniform or tensor_of(state)
end

local function list_of(where, name, value)
    if check.is_tensor(value) then value = value:totable() end
    if type(value) ~= "table" then
        errors.raise("%s: %s: expected a list or a tensor of integers, got %s", where, name, check.describe(value))
    end
    return value
end

-- n tokens of a length, or all but n when it is negative.
local function cropped(length, n) return n < 0 and math.max(length + n, 0) or math.min(length, n) end

---Forgets what stands behind the first n tokens of each row, or the last n when n is negative. Rows that hold fewer stay as they
---are, or become empty.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---local cache = mha:new_cache { batch = 2, max_len = 4 }
---heed.no_grad(function() mha(heed.randn(2, 3, 8), { mask = heed.mask.causal(), cache = cache }) end)
---print(cache:crop { 2, 3 }:lengths()) --> [2, 3] i64 [2]
---print(cache:crop(-1):lengths()) --> [1, 2] i64 [2]
---```
---@param n integer|integer[]|heed.Tensor one number for all rows, or [B]
---@return heed.Cache self
function Cache:crop(n)
    local where = "heed.Cache:crop"
    local counts = type(n) ~= "number" and list_of(where, "n", n) or nil
    if counts and #counts ~= self.batch then errors.raise("%s: n: expected %d numbers, got %d", where, self.batch, #counts) end
    local made = {}
    local function crop(state)
        if made[state] then return made[state] end
        local lengths = {}
        for b, length in ipairs(state.lengths) do
            lengths[b] = cropped(length, check.integer(where, "n", counts and counts[b] or n, math.mininteger))
        end
        made[state] = new_state(lengths)
        return made[state]
    end
    for _, entry in pairs(self.entries) do entry.state = crop(entry.state) end
    return self
end

-- ---- other rows ------------------------------------------------------------------------------------------------------------

-- The chosen rows of a buffer, of which the first `length` tokens count. In its own memory when they are not more than it has.
local function reordered_buffer(self, buffer, rows, length)
    if not buffer then return nil end
    local count, chosen = rows:size(1), buffer:narrow(2, 1, length):index_select(1, rows)
    if count > self.batch then
        buffer = core.keep(core.zeros({ count, self.max_len, buffer:size(3), buffer:size(4) }, { dtype = buffer.dtype }))
    elseif count < self.batch then
        buffer = core.keep(buffer:narrow(1, 1, count))
    end
    buffer:narrow(2, 1, length):copy_(chosen)
    return buffer
end

-- Beams of one sentence share its memory: rows that come from the same one stay.
local function reorder_memory(entry, rows, list, batch)
    if not entry.memory_k then return end
    local origin, changed = {}, #list ~= batch
    for i, b in ipairs(list) do
        origin[i] = entry.origin and entry.origin[b] or b
        changed = changed or origin[i] ~= (entry.origin and entry.origin[i] or i)
    end
    if not changed then return end
    entry.origin = origin
    entry.memory_k = core.keep(entry.memory_k:index_select(1, rows))
    entry.memory_v = core.keep(entry.memory_v:index_select(1, rows))
end

local function is_identity(list, batch)
    for i, b in ipairs(list) do
        if i ~= b then return false end
    end
    return #list == batch
end

---Row i becomes what row rows[i] was: for beams, and to drop rows that are finished or have several of one. There may be more or
---fewer rows than before.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---local cache = mha:new_cache { batch = 2, max_len = 4 }
---heed.no_grad(function() mha(heed.randn(2, 3, 8), { mask = heed.mask.causal(), cache = cache }) end)
---print(cache:crop({ 1, 3 }):reorder({ 2, 2, 1 }):lengths()) --> [3, 3, 1] i64 [3]
---```
---@param rows integer[]|heed.Tensor
---@return heed.Cache self
function Cache:reorder(rows)
    local where = "heed.Cache:reorder"
    local list = list_of(where, "rows", rows)
    for i, b in ipairs(list) do
        if check.integer(where, "rows", b) > self.batch then
            errors.raise("%s: rows: expected rows 1..%d, got %d at %d", where, self.batch, b, i)
        end
    end
    if is_identity(list, self.batch) then return self end
    local index, made = core.tensor(list, { dtype = "i64" }), {}
    for _, entry in pairs(self.entries) do
        local state = entry.state
        entry.k = reordered_buffer(self, entry.k, index, state.longest)
        entry.v = reordered_buffer(self, entry.v, index, state.longest)
        reorder_memory(entry, index, list, self.batch)
        if not made[state] then
            local lengths = {}
            for i, b in ipairs(list) do lengths[i] = state.lengths[b] end
            made[state] = new_state(lengths)
        end
        entry.state = made[state]
    end
    self.batch = #list
    self.empty = empty_state(#list)
    return self
end

function Cache:__tostring()
    return ("cache: %d rows of at most %d tokens, %s kept"):format(self.batch, self.max_len,
        table.concat(state_of(self).lengths, ", "))
end

-- ---- making one ------------------------------------------------------------------------------------------------------------

---Is this a cache?
---@return boolean
function cache.is_cache(value) return getmetatable(value) == Cache end

---@param where string begins messages
---@return heed.Cache|nil
function cache.check(where, value)
    if value == nil or cache.is_cache(value) then return value end
    return errors.raise("%s: cache: expected a cache (model:new_cache), got %s", where, check.describe(value))
end

---@param model heed.nn.Module
---@param options { batch?: integer, max_len: integer, dtype?: heed.dtype }
---@return heed.Cache
function cache.new(model, options)
    check.type(WHERE, "options", options, "table")
    options = check.options(WHERE, options, KNOWN)
    local self = { entries = {} }
    self.batch = check.integer(WHERE, "batch", options.batch or 1, 0)
    self.max_len = check.integer(WHERE, "max_len", options.max_len, 0)
    self.dtype = options.dtype and check.one_of(WHERE, "dtype", options.dtype, { "f32", "f64", "bf16", "f16" })
    self.empty = empty_state(self.batch)
    walk.each_module(model, 1, function(_, module)
        if module.keeps_cache then self.entries[module] = { state = self.empty } end
    end)
    if next(self.entries) == nil then errors.raise("%s: expected a model with a MultiHeadAttention in it", WHERE) end
    return setmetatable(self, Cache)
end

-- What a mask of the `mask` option says, for Cache:append.
function cache.mask(where, value)
    if value == nil then return nil end
    local given = masks.of(where, value)
    if given.packed then errors.raise("%s: packed(...) goes with no cache", where) end
    return given
end

return cache
