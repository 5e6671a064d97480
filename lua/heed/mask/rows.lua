--- Masks over rows that end at different keys, as those of a cache do: each row is asked as if it
--- were alone. Where rows end is a part of the mask, and causal, window, dilated, prefix, padding,
--- segments and ALiBi count from there; what is made is of the size of a row of keys at most, but
--- for functions, which are asked for every cell.

local core = require "heed.core"
local errors = require "heed.errors"
local mask = require "heed.mask"
local tree = require "heed.mask.tree"

local row_masks = {}

-- ---- leaves that look up something at the places of queries and keys ---------------------------
-- rows: { before =, L =, S =, heads = }, S the keys of the longest row.

local leaves = {}

-- The first S entries of the last axis.
local function first_keys(t, S) return t:size(-1) > math.max(S, 1) and t:narrow(-1, 1, S) or t end

local function tensor(leaf, rows)
    local t = first_keys(leaf.t, rows.S)
    return tree.leaf(leaf.op, { t = t, where = leaf.where, adds = leaf.adds })
end

leaves.bool, leaves.bias = tensor, tensor

-- Of ids [S] or [B, S] those of each row's last L keys: [B, L].
local function of_queries(ids, rows)
    local places = {}
    for b, n in ipairs(rows.before) do
        places[b] = {}
        for i = 1, rows.L do places[b][i] = n + i end
    end
    local B = #rows.before
    ids = ids:dim() == 1 and ids:unsqueeze(1):expand(B, ids:size(1)) or ids
    return ids:gather(2, core.tensor(places, { dtype = "i64" }):view(B, rows.L))
end

function leaves.segments(leaf, rows)
    if leaf.key_ids then return mask.segments(leaf.ids, first_keys(leaf.key_ids, rows.S)) end
    local keys = first_keys(leaf.ids, rows.S)
    if keys:size(-1) < rows.S then
        errors.raise("mask: heed.mask.segments: ids: expected %d keys (axis %d), got %s", rows.S,
            keys:dim(), tostring(keys.shape))
    end
    return mask.segments(of_queries(keys, rows), keys)
end

-- A byte a cell, [B, H, L, S].
function leaves.fn(leaf, rows)
    local cells, f, by_place = {}, leaf.f, leaf.over == "ij"
    local H = by_place and 1 or rows.heads
    for b, n in ipairs(rows.before) do
        local hidden = ("\0"):rep(rows.S - n - rows.L)
        for h = 1, H do
            for p = n + 1, n + rows.L do
                for j = 1, n + rows.L do
                    local seen
                    if by_place then seen = f(p, j) else seen = f(b, h, p, j) end
                    cells[#cells + 1] = seen and "\1" or "\0"
                end
                cells[#cells + 1] = hidden
            end
        end
    end
    local shape = { #rows.before, H, rows.L, rows.S }
    return mask.bool(core.keep(core.frombytes(table.concat(cells), "bool", shape)))
end

local function adapted(node, rows)
    local leaf = leaves[node.op]
    if leaf then return leaf(node, rows) end
    if node.op == "and" then return adapted(node[1], rows) & adapted(node[2], rows) end
    if node.op == "or" then return adapted(node[1], rows) | adapted(node[2], rows) end
    if node.op == "not" then return ~adapted(node[1], rows) end
    return node
end

-- ---- for caches ---------------------------------------------------------------------------------

---The leaf of padding that holds for all: what it hides no query sees.
---@param given heed.Mask|nil
---@return heed.Mask|nil
function row_masks.padding_of(given)
    if not given or given.op == "padding" then return given end
    if given.op ~= "and" then return nil end
    return row_masks.padding_of(given[1]) or row_masks.padding_of(given[2])
end

---What L queries of each row, behind before[b] keys, may see of the longest row's keys.
---@param given heed.Mask|nil
---@param before integer[]
---@param L integer
---@param heads integer for functions of heads
---@return heed.Mask
function row_masks.of(given, before, L, heads)
    local ends, S = {}, 0
    for b, n in ipairs(before) do
        ends[b] = n + L
        S = math.max(S, ends[b])
    end
    local lengths = core.keep(core.tensor(ends, { dtype = "i64" }))
    local leaf = tree.leaf("ends", { lengths = lengths, values = ends })
    leaf.ends = leaf
    return given and leaf & adapted(given, { before = before, L = L, S = S, heads = heads }) or leaf
end

return row_masks
