--- Which key each query may see. Masks are values: they compose with &, | and ~, print, and become
--- tensors on demand.
---
--- With L queries and S keys, query i stands at position p = S - L + i: the last query at the last
--- key. Booleans say who *may* be seen and are joined by "and"; biases are added to the scores.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local program = require "heed.mask.program"
local tree = require "heed.mask.tree"

local FLOATS = tree.FLOATS

---Which key each query may see. `a & b`: what both let it see; `a | b`: what either does; `~a`:
---what a hides. Wherever a mask is taken a tensor is taken too: booleans and integers hide, floats
---are added.
---
---Attention asks a mask block by block: what is hidden whole is not computed, and of whatever is
---composed of causal, window, dilated, prefix, padding, segments and packed no tensor [L, S] is
---made.
---@class heed.Mask
---@operator band(heed.Mask): heed.Mask
---@operator bor(heed.Mask): heed.Mask
---@operator bnot: heed.Mask
local Mask = tree.Mask

local mask = {}

-- ---- making -------------------------------------------------------------------------------------

-- What a mask makes for itself lives as long as the mask, whatever scope it was made in.
local function own(made, given) return made == given and given or core.keep(made) end

-- What core.tensor makes of a table; its complaints are about `where`.
local function tensor_of(where, value, dtype)
    local made, tensor = pcall(core.tensor, value, { dtype = dtype })
    if made then return core.keep(tensor) end
    local complaint = type(tensor) == "string" and tensor:match "heed%.tensor: values: (.*)"
    return errors.raise("%s: %s", where, complaint or tensor)
end

local function ids_of(where, value)
    if type(value) == "table" then value = tensor_of(where, value, "i64") end
    if not check.is_live(value) or FLOATS[value.dtype] or value.dtype == "bool" then
        errors.raise("%s: expected a table or tensor of integers (heed.ids makes one), got %s",
            where, check.describe(value))
    end
    return value.dtype == "i64" and value or core.keep(value:to "i64")
end

-- Lengths as a tensor and as numbers.
local function lengths_of(where, value, one)
    local lengths = ids_of(where, value)
    if lengths:dim() ~= 1 then
        errors.raise("%s: expected one number a %s, [B], got %s", where, one,
            tostring(lengths.shape))
    end
    local values = lengths:totable()
    for b, length in ipairs(values) do
        if length < 0 then
            errors.raise("%s: expected 0 or more, got %d at %s %d", where, length, one, b)
        end
    end
    return own(lengths:contiguous(), lengths), values
end

---A query sees the keys up to its own position: j <= p.
---
---```lua
---print(heed.mask.causal():grid(3))
---print(heed.mask.causal():grid(2, 4)) -- two new queries behind two keys of a cache
---```
---@return heed.Mask
function mask.causal() return tree.leaf "causal" end

---Row b sees the keys j <= lengths[b]: what stands after them is padding.
---
---```lua
---local x = heed.randn(2, 3, 8) -- sentences of 3 and 1 words
---local mha = nn.MultiHeadAttention(8, 2)
---print(mha(x, x, x, { mask = heed.mask.padding { 3, 1 } }).shape)
---print(heed.mask.padding({ 3, 1 }):dense(1, 3):squeeze())
---```
---@param lengths integer[]|heed.Tensor [B]
---@return heed.Mask
function mask.padding(lengths)
    local tensor, values = lengths_of("heed.mask.padding: lengths", lengths, "row")
    return tree.leaf("padding", { lengths = tensor, values = values, padded = true })
end

local function sum_of(name, values)
    local sum = 0
    for _, value in ipairs(values) do
        if value > math.maxinteger - sum then
            errors.raise("heed.mask.packed: %s: their sum is more than there can be", name)
        end
        sum = sum + value
    end
    return sum
end

