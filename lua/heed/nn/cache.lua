local activations = require "heed.nn.activations"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local mask_tree = require "heed.mask.tree"
local program = require "heed.mask.program"
local row_masks = require "heed.mask.rows"
local walk = require "heed.nn.walk"

local WHERE = "heed.nn.Module:new_cache"
local KNOWN = check.set("batch", "max_len", "dtype")
local HALVES = check.set("bf16", "f16")
local MOST_ROWS = 1 << 24 -- no batch has as many: something else came by mistake

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

-- What a step's queries may see of the keys of the longest row, as C takes it: rows may end at different keys. Made once for
-- all attentions of as many heads.
local function mask_of(step, given, attention, where, dtype)
    local key, heads = given or "none", attention.num_heads
    local kind = heads .. dtype
    local known = step.masks[kind] or {}
    step.masks[kind] = known
    if known[key] == nil then
        local before, L, own = step.before, step.length, given
        if not before.uniform then own = row_masks.of(given, before.lengths, L, heads) end
        known[key] = program.for_sizes(where .. "mask", own, #before.lengths, heads, L,
            before.longest + L, dtype) or false
    end
    return known[key] or nil
end

-- ---- slots: what one call of an attention keeps; of one that is called several times in a forward each call has its own ---------

local function entry_of(self, attention)
    local entry = self.entries[attention]
    if not entry then
        errors.raise "cache: expected one that new_cache of this model made, got one of a model without this attention"
    end
    return entry
end

-- Does a call of `entry` begin a forward? The outermost call under way of the model tells; where a method of the model is what
-- runs, an attention comes again.
local function begins_forward(self, entry)
    local forward = activations.outermost(self.within, self.born)
    local begins = forward ~= self.forward or not forward and (not self.first or entry == self.first)
    self.forward = forward
    return begins
end

local function same_lengths(a, b)
    for i, n in ipairs(a.lengths) do
        if n ~= b.lengths[i] then return false end
    end
    return true
end

-- Layers before the one that failed keep nothing either: else the next forward would go on from uneven ones.
local function undo_of(self)
    return function()
        for slot, state in pairs(self.former) do slot.state = state end
        self.first, self.former = self.former_first, {}
    end
end

local function begin_forward(self)
    self.round, self.former, self.former_first = self.round + 1, {}, self.first
    if self.forward then self.forward.undo = undo_of(self) end
end

local function slot_of(self, entry)
    if begins_forward(self, entry) then begin_forward(self) end
    if entry.round ~= self.round then entry.round, entry.calls, entry.base = self.round, 0, entry[1].state end
    local number = entry.calls + 1
    entry[number] = entry[number] or { state = self.empty }
    if not same_lengths(entry[number].state, entry.base) then
        errors.raise("cache: expected as many calls of %s in each forward, got call %d, which keeps other lengths than the first",
            entry.path, number)
    end
    entry.calls = number
    return entry[number]
end

-- ---- what attention asks for -----------------------------------------------------------------------------------------------

local function check_batch(self, t)
    if t:size(1) ~= self.batch then errors.raise("cache: expected a batch of %d, got %d", self.batch, t:size(1)) end
    if t.requires_grad then errors.raise "cache: expected a call under heed.no_grad: nothing goes back through a cache" end
end

-- Zeros: what was never written is hidden, but it is read.
local function new_buffer(self, attention, dtype)
    return core.keep(core.zeros({ self.batch, self.max_len, attention.num_kv_heads, attention.head_dim },
        { dtype = self.dtype or dtype }))
end

---A call of an attention with what it keeps: k, v [B, max_len, Hk, D], of which the first `length` of each row count; the new ones
---belong behind `before`, or at `places`; mask: who sees what of it; offset: how many tokens came before, a number or [B].
---@class heed.CacheTurn
---@field k heed.Tensor
---@field v heed.Tensor
---@field length integer
---@field before integer|nil
---@field places heed.Tensor|nil
---@field offset integer|heed.Tensor|nil
---@field mask userdata|nil
---@field of_memory boolean

