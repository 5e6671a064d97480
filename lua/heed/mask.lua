--- Which key each query may see. Masks are values: they compose with &, | and ~, print, and become tensors on demand.
---
--- With L queries and S keys, query i stands at position p = S - L + i: the last query at the last key.
--- Booleans say who *may* be seen and are joined by "and"; biases are added to the scores.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local FLOATS = check.set("f32", "f64", "bf16", "f16")

-- What C has fast paths for stays structural: causal, and the lengths of padding. The rest is `seen`, a list of
-- { name, dense(L, S, B, H) -> bool tensor of 2 to 4 dimensions }, and `biases`, a list of the same with float tensors.

---Which key each query may see. `a & b`: what both let it see; `a | b`: what either does; `~a`: what a hides. Wherever a mask is
---taken a tensor is taken too: booleans and integers hide, floats are added.
---@class heed.Mask
---@field is_causal boolean
---@field lengths heed.Tensor|nil i64 [B]
---@field sequences table|nil of a packed batch: { queries, keys: their lengths [B]; starts: of both, [2, B + 1] }
---@operator band(heed.Mask): heed.Mask
---@operator bor(heed.Mask): heed.Mask
---@operator bnot: heed.Mask
---@field private seen table[]
---@field private biases table[]
local Mask = {}
Mask.__index = Mask
Mask.__name = "mask"

local mask = {}

local function new(fields)
    fields.is_causal = fields.is_causal or false
    fields.seen, fields.biases = fields.seen or {}, fields.biases or {}
    return setmetatable(fields, Mask)
end

local function predicate(name, dense) return new { seen = { { name = name, dense = dense } } } end

-- ---- positions as tensors ----------------------------------------------------------------------------------------

local function key_positions(S) return core.range(1, S, { dtype = "i64" }):view(1, S) end
local function query_positions(L, S) return core.range(S - L + 1, S, { dtype = "i64" }):view(L, 1) end

local function causal_dense(L, S)
    if L == 0 or S == 0 then return core.zeros({ L, S }, { dtype = "bool" }) end
    return key_positions(S):le(query_positions(L, S))
end

local function up_to(lengths)
    return function(L, S)
        if S == 0 then return core.zeros({ L, S }, { dtype = "bool" }) end
        return key_positions(S):view(1, 1, S):le(lengths:view(-1, 1, 1)):expand(lengths:size(1), L, S)
    end
end

