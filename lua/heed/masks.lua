--- Masks from the inside: what heed.mask's objects are made of, and how they reach C, as one compiled mask (heed.core.mask) and
--- one bias.
---
--- A mask is a tree. Leaves say who is seen (causal, window, ...), where packed sequences begin, or what is added to the scores;
--- "and", "or" and "not" join them. What it says in numbers of its own is checked against the sizes it is used with, then its tree
--- becomes a program of C's (csrc/ops/attention/attention_mask.h), made once for those sizes and kept. Nothing of the size L·S is made
--- but what came so: tensors and functions.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local masks = {}

masks.FLOATS = check.set("f32", "f64", "bf16", "f16")
local HALVES = check.set("bf16", "f16")

local LIMIT = 32 -- steps of a program: HD_MASK_STEPS
local KEPT = 8   -- programs that a mask keeps, and tables of a function, each for sizes of its own

-- ---- trees -------------------------------------------------------------------------------------------------------

-- The class of mask.lua.
local Mask = {}
Mask.__index = Mask
Mask.__name = "mask"

masks.Mask = Mask

-- What each kind of leaf does. name(leaf): how it prints. fixed: it fits all sizes, and is the same for them.
-- fit(leaf, sizes, raise): complains when it does not fit. step(leaf, sizes): for heed.core.mask; leaves without it are no
-- part of the program. extent(leaf, sizes): how many rows of the batch, and heads, it tells apart.
local kinds = {}

---A leaf: kind is a name of `kinds`, the rest is the kind's own.
---@param kind string
---@param fields? table
---@return heed.Mask
function masks.leaf(kind, fields)
    local leaf = fields or {}
    leaf.op, leaf.fixed, leaf.length = kind, kinds[kind].fixed or false, kinds[kind].step and 1 or 0
    return setmetatable(leaf, Mask)
end

-- fixed: any sizes will do, and no tensor is made for them; length: of its program, about; adds, padded: is there a bias, are
-- there lengths; packed: the leaf that says where sequences begin; ends: where rows end (heed.nn.row_masks); slopes: of ALiBi.
local function joined(op, a, b)
    local node = { op = op, a, b }
    node.length = a.length + (b and b.length or 0) + 1
    node.fixed = a.fixed and (not b or b.fixed) and node.length <= LIMIT
    node.padded = a.padded or b and b.padded
    return setmetatable(node, Mask)
end

local function refuse(self, operator)
    if self.adds then
        errors.raise("heed.Mask: %s: expected masks of booleans, got %s, which adds a bias; & takes both", operator, tostring(self))
    elseif self.packed then
        errors.raise("heed.Mask: %s: expected masks without packed(...), which says where sequences begin; & takes it", operator)
    end
end

function masks.conjunction(a, b)
    local packed = a.packed or b.packed
    if packed and (a.packed and b.packed or a.padded or b.padded) then
        errors.raise("heed.Mask: &: expected neither padding(...) nor another packed(...) beside packed(...), which says all about lengths")
    end
    local node = joined("and", a, b)
    node.packed, node.adds, node.slopes, node.ends = packed, a.adds or b.adds, a.slopes or b.slopes, a.ends or b.ends
    if a.slopes and b.slopes then node.slopes = core.keep(core.add(a.slopes, b.slopes)) end
    return node
end

function masks.disjunction(a, b)
    refuse(a, "|")
    refuse(b, "|")
    return joined("or", a, b)
end

function masks.negation(a)
    refuse(a, "~")
    return joined("not", a)
end

local function each_leaf(node, visit)
    if kinds[node.op] then return visit(node, kinds[node.op]) end
    each_leaf(node[1], visit)
    if node[2] then each_leaf(node[2], visit) end
end

-- How it was written. `within`: the operator around it, which | binds less than.
local function written(node, within)
    if kinds[node.op] then return kinds[node.op].name(node) end
    if node.op == "not" then return "~" .. written(node[1], "not") end
    local sign = node.op == "and" and " & " or " | "
    local text = written(node[1], node.op) .. sign .. written(node[2], node.op)
    return within and within ~= node.op and (within == "not" or node.op == "or") and "(" .. text .. ")" or text
end

function Mask:__tostring() return written(self) end