---New tokens x [B, L, E] of an attention. What they add is known when `done` was called.
---@param attention heed.nn.MultiHeadAttention
---@param x heed.Tensor
---@param given heed.Mask|nil
---@param where string begins messages: the attention's name in its layer
---@return heed.CacheTurn
function cache.turn(self, attention, x, given, where)
    local entry, L = entry_of(self, attention), x:size(2)
    check_batch(self, x)
    local slot = slot_of(self, entry)
    local state = slot.state
    local longest = state.longest + L
    if longest > self.max_len then
        entry.calls = entry.calls - 1
        errors.raise("%scache: expected at most %d tokens (max_len), got %d: %d kept and %d new", where, self.max_len, longest,
            state.longest, L)
    end
    local step = step_of(state, L, row_masks.padding_of(given), self.max_len)
    local turn = { cache = self, entry = entry, slot = slot, step = step, of_memory = false }
    turn.mask = mask_of(step, given, attention, where, x.dtype)
    slot.k, slot.v = slot.k or new_buffer(self, attention, x.dtype), slot.v or new_buffer(self, attention, x.dtype)
    turn.k, turn.v, turn.places, turn.before, turn.length = slot.k, slot.v, step.rows, state.uniform, longest
    turn.offset = state.uniform or tensor_of(state)
    return turn
end

---The tokens of a turn are kept.
function cache.done(turn)
    if turn.of_memory then return end
    local self, slot = turn.cache, turn.slot
    self.former[slot] = self.former[slot] or slot.state
    slot.state = turn.step.after
    self.first = self.first or turn.entry
end

local function write(turn, buffer, t)
    if t.dtype ~= buffer.dtype then t = t:to(buffer.dtype) end
    if turn.places then
        local rows, features = buffer:size(1) * buffer:size(2), t:size(3) * t:size(4)
        buffer:view(rows, features)[turn.places] = t:reshape(-1, features)
    else
        buffer:narrow(2, turn.before + 1, t:size(2)):copy_(t)
    end
end

---All that a turn attends to, [B, Hk, S, D].
---@return heed.Tensor keys
---@return heed.Tensor values
function cache.held(turn, dtype)
    local function part(buffer)
        local t = buffer:narrow(2, 1, turn.length):transpose(2, 3)
        local goes = t.dtype == dtype or dtype == "f32" and HALVES[t.dtype] -- attention reads these as they lie
        return goes and t or t:to(dtype)
    end
    return part(turn.k), part(turn.v)
end

---Takes the keys and values [B, L, Hk, D] of a turn's tokens, and gives all.
---@return heed.Tensor keys [B, Hk, S, D]
---@return heed.Tensor values
function cache.append(turn, k, v)
    check_batch(turn.cache, k)
    write(turn, turn.k, k)
    write(turn, turn.v, v)
    return cache.held(turn, k.dtype)
end

---Cosines and sines of a turn's tokens, made once for all layers.
function cache.rotary_rows(turn, rotary, dtype)
    local step = turn.step
    if step.rotary ~= rotary or step.rotary_dtype ~= dtype then
        local cos, sin = rotary:rows_behind(turn.offset, step.length, dtype)
        step.rotary, step.rotary_dtype, step.cos, step.sin = rotary, dtype, core.keep(cos), core.keep(sin)
    end
    return step.cos, step.sin
end

---Has it keys and values of this memory?
---@return boolean
function cache.knows(self, attention, key, value)
    local entry = entry_of(self, attention)
    return entry.key == key and entry.value == value
end

---A call over the keys and values of a memory: made by make() when it is a new one.
---@param attention heed.nn.MultiHeadAttention
---@param key heed.Tensor
---@param value heed.Tensor
---@param make fun(): heed.Tensor, heed.Tensor [B, S, Hk, D]
---@return heed.CacheTurn
function cache.memory(self, attention, key, value, make)
    local entry = entry_of(self, attention)
    if not cache.knows(self, attention, key, value) then
        local k, v = make()
        check_batch(self, k)
        local dtype = self.dtype or k.dtype
        entry.memory_k, entry.memory_v = core.keep(k:to(dtype)), core.keep(v:to(dtype))
        entry.key, entry.value, entry.origin = key, value, nil
    end
    return { k = entry.memory_k, v = entry.memory_v, length = entry.memory_k:size(2), of_memory = true }
end

-- ---- what users ask for ----------------------------------------------------------------------------------------------------

local function state_of(self) return self.first and self.first[1].state or self.empty end

local function each_slot(self, visit)
    for _, entry in pairs(self.entries) do
        for _, slot in ipairs(entry) do visit(slot) end
    end
