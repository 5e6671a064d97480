--- The states of a recurrent layer in a cache: one for each row, that after its last token.
---
--- Of the last step the states after all of its tokens are kept, so that rows can be cropped to any
--- of them; of what came before there is nothing to go back to.

local core = require "heed.core"
local errors = require "heed.errors"
local state = require "heed.nn.cache.state"

---@class heed.CacheStates
---@field start heed.Tensor [B, E] before the step
---@field after heed.Tensor [B, L, E] after each of its tokens
---@field from heed.CacheState what the rows held before it

local states = {}

-- Row b after its n[b]-th token of the step, which may be none; -1: of a row that was emptied.
local function chosen(kept, n)
    local B, L, E = kept.after:size()
    local rows = core.cat({ kept.start:unsqueeze(2), kept.after }, 2):view(B * (L + 1), E)
    local places, emptied = {}, false
    for b = 1, B do
        emptied = emptied or n[b] < 0
        places[b] = (b - 1) * (L + 1) + math.max(n[b], 0) + 1
    end
    local picked = rows:index_select(1, places)
    if not emptied then return picked end
    local empty = {}
    for b = 1, B do empty[b] = n[b] < 0 end
    return picked:masked_fill(core.tensor(empty):view(B, 1), 0)
end

---The states of the rows now, [B, E]; nil when nothing was read.
---@param kept heed.CacheStates|nil
---@param now heed.CacheState
---@return heed.Tensor|nil
function states.at(kept, now)
    if not kept then return nil end
    local n, all = {}, true
    for b, length in ipairs(now.lengths) do
        n[b] = length - kept.from.lengths[b]
        all = all and n[b] == kept.after:size(2)
    end
    if all and n[1] ~= 0 then return kept.after:select(2, kept.after:size(2)) end
    return chosen(kept, n)
end

---What a step keeps.
---@param start heed.Tensor|nil [B, E]
---@param after heed.Tensor [B, L, E]
---@param from heed.CacheState
---@return heed.CacheStates
function states.new(start, after, from)
    start = start or core.zeros({ after:size(1), after:size(3) }, { dtype = after.dtype })
    return { start = core.keep(start:contiguous()), after = core.keep(after), from = from }
end

---Refuses to go back to before the last step, unless to the very beginning.
---@param where string
---@param kept heed.CacheStates|nil
---@param lengths integer[] what the rows are to hold
function states.check_crop(where, kept, lengths)
    for b, from in ipairs(kept and kept.from.lengths or {}) do
        if lengths[b] < from and lengths[b] > 0 then
            errors.raise("%s: n: expected 0, or at least %d in row %d, got %d: a recurrent layer "
                .. "keeps no states from before its last step", where, from, b, lengths[b])
        end
    end
end

---Row i becomes what row list[i] was.
---@param kept heed.CacheStates|nil
---@param list integer[]
---@return heed.CacheStates|nil
function states.reordered(kept, list)
    if not kept then return nil end
    local lengths = {}
    for i, b in ipairs(list) do lengths[i] = kept.from.lengths[b] end
    return states.new(kept.start:index_select(1, list), kept.after:index_select(1, list),
        state.new(lengths))
end

return states