local function check_alive(leaf, raise)
    local given = leaf.t or leaf.ids or leaf.lengths
    if given and not (check.is_live(given) and (not leaf.key_ids or check.is_live(leaf.key_ids))) then
        raise("heed.mask.%s: expected a tensor that is alive, got one that was dropped since", leaf.op)
    end
end

---How many rows of the batch, and heads, a mask tells apart: 1 when they are alike.
---@param sizes table { B, H } given, for functions
---@return integer B
---@return integer H
function masks.extents(mask, sizes)
    local B, H = 1, 1
    sizes.packed = mask.packed
    each_leaf(mask, function(leaf, kind)
        check_alive(leaf, errors.raise)
        if not kind.extent then return end
        local b, h = kind.extent(leaf, sizes)
        B, H = b ~= 1 and b or B, h and h ~= 1 and h or H
    end)
    return B, H
end

-- ---- leaves ------------------------------------------------------------------------------------------------------

kinds.causal = {
    fixed = true,
    name = function() return "causal()" end,
    step = function() return { "causal" } end,
}

kinds.window = {
    fixed = true,
    name = function(leaf) return ("window(%d, %d)"):format(leaf.left, leaf.right) end,
    step = function(leaf) return { "window", leaf.left, leaf.right } end,
}

-- Of packed sequences a prefix of each: keys are told apart as segments are, and queries see those of the one kind.
local function packed_prefix(packed, length_of)
    local flags = {}
    for s, length in ipairs(packed.key_lengths) do
        for j = 1, length do flags[#flags + 1] = j <= length_of(s) and 1 or 0 end
    end
    return { "segments", core.ones(packed.queries, { dtype = "i64" }), core.tensor(flags, { dtype = "i64" }) }
end

kinds.prefix = {
    fixed = true,
    name = function(leaf) return ("prefix(%d)"):format(leaf.n) end,
    step = function(leaf, sizes)
        return sizes.packed and packed_prefix(sizes.packed, function() return leaf.n end) or { "prefix", leaf.n }
    end,
}

local function fit_rows(leaf, sizes, raise, where)
    local packed = sizes.packed
    local count, expected = #leaf.values, packed and #packed.key_lengths or sizes.B
    if count ~= expected then
        raise("%s: expected %d numbers, one a %s, got %d", where, expected, packed and "sequence" or "row of the batch", count)
    end
end

kinds.prefixes = {
    name = function(leaf) return ("prefix[%d]"):format(#leaf.values) end,
    fit = function(leaf, sizes, raise) fit_rows(leaf, sizes, raise, "heed.mask.prefix: n") end,
    step = function(leaf, sizes)
        return sizes.packed and packed_prefix(sizes.packed, function(s) return leaf.values[s] end) or { "lengths", leaf.lengths }
    end,
    extent = function(leaf, sizes) return sizes.packed and 1 or #leaf.values end,
}

kinds.padding = {
    name = function(leaf) return ("padding[%d]"):format(#leaf.values) end,
    fit = function(leaf, sizes, raise)
        fit_rows(leaf, sizes, raise, "heed.mask.padding: lengths")
        for b, length in ipairs(leaf.values) do
            if length > sizes.S then
                raise("heed.mask.padding: lengths: expected at most %d, the keys, got %d at row %d", sizes.S, length, b)
            end
        end
    end,
    step = function(leaf) return { "lengths", leaf.lengths } end,
    extent = function(leaf) return #leaf.values end,
}

-- Axis `axis` of t must be `expected`, or 1 when it repeats.
local function fit_axis(raise, where, t, axis, expected, what, repeats)
    local size = t.shape[axis]
    if size == expected or repeats and size == 1 then return end
    raise("%sexpected %d %s%s (axis %d), got %s", where, expected, what, repeats and " or 1" or "", axis, tostring(t.shape))
end

local function fit_ids(raise, where, ids, B, count, what)
    fit_axis(raise, where, ids, ids:dim(), count, what)
    if ids:dim() == 2 then fit_axis(raise, where, ids, 1, B, "rows of the batch") end
end

kinds.segments = {
    name = function(leaf)
        return "segments" .. tostring(leaf.ids.shape) .. (leaf.key_ids and " to " .. tostring(leaf.key_ids.shape) or "")
    end,
    fit = function(leaf, sizes, raise)
        if leaf.key_ids then
            fit_ids(raise, "heed.mask.segments: ids: ", leaf.ids, sizes.B, sizes.L, "queries")
            fit_ids(raise, "heed.mask.segments: key_ids: ", leaf.key_ids, sizes.B, sizes.S, "keys")
            return
        end
        fit_ids(raise, "heed.mask.segments: ids: ", leaf.ids, sizes.B, sizes.S, "keys")
        if sizes.L > sizes.S then
            raise("heed.mask.segments: ids: expected at most as many queries as keys, %d, got %d; give the keys' as a second argument",
                sizes.S, sizes.L)
        end
    end,
    step = function(leaf, sizes)
        local queries = leaf.key_ids and leaf.ids or leaf.ids:narrow(-1, sizes.S - sizes.L + 1, sizes.L)
        return { "segments", queries:contiguous(), (leaf.key_ids or leaf.ids):contiguous() }
    end,
    extent = function(leaf)
        local rows = leaf.ids:dim() == 2 and leaf.ids:size(1) or 1
        return leaf.key_ids and leaf.key_ids:dim() == 2 and leaf.key_ids:size(1) or rows
    end,
}

local AXES = { [2] = { "L", "S" }, [3] = { "B", "L", "S" }, [4] = { "B", "H", "L", "S" } }
local AXIS = { B = "rows of the batch", H = "heads", L = "queries", S = "keys" }

local function fit_tensor(leaf, sizes, raise)
    for axis, letter in ipairs(AXES[leaf.t:dim()]) do
        fit_axis(raise, leaf.where, leaf.t, axis, sizes[letter], AXIS[letter], true)
    end
end

-- [L, S] is for all, [B, L, S] for all heads, [B, H, L, S] literal.
local function four_dimensions(t)
    return t:dim() == 3 and t:unsqueeze(2) or t:dim() == 2 and t:unsqueeze(1):unsqueeze(1) or t
end

local function extent_of_tensor(leaf)
    local t = leaf.t
    return t:dim() > 2 and t:size(1) or 1, t:dim() == 4 and t:size(2) or 1
end

kinds.bool = {
    name = function(leaf) return "bool" .. tostring(leaf.t.shape) end,
    fit = fit_tensor,
    step = function(leaf) return { "dense", four_dimensions(leaf.t) } end,
    extent = extent_of_tensor,
}

-- What a list keeps for sizes: { B, H, L, S, value }.
local function kept_for(list, B, H, L, S)
    for _, entry in ipairs(list) do
        if entry[4] == S and entry[3] == L and entry[1] == B and entry[2] == H then return entry end
    end
end

local function keep(list, entry)
    table.insert(list, 1, entry)
    list[KEPT + 1] = nil
    return entry
end

local function ask_all(f, over, B, H, L, S)
    local rows, cells = {}, {}
    for b = 1, B do
        for h = 1, H do
            for i = 1, L do
                local p = S - L + i
                for j = 1, S do
                    local seen
                    if over == "ij" then seen = f(p, j) else seen = f(b, h, p, j) end
                    cells[j] = seen and "\1" or "\0"
                end
                rows[#rows + 1] = table.concat(cells, "", 1, S)
            end
        end
    end
    return core.keep(core.frombytes(table.concat(rows), "bool", { B, H, L, S }))
end

kinds.fn = {
    name = function(leaf) return leaf.over == "ij" and "fn" or "fn(bhij)" end,
    step = function(leaf, sizes)
        local B, H = kinds.fn.extent(leaf, sizes)
        local entry = kept_for(leaf.tables, B, H, sizes.L, sizes.S)
            or keep(leaf.tables, { B, H, sizes.L, sizes.S, ask_all(leaf.f, leaf.over, B, H, sizes.L, sizes.S) })
        return { "dense", entry[5] }
    end,
    extent = function(leaf, sizes)
        if leaf.over == "ij" then return 1, 1 end
        return sizes.B, sizes.H
    end,
}

kinds.packed = {
    name = function(leaf) return ("packed(%d sequences)"):format(#leaf.key_lengths) end,
    fit = function(leaf, sizes, raise)
        if sizes.B ~= 1 then raise("heed.mask.packed: expected a batch of 1, got %d", sizes.B) end
        if leaf.queries ~= sizes.L then
            raise("heed.mask.packed: query_lengths: expected lengths that add up to %d, the queries, got %d", sizes.L, leaf.queries)
        elseif leaf.keys ~= sizes.S then
            raise("heed.mask.packed: key_lengths: expected lengths that add up to %d, the keys, got %d", sizes.S, leaf.keys)
        end
    end,
}

-- Row b has values[b] keys, and its last query stands at the last of them: causal and the like count from there.
kinds.ends = {
    name = function(leaf) return ("ends[%d]"):format(#leaf.values) end,
    fit = function(leaf, sizes, raise) fit_rows(leaf, sizes, raise, "ends") end,
    extent = function(leaf) return #leaf.values end,
}

kinds.bias = {
    name = function(leaf) return "bias" .. tostring(leaf.t.shape) end,
    fit = fit_tensor,
    extent = extent_of_tensor,
}

kinds.alibi = {
    name = function(leaf) return ("alibi(%d)"):format(leaf.heads) end,
    fit = function(leaf, sizes, raise)
        if leaf.heads ~= sizes.H then raise("heed.mask.alibi: heads: expected %d, got %d", sizes.H, leaf.heads) end
    end,
    extent = function(leaf) return 1, leaf.heads end,
}

-- ---- programs ----------------------------------------------------------------------------------------------------

-- The program of `steps` alone, as a tensor: of as many rows and heads as the whole mask tells apart.
local function condensed(steps, sizes)
    local packed = sizes.packed
    local program = core.mask(steps, false, nil, packed and packed.query_starts, packed and packed.key_starts)
    return { { "dense", core.keep(core.mask_dense(program, sizes.rows, sizes.heads, sizes.L, sizes.S)) } }
end

-- The steps of a, of b, and one that joins them. What is more than C takes is looked up in tensors instead.
local function join(a, b, op, sizes)
    if #a > #b and #a + #b + 1 > LIMIT then a = condensed(a, sizes) end
    if #a + #b + 1 > LIMIT then b = condensed(b, sizes) end
    if #a + #b + 1 > LIMIT then a = condensed(a, sizes) end
    local steps = table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
    steps[#steps + 1] = { op }
    return steps
end

local function steps_of(node, sizes)
    local kind = kinds[node.op]
    if kind then return { kind.step(node, sizes) } end
    local a = steps_of(node[1], sizes)
    if node.op ~= "not" then return join(a, steps_of(node[2], sizes), node.op, sizes) end
    if #a == LIMIT then a = condensed(a, sizes) end
    a[#a + 1] = { "not" }
    return a
end

-- All that must hold at once, taken apart: C has ways of its own for causality and lengths.
local function take_apart(node, parts)
    local kind = kinds[node.op]
    if node.op == "and" then
        take_apart(node[1], parts)
        take_apart(node[2], parts)
    elseif node.op == "ends" then
        parts.lengths = node.lengths
    elseif node.op == "causal" then
        parts.causal = true
    elseif node.op == "padding" and not parts.lengths then
        parts.lengths = node.lengths
    elseif not kind or kind.step then
        parts[#parts + 1] = node
    end
    return parts
end

local function compiled(mask, sizes)
    local ends, packed, steps = mask.ends and mask.ends.lengths, mask.packed, nil
    local parts = take_apart(mask, { causal = false, lengths = ends })
    for _, part in ipairs(parts) do
        local own = steps_of(part, sizes)
        steps = steps and join(steps, own, "and", sizes) or own
    end
    if not (steps or parts.causal or parts.lengths or packed or mask.slopes) then return nil end
    return core.mask(steps, parts.causal, parts.lengths, packed and packed.query_starts, packed and packed.key_starts, mask.slopes,
        ends ~= nil)
end

---What C takes for a mask; nil when nothing is hidden and ALiBi is not in it.
---@param where string begins messages
---@return userdata|nil
function masks.program(where, mask, B, H, L, S)
    if mask.fixed then
        mask.program = mask.program or compiled(mask, {})
        return mask.program
    end
    mask.programs = mask.programs or {}
    local entry = kept_for(mask.programs, B, H, L, S)
    if entry then return entry[5] end
    local sizes = { B = B, H = H, L = L, S = S, packed = mask.packed }
    local function raise(format, ...) errors.raise("%s: " .. format, where, ...) end
    each_leaf(mask, function(leaf, kind)
        check_alive(leaf, raise)
        if kind.fit then kind.fit(leaf, sizes, raise) end
    end)
    sizes.rows, sizes.heads = masks.extents(mask, sizes)
    return keep(mask.programs, { B, H, L, S, compiled(mask, sizes) })[5]
end

-- ---- biases ------------------------------------------------------------------------------------------------------

---The tensors that a mask adds, as one, without ALiBi.
---@param dtype? string
---@return heed.Tensor|nil
function masks.bias(mask, dtype)
    if mask.sum then return mask.sum end
    local sum
    each_leaf(mask, function(leaf)
        if leaf.op ~= "bias" then return end
        local t = dtype and leaf.t.dtype ~= dtype and leaf.t:to(dtype) or leaf.t
        sum = sum and core.add(four_dimensions(sum), four_dimensions(t)) or t
    end)
    return sum
end

-- ---- for a call into C -------------------------------------------------------------------------------------------

---A mask of whatever a `mask` option may hold: a mask itself, or a tensor (booleans and integers hide, floats are added).
---@param where string begins messages: "heed.attention: mask"
---@param value any
---@return heed.Mask
function masks.of(where, value)
    if getmetatable(value) == Mask then return value end
    if not check.is_live(value) then
        errors.raise("%s: expected a mask (heed.mask) or a tensor, got %s", where, check.describe(value))
    end
    return masks.of_tensor(where, value)
end

---@param where string begins messages
---@param t heed.Tensor
---@return heed.Mask
function masks.of_tensor(where, t)
    if not AXES[t:dim()] then
        errors.raise("%s: expected [L, S], [B, L, S] or [B, H, L, S], got %s", where, tostring(t.shape))
    end
    local is_bias = masks.FLOATS[t.dtype] or false
    local given_as = where:match "^heed%.mask%." and where .. ": " or ""
    local leaf = masks.leaf(is_bias and "bias" or "bool", { t = t, where = given_as })
    leaf.adds = is_bias
    return leaf
end

---What the layers of a stack share: a mask whose biases are summed up. nil stays nil.
---@param where string begins messages
---@param value any
---@param query heed.Tensor
---@return heed.Mask|nil
function masks.once(where, value, query)
    local mask = value ~= nil and masks.of(where, value) or nil
    local bias = mask and mask.adds and not mask.sum and masks.bias(mask, query.dtype)
    if not bias then return mask end
    mask.programs = mask.programs or {}
    local shared = {}
    for name, field in pairs(mask) do shared[name] = field end
    shared.sum = bias
    return setmetatable(shared, Mask)
end

---The two arguments that heed.core takes for a mask of these sizes.
---@param where string begins messages
---@param mask heed.Mask|nil
---@param dtype string of the queries; a bias is what is computed in
---@return userdata|nil mask
---@return heed.Tensor|nil bias
function masks.for_sizes(where, mask, B, H, L, S, dtype)
    if not mask then return nil, nil end
    return masks.program(where, mask, B, H, L, S), mask.adds and masks.bias(mask, HALVES[dtype] and "f32" or dtype) or nil
end

-- All sizes, and the last but one; nothing of what is no tensor.
local function sizes_of(t)
    if not check.is_tensor(t) then return nil end
    local a, b, c, d = t:size()
    return a, b, c, d, d and c or c and b or b and a
end

---The two arguments that heed.core takes for a mask.
---@param where string begins messages
---@param value any nil, a mask or a tensor
---@param query heed.Tensor [..., L, E or D]
---@param key heed.Tensor [..., S, E or D]
---@param heads? integer default: the query's own, when it has 4 dimensions
---@return userdata|nil mask
---@return heed.Tensor|nil bias
function masks.arguments(where, value, query, key, heads)
    if value == nil then return nil, nil end
    local mask = masks.of(where, value)
    if mask.fixed then return masks.program(where, mask), nil end
    local a, b, c, d, L = sizes_of(query)
    local S = L
    if key ~= query then S = select(5, sizes_of(key)) end
    if not L or not S then return nil, nil end -- C complains about what has no such size
    return masks.for_sizes(where, mask, c and a or 1, d and b or heads or 1, L, S, query.dtype)
end

return masks
