-- Masks as C sees them: every primitive, and random compositions, against the same rules asked cell
-- by cell in Lua.

local heed = require "heed"
local mask = heed.mask
require "heed.luassert"

-- ---- a mask and its rule ------------------------------------------------------------------------

-- A mask with the rule that it should follow: rule(b, h, i, j) at sizes B, H, L, S. Both are made
-- for given sizes.
local makers = {}

function makers.causal(_, z)
    return mask.causal(), function(_, _, i, j) return j <= z.S - z.L + i end
end

function makers.window(random, z)
    local left, right = random(0, 6), random(0, 3) * random(0, 1)
    return mask.window(left, right), function(_, _, i, j)
        local p = z.S - z.L + i
        return j >= p - left and j <= p + right
    end
end

function makers.dilated(random, z)
    local step = random(1, 6)
    return mask.dilated(step), function(_, _, i, j) return (z.S - z.L + i - j) % step == 0 end
end

function makers.prefix(random, z)
    local n = random(0, z.S + 1)
    return mask.prefix(n), function(_, _, _, j) return j <= n end
end

local function list_of(count, make)
    local list = {}
    for i = 1, count do list[i] = make(i) end
    return list
end

function makers.prefixes(random, z)
    local n = list_of(z.B, function() return random(0, z.S + 1) end)
    return mask.prefix(n), function(b, _, _, j) return j <= n[b] end
end

function makers.padding(random, z)
    local lengths = list_of(z.B, function() return random(0, z.S) end)
    return mask.padding(lengths), function(b, _, _, j) return j <= lengths[b] end
end

-- Runs of 5 or of 60 with the same number: blocks with many segments, and blocks that are wholly of
-- one.
local function segments(random, count)
    local id, length = 1, random(1, 2) == 1 and 5 or 60
    return list_of(count, function()
        if random(1, length) == 1 then id = random(1, 4) end
        return id
    end)
end

function makers.segments(random, z)
    if z.L > z.S then
        local own, keys = segments(random, z.L), segments(random, z.S)
        return mask.segments(heed.ids(own), heed.ids(keys)), function(_, _, i, j)
            return own[i] == keys[j]
        end
    end
    if random(1, 2) == 1 then
        local ids = segments(random, z.S)
        return mask.segments(heed.ids(ids)), function(_, _, i, j)
            return ids[z.S - z.L + i] == ids[j]
        end
    end
    local rows = list_of(z.B, function() return segments(random, z.S) end)
    return mask.segments(heed.ids(rows)), function(b, _, i, j)
        return rows[b][z.S - z.L + i] == rows[b][j]
    end
end

