--- Masks over rows that end at different keys, as those of a cache do: each row is asked alone, as if it were the whole batch.

local core = require "heed.core"
local mask = require "heed.mask"
local masks = require "heed.masks"

local row_masks = {}

-- The first `rows` positions of the last axis, and of axis 1 only row b.
local function row_of_tensor(t, b, S)
    if t:dim() > 2 and t:size(1) > 1 then t = t:narrow(1, b, 1) end
    return t:size(-1) > 1 and t:size(-1) > S and t:narrow(-1, 1, S) or t
end

local leaves = {}

function leaves.padding(leaf, b) return mask.padding { leaf.values[b] } end
function leaves.prefixes(leaf, b) return mask.prefix(leaf.values[b]) end
function leaves.bool(leaf, b, S) return mask.bool(row_of_tensor(leaf.t, b, S)) end
function leaves.bias(leaf, b, S) return mask.bias(row_of_tensor(leaf.t, b, S)) end

function leaves.segments(leaf, b, S)
    local function row(ids, count)
        if ids:dim() == 2 then ids = ids:select(1, b) end
        return count and ids:narrow(1, 1, count) or ids
    end
    if leaf.key_ids then return mask.segments(row(leaf.ids), row(leaf.key_ids, S)) end
    return mask.segments(row(leaf.ids, S))
end

function leaves.fn(leaf, b)
    if leaf.over == "ij" then return leaf end
    return mask.fn(function(_, h, p, j) return leaf.f(b, h, p, j) end, { over = "bhij" })
end

-- The mask of row b alone, over its S keys.
local function row_of(node, b, S)
    local leaf = leaves[node.op]
    if leaf then return leaf(node, b, S) end
    if node.op == "and" then return row_of(node[1], b, S) & row_of(node[2], b, S) end
    if node.op == "or" then return row_of(node[1], b, S) | row_of(node[2], b, S) end
    if node.op == "not" then return ~row_of(node[1], b, S) end
    return node
end

-- The leaf of padding that holds for all: what it hides no query sees.
---@param given heed.Mask|nil
---@return heed.Mask|nil
function row_masks.padding_of(given)
    if not given or given.op == "padding" then return given end
    return given.op == "and" and (row_masks.padding_of(given[1]) or row_masks.padding_of(given[2])) or nil
end

---Does a query see all keys up to its own, but for padding? So does it without a mask, when it is the last one.
---@param given heed.Mask|nil
---@return boolean
function row_masks.is_causal(given)
    if not given or given.op == "causal" or given.op == "padding" then return true end
    return given.op == "and" and row_masks.is_causal(given[1]) and row_masks.is_causal(given[2])
end

local function heads_of(node)
    if node.op == "alibi" then return node.heads end
    if node.t and node.t:dim() == 4 then return node.t:size(2) end
    return math.max(node[1] and heads_of(node[1]) or 1, node[2] and heads_of(node[2]) or 1)
end

---As a tensor what L queries of each row, behind before[b] keys, may see of the longest row's keys.
---@param given heed.Mask|nil
---@param before integer[]
---@param L integer
---@param heads integer? for functions of heads
---@return heed.Mask
function row_masks.dense(given, before, L, heads)
    local S, H, rows = 0, given and math.max(heads_of(given), heads or 1) or 1, {}
    for _, n in ipairs(before) do S = math.max(S, n + L) end
    local adds = given and given.adds
    for b, n in ipairs(before) do
        local own = n + L
        local row = given and row_of(given, b, own):dense(L, own, { heads = H }) or core.ones({ L, own }, { dtype = "bool" })
        while row:dim() < 4 do row = row:unsqueeze(1) end
        row = row:expand(1, H, L, own)
        if own < S then
            local rest = adds and core.full({ 1, H, L, S - own }, -math.huge, { dtype = row.dtype })
                or core.zeros({ 1, H, L, S - own }, { dtype = "bool" })
            row = core.cat({ row, rest }, 4)
        end
        rows[b] = row
    end
    local all = core.keep(core.cat(rows, 1))
    if not adds then return masks.of_tensor("mask", all) end
    local seen = core.keep(all:gt(-math.huge))
    return mask.bool(seen) & mask.bias(core.keep(all:masked_fill(~seen, 0)))
end

return row_masks
