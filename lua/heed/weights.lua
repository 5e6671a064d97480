--- Attention weights of chosen queries and heads, without those of the others: time and memory go
--- with what was chosen.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local WISH = check.set("rows", "heads")

-- Positions 1..count or from the end, as a tensor and as a list; nil is all of them.
local function positions(where, name, value, count)
    if value == nil then return nil end
    where = where .. ": " .. name
    local list = {}
    for i, given in ipairs(check.is_tensor(value) and value:totable() or check.type(where, "list",
        value, "table")) do
        local at = math.tointeger(given)
        if not at or at == 0 or at > count or at < -count then
            errors.raise("%s: expected 1..%d, got %s", where, count, check.describe(given))
        end
        list[i] = at > 0 and at or count + 1 + at
    end
    return core.tensor(list, { dtype = "i64" }), list
end

-- A bias [B, H, L, S] of which sizes may be 1.
local function chosen(bias, rows, heads)
    if not bias then return nil end
    if rows and bias:size(3) ~= 1 then bias = bias:index_select(3, rows) end
    if heads and bias:size(2) ~= 1 then bias = bias:index_select(2, heads) end
    return bias
end

local function four_dimensions(t)
    return t:dim() == 3 and t:unsqueeze(2) or t:dim() == 2 and t:unsqueeze(1):unsqueeze(1) or t
end

-- The key head of each of the query heads.
local function key_heads(list, H, Hk)
    local of = {}
    for i, h in ipairs(list) do of[i] = (h - 1) // (H // Hk) + 1 end
    return core.tensor(of, { dtype = "i64" })
end

---softmax(scale · Q K^T + bias) of some rows: queries stay where they are, so that masks mean the
---same.
---@param where string begins messages
---@param q heed.Tensor as core.attention takes it
---@param k heed.Tensor
---@param scale? number
---@param softcap? number
---@param mask? userdata
---@param wish { rows?: heed.Ids, heads?: heed.Ids }
---@return heed.Tensor weights [B, heads, rows, S]; [B, rows, S] or [rows, S] of queries that have
---no heads
local function weights_of(where, q, k, scale, softcap, mask, wish)
    check.options(where, wish, WISH)
    if wish.heads and q:dim() ~= 4 then
        errors.raise("%s: heads: expected queries with heads, [B, H, L, D], got %s", where,
            tostring(q.shape))
    end
    local _ <close> = core.no_grad()
    local dims = q:dim()
    q, k = four_dimensions(q), four_dimensions(k)
    local B, H, L = q:size()
    local Hk, S = k:size(2), k:size(3)
    local rows = positions(where, "rows", wish.rows, L)
    local heads, list = positions(where, "heads", wish.heads, H)
    local seen = mask and core.mask_dense(mask, B, H, L, S, rows)
    local linear = mask and chosen(core.mask_dense(mask, B, H, L, S, rows, q.dtype), nil, heads)
    local bias = mask and core.mask_bias(mask)
    bias = chosen(bias and four_dimensions(bias), rows, heads)
    if linear then bias = bias and bias + linear or linear end
    if rows then q = q:index_select(3, rows) end
    if heads then
        q, k = q:index_select(2, heads), k:index_select(2, key_heads(list, H, Hk))
        seen = seen and seen:index_select(2, heads)
    end
    local own = (seen or bias) and core.mask(seen and { { "dense", seen } }, bias)
    local _, weights = core.attention(q, k, k:narrow(-1, 1, 1), scale, softcap, nil, own, true)
    return dims == 4 and weights or dims == 3 and weights:squeeze(2)
        or weights:squeeze(2):squeeze(1)
end

return weights_of