-- Of each shape that a tensor may have, sizes of 1 among them.
function makers.bool(random, z)
    local dims = random(2, 4)
    local B, H = dims > 2 and (random(1, 2) == 1 and z.B or 1) or 1,
        dims > 3 and (random(1, 2) == 1 and z.H or 1) or 1
    local L, S = random(1, 3) == 1 and 1 or z.L, random(1, 3) == 1 and 1 or z.S
    local seen = list_of(B, function()
        return list_of(H, function()
            return list_of(L, function() return list_of(S, function() return random(0, 1) end) end)
        end)
    end)
    local function rule(b, h, i, j)
        return seen[math.min(b, B)][math.min(h, H)][L == 1 and 1 or i][S == 1 and 1 or j] == 1
    end
    if B * H * L * S == 0 then
        return mask.bool(heed.ones({ z.L, z.S }, { dtype = "bool" })), function() return true end
    end
    local dtypes = { "bool", "i64", "u8", "i32", "u16", "i8" }
    local t = heed.tensor(seen, { dtype = dtypes[random(1, #dtypes)] })
    if dims < 4 then t = t:squeeze(2) end
    if dims < 3 then t = t:squeeze(1) end
    return mask.bool(t), rule
end

function makers.fn(random)
    local a, m = random(1, 3), random(2, 4)
    if random(1, 2) == 1 then
        return mask.fn(function(p, j)
            return (a * p + j) % m == 0
        end), nil, function(_, _, p, j) return (a * p + j) % m == 0 end
    end
    local function by_head(b, h, p, j) return (a * p + j + b * h) % m ~= 0 end
    return mask.fn(by_head, { over = "bhij" }), nil, by_head
end

local NAMES = { "causal", "window", "dilated", "prefix", "prefixes", "padding", "segments", "bool",
    "fn" }

local function leaf(random, z, name)
    local m, rule, by_position = makers[name](random, z)
    return m, rule or function(b, h, i, j) return by_position(b, h, z.S - z.L + i, j) end
end

local function composition(random, z, depth, names)
    local op = depth > 0 and random(1, 7) or 0
    if op == 0 then return leaf(random, z, names[random(1, #names)]) end
    local a, rule_a = composition(random, z, depth - 1, names)
    if op == 1 then return ~a, function(...) return not rule_a(...) end end
    local b, rule_b = composition(random, z, depth - 1, names)
    if op < 5 then return a & b, function(...) return rule_a(...) and rule_b(...) end end
    return a | b, function(...) return rule_a(...) or rule_b(...) end
end

-- What the rule says, as a bool tensor [B, H, L, S].
local function by_rule(rule, z)
    local cells = {}
    for b = 1, z.B do
        for h = 1, z.H do
            for i = 1, z.L do
                for j = 1, z.S do cells[#cells + 1] = rule(b, h, i, j) and "\1" or "\0" end
            end
        end
    end
    return heed.frombytes(table.concat(cells), "bool", { z.B, z.H, z.L, z.S })
end

local function sizes(B, H, L, S) return { B = B, H = H, L = L, S = S } end

local SIZES = { sizes(2, 2, 5, 9), sizes(1, 1, 7, 4), sizes(2, 1, 33, 65), sizes(1, 2, 40, 40),
    sizes(2, 2, 1, 70),
    sizes(1, 1, 130, 66), sizes(2, 1, 0, 3), sizes(1, 2, 3, 0) }

local function random_of(seed)
    local state = seed
    return function(first, last)
        state = (state * 6364136223846793005 + 1442695040888963407)
        return first + (state >> 33) % (last - first + 1)
    end
end

local function four_dimensions(t)
    return t:dim() == 3 and t:unsqueeze(2) or t:dim() == 2 and t:unsqueeze(1):unsqueeze(1) or t
end

local function assert_dense(m, rule, z, name)
    local dense = four_dimensions(m:dense(z.L, z.S, { batch = z.B, heads = z.H })):expand(z.B, z.H,
        z.L, z.S)
    assert(dense:equal(by_rule(rule, z)), name .. ": " .. tostring(m))
end

local function normal(...) return heed.randn({ ... }, { dtype = "f64", requires_grad = true }) end

-- Outputs, weights and gradients of attention under two masks.
local function attend(z, inputs, m, bias)
    for _, t in ipairs(inputs) do t.grad = nil end
    local q, k, v, b = table.unpack(inputs)
    if bias then m = m & mask.bias(b) end
    local out, weights = heed.attention(q, k, v, { mask = m, weights = z.L * z.S < 500 })
    ;(out * out):sum():backward()
    return { out, q.grad, k.grad, v.grad, bias and b.grad or nil, weights }
end

local function assert_attends(m, rule, z, bias, name)
    local inputs = { normal(z.B, z.H, z.L, 3), normal(z.B, z.H, z.S, 3), normal(z.B, z.H, z.S, 2),
        normal(z.L, z.S) }
    local got, want = attend(z, inputs, m, bias), attend(z, inputs, mask.bool(by_rule(rule, z)),
        bias)
    for i, t in pairs(want) do
        assert(heed.allclose(got[i], t, { rtol = 1e-9, atol = 1e-9 }),
            ("%s: %s: result %d"):format(name, tostring(m), i))
    end
end

-- ---- specs --------------------------------------------------------------------------------------

describe("programs of masks", function()
    for _, name in ipairs(NAMES) do
        it("follow the rule of " .. name, function()
            for n, z in ipairs(SIZES) do
                for seed = 1, 4 do
                    local random = random_of(100 * n + seed)
                    local m, rule = leaf(random, z, name)
                    assert_dense(m, rule, z, ("seed %d"):format(100 * n + seed))
                    assert_dense(~m, function(...) return not rule(...) end, z, "not")
                    if seed == 1 then assert_attends(m, rule, z, false, name) end
                end
            end
        end)
    end

    it("follow random compositions", function()
        for seed = 1, 200 do
            local random = random_of(seed)
            local z = SIZES[random(1, #SIZES)]
            local m, rule = composition(random, z, random(1, 4), NAMES)
            assert_dense(m, rule, z, "seed " .. seed)
        end
    end)

    it("and attention follows them, with gradients, of a bias too", function()
        heed.manual_seed(3)
        for seed = 1, 80 do
            local random = random_of(1000 + seed)
            local z = SIZES[random(1, #SIZES)]
            local m, rule = composition(random, z, random(1, 3), NAMES)
            assert_attends(m, rule, z, seed % 2 == 0, "seed " .. 1000 + seed)
        end
    end)

    it("may be longer than C takes", function()
        local z = sizes(1, 2, 9, 12)
        for seed = 1, 6 do
            local random = random_of(seed)
            local m, rule = leaf(random, z, "window")
            for n = 1, 60 do
                local other, other_rule = composition(random, z, random(0, 1), NAMES)
                local a, b = rule, other_rule
                if n % 2 == 0 then
                    m, rule = m | other, function(...) return a(...) or b(...) end
                else
                    m, rule = other & m, function(...) return a(...) and b(...) end
                end
            end
            assert_dense(m, rule, z, "seed " .. seed)
            assert_attends(m, rule, z, false, "seed " .. seed)
        end
    end)

    it("serve any sizes one after the other", function()
        local m = mask.causal() & mask.fn(function(p, j)
            return (p + j) % 3 ~= 0
        end) | mask.window(0)
        for _ = 1, 2 do
            for S = 1, 20 do
                local z = sizes(1, 1, 1, S)
                assert_dense(m, function(_, _, _, j) return (S + j) % 3 ~= 0 or j == S end, z,
                    "S = " .. S)
            end
        end
    end)

    it("ask a function once for its axes", function()
        local asked = 0
        local m = mask.fn(function(p, j)
            asked = asked + 1
            return p ~= j
        end)
        local q = heed.randn(2, 2, 4, 3)
        for _ = 1, 3 do
            heed.attention(q, q, q, { mask = m })
            heed.attention(q, q, q, { mask = m & mask.causal() })
            m:dense(4)
        end
        assert.are.equal(16, asked)
        m:dense(4, 5)
        assert.are.equal(36, asked)
        local by_head = mask.fn(function(b, h, _, j)
            asked = asked + 1
            return b + h ~= j
        end, { over = "bhij" })
        for _ = 1, 2 do heed.attention(q, q, q, { mask = by_head }) end
        assert.are.equal(36 + 4 * 16, asked)
        for S = 5, 30 do m:dense(1, S) end -- what was asked long ago is forgotten
        asked = 0
        m:dense(1, 30)
        m:dense(4)
        assert.are.equal(16, asked)
    end)

    it("see what was written into their tensors", function()
        local seen, lengths = heed.ones({ 2, 3 }, { dtype = "bool" }), heed.ids { 3 }
        local m, v = mask.bool(seen) & mask.padding(lengths),
            heed.tensor { { 1.0 }, { 2.0 }, { 3.0 } }
        local function average()
            return heed.attention(heed.zeros(2, 1), heed.zeros(3, 1), v,
                { mask = m }):flatten():totable()
        end
        assert.are.same({ 2.0, 2.0 }, average())
        seen[{ 1, 1 }] = false
        lengths[1] = 2
        assert.are.same({ 2.0, 1.5 }, average())
    end)

    it("refuse a gradient when their tensors were overwritten meanwhile", function()
        for _, make in ipairs { function(t) return mask.bool(t) end,
            function(t) return mask.bool(t) | mask.causal() end } do
            local seen = heed.ones({ 3, 3 }, { dtype = "bool" })
            local q = heed.randn({ 3, 2 }, { requires_grad = true })
            local out = heed.attention(q, q, q, { mask = make(seen) })
            seen[{ 1, 1 }] = false
            assert.error_matches(function() out:sum():backward() end, "overwritten in place")
        end
    end)

    it("outlive the scope that they were compiled in", function()
        local fn = mask.fn(function(p, j) return p >= j end)
        local m = fn & mask.segments { 1, 1, 2 } | mask.window(0)
        local q = heed.randn(3, 2)
        local function in_a_scope()
            local scope <close> = heed.scope()
            return scope:keep(heed.attention(q, q, q, { mask = m }))
        end
        local before = in_a_scope()
        assert.is_close(heed.attention(q, q, q, { mask = m }), before, 0)
        do
            local _ <close> = heed.scope()
            m:dense(2, 3)
        end
        assert.has_shape(m:dense(2, 3), { 2, 3 })
        assert.has_shape((fn | mask.window(0)):dense(2, 3), { 2, 3 })
        collectgarbage()
        assert.is_close(heed.attention(q, q, q, { mask = m }), before, 0)
    end)

    it("survive a run on shapes alone, and a failed allocation", function()
        local core, q = require "heed.core", heed.randn(1, 2, 4, 8)
        local function make()
            return (mask.fn(function(p, j)
                return p ~= j
            end) | mask.window(0)) & mask.alibi(2) & mask.padding { 3 }
        end
        local want = heed.attention(q, q, q, { mask = make() })
        local Alone = heed.nn.Module:extend "Alone"
        local m = make()
        function Alone.forward(_, x) return heed.attention(x, x, x, { mask = m }) end
        Alone():check(q)
        assert.is_close(heed.attention(q, q, q, { mask = m }), want, 0)
        local failed, n = 0, 0
        repeat
            n, m = n + 1, make()
            core.fail_allocation(n)
            local ok, result = pcall(heed.attention, q, q, q, { mask = m })
            core.fail_allocation(0)
            if not ok then
                failed = failed + 1
                assert.is_truthy(result:find "memory", result)
                result = heed.attention(q, q, q, { mask = m })
            end
            assert.is_close(result, want, 0)
        until n == 12
        assert.is_true(failed > 0)
    end)

    it("are none of the user's business", function()
        assert.is_nil(heed.mask.of)
        assert.is_nil(heed.mask.program)
        assert.is_nil(heed.mask_dense)
    end)
end)

describe("sizes of masks", function()
    local q, k = heed.zeros(2, 4, 5, 8), heed.zeros(2, 4, 7, 8)

    local function refuses(m, message)
        local _, got = pcall(heed.attention, q, k, k, { mask = m })
        assert.is_truthy(tostring(got):find("heed.attention: mask: " .. message, 1, true), got)
    end

    it("are checked, by the names and numbers that the user gave", function()
        refuses(mask.padding { 7, 7, 7 },
            "heed.mask.padding: lengths: expected 2 numbers, one a row of the batch, got 3")
        refuses(mask.padding { 7, 8 } | mask.causal(),
            "heed.mask.padding: lengths: expected at most 7, the keys, got 8 at row 2")
        refuses(mask.causal() & ~mask.prefix { 1 },
            "heed.mask.prefix: n: expected 2 numbers, one a row of the batch, got 1")
        local function ids(...) return heed.ones({ ... }, { dtype = "i64" }) end
        refuses(mask.segments(ids(2, 5)),
            "heed.mask.segments: ids: expected 7 keys (axis 2), got [2, 5]")
        refuses(mask.segments(ids(3, 7)),
            "heed.mask.segments: ids: expected 2 rows of the batch (axis 1), got [3, 7]")
        refuses(mask.segments({ 1, 2 }, { 1, 2, 3 }),
            "heed.mask.segments: ids: expected 5 queries (axis 1), got [2]")
        refuses(mask.segments({ 1, 2, 3, 4, 5 }, { 1, 2 }),
            "heed.mask.segments: key_ids: expected 7 keys (axis 1), got [2]")
        refuses(mask.bool(heed.ones({ 6, 7 }, { dtype = "bool" })),
            "heed.mask.bool: t: expected 5 queries or 1 (axis 1), got [6, 7]")
        refuses(mask.bool(ids(1, 1, 1, 8)),
            "heed.mask.bool: t: expected 7 keys or 1 (axis 4), got [1, 1, 1, 8]")
        refuses(mask.bias(heed.zeros(2, 3, 5, 7)),
            "heed.mask.bias: t: expected 4 heads or 1 (axis 2), got [2, 3, 5, 7]")
        refuses(heed.zeros(3, 5, 7), "expected 2 rows of the batch or 1 (axis 1), got [3, 5, 7]")
        refuses(heed.zeros(7), "expected [L, S], [B, L, S] or [B, H, L, S], got [7]")
        refuses(mask.alibi(8), "heed.mask.alibi: heads: expected 4, got 8")
        refuses(mask.packed { 5 }, "heed.mask.packed: expected a batch of 1, got 2")
        q, k = q:narrow(1, 1, 1), k:narrow(1, 1, 1)
        refuses(mask.packed { 5 }, "heed.mask.packed: key_lengths: expected lengths that add up "
            .. "to 7, the keys, got 5")
        refuses(mask.packed({ 2, 2 }, { 3, 4 }),
            "heed.mask.packed: query_lengths: expected lengths that add up to 5, the queries, got 4")
        refuses(mask.packed({ 2, 3 }, { 3, 4 }) & mask.prefix { 1 },
            "heed.mask.prefix: n: expected 2 numbers, one a sequence, got 1")
        q = heed.zeros(1, 4, 9, 8)
        refuses(mask.segments(ids(7)),
            "heed.mask.segments: ids: expected at most as many queries as keys, 7, got 9")
    end)

    it("name the module that is running", function()
        local decoder = heed.nn.TransformerDecoder(2, 8, 2, 16)
        local x = heed.zeros(1, 3, 8)
        assert.error_matches(function() decoder(x, x, { memory_mask = mask.padding { 4 } }) end,
            "layers.1: memory_mask: heed.mask.padding: lengths: expected at most 3, the keys, "
                .. "got 4 at row 1", nil, true)
    end)

    it("are asked anew when they change", function()
        local m = mask.bool(heed.ones({ 5, 7 }, { dtype = "bool" }))
        assert.has_shape(heed.attention(heed.zeros(5, 2), heed.zeros(7, 2), heed.zeros(7, 2),
            { mask = m }), { 5, 2 })
        assert.has_error(function()
            heed.attention(heed.zeros(4, 2), heed.zeros(7, 2), heed.zeros(7, 2), { mask = m })
        end)
        assert.has_shape(heed.attention(heed.zeros(5, 2), heed.zeros(7, 2), heed.zeros(7, 2),
            { mask = m }), { 5, 2 })
    end)
end)

describe("memory of masks", function()
    local L = 4096

    -- Bytes at the peak of attention above what was there before, forward and backward.
    local function peak(m)
        local q = heed.randn({ 1, 1, L, 8 }, { requires_grad = true })
        collectgarbage()
        local live = heed.memory { reset_peak = true }.live
        heed.attention(q, q, q, { mask = m }):sum():backward()
        return heed.memory().peak - live
    end

    it("does not grow with L x S for what is composed of rules", function()
        local ids = heed.range(1, L, { dtype = "i64" }) // 1000
        for _, m in ipairs {
            mask.causal() & mask.window(64),
                (mask.causal() | mask.prefix(100)) & mask.padding { 4000 },
            mask.segments(ids) & mask.causal() | mask.window(8, 8),
                ~mask.window(100, 100) & ~mask.segments(ids),
            mask.causal() & (mask.window(8) | mask.dilated(64)),
            mask.alibi(1) & mask.causal(),
                mask.packed { 1000, 3000, 96 } & mask.causal() & mask.window(50) & mask.alibi(1),
        } do
            assert.is_true(peak(m) < 4 << 20, tostring(m)) -- L x S is 16 MB of bool
        end
    end)

    it("is one byte a cell for a tensor, and nothing more", function()
        local m = mask.bool(heed.ones({ L, L }, { dtype = "bool" }))
        assert.is_true(peak(m & mask.causal() | mask.window(5)) < 4 << 20)
    end)
end)

describe("packed masks", function()
    local query_lengths, key_lengths = { 3, 0, 5, 40 }, { 4, 2, 5, 50 }

    -- What rule(z, s, h, i, j) says of each sequence, on the packed row.
    local function packed_rule(rule)
        local place = { q = {}, k = {} }
        for s = 1, #query_lengths do
            for i = 1, query_lengths[s] do place.q[#place.q + 1] = { s, i } end
            for j = 1, key_lengths[s] do place.k[#place.k + 1] = { s, j } end
        end
        return function(_, h, i, j)
            local at, to = place.q[i], place.k[j]
            if at[1] ~= to[1] then return false end
            return rule(sizes(#query_lengths, 1, query_lengths[at[1]], key_lengths[at[1]]), at[1],
                h, at[2], to[2])
        end
    end

    local function check(m, rule)
        local z = sizes(1, 2, 48, 61)
        m = mask.packed(query_lengths, key_lengths) & m
        assert_dense(m, packed_rule(rule), z, "packed")
        assert_attends(m, packed_rule(rule), z, false, "packed")
    end

    local function causal(z, _, _, i, j) return j <= z.S - z.L + i end

    it("count positions in each sequence, as its batch would", function()
        check(mask.causal(), causal)
        check(mask.window(2, 1), function(z, _, _, i, j)
            return math.abs(2 * (z.S - z.L + i - j) - 1) <= 3
        end)
        check(mask.dilated(3), function(z, _, _, i, j) return (z.S - z.L + i - j) % 3 == 0 end)
        check(mask.causal() | mask.prefix(3), function(z, s, h, i, j)
            return causal(z, s, h, i, j) or j <= 3
        end)
        local n = { 1, 0, 5, 30 }
        check(mask.causal() | mask.prefix(n), function(z, s, h, i, j)
            return causal(z, s, h, i, j) or j <= n[s]
        end)
        check(~mask.causal() & ~mask.prefix(2), function(z, s, h, i, j)
            return not causal(z, s, h, i, j) and j > 2
        end)
    end)

    it("take ALiBi's distances in each sequence", function()
        local m = mask.packed({ 2, 1 }, { 3, 2 }) & mask.alibi(1)
        local slope = 2.0 ^ -8
        assert.is_close(m:dense(3, 5), heed.tensor { { -slope, 0, -slope, -math.huge, -math.huge },
            { -2 * slope, -slope, 0, -math.huge, -math.huge }, { -math.huge, -math.huge, -math.huge,
                -slope, 0 } }, 1e-7)
        local q, k, v = normal(1, 1, 3, 2), normal(1, 1, 5, 2), normal(1, 1, 5, 2)
        assert.is_close(heed.attention(q, k, v, { mask = m }),
            heed.attention(q, k, v, { mask = m:dense(3, 5) }), 1e-7)
    end)

    it("see tensors, functions and segments on the row as it is", function()
        local m = mask.packed { 2, 3 } & mask.segments { 1, 1, 1, 2, 2 } & mask.fn(function(p, j)
            return p ~= j
        end)
        assert.are.equal("· ■ · · ·\n■ · · · ·\n· · · · ·\n· · · · ■\n· · · ■ ·", m:grid(5))
    end)

    it("are joined by & alone", function()
        local packed = mask.packed { 2, 3 }
        assert.error_matches(function() return packed | mask.causal() end,
            "heed.Mask: |: expected masks without packed")
        assert.error_matches(function() return ~packed end,
            "heed.Mask: ~: expected masks without packed")
        assert.error_matches(function() return packed & (mask.causal() | mask.padding { 5 }) end,
            "beside packed%(...%), which says all about lengths")
        assert.error_matches(function() return packed & packed end, "nor another packed")
    end)
end)
