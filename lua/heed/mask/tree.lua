--- Masks as trees: leaves (heed.mask.kinds) that "and", "or" and "not" join.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local kinds = require "heed.mask.kinds"

local tree = {}

tree.STEPS = 40 -- of a program, at most: HD_MASK_STEPS
-- Of a mask: what is joined with itself again and again doubles each time, and every part is visited.
tree.MOST = 10000
tree.FLOATS = core.dtypes.floats

-- The class of heed.mask.
local Mask = {}
Mask.__index = Mask
Mask.__name = "mask"

tree.Mask = Mask

---A leaf: kind is a name of heed.mask.kinds, the rest is the kind's own.
---@param kind string
---@param fields? table
---@return heed.Mask
function tree.leaf(kind, fields)
    local leaf = fields or {}
    leaf.op, leaf.fixed, leaf.length = kind, kinds[kind].fixed or false, kinds[kind].step and 1 or 0
    return setmetatable(leaf, Mask)
end

-- fixed: any sizes will do, and no tensor is made for them; length: of its program, about; adds,
-- padded: is there a bias, are there lengths; packed: the leaf that says where sequences begin;
-- ends: the one that says where rows end; slopes: of ALiBi.
local function joined(op, a, b)
    local node = { op = op, a, b }
    node.length = a.length + (b and b.length or 0) + 1
    if node.length > tree.MOST then
        errors.raise("heed.Mask: expected a mask of at most %d parts; "
            .. "heed.mask.bool(m:dense(L, S)) makes one of it", tree.MOST)
    end
    node.fixed = a.fixed and (not b or b.fixed) and node.length <= tree.STEPS
    node.padded = a.padded or b and b.padded
    return setmetatable(node, Mask)
end

local function refuse(self, operator)
    if self.adds then
        errors.raise("heed.Mask: %s: expected masks of booleans, got %s, which adds a bias; "
            .. "& takes both", operator, tostring(self))
    elseif self.packed then
        errors.raise("heed.Mask: %s: expected masks without packed(...), which says where "
            .. "sequences begin; & takes it", operator)
    end
end

---What both let see.
function tree.conjunction(a, b)
    local packed = a.packed or b.packed
    if packed and (a.packed and b.packed or a.padded or b.padded) then
        errors.raise("heed.Mask: &: expected neither padding(...) nor another packed(...) beside "
            .. "packed(...), which says all about lengths")
    end
    local node = joined("and", a, b)
    node.packed, node.adds, node.ends = packed, a.adds or b.adds, a.ends or b.ends
    node.slopes = a.slopes or b.slopes
    if a.slopes and b.slopes then node.slopes = core.keep(core.add(a.slopes, b.slopes)) end
    return node
end

---What either lets see.
function tree.disjunction(a, b)
    refuse(a, "|")
    refuse(b, "|")
    if rawequal(a, b) then return a end
    return joined("or", a, b)
end

---What a hides.
function tree.negation(a)
    refuse(a, "~")
    return joined("not", a)
end

---Calls visit(leaf, kind) for each leaf, from the left.
function tree.each_leaf(node, visit)
    if kinds[node.op] then return visit(node, kinds[node.op]) end
    tree.each_leaf(node[1], visit)
    if node[2] then tree.each_leaf(node[2], visit) end
end

-- How it was written. `within`: the operator around it, which | binds less than.
local function written(node, within)
    if kinds[node.op] then return kinds[node.op].name(node) end
    if node.op == "not" then return "~" .. written(node[1], "not") end
    local sign = node.op == "and" and " & " or " | "
    local text = written(node[1], node.op) .. sign .. written(node[2], node.op)
    local apart = within and within ~= node.op and (within == "not" or node.op == "or")
    return apart and "(" .. text .. ")" or text
end

function Mask:__tostring() return written(self) end

---Complains about a leaf whose tensor was dropped.
function tree.check_alive(leaf, raise)
    local given = leaf.t or leaf.ids or leaf.lengths
    local alive = not given or check.is_live(given)
    if not alive or leaf.key_ids and not check.is_live(leaf.key_ids) then
        raise("heed.mask.%s: expected a tensor that is alive, got one that was dropped since",
            leaf.op)
    end
end

---How many rows of the batch, and heads, a mask tells apart: 1 when they are alike.
---@param sizes table { B, H } given, for functions
---@return integer B
---@return integer H
function tree.extents(mask, sizes)
    local B, H = 1, 1
    sizes.packed = mask.packed
    tree.each_leaf(mask, function(leaf, kind)
        tree.check_alive(leaf, errors.raise)
        if not kind.extent then return end
        local b, h = kind.extent(leaf, sizes)
        B, H = b ~= 1 and b or B, h and h ~= 1 and h or H
    end)
    return B, H
end

---A mask of whatever a `mask` option may hold: a mask itself, or a tensor (booleans and integers
---hide, floats are added).
---@param where string begins messages: "heed.attention: mask"
---@param value any
---@return heed.Mask
function tree.of(where, value)
    if getmetatable(value) == Mask then return value end
    if not check.is_live(value) then
        errors.raise("%s: expected a mask (heed.mask) or a tensor, got %s", where,
            check.describe(value))
    end
    return tree.of_tensor(where, value)
end

---@param where string begins messages
---@param t heed.Tensor
---@return heed.Mask
function tree.of_tensor(where, t)
    if t:dim() < 2 or t:dim() > 4 then
        errors.raise("%s: expected [L, S], [B, L, S] or [B, H, L, S], got %s", where,
            tostring(t.shape))
    end
    local is_bias = tree.FLOATS[t.dtype] or false
    local given_as = where:match "^heed%.mask%." and where .. ": " or ""
    return tree.leaf(is_bias and "bias" or "bool", { t = t, where = given_as, adds = is_bias })
end

return tree
