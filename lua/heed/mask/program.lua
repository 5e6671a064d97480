--- From a tree of rules to what attention asks: one argument of heed.core, with everything in it.
---
--- What the leaves say in numbers of their own is checked against the sizes they are used with.
--- Then the whole tree becomes one program (csrc/ops/attention/attention_mask.h), made once for
--- those sizes and kept in the mask. Nothing of the size L·S is made but what came so: tensors and
--- functions. Biases are added up for each call, because gradients go through them.

local by_sizes = require "heed.mask.by_sizes"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local kinds = require "heed.mask.kinds"
local tree = require "heed.mask.tree"

local program = {}

local HALVES = core.dtypes.halves

-- ---- steps --------------------------------------------------------------------------------------

-- With ends there must be place for them in every part that becomes a tensor.
local function limit_of(sizes) return sizes.ends and tree.STEPS - 2 or tree.STEPS end

-- The steps of a, of b, and one that joins them.
local function in_order(a, b, op)
    local steps = table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
    steps[#steps + 1] = { op }
    return steps
end

-- What `steps` alone say, as a tensor: of as many rows and heads as the whole mask tells apart.
local function condensed(steps, sizes)
    local packed, ends = sizes.packed, sizes.ends
    if ends then steps = in_order(steps, { kinds.ends.step(ends) }, "and") end
    local alone = core.mask(steps, nil, packed and packed.query_starts,
        packed and packed.key_starts)
    local seen = core.mask_dense(alone, sizes.rows, sizes.heads, sizes.L, sizes.S)
    return { { "dense", core.keep(seen) } }
end

-- What is more than a program holds is looked up in tensors instead.
local function join(a, b, op, sizes)
    local limit = limit_of(sizes)
    if #a > #b and #a + #b + 1 > limit then a = condensed(a, sizes) end
    if #a + #b + 1 > limit then b = condensed(b, sizes) end
    if #a + #b + 1 > limit then a = condensed(a, sizes) end
    return in_order(a, b, op)
end

-- In postfix order; nil when nothing of it says who is seen.
local function steps_of(node, sizes)
    local kind = kinds[node.op]
    if kind then return kind.step and { kind.step(node, sizes) } end
    local a, b = steps_of(node[1], sizes), node[2] and steps_of(node[2], sizes)
    if node.op ~= "not" then return a and b and join(a, b, node.op, sizes) or a or b end
    if #a >= limit_of(sizes) then a = condensed(a, sizes) end
    a[#a + 1] = { "not" }
    return a
end

local function compiled(mask, sizes)
    local packed, steps = mask.packed, steps_of(mask, sizes)
    if not (steps or packed or mask.slopes) then return nil end
    return core.mask(steps, nil, packed and packed.query_starts, packed and packed.key_starts,
        mask.slopes)
end

---What C takes for a mask, without its biases; nil when nothing is hidden and ALiBi is not in it.
---@param where string begins messages
---@return userdata|nil
function program.of(where, mask, B, H, L, S)
    if mask.fixed then
        mask.program = mask.program or compiled(mask, {})
        return mask.program
    end
    mask.programs = mask.programs or {}
    local entry = by_sizes.find(mask.programs, B, H, L, S)
    if entry then return entry[5] end
    local sizes = { B = B, H = H, L = L, S = S, packed = mask.packed, ends = mask.ends }
    local function raise(format, ...) errors.raise("%s: " .. format, where, ...) end
    tree.each_leaf(mask, function(leaf, kind)
        tree.check_alive(leaf, raise)
        if kind.fit then kind.fit(leaf, sizes, raise) end
    end)
    sizes.rows, sizes.heads = tree.extents(mask, sizes)
    return by_sizes.keep(mask.programs, { B, H, L, S, compiled(mask, sizes) })[5]
end

-- ---- biases -------------------------------------------------------------------------------------

-- [L, S] is for all, [B, L, S] for all heads, [B, H, L, S] literal.
local function four_dimensions(t)
    return t:dim() == 3 and t:unsqueeze(2) or t:dim() == 2 and t:unsqueeze(1):unsqueeze(1) or t
end

---The tensors that a mask adds, as one, without ALiBi: [L, S] or [B, H, L, S]; any may be 1.
---@param dtype? string
---@return heed.Tensor|nil
function program.bias(mask, dtype)
    if mask.sum then return mask.sum end
    local sum
    tree.each_leaf(mask, function(leaf)
        if leaf.op ~= "bias" then return end
        local t = dtype and leaf.t.dtype ~= dtype and leaf.t:to(dtype) or leaf.t
        sum = sum and core.add(four_dimensions(sum), four_dimensions(t)) or t
    end)
    return sum and sum:dim() == 3 and sum:unsqueeze(2) or sum
end

-- ---- for a call into C --------------------------------------------------------------------------

---What the layers of a stack share: a mask whose biases are summed up. nil stays nil.
---@param where string begins messages
---@param value any
---@param query heed.Tensor
---@return heed.Mask|nil
function program.once(where, value, query)
    local mask = value ~= nil and tree.of(where, value) or nil
    -- What is no tensor is refused by whoever computes with it.
    local adds = mask and mask.adds and not mask.sum and check.is_live(query)
    local bias = adds and program.bias(mask, query.dtype)
    if not bias then return mask end
    mask.programs = mask.programs or {}
    local shared = {}
    for name, field in pairs(mask) do shared[name] = field end
    shared.sum = bias
    return setmetatable(shared, tree.Mask)
end

---What heed.core takes for a mask of these sizes.
---@param where string begins messages
---@param mask heed.Mask|nil
---@param dtype string of the queries; a bias is what is computed in
---@return userdata|nil
function program.for_sizes(where, mask, B, H, L, S, dtype)
    if not mask then return nil end
    local made = program.of(where, mask, B, H, L, S)
    local bias = mask.adds and program.bias(mask, HALVES[dtype] and "f32" or dtype)
    return bias and core.mask(made, bias) or made
end

-- All sizes, and the last but one; nothing of what is no tensor.
local function sizes_of(t)
    if not check.is_tensor(t) then return nil end
    local a, b, c, d = t:size()
    return a, b, c, d, d and c or c and b or b and a
end

---What heed.core takes for the `mask` option of a call.
---@param where string begins messages
---@param value any nil, a mask or a tensor
---@param query heed.Tensor [..., L, E or D]
---@param key heed.Tensor [..., S, E or D]
---@param heads? integer default: the query's own, when it has 4 dimensions
---@return userdata|nil
function program.argument(where, value, query, key, heads)
    if value == nil then return nil end
    local mask = tree.of(where, value)
    if mask.fixed then return program.of(where, mask) end
    local a, b, c, d, L = sizes_of(query)
    local S = L
    if key ~= query then S = select(5, sizes_of(key)) end
    if not L or not S then return nil end -- C complains about what has no such size
    return program.for_sizes(where, mask, c and a or 1, d and b or heads or 1, L, S, query.dtype)
end

return program