-- The sequence that each of `total` packed elements is of, and its distance from the end of it (0 is the last).
local function places(lengths, total)
    local sequence, from_end = {}, {}
    for s, length in ipairs(lengths:totable()) do
        for i = 1, length do
            sequence[#sequence + 1], from_end[#from_end + 1] = s, length - i
        end
    end
    if #sequence ~= total then
        errors.raise("heed.mask.packed: expected lengths that add up to %d, got %d", total, #sequence)
    end
    return core.tensor(sequence, { dtype = "i64" }), core.tensor(from_end, { dtype = "i64" })
end

local function packed_dense(sequences, is_causal)
    return function(L, S)
        if L == 0 or S == 0 then return core.zeros({ L, S }, { dtype = "bool" }) end
        local q_sequence, q_left = places(sequences.queries, L)
        local k_sequence, k_left = places(sequences.keys, S)
        local same = core.eq(q_sequence:view(L, 1), k_sequence:view(1, S))
        return is_causal and core.logical_and(same, k_left:view(1, S):ge(q_left:view(L, 1))) or same
    end
end

-- [L, S] is for all, [B, L, S] for all heads, [B, H, L, S] literal.
local function four_dimensions(t)
    if t:dim() == 2 then return t:unsqueeze(1):unsqueeze(1) end
    if t:dim() == 3 then return t:unsqueeze(2) end
    return t
end

-- The fewest of 2, 3 or 4 dimensions that say the same.
local function fewest_dimensions(t)
    if t:size(2) ~= 1 then return t end
    t = t:squeeze(2)
    return t:size(1) == 1 and t:squeeze(1) or t
end

local function all_of(parts, join, L, S, B, H)
    local result
    for _, part in ipairs(parts) do
        local t = four_dimensions(part.dense(L, S, B, H))
        result = result and join(result, t) or t
    end
    return result
end

local function conjunction(a, b) return core.logical_and(a, b) end
local function disjunction(a, b) return core.logical_or(a, b) end

-- Everything boolean in it, structural parts included, as one bool tensor of 4 dimensions; nil: all is seen.
local function booleans(self, L, S, B, H)
    local parts = { table.unpack(self.seen) }
    if self.sequences then
        table.insert(parts, 1, { dense = packed_dense(self.sequences, self.is_causal) })
    elseif self.is_causal then
        table.insert(parts, 1, { dense = causal_dense })
    end
    if self.lengths then parts[#parts + 1] = { dense = up_to(self.lengths) } end
    return all_of(parts, conjunction, L, S, B, H)
end

-- ---- making ------------------------------------------------------------------------------------------------------

local function ids_of(where, name, value)
    if type(value) == "table" then value = core.tensor(value, { dtype = "i64" }) end
    if not check.is_tensor(value) or FLOATS[value.dtype] or value.dtype == "bool" then
        errors.raise("%s: %s: expected a table or tensor of integers (heed.ids makes one), got %s", where, name,
            check.describe(value))
    end
    return value.dtype == "i64" and value or value:to("i64")
end

---A query sees the keys up to its own position: j <= p. C has a fast way for it: what is not seen is not computed.
---
---```lua
---print(heed.mask.causal():grid(3))
---print(heed.mask.causal():grid(2, 4)) -- two new queries behind two keys of a cache
---```
---@return heed.Mask
function mask.causal() return new { is_causal = true } end

---Row b sees the keys j <= lengths[b]: what stands after them is padding.
---
---```lua
---local x = heed.randn(2, 3, 8) -- sentences of 3 and 1 words
---local mha = nn.MultiHeadAttention(8, 2)
---print(mha(x, x, x, { mask = heed.mask.padding { 3, 1 } }).shape) --> [2, 3, 8]
---print(heed.mask.padding({ 3, 1 }):dense(1, 3):squeeze()) --> [[ true, true, true], [ true, false, false]] bool [2, 3]
---```
---@param lengths integer[]|heed.Tensor [B]
---@return heed.Mask
function mask.padding(lengths)
    lengths = ids_of("heed.mask.padding", "lengths", lengths)
    if lengths:dim() ~= 1 then
        errors.raise("heed.mask.padding: lengths: expected one number a row, [B], got %s", tostring(lengths.shape))
    end
    return new { lengths = lengths }
end

---For batches packed by heed.pack_sequences into one row: a query sees the keys of its own sequence only, and causal() counts
---within it. Other masks see the row as one sequence.
---
---```lua
---local lengths = { 2, 3 }
---local packed = heed.pack_sequences(heed.randn(2, 3, 8), lengths) -- [5, 8]
---local mask = heed.mask.packed(lengths) & heed.mask.causal()
---print(mask:grid(5))
---print(nn.MultiHeadAttention(8, 2)(packed, packed, packed, { mask = mask }).shape) --> [5, 8]
---```
---@param query_lengths integer[]|heed.Tensor [B]
---@param key_lengths? integer[]|heed.Tensor [B]; default: the queries'
---@return heed.Mask
function mask.packed(query_lengths, key_lengths)
    local queries = ids_of("heed.mask.packed", "query_lengths", query_lengths)
    local keys = key_lengths and ids_of("heed.mask.packed", "key_lengths", key_lengths) or queries
    if queries:dim() ~= 1 or keys:dim() ~= 1 or queries:size(1) ~= keys:size(1) then
        errors.raise("heed.mask.packed: expected one number a sequence for queries and keys, got %s and %s", tostring(queries.shape),
            tostring(keys.shape))
    end
    local starts = core.stack({ core.sequence_starts(queries), core.sequence_starts(keys) }, 1)
    return new { sequences = { queries = queries, keys = keys, starts = starts } }
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
    left = check.integer("heed.mask.window", "left", left, 0)
    right = check.integer("heed.mask.window", "right", right or 0, 0)
    return predicate(("window(%d, %d)"):format(left, right), function(L, S)
        local j, p = key_positions(S), query_positions(L, S)
        local reach = L + S -- beyond it nothing changes, and integers would wrap
        return conjunction(j:ge(p - math.min(left, reach)), j:le(p + math.min(right, reach)))
    end)
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
        n = check.integer("heed.mask.prefix", "n", n, 0)
        return predicate(("prefix(%d)"):format(n), function(L, S) return key_positions(S):le(n):expand(L, S) end)
    end
    return predicate("prefix", up_to(ids_of("heed.mask.prefix", "n", n)))
end

---A query sees the keys of its own segment (packed documents).
---
---```lua
---print((heed.mask.segments { 1, 1, 2, 2 } & heed.mask.causal()):grid(4))
---```
---@param ids heed.Tensor|table [S] or [B, S]: the segment of each key; the queries are the last L of them
---@return heed.Mask
function mask.segments(ids)
    ids = ids_of("heed.mask.segments", "ids", ids)
    if ids:dim() ~= 1 and ids:dim() ~= 2 then
        errors.raise("heed.mask.segments: ids: expected [S] or [B, S], got %s", tostring(ids.shape))
    end
    return predicate("segments", function(L, S)
        if ids:size(-1) ~= S or L > S then
            errors.raise("heed.mask.segments: ids: expected %d keys and at most as many queries, got %s and %d", S,
                tostring(ids.shape), L)
        end
        local queries = ids:narrow(-1, S - L + 1, L)
        return queries:unsqueeze(-1):eq(ids:unsqueeze(-2))
    end)
end

local function check_dimensions(where, t)
    if t:dim() < 2 or t:dim() > 4 then
        errors.raise("%s: expected [L, S], [B, L, S] or [B, H, L, S], got %s", where, tostring(t.shape))
    end
end

---A tensor of booleans, or of integers: nonzero may be seen.
---
---```lua
---local seen = heed.tensor { { true, false, true }, { true, true, true } }
---print(heed.mask.bool(seen):grid(2, 3))
---print((~heed.mask.bool(seen)):empty_rows(2, 3)[1]) -- the second query would see nothing
---```
---@param t heed.Tensor|table [L, S], [B, L, S] (for all heads) or [B, H, L, S]
---@return heed.Mask
function mask.bool(t)
    if type(t) == "table" then t = core.tensor(t) end
    if not check.is_tensor(t) then errors.raise("heed.mask.bool: t: expected a tensor, got %s", check.describe(t)) end
    if t.dtype ~= "bool" then t = t:ne(0) end
    check_dimensions("heed.mask.bool: t", t)
    return predicate("bool" .. tostring(t.shape), function() return t end)
end

---Numbers added to the scores. A bias of -inf hides; 0 and 1 only add 0 and 1 (mask.bool hides by them).
---
---```lua
---local distance = (heed.range(1, 3):view(3, 1) - heed.range(1, 3)):abs()
---local mask = heed.mask.bias(-0.5 * distance) & heed.mask.causal()
---print(mask:dense(3))
---```
---@param t heed.Tensor|table float [L, S], [B, L, S] (for all heads) or [B, H, L, S]
---@return heed.Mask
function mask.bias(t)
    if type(t) == "table" then t = core.tensor(t, { dtype = "f32" }) end
    if not check.is_tensor(t) or not FLOATS[t.dtype] then
        errors.raise("heed.mask.bias: t: expected a tensor of floats, got %s", check.describe(t))
    end
    check_dimensions("heed.mask.bias: t", t)
    return new { biases = { { name = "bias" .. tostring(t.shape), dense = function() return t end } } }
end

-- Press et al. 2021: 2^(-8h/H) for a power of two, else those of the power below and every other of the one above.
local function alibi_slopes(heads)
    local power = 1
    while power * 2 <= heads do power = power * 2 end
    local slopes = {}
    for h = 1, power do slopes[h] = 2.0 ^ (-8 * h / power) end
    for h = 1, heads - power do slopes[power + h] = 2.0 ^ (-4 * (2 * h - 1) / power) end
    return slopes
end

---Attention with linear biases (Press et al. 2021, "Train short, test long"): -slope_h · |p - j| is added.
---
---```lua
---local mask = heed.mask.alibi(8) & heed.mask.causal()
---local x = heed.randn(1, 8, 5, 4)
---print(heed.attention(x, x, x, { mask = mask }).shape, mask:dense(3)[1])
---```
---@param heads integer
---@return heed.Mask
function mask.alibi(heads)
    check.integer("heed.mask.alibi", "heads", heads)
    local slopes = core.tensor(alibi_slopes(heads)):view(1, heads, 1, 1)
    return new { biases = { { name = ("alibi(%d)"):format(heads), dense = function(L, S)
        local distance = (query_positions(L, S) - key_positions(S)):abs():to("f32")
        return -(slopes * distance:view(1, 1, L, S))
    end } } }
end

---Whatever a function says: f(p, j), or f(b, h, p, j) with over = "bhij", is asked once for every cell.
---
---```lua
---local even = heed.mask.fn(function(p, j) return (p - j) % 2 == 0 end)
---print(even:grid(4))
---```
---@param f function
---@param options? { over?: "ij"|"bhij" } default "ij"
---@return heed.Mask
function mask.fn(f, options)
    check.type("heed.mask.fn", "f", f, "function")
    options = check.options("heed.mask.fn", options, { over = true })
    local over = check.one_of("heed.mask.fn", "over", options.over or "ij", { "ij", "bhij" })
    return predicate("fn", function(L, S, B, H)
        if L == 0 or S == 0 then return core.zeros({ L, S }, { dtype = "bool" }) end
        local function grid(ask)
            local rows = {}
            for i = 1, L do
                local row = {}
                for j = 1, S do
                    row[j] = ask(S - L + i, j) and true or false
                end
                rows[i] = row
            end
            return rows
        end
        if over == "ij" then return core.tensor(grid(f), { dtype = "bool" }) end
        local batches = {}
        for b = 1, B or 1 do
            batches[b] = {}
            for h = 1, H or 1 do batches[b][h] = grid(function(p, j) return f(b, h, p, j) end) end
        end
        return core.tensor(batches, { dtype = "bool" })
    end)
end

-- A mask of whatever a `mask` option may hold: a mask itself, or a tensor (booleans and integers hide, floats are added).
function Mask.of(where, value)
    if value == nil or getmetatable(value) == Mask then return value end
    if not check.is_tensor(value) then
        errors.raise("%s: mask: expected a mask (heed.mask) or a tensor, got %s", where, check.describe(value))
    end
    return FLOATS[value.dtype] and mask.bias(value) or mask.bool(value)
end

-- ---- composing ---------------------------------------------------------------------------------------------------

local function joined(a, b)
    local list = table.move(a, 1, #a, 1, {})
    return table.move(b, 1, #b, #list + 1, list)
end

local function operand(value)
    if value == nil then errors.raise "mask: expected two masks (heed.mask) or tensors, got nil" end
    return Mask.of("mask", value)
end

function Mask.__band(a, b)
    a, b = operand(a), operand(b)
    local seen = joined(a.seen, b.seen)
    local lengths, sequences = a.lengths or b.lengths, a.sequences or b.sequences
    if sequences and (lengths or a.sequences and b.sequences) then
        errors.raise("mask: packed(...) says all about lengths: it takes no padding(...) and no other packed(...) beside it")
    end
    if a.lengths and b.lengths then seen[#seen + 1] = { name = "padding", dense = up_to(b.lengths) } end
    return new { is_causal = a.is_causal or b.is_causal, lengths = lengths, sequences = sequences, seen = seen,
        biases = joined(a.biases, b.biases) }
end

local function refuse_bias(self, operator)
    if #self.biases > 0 then
        errors.raise("mask: %s takes masks of booleans only, and %s adds a bias (& takes both)", operator, tostring(self))
    end
end

function Mask.__bor(a, b)
    a, b = operand(a), operand(b)
    refuse_bias(a, "|")
    refuse_bias(b, "|")
    return predicate(("(%s | %s)"):format(a, b), function(L, S, ...)
        local left, right = booleans(a, L, S, ...), booleans(b, L, S, ...)
        if left and right then return disjunction(left, right) end
        return core.ones({ L, S }, { dtype = "bool" })
    end)
end

function Mask.__bnot(a)
    refuse_bias(a, "~")
    return predicate(("~(%s)"):format(a), function(L, S, ...)
        local seen = booleans(a, L, S, ...)
        return seen and core.logical_not(seen) or core.zeros({ L, S }, { dtype = "bool" })
    end)
end

-- ---- asking ------------------------------------------------------------------------------------------------------

-- A tensor that the mask was made of may be [1, S] or [L, 1], or of another size altogether.
local function of_size(t, L, S)
    local rows, columns = t:size(-2), t:size(-1)
    if rows == L and columns == S then return t end
    if (rows ~= L and rows ~= 1) or (columns ~= S and columns ~= 1) then
        errors.raise("heed.Mask:dense: L, S: expected %d queries and %d keys as its tensor has, got %d and %d", rows, columns, L, S)
    end
    return t:expand(t:size(1), t:size(2), L, S)
end

---As a tensor: of booleans, true where a query (row) may see a key (column); with a bias among its parts, of floats, the bias
---and -inf where nothing may be seen.
---
---```lua
---print(heed.mask.causal():dense(2)) --> [[ true, false], [ true, true]] bool [2, 2]
---print(heed.mask.bias(heed.zeros(2, 2)):dense(2).dtype) --> f32
---```
---@param L integer queries
---@param S? integer keys; default L
---@param options? { batch?: integer, heads?: integer } batch, heads: for masks that differ by row or head (mask.fn over "bhij")
---@return heed.Tensor # [L, S], [B, L, S] or [B, H, L, S], as few as say it
function Mask:dense(L, S, options)
    check.integer("heed.Mask:dense", "L", L, 0)
    S = check.integer("heed.Mask:dense", "S", S or L, 0)
    options = check.options("heed.Mask:dense", options, check.set("batch", "heads"))
    local B = check.integer("heed.Mask:dense", "batch", options.batch or 1)
    local H = check.integer("heed.Mask:dense", "heads", options.heads or 1)
    local seen = booleans(self, L, S, B, H)
    local bias = all_of(self.biases, core.add, L, S, B, H)
    if not bias then return fewest_dimensions(of_size(seen or core.ones({ 1, 1, L, S }, { dtype = "bool" }), L, S)) end
    if seen then bias = core.where(seen, bias, core.full({ 1, 1, 1, 1 }, -math.huge):to(bias.dtype)) end
    return fewest_dimensions(of_size(bias, L, S))
end

---The queries that may see nothing (their outputs are zeros).
---
---```lua
---print(#heed.mask.causal():empty_rows(4, 2), heed.mask.causal():empty_rows(4, 2)[2]) -- more queries than keys
---```
---@param L integer
---@param S? integer default L
---@return table # list of i; of {b, i} or {b, h, i} when rows or heads differ
function Mask:empty_rows(L, S)
    local dense = self:dense(L, S)
    if dense.dtype ~= "bool" then dense = dense:gt(-math.huge) end
    local found = {}
    local function visit(rows, depth, path)
        for index, row in ipairs(rows) do
            local here = joined(path, { index })
            if depth > 1 then
                visit(row, depth - 1, here)
            elseif not row then
                found[#found + 1] = #here == 1 and index or here
            end
        end
    end
    local seen = core.any(dense, -1)
    visit(seen:totable(), seen:dim(), {})
    return found
end

---A picture: a line a query, ■ for a key that it may see.
---
---```lua
---print(heed.mask.causal():grid(3))
---```
---@param L integer
---@param S? integer default L
---@return string
function Mask:grid(L, S)
    local dense = self:dense(L, S)
    if dense.dtype ~= "bool" then dense = dense:gt(-math.huge) end
    while dense:dim() > 2 do dense = dense:select(1, 1) end
    local lines = {}
    for i, row in ipairs(dense:totable()) do
        local cells = {}
        for j, seen in ipairs(row) do cells[j] = seen and "■" or "·" end
        lines[i] = table.concat(cells, " ")
    end
    return table.concat(lines, "\n")
end

function Mask:__tostring()
    local names = {}
    if self.is_causal then names[1] = "causal()" end
    if self.lengths then names[#names + 1] = "padding" .. tostring(self.lengths.shape) end
    if self.sequences then names[#names + 1] = ("packed(%d sequences)"):format(self.sequences.queries:size(1)) end
    for _, part in ipairs(self.seen) do names[#names + 1] = part.name end
    for _, part in ipairs(self.biases) do names[#names + 1] = part.name end
    return table.concat(names, " & ")
end

-- ---- for a call into C (heed.masks) ------------------------------------------------------------------------------

-- The four arguments that the C layers take for a mask: is it causal, lengths of keys (of a packed batch the starts), what may
-- be seen, what is added.
function Mask:parts(query, key, heads)
    local causal, lengths = self.is_causal, self.sequences and self.sequences.starts or self.lengths
    if #self.seen == 0 and #self.biases == 0 then return causal, lengths, nil, nil end
    local B, L, S = query:dim() > 2 and query:size(1) or 1, query:size(-2), key:size(-2)
    local H = heads or query:dim() == 4 and query:size(2) or 1
    local dense = all_of(self.seen, conjunction, L, S, B, H)
    local bias = all_of(self.biases, core.add, L, S, B, H)
    if bias and bias.dtype ~= query.dtype then bias = bias:to(query.dtype) end
    return causal, lengths, dense, bias
end

return mask