end

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
    if check.is_live(value) then value = value:totable() end
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
        local lengths, same = {}, true
        for b, length in ipairs(state.lengths) do
            lengths[b] = cropped(length, check.integer(where, "n", counts and counts[b] or n, math.mininteger))
            same = same and lengths[b] == length
        end
        made[state] = same and state or new_state(lengths)
        return made[state]
    end
    each_slot(self, function(slot) slot.state = crop(slot.state) end)
    return self
end

-- ---- other rows ------------------------------------------------------------------------------------------------------------

-- Which rows become others, and which: `to` and `from`, nil when all stay.
local function moves_of(list)
    local to, from = {}, {}
    for i, b in ipairs(list) do
        if i ~= b then to[#to + 1], from[#from + 1] = i, b end
    end
    if #to == 0 then return nil end
    return { to = core.tensor(to, { dtype = "i64" }), from = core.tensor(from, { dtype = "i64" }) }
end

-- The chosen rows of a buffer, of which the first `length` tokens count. In its own memory when they are not more than it has;
-- then only what moves is written.
local function reordered_buffer(self, buffer, rows, moves, length)
    if not buffer then return nil end
    local count, old = rows:size(1), buffer:narrow(2, 1, length)
    if count > self.batch then
        buffer = core.keep(core.zeros({ count, self.max_len, buffer:size(3), buffer:size(4) }, { dtype = buffer.dtype }))
        buffer:narrow(2, 1, length):copy_(old:index_select(1, rows))
        return buffer
    end
    if moves then old[moves.to] = old:index_select(1, moves.from) end
    return count < self.batch and core.keep(buffer:narrow(1, 1, count)) or buffer
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
    local index, moves, made = core.tensor(list, { dtype = "i64" }), moves_of(list), {}
    for _, entry in pairs(self.entries) do reorder_memory(entry, index, list, self.batch) end
    each_slot(self, function(slot)
        local state = slot.state
        slot.k = reordered_buffer(self, slot.k, index, moves, state.longest)
        slot.v = reordered_buffer(self, slot.v, index, moves, state.longest)
        if not made[state] then
            local lengths = {}
            for i, b in ipairs(list) do lengths[i] = state.lengths[b] end
            made[state] = new_state(lengths)
        end
        slot.state = made[state]
    end)
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

-- Notes the calls of what has an attention in it. Of modules inside themselves there is no end.
local function watch(self, module)
    local has = false
    walk.each_module(module, 1, function(_, inner) has = has or self.entries[inner] ~= nil end)
    if not has or self.within[module] or self.entries[module] then return end
    self.within[module] = true
    activations.watch(module)
    walk.each_member(module, 1, function(_, _, _, value)
        if walk.is_module(value) then watch(self, value) end
    end)
end

---@param model heed.nn.Module
---@param options { batch?: integer, max_len: integer, dtype?: heed.dtype }
---@return heed.Cache
function cache.new(model, options)
    check.type(WHERE, "options", options, "table")
    options = check.options(WHERE, options, KNOWN)
    local self = { entries = {} }
    self.batch = check.integer(WHERE, "batch", options.batch or 1, 0)
    if self.batch > MOST_ROWS then errors.raise("%s: batch: expected at most %d, got %d", WHERE, MOST_ROWS, self.batch) end
    self.max_len = check.integer(WHERE, "max_len", options.max_len, 0)
    self.dtype = options.dtype and check.one_of(WHERE, "dtype", options.dtype, { "f32", "f64", "bf16", "f16" })
    self.empty = empty_state(self.batch)
    self.round, self.born, self.within, self.former = 0, activations.count(), {}, {}
    walk.each_module(model, 1, function(path, module)
        if module.keeps_cache then self.entries[module] = { { state = self.empty }, path = path == "" and "it" or path } end
    end)
    watch(self, model)
    if next(self.entries) == nil then errors.raise("%s: expected a model with a MultiHeadAttention in it", WHERE) end
    return setmetatable(self, Cache)
end

-- What a mask of the `mask` option says, for Cache:append.
function cache.mask(where, value)
    if value == nil then return nil end
    local given = mask_tree.of(where, value)
    if given.packed then errors.raise("%s: packed(...) goes with no cache", where) end
    return given
end

return cache
