local buffers = require "heed.nn.cache.buffers"
local calls = require "heed.nn.calls"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local mask_tree = require "heed.mask.tree"
local row_masks = require "heed.mask.rows"
local state = require "heed.nn.cache.state"
local states = require "heed.nn.cache.states"
local steps = require "heed.nn.cache.steps"
local walk = require "heed.nn.walk"

local WHERE = "heed.nn.Module:new_cache"
local KNOWN = check.set("batch", "max_len", "dtype")
local FLOATS = core.dtypes.floats
local MOST_ROWS = 1 << 24 -- no batch has as many: something else came by mistake

---What a model has read so far: the keys and values of its attentions, so that each new token costs
---one token. Made by `model:new_cache`, given as `cache=` to attentions, layers, stacks, positions
---and nn.Transformer's decode, under heed.no_grad.
---
---Row b of the batch holds its first lengths[b] tokens, and what is new comes behind them; masks,
---positions and rotary count from there. Tokens that a padding mask hides are not kept (its numbers
---count the kept ones too). Keys and values of a memory are made once, until another memory comes.
---
---```lua
---local layers = nn.TransformerEncoder(2, 8, 2, 16, { dropout = 0, rotary = true })
---local x, causal = heed.randn(1, 5, 8), heed.mask.causal() -- causal: a decoder-only model
---heed.no_grad(function()
---    local cache = layers:new_cache { batch = 1, max_len = 5 }
---    layers(x:narrow(2, 1, 4), { mask = causal, cache = cache })
---    local last = layers(x:narrow(2, 5, 1), { mask = causal, cache = cache })
---    local whole = layers(x, { mask = causal })
---    print(last:allclose(whole:narrow(2, 5, 1), { atol = 1e-5 })) --> true
---    print(cache:lengths()) --> [5] i64 [1]
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

-- ---- what attention asks for --------------------------------------------------------------------

local function entry_of(self, attention)
    local entry = self.entries[attention]
    if not entry then
        errors.raise("cache: expected one that new_cache of this model made, "
            .. "got one of a model without this attention")
    end
    return entry
end

local function check_batch(self, t)
    if t:size(1) ~= self.batch then
        errors.raise("cache: expected a batch of %d, got %d", self.batch, t:size(1))
    end
    if t.requires_grad then
        errors.raise "cache: expected a call under heed.no_grad: nothing goes back through a cache"
    end
end

---The part that a call of an attention has in a step: k, v [B, max_len, Hk, D], of which the first
---`length` of each row count; the new ones belong behind `before`, or at `places`; mask: who sees
---what of it; offset: how many tokens came before, a number or [B].
---@class heed.CacheStep
---@field k heed.Tensor
---@field v heed.Tensor
---@field length integer
---@field before integer|nil
---@field places heed.Tensor|nil
---@field offset integer|heed.Tensor|nil
---@field mask userdata|nil
---@field of_memory boolean
---@field start heed.Tensor|nil [B, E] of a recurrent layer: its states before

-- What a step of any layer begins with.
local function begin(self, layer, x, given, where)
    local entry, L = entry_of(self, layer), x:size(2)
    check_batch(self, x)
    local slot = steps.enter(self, entry)
    local before = slot.state
    local longest = before.longest + L
    if longest > self.max_len then
        errors.raise("%scache: expected at most %d tokens (max_len), got %d: %d kept and %d new",
            where, self.max_len, longest, before.longest, L)
    end
    local advance = state.advance(before, L, row_masks.padding_of(given), self.max_len)
    return { cache = self, entry = entry, slot = slot, advance = advance, of_memory = false }
end

---New tokens x [B, L, E] of an attention. They count as read when `done` was called.
---@param attention heed.nn.MultiHeadAttention
---@param x heed.Tensor
---@param given heed.Mask|nil
---@param where string begins messages: the attention's name in its layer
---@return heed.CacheStep
function cache.step(self, attention, x, given, where)
    local step = begin(self, attention, x, given, where)
    local advance, before = step.advance, step.slot.state
    step.mask = state.mask(advance, given, attention.num_heads, where, x.dtype)
    step.k, step.v = buffers.of(self, step.slot, attention, x.dtype)
    step.places, step.before, step.length = advance.rows, before.uniform, before.longest + x:size(2)
    step.offset = before.uniform or state.tensor(before)
    return step
end

---New tokens x [B, L, E] of a recurrent layer, and its states before them: [B, E], or nil when
---nothing was read.
---@param layer heed.nn.Module
---@param x heed.Tensor
---@param given heed.Mask|nil of which padding counts
---@param where string begins messages
---@return heed.CacheStep
---@return heed.Tensor|nil state
function cache.recurrent_step(self, layer, x, given, where)
    local step = begin(self, layer, x, given, where)
    step.start = states.at(step.slot.states, step.slot.state)
    return step, step.start
end

---The tokens of a recurrent layer's step are read: the states after each of them, [B, L, E].
---@param step heed.CacheStep
---@param after heed.Tensor
function cache.recurrent_done(step, after)
    if not core.shapes_only() then
        step.slot.states = states.new(step.start, after, step.slot.state)
    end
    cache.done(step)
end

---The tokens of a step are read.
---@param step heed.CacheStep
function cache.done(step)
    if step.of_memory then return end
    step.slot.state = step.advance.after
    step.cache.first = step.cache.first or step.entry
end

---All that a step attends to, [B, Hk, S, D].
---@param step heed.CacheStep
---@param dtype heed.dtype of the queries
---@return heed.Tensor keys
---@return heed.Tensor values
function cache.held(step, dtype) return buffers.read(step, dtype) end

---Takes the keys and values [B, L, Hk, D] of a step's tokens, and gives all.
---@param step heed.CacheStep
---@param k heed.Tensor
---@param v heed.Tensor
---@return heed.Tensor keys [B, Hk, S, D]
---@return heed.Tensor values
function cache.append(step, k, v)
    check_batch(step.cache, k)
    buffers.write(step, k, v)
    return buffers.read(step, k.dtype)
end

---Cosines and sines of a step's tokens, made once for all layers.
---@param step heed.CacheStep
---@param rotary heed.nn.Rotary
---@param dtype heed.dtype
---@return heed.Tensor cos
---@return heed.Tensor sin
function cache.rotary_rows(step, rotary, dtype)
    local advance = step.advance
    local rows = advance.rotary[rotary]
    if not rows or rows.dtype ~= dtype then
        local cos, sin = rotary:rows_behind(step.offset, advance.length, dtype)
        rows = { cos = core.keep(cos), sin = core.keep(sin), dtype = dtype }
        advance.rotary[rotary] = rows -- last: an interrupt may come between
    end
    return rows.cos, rows.sin
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
---@return heed.CacheStep
function cache.memory(self, attention, key, value, make)
    local entry = entry_of(self, attention)
    local k, v = entry.memory_k, entry.memory_v
    if not cache.knows(self, attention, key, value) then
        k, v = make()
        check_batch(self, k)
        local dtype = self.dtype or k.dtype
        k, v = k:to(dtype), v:to(dtype)
        if not core.shapes_only() then
            entry.memory_k, entry.memory_v = core.keep(k), core.keep(v)
            entry.key, entry.value, entry.origin = key, value, nil
        end
    end
    return { k = k, v = v, length = k:size(2), of_memory = true }
end

-- ---- what users ask for -------------------------------------------------------------------------

local function state_of(self)
    steps.refresh(self)
    return self.first and self.first[1].state or self.empty
end

local function each_slot(self, visit)
    for _, entry in pairs(self.entries) do
        for _, slot in ipairs(entry) do visit(slot) end
    end
end

-- Each state in place of another, made once.
local function replace_states(self, make)
    local made = {}
    each_slot(self, function(slot)
        local old = slot.state
        made[old] = made[old] or make(old)
        slot.state = made[old]
    end)
end

---How many tokens each row holds.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---print(mha:new_cache({ batch = 2, max_len = 4 }):lengths()) --> [0, 0] i64 [2]
---```
---@return heed.Tensor lengths i64 [B]
function Cache:lengths() return state.tensor(state_of(self)) end

