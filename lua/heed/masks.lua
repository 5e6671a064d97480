--- What attention and layers do with a `mask` option: a mask, or a tensor, becomes what C takes.

local mask = require "heed.mask"

local masks = {}

local Mask = getmetatable(mask.causal())

-- A mask made ready for one size: what the layers of a stack share, so that the dense part is built once.
local Settled = {}

---The four arguments that the C layers take for a mask.
---@param where string for messages
---@param value any nil, a mask, a tensor, or what settle gave
---@param query heed.Tensor [..., L, E or D]
---@param key heed.Tensor [..., S, E or D]
---@param heads? integer for masks that differ by head; default: the query's own, when it has 4 dimensions
---@return boolean causal
---@return heed.Tensor|nil key_lengths i64 [B]; of a packed batch the starts, [2, B + 1]
---@return heed.Tensor|nil mask bool
---@return heed.Tensor|nil bias
function masks.split(where, value, query, key, heads)
    if value == nil then return false end
    if getmetatable(value) == Settled then return value.causal, value.lengths, value.mask, value.bias end
    return Mask.of(where, value):parts(query, key, heads)
end

---The same once for all layers of a stack.
---@param where string
---@param value any
---@param query heed.Tensor
---@param key heed.Tensor
---@param heads integer for masks that differ by head
---@return table|nil
function masks.settle(where, value, query, key, heads)
    if value == nil or getmetatable(value) == Settled then return value end
    local causal, lengths, dense, bias = Mask.of(where, value):parts(query, key, heads)
    return setmetatable({ causal = causal, lengths = lengths, mask = dense, bias = bias }, Settled)
end

return masks