---For batches packed by heed.pack_sequences into one row: a query sees the keys of its own sequence
---only, and causal(), window(), dilated(), prefix() and alibi() count within it, as they would in
---the batch. Tensors, functions and segments see the row as it is.
---
---```lua
---local lengths = { 2, 3 }
---local packed = heed.pack_sequences(heed.randn(2, 3, 8), lengths) -- [5, 8]
---local mask = heed.mask.packed(lengths) & heed.mask.causal()
---print(mask:grid(5))
---print(nn.MultiHeadAttention(8, 2)(packed, packed, packed, { mask = mask }).shape)
---```
---@param query_lengths integer[]|heed.Tensor [B]
---@param key_lengths? integer[]|heed.Tensor [B]; default: the queries'
---@return heed.Mask
function mask.packed(query_lengths, key_lengths)
    local where = "heed.mask.packed: "
    local queries, query_values = lengths_of(where .. "query_lengths", query_lengths, "sequence")
    local keys, key_values = queries, query_values
    if key_lengths then
        keys, key_values = lengths_of(where .. "key_lengths", key_lengths, "sequence")
    end
    if #query_values ~= #key_values then
        errors.raise("%skey_lengths: expected one number a sequence, %d, got %d", where,
            #query_values, #key_values)
    end
    local leaf = tree.leaf("packed", { key_lengths = key_values,
        queries = sum_of("query_lengths", query_values), keys = sum_of("key_lengths", key_values) })
    leaf.query_starts = core.keep(core.sequence_starts(queries))
    leaf.key_starts = keys == queries and leaf.query_starts or core.keep(core.sequence_starts(keys))
    leaf.packed = leaf
    return leaf
end

---A query sees the keys from p - left to p + right.
---
---```lua
---print(heed.mask.window(1, 1):grid(4))
---print((heed.mask.causal() & heed.mask.window(1)):grid(4)) -- the same without what is ahead
---```
---@param left integer
---@param right? integer default 0
---@return heed.Mask
function mask.window(left, right)
    return tree.leaf("window", {
        left = check.integer("heed.mask.window", "left", left, 0),
        right = check.integer("heed.mask.window", "right", right or 0, 0),
    })
end

---A query sees every step-th key from its own position on, before it and behind: p - j is a
---multiple of step (the strided pattern of Child et al. 2019). It hides keys but leaves out no
---work: attention takes blocks of neighbouring keys, and each has some that are seen.
---
---```lua
---print((heed.mask.causal() & heed.mask.dilated(2)):grid(4))
---print((heed.mask.causal() & (heed.mask.window(1) | heed.mask.dilated(3))):grid(6))
---```
---@param step integer
---@return heed.Mask
function mask.dilated(step)
    return tree.leaf("dilated", { every = check.integer("heed.mask.dilated", "step", step) })
end

---Every query sees the keys j <= n.
---
---```lua
---print((heed.mask.causal() | heed.mask.prefix(2)):grid(4)) -- a prefix language model
---```
---@param n integer|integer[]|heed.Tensor one for all rows, or [B]
---@return heed.Mask
function mask.prefix(n)
    if type(n) == "number" then
        return tree.leaf("prefix", { n = check.integer("heed.mask.prefix", "n", n, 0) })
    end
    local tensor, values = lengths_of("heed.mask.prefix: n", n, "row")
    return tree.leaf("prefixes", { lengths = tensor, values = values })
end

local function segment_ids(name, value)
    local where = "heed.mask.segments: " .. name
    local ids = ids_of(where, value)
    if ids:dim() ~= 1 and ids:dim() ~= 2 then
        errors.raise("%s: expected one number a position, [S] or [B, S], got %s", where,
            tostring(ids.shape))
    end
    return ids
end

---A query sees the keys of its own segment (packed documents).
---
---```lua
---print((heed.mask.segments { 1, 1, 2, 2 } & heed.mask.causal()):grid(4))
---print(heed.mask.segments({ 1, 2 }, { 1, 1, 2 }):grid(2, 3)) -- queries and keys of two sequences
---```
---@param ids heed.Tensor|table [S] or [B, S]: the segment of each key; the queries are the last L
---of them
---@param key_ids? heed.Tensor|table [S] or [B, S], and ids are those of the queries, [L] or [B, L]
---@return heed.Mask
function mask.segments(ids, key_ids)
    return tree.leaf("segments", { ids = segment_ids("ids", ids),
        key_ids = key_ids and segment_ids("key_ids", key_ids) })
end

---A tensor of booleans, or of integers: nonzero may be seen.
---
---Two dimensions are [L, S]. Where L = B such a tensor is refused when its rows look like padding,
---[B, S]; `t:unsqueeze(1)` says that they are queries.
---
---```lua
---local seen = heed.tensor { { true, false, true }, { true, true, true } }
---print(heed.mask.bool(seen):grid(2, 3))
---print((~heed.mask.bool(seen)):empty_rows(2, 3)[1]) -- the second query would see nothing
---```
---@param t heed.Tensor|table [L, S], [B, L, S] (for all heads) or [B, H, L, S]; sizes of 1 repeat
---@return heed.Mask
function mask.bool(t)
    if type(t) == "table" then t = tensor_of("heed.mask.bool: t", t) end
    if not check.is_live(t) then
        errors.raise("heed.mask.bool: t: expected a tensor, got %s", check.describe(t))
    end
    if FLOATS[t.dtype] then t = core.keep(t:ne(0)) end
    return tree.of_tensor("heed.mask.bool: t", t)
end

---Numbers added to the scores. A bias of -inf hides; 0 and 1 only add 0 and 1 (mask.bool hides by
---them).
---
---```lua
---local distance = (heed.range(1, 3):view(3, 1) - heed.range(1, 3)):abs()
---local mask = heed.mask.bias(-0.5 * distance) & heed.mask.causal()
---print(mask:dense(3))
---```
---@param t heed.Tensor|table float [L, S], [B, L, S] (for all heads) or [B, H, L, S]; sizes of 1
---repeat
---@return heed.Mask
function mask.bias(t)
    if type(t) == "table" then t = tensor_of("heed.mask.bias: t", t, "f32") end
    if not check.is_live(t) or not FLOATS[t.dtype] then
        errors.raise("heed.mask.bias: t: expected a tensor of floats, got %s", check.describe(t))
    end
    return tree.of_tensor("heed.mask.bias: t", t)
end

local MOST_HEADS = 1 << 16 -- no model has as many: something else came by mistake

-- Press et al. 2021: 2^(-8h/H) for a power of two, else those of the power below and every other of
-- the one above.
local function alibi_slopes(heads)
    local power = 1
    while power * 2 <= heads do power = power * 2 end
    local slopes = {}
    for h = 1, power do slopes[h] = 2.0 ^ (-8 * h / power) end
    for h = 1, heads - power do slopes[power + h] = 2.0 ^ (-4 * (2 * h - 1) / power) end
    return slopes
end

---Attention with linear biases (Press et al. 2021, "Train short, test long"): -slope_h · |p - j| is
---added. No tensor is made of it.
---
---```lua
---local mask = heed.mask.alibi(8) & heed.mask.causal()
---local x = heed.randn(1, 8, 5, 4)
---print(heed.attention(x, x, x, { mask = mask }).shape, mask:dense(3)[1])
---```
---@param heads integer
---@return heed.Mask
function mask.alibi(heads)
    heads = check.integer("heed.mask.alibi", "heads", heads)
    if heads > MOST_HEADS then
        errors.raise("heed.mask.alibi: heads: expected at most %d, got %d", MOST_HEADS, heads)
    end
    local slopes = core.keep(core.tensor(alibi_slopes(heads), { dtype = "f64" }))
    return tree.leaf("alibi", { heads = heads, slopes = slopes, adds = true })
end

---Whatever a function says: f(p, j), or f(b, h, p, j) with over = "bhij", is asked once for every
---cell. What it said is kept for the sizes that were asked for last, a byte a cell.
---
---```lua
---local even = heed.mask.fn(function(_, j) return j % 2 == 0 end)
---print(even:grid(4))
---```
---@param f function
---@param options? { over?: "ij"|"bhij" }
---@return heed.Mask
function mask.fn(f, options)
    check.type("heed.mask.fn", "f", f, "function")
    options = check.options("heed.mask.fn", options, { over = true })
    local over = check.one_of("heed.mask.fn", "over", options.over or "ij", { "ij", "bhij" })
    return tree.leaf("fn", { f = f, over = over, tables = {} })
end

-- ---- composing ----------------------------------------------------------------------------------

local function operand(value)
    if value == nil then
        errors.raise "heed.Mask: expected two masks (heed.mask) or tensors, got nil"
    end
    return tree.of("heed.Mask", value)
end

function Mask.__band(a, b) return tree.conjunction(operand(a), operand(b)) end
function Mask.__bor(a, b) return tree.disjunction(operand(a), operand(b)) end
function Mask.__bnot(a) return tree.negation(a) end

-- ---- asking -------------------------------------------------------------------------------------

local ASK = check.set("batch", "heads")

-- The fewest of 2, 3 or 4 dimensions that say the same.
local function fewest_dimensions(t)
    if t:size(2) ~= 1 then return t end
    t = t:squeeze(2)
    return t:size(1) == 1 and t:squeeze(1) or t
end

---As a tensor: of booleans, true where a query (row) may see a key (column); with a bias among its
---parts, of floats, the bias and -inf where nothing may be seen.
---
---```lua
---print(heed.mask.causal():dense(2))
---print(heed.mask.bias(heed.zeros(2, 2)):dense(2).dtype)
---```
---@param L integer queries
---@param S? integer keys; default L
---@param options? { batch?: integer, heads?: integer } for masks that differ by row or head, as
---mask.fn over "bhij" does
---@return heed.Tensor [L, S], [B, L, S] or [B, H, L, S], as few as say it
function Mask:dense(L, S, options)
    local where = "heed.Mask:dense"
    check.integer(where, "L", L, 0)
    S = check.integer(where, "S", S or L, 0)
    options = check.options(where, options, ASK)
    local B, H = tree.extents(self, {
        B = check.integer(where, "batch", options.batch or 1),
        H = check.integer(where, "heads", options.heads or 1),
    })
    local made = program.of(where, self, options.batch or B, options.heads or H, L, S)
    local seen = made and core.mask_dense(made, B, H, L, S)
        or core.ones({ 1, 1, L, S }, { dtype = "bool" })
    if not self.adds then return fewest_dimensions(seen) end
    local bias = program.bias(self)
    local linear = made and core.mask_dense(made, B, H, L, S, nil, "f32")
    bias = bias and linear and bias + linear or bias or linear
    local hidden = core.full({ 1, 1, 1, 1 }, -math.huge):to(bias.dtype)
    return fewest_dimensions(core.where(seen, bias, hidden))
end

-- What is seen, of 2 to 4 dimensions.
local function seen_by(self, L, S, options)
    local dense = self:dense(L, S, options)
    return dense.dtype == "bool" and dense or dense:gt(-math.huge)
end

---The queries that may see nothing (their outputs are zeros).
---
---```lua
---local blind = heed.mask.causal():empty_rows(4, 2) -- more queries than keys
---print(#blind, blind[2])
---```
---@param L integer
---@param S? integer default L
---@param options? { batch?: integer, heads?: integer } as of dense
---@return table list of i; of {b, i} or {b, h, i} when rows or heads differ
function Mask:empty_rows(L, S, options)
    local found = {}
    local function visit(rows, depth, path)
        for index, row in ipairs(rows) do
            local here = table.move(path, 1, #path, 1, {})
            here[#here + 1] = index
            if depth > 1 then
                visit(row, depth - 1, here)
            elseif not row then
                found[#found + 1] = #here == 1 and index or here
            end
        end
    end
    local seen = core.any(seen_by(self, L, S, options), -1)
    visit(seen:totable(), seen:dim(), {})
    return found
end

local function picture(rows)
    local lines = {}
    for i, row in ipairs(rows) do
        local cells = {}
        for j, seen in ipairs(row) do cells[j] = seen and "■" or "·" end
        lines[i] = table.concat(cells, " ")
    end
    return table.concat(lines, "\n")
end

---A picture: a line a query, ■ for a key that it may see. Of a mask whose rows of the batch or
---heads differ one below the other.
---
---```lua
---print(heed.mask.causal():grid(3))
---print(heed.mask.padding({ 3, 1 }):grid(1, 3))
---```
---@param L integer
---@param S? integer default L
---@param options? { batch?: integer, heads?: integer } as of dense
---@return string
function Mask:grid(L, S, options)
    local seen = seen_by(self, L, S, options)
    if seen:dim() == 2 then return picture(seen:totable()) end
    local parts = {}
    for b, entry in ipairs(seen:totable()) do
        local heads = seen:dim() == 4 and entry or { entry }
        for h, rows in ipairs(heads) do
            local title = "row " .. b .. (seen:dim() == 4 and ", head " .. h or "")
            parts[#parts + 1] = title .. "\n" .. picture(rows)
        end
    end
    return table.concat(parts, "\n")
end

return mask