---How many tokens came before, for positions: one number while all rows have the same, or a tensor
---[B].
---
---```lua
---print(nn.MultiHeadAttention(8, 2):new_cache({ max_len = 4 }):offset()) --> 0
---```
---@return integer|heed.Tensor
function Cache:offset()
    local now = state_of(self)
    return now.uniform or state.tensor(now)
end

local function list_of(where, name, value)
    if check.is_live(value) then value = value:totable() end
    if type(value) ~= "table" then
        errors.raise("%s: %s: expected a list or a tensor of integers, got %s", where, name,
            check.describe(value))
    end
    return value
end

-- n tokens of a length, or all but n when it is negative.
local function cropped(length, n)
    return n < 0 and math.max(length + n, 0) or math.min(length, n)
end

---Forgets what stands behind the first n tokens of each row, or the last n when n is negative. Rows
---that hold fewer stay as they are, or become empty.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---local cache = mha:new_cache { batch = 2, max_len = 4 }
---local options = { mask = heed.mask.causal(), cache = cache }
---heed.no_grad(function() mha(heed.randn(2, 3, 8), options) end)
---print(cache:crop { 2, 3 }:lengths()) --> [2, 3] i64 [2]
---print(cache:crop(-1):lengths()) --> [1, 2] i64 [2]
---```
---@param n integer|integer[]|heed.Tensor one number for all rows, or [B]
---@return heed.Cache self
function Cache:crop(n)
    local where = "heed.Cache:crop"
    local counts = type(n) ~= "number" and list_of(where, "n", n) or nil
    if counts and #counts ~= self.batch then
        errors.raise("%s: n: expected %d numbers, got %d", where, self.batch, #counts)
    end
    local given = {}
    for i, count in ipairs(counts or { n }) do
        given[i] = check.integer(where, "n", count, math.mininteger)
    end
    steps.settle(self)
    local function cut(lengths)
        local new = {}
        for b, length in ipairs(lengths) do new[b] = cropped(length, given[counts and b or 1]) end
        return state.new(new)
    end
    each_slot(self, function(slot)
        states.check_crop(where, slot.states, cut(slot.state.lengths).lengths)
    end)
    replace_states(self, function(old)
        local new = cut(old.lengths)
        return state.same(new, old) and old or new
    end)
    return self
end

---Calls fn(...) as one step: what a call in it adds stands behind what was there before the step,
---however often an attention is called. A call of the model is a step by itself; this is for
---functions that call parts of it several times for the same tokens.
---
---```lua
---local layer = nn.TransformerEncoderLayer(8, 2, 16):eval() -- one layer, used twice
---local cache = layer:new_cache { max_len = 4 }
---local options = { mask = heed.mask.causal(), cache = cache }
---local function twice(x) return layer(layer(x, options), options) end
---heed.no_grad(function()
---    for _ = 1, 3 do cache:step(twice, heed.randn(1, 1, 8)) end
---end)
---print(cache:lengths()) --> [3] i64 [1]
---```
---@param fn fun(...: any): any ...
---@param ... any what fn is called with
---@return any ... what fn gives
function Cache:step(fn, ...)
    check.type("heed.Cache:step", "fn", fn, "function")
    return calls.run(self, "step", function(_, ...) return fn(...) end, ...)
end

local function is_identity(list, batch)
    for i, b in ipairs(list) do
        if i ~= b then return false end
    end
    return #list == batch
end

---Row i becomes what row rows[i] was: for beams, and to drop rows that are finished or have several
---of one. There may be more or fewer rows than before.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---local cache = mha:new_cache { batch = 2, max_len = 4 }
---local options = { mask = heed.mask.causal(), cache = cache }
---heed.no_grad(function() mha(heed.randn(2, 3, 8), options) end)
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
    steps.settle(self)
    local move_buffers, empty = buffers.reorder(self, list), state.empty(#list)
    core.uninterrupted(function() -- all rows, or none
        move_buffers()
        replace_states(self, function(old)
            local lengths = {}
            for i, b in ipairs(list) do lengths[i] = old.lengths[b] end
            return state.new(lengths)
        end)
        self.batch, self.empty = #list, empty
    end)
    return self
end

function Cache:__tostring()
    return ("cache: %d rows of at most %d tokens, %s kept"):format(self.batch, self.max_len,
        table.concat(state_of(self).lengths, ", "))
end

-- ---- making one ---------------------------------------------------------------------------------

---Is this a cache?
---@return boolean
function cache.is_cache(value) return getmetatable(value) == Cache end

---@param where string begins messages
---@return heed.Cache|nil
function cache.check(where, value)
    if value == nil or cache.is_cache(value) then return value end
    return errors.raise("%s: cache: expected a cache (model:new_cache), got %s", where,
        check.describe(value))
end

-- A call of what has an attention in it may be a step.
local function watch(self, module, seen)
    if seen[module] then return self.within[module] end
    seen[module] = true
    local has = self.entries[module] ~= nil
    walk.each_member(module, 1, function(_, _, _, value)
        if walk.is_module(value) then has = watch(self, value, seen) or has end
    end)
    if not has then return false end
    self.within[module] = true
    calls.watch(module)
    return true
end

---@param model heed.nn.Module
---@param options { batch?: integer, max_len: integer, dtype?: heed.dtype }
---@return heed.Cache
function cache.new(model, options)
    check.type(WHERE, "options", options, "table")
    options = check.options(WHERE, options, KNOWN)
    local self = { entries = {} }
    self.batch = check.integer(WHERE, "batch", options.batch or 1, 0)
    if self.batch > MOST_ROWS then
        errors.raise("%s: batch: expected at most %d, got %d", WHERE, MOST_ROWS, self.batch)
    end
    self.max_len = check.integer(WHERE, "max_len", options.max_len, 0)
    self.dtype = options.dtype and check.one_of(WHERE, "dtype", options.dtype, FLOATS)
    self.empty = state.empty(self.batch)
    self.model, self.born, self.within = model, calls.count(), { [self] = true }
    walk.each_module(model, 1, function(path, module)
        if module.keeps_cache then
            self.entries[module] = { { state = self.empty }, path = path == "" and "it" or path }
        end
    end)
    watch(self, model, {})
    if next(self.entries) == nil then
        errors.raise("%s: expected a model with a MultiHeadAttention or an SSRU in it", WHERE)
    end
    return setmetatable(self, Cache)
end

-- What a mask of the `mask` option says, for attention over a cache.
function cache.mask(where, value)
    if value == nil then return nil end
    local given = mask_tree.of(where, value)
    if given.packed then errors.raise("%s: packed(...) goes with no cache", where) end
    return given
end

return cache
