--- How many tokens the rows of a cache hold: values that attentions share, so that what follows
--- from them is made once.

local core = require "heed.core"
local program = require "heed.mask.program"
local row_masks = require "heed.mask.rows"

local state = {}

---How many tokens each row holds.
---@class heed.CacheState
---@field lengths integer[]
---@field longest integer
---@field uniform integer|nil the length, when it is one for all
---@field tensor heed.Tensor|nil the lengths, i64 [B]
---@field advance heed.CacheAdvance|nil the last one that was made of it

---What new tokens make of a state.
---@class heed.CacheAdvance
---@field before heed.CacheState
---@field after heed.CacheState
---@field length integer L, the new tokens of a row
---@field padding table|nil
---@field masks table<string, table> by heads and dtype, then by the mask that was given
---@field rotary table<heed.nn.Rotary, { cos: heed.Tensor, sin: heed.Tensor, dtype: heed.dtype }>
---@field rows heed.Tensor|nil i64 [B L], where they are written; nil: behind before.uniform

---@param lengths integer[]
---@return heed.CacheState
function state.new(lengths)
    local low, high = math.maxinteger, 0
    for _, n in ipairs(lengths) do low, high = math.min(low, n), math.max(high, n) end
    local uniform = low == high or #lengths == 0
    return { lengths = lengths, longest = high, uniform = uniform and high or nil }
end

---@param batch integer
---@return heed.CacheState
function state.empty(batch)
    local lengths = {}
    for b = 1, batch do lengths[b] = 0 end
    return state.new(lengths)
end

---The lengths, i64 [B].
---@param self heed.CacheState
---@return heed.Tensor
function state.tensor(self)
    if not self.tensor then
        self.tensor = core.keep(core.tensor(self.lengths, { dtype = "i64" }))
    end
    return self.tensor
end

---@param a heed.CacheState
---@param b heed.CacheState
---@return boolean
function state.same(a, b)
    for i, n in ipairs(a.lengths) do
        if n ~= b.lengths[i] then return false end
    end
    return true
end

local function new_advance(self, L, padding, max_len)
    local after, rows = {}, not self.uniform and {} or nil
    for b, before in ipairs(self.lengths) do
        after[b] = before + L
        if padding then after[b] = math.max(before, math.min(after[b], padding.values[b] or 0)) end
        for i = 1, rows and L or 0 do rows[#rows + 1] = (b - 1) * max_len + before + i end
    end
    return { before = self, after = state.new(after), length = L, padding = padding, masks = {},
        rotary = {}, rows = rows and core.keep(core.tensor(rows, { dtype = "i64" })) }
end

---Of L new tokens a row. A run on shapes alone leaves nothing behind: its floats have no numbers.
---@param self heed.CacheState
---@param L integer
---@param padding table|nil hides some of them
---@param max_len integer
---@return heed.CacheAdvance
function state.advance(self, L, padding, max_len)
    if core.shapes_only() then return new_advance(self, L, padding, max_len) end
    local known = self.advance
    if not (known and known.length == L and known.padding == padding) then
        self.advance = new_advance(self, L, padding, max_len)
    end
    return self.advance
end

---What the new queries may see of the keys of the longest row, as C takes it: rows may end at
---different keys. Made once for all attentions of as many heads.
---@param advance heed.CacheAdvance
---@param given heed.Mask|nil
---@param heads integer
---@param where string begins messages
---@param dtype heed.dtype
---@return userdata|nil mask
function state.mask(advance, given, heads, where, dtype)
    local key, kind = given or "none", heads .. dtype
    local known = advance.masks[kind] or {}
    advance.masks[kind] = known
    if known[key] == nil then
        local before, L, own = advance.before, advance.length, given
        if not before.uniform then own = row_masks.of(given, before.lengths, L, heads) end
        known[key] = program.for_sizes(where .. "mask", own, #before.lengths, heads, L,
            before.longest + L, dtype) or false
    end
    return known[key] or nil
end

return state
