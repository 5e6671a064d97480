--- The kinds of leaves that masks are made of. A leaf says who is seen (causal, window, ...), where
--- packed sequences begin, where rows end, or what is added to the scores.
---
--- Of each kind:
---   name(leaf)              how it prints
---   fixed                   it fits all sizes, and is the same for them
---   fit(leaf, sizes, raise) complains when it does not fit
---   step(leaf, sizes)       its step of a program; without one it has no part in it
---   extent(leaf, sizes)     how many rows of the batch, and heads, it tells apart
--- sizes: { B =, H =, L =, S =, packed = the leaf that says where sequences begin, or nil }.

local by_sizes = require "heed.mask.by_sizes"
local core = require "heed.core"

local kinds = {}

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

kinds.dilated = {
    fixed = true,
    name = function(leaf) return ("dilated(%d)"):format(leaf.every) end,
    step = function(leaf) return { "dilated", leaf.every } end,
}

-- ---- numbers: one, or one a row of the batch ----------------------------------------------------

-- Of packed sequences a prefix of each: keys are told apart as segments are, and queries see those
-- of the one kind.
local function packed_prefix(packed, length_of)
    local flags = {}
    for s, length in ipairs(packed.key_lengths) do
        for j = 1, length do flags[#flags + 1] = j <= length_of(s) and 1 or 0 end
    end
    local queries = core.ones(packed.queries, { dtype = "i64" })
    return { "segments", queries, core.tensor(flags, { dtype = "i64" }) }
end

kinds.prefix = {
    fixed = true,
    name = function(leaf) return ("prefix(%d)"):format(leaf.n) end,
    step = function(leaf, sizes)
        if not sizes.packed then return { "prefix", leaf.n } end
        return packed_prefix(sizes.packed, function() return leaf.n end)
    end,
}

local function fit_rows(leaf, sizes, raise, where)
    local packed = sizes.packed
    local count, expected = #leaf.values, packed and #packed.key_lengths or sizes.B
    if count == expected then return end
    raise("%s: expected %d numbers, one a %s, got %d", where, expected,
        packed and "sequence" or "row of the batch", count)
end

kinds.prefixes = {
    name = function(leaf) return ("prefix[%d]"):format(#leaf.values) end,
    fit = function(leaf, sizes, raise) fit_rows(leaf, sizes, raise, "heed.mask.prefix: n") end,
    step = function(leaf, sizes)
        if not sizes.packed then return { "prefixes", leaf.lengths } end
        return packed_prefix(sizes.packed, function(s) return leaf.values[s] end)
    end,
    extent = function(leaf, sizes) return sizes.packed and 1 or #leaf.values end,
}

kinds.padding = {
    name = function(leaf) return ("padding[%d]"):format(#leaf.values) end,
    fit = function(leaf, sizes, raise)
        local where = "heed.mask.padding: lengths"
        fit_rows(leaf, sizes, raise, where)
        for b, length in ipairs(leaf.values) do
            if length > sizes.S then
                raise("%s: expected at most %d, the keys, got %d at row %d", where, sizes.S,
                    length, b)
            end
        end
    end,
    step = function(leaf) return { "lengths", leaf.lengths } end,
    extent = function(leaf) return #leaf.values end,
}

-- Row b has values[b] keys, and its last query stands at the last of them: causal and the like
-- count from there.
kinds.ends = {
    name = function(leaf) return ("ends[%d]"):format(#leaf.values) end,
    fit = function(leaf, sizes, raise) fit_rows(leaf, sizes, raise, "ends") end,
    step = function(leaf) return { "ends", leaf.lengths } end,
    extent = function(leaf) return #leaf.values end,
}

kinds.packed = {
    name = function(leaf) return ("packed(%d sequences)"):format(#leaf.key_lengths) end,
    fit = function(leaf, sizes, raise)
        if sizes.B ~= 1 then raise("heed.mask.packed: expected a batch of 1, got %d", sizes.B) end
        local form = "heed.mask.packed: %s: expected lengths that add up to %d, the %s, got %d"
        if leaf.queries ~= sizes.L then
            raise(form, "query_lengths", sizes.L, "queries", leaf.queries)
        elseif leaf.keys ~= sizes.S then
            raise(form, "key_lengths", sizes.S, "keys", leaf.keys)
        end
    end,
}

-- ---- tensors ------------------------------------------------------------------------------------

-- Axis `axis` of t must be `expected`, or 1 when it repeats.
local function fit_axis(raise, where, t, axis, expected, what, repeats, hint)
    local size = t.shape[axis]
    if size == expected or repeats and size == 1 then return end
    raise("%sexpected %d %s%s (axis %d), got %s%s", where, expected, what,
        repeats and " or 1" or "", axis, tostring(t.shape), hint or "")
end

local function fit_ids(raise, where, ids, B, count, what)
    fit_axis(raise, where, ids, ids:dim(), count, what)
    if ids:dim() == 2 then fit_axis(raise, where, ids, 1, B, "rows of the batch") end
end

kinds.segments = {
    name = function(leaf)
        local of_keys = leaf.key_ids and " to " .. tostring(leaf.key_ids.shape) or ""
        return "segments" .. tostring(leaf.ids.shape) .. of_keys
    end,
    fit = function(leaf, sizes, raise)
        local where = "heed.mask.segments: ids: "
        if leaf.key_ids then
            fit_ids(raise, where, leaf.ids, sizes.B, sizes.L, "queries")
            fit_ids(raise, "heed.mask.segments: key_ids: ", leaf.key_ids, sizes.B, sizes.S, "keys")
            return
        end
        fit_ids(raise, where, leaf.ids, sizes.B, sizes.S, "keys")
        if sizes.L > sizes.S then
            raise("%sexpected at most as many queries as keys, %d, got %d; "
                .. "give the keys' as a second argument", where, sizes.S, sizes.L)
        end
    end,
    step = function(leaf, sizes)
        local queries = leaf.key_ids and leaf.ids
            or leaf.ids:narrow(-1, sizes.S - sizes.L + 1, sizes.L)
        return { "segments", queries:contiguous(), (leaf.key_ids or leaf.ids):contiguous() }
    end,
    extent = function(leaf)
        local rows = leaf.ids:dim() == 2 and leaf.ids:size(1) or 1
        return leaf.key_ids and leaf.key_ids:dim() == 2 and leaf.key_ids:size(1) or rows
    end,
}

local AXES = { [2] = { "L", "S" }, [3] = { "B", "L", "S" }, [4] = { "B", "H", "L", "S" } }
local AXIS = { B = "rows of the batch", H = "heads", L = "queries", S = "keys" }

local PADDING = "padding is heed.mask.padding(lengths), or a tensor [B, 1, 1, S]"

-- As booleans. (Halves are not compared.)
local function visible(t)
    if t.dtype == "bool" then return t end
    if not t.dtype:find "f" then return t:ne(0) end
    return (t.dtype:find "f16" and t:to "f32" or t):gt(-math.huge)
end

-- Does every row begin with what is seen, or every row end with it, as sentences in a batch do? As
-- rows of queries such rows would have an order: of causal and its like a later query sees no fewer
-- keys. All-alike rows mean the same either way, and a query that sees nothing may stand anywhere.
local function looks_like_padding(t)
    local L, S = t:size()
    if L < 2 or S < 2 then return false end
    local seen = visible(t):to "i32"
    local steps = seen:narrow(2, 2, S - 1) - seen:narrow(2, 1, S - 1)
    local begins, ends = steps:max():item() <= 0, steps:min():item() >= 0
    if not (begins or ends) then return false end
    local before = 0
    for _, count in ipairs(seen:sum(2):totable()) do
        if count > 0 then
            if begins and count < before or ends and before > 0 and count > before then
                return true
            end
            before = count
        end
    end
    return false
end

local function fit_tensor(leaf, sizes, raise)
    local t, dims = leaf.t, leaf.t:dim()
    local B, S = sizes.B, sizes.S
    local may_be_padding = dims == 2 and B > 1 and t:size(1) == B and t:size(2) == S
    for axis, letter in ipairs(AXES[dims]) do
        fit_axis(raise, leaf.where, t, axis, sizes[letter], AXIS[letter], true,
            may_be_padding and "; " .. PADDING)
    end
    if may_be_padding and looks_like_padding(t) then
        raise("%sexpected rows for %d queries, got %s, in whose rows padding seems to end "
            .. "sentences; "
            .. "%s; t:unsqueeze(1) would say that its rows are queries", leaf.where, sizes.L,
            tostring(t.shape), PADDING)
    end
end

local function extent_of_tensor(leaf)
    local t = leaf.t
    return t:dim() > 2 and t:size(1) or 1, t:dim() == 4 and t:size(2) or 1
end

-- [B, L, S] is for all heads: [B, 1, L, S].
local function for_all_heads(t) return t:dim() == 3 and t:unsqueeze(2) or t end

kinds.bool = {
    name = function(leaf) return "bool" .. tostring(leaf.t.shape) end,
    fit = fit_tensor,
    step = function(leaf) return { "dense", for_all_heads(leaf.t) } end,
    extent = extent_of_tensor,
}

kinds.bias = {
    name = function(leaf) return "bias" .. tostring(leaf.t.shape) end,
    fit = fit_tensor,
    extent = extent_of_tensor,
}

kinds.alibi = {
    name = function(leaf) return ("alibi(%d)"):format(leaf.heads) end,
    fit = function(leaf, sizes, raise)
        if leaf.heads == sizes.H then return end
        raise("heed.mask.alibi: heads: expected %d, got %d", sizes.H, leaf.heads)
    end,
    extent = function(leaf) return 1, leaf.heads end,
}

-- ---- functions ----------------------------------------------------------------------------------

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
        local L, S, B, H = sizes.L, sizes.S, kinds.fn.extent(leaf, sizes)
        local entry = by_sizes.find(leaf.tables, B, H, L, S)
        if not entry then
            local made = ask_all(leaf.f, leaf.over, B, H, L, S)
            entry = by_sizes.keep(leaf.tables, { B, H, L, S, made })
        end
        return { "dense", entry[5] }
    end,
    extent = function(leaf, sizes)
        if leaf.over == "ij" then return 1, 1 end
        return sizes.B, sizes.H
    end,
}

return kinds
