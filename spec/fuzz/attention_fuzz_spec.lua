-- Attention of random shapes, masks, layouts, types and threads against the formula in steps of
-- f64, outputs and gradients. What nobody sees holds NaN and infinities.
--
-- A failure names its seed; HEED_FUZZ_SEED=seed HEED_FUZZ_COUNT=1 runs that configuration alone.
-- The target fuzz-attention runs ten thousand from a seed of its own, HEED_FUZZ_SEED=time.

local heed = require "heed"
local mask = heed.mask

local COUNT = tonumber(os.getenv "HEED_FUZZ_COUNT") or os.getenv "HEED_SANITIZED" and 40 or 200
local SEED = os.getenv "HEED_FUZZ_SEED" or 1
local FIRST = SEED == "time" and os.time() * 100000 or tonumber(SEED)
local FEATURES = { 1, 3, 16, 32, 64, 80, 128 }
local LENGTHS = { 0, 1, 1, 4, 7, 31, 31, 33, 33, 65, 257 }
local HEADS = { { 1, 1 }, { 2, 2 }, { 2, 1 }, { 4, 2 }, { 6, 2 }, { 3, 1 } }
local TOLERANCES = { f32 = { rtol = 2e-4, atol = 2e-4 }, f64 = { rtol = 1e-10, atol = 1e-10 },
    f16 = { rtol = 2e-3, atol = 1e-3 }, bf16 = { rtol = 1e-2, atol = 5e-3 } }

-- Lua's side of chance: choices. heed's own is set from the same seed, for numbers.
local function random_of(seed)
    local state = seed
    return function(first, last)
        state = state * 6364136223846793005 + 1442695040888963407
        return first + (state >> 33) % (last - first + 1)
    end
end

-- ---- masks and what they mean -------------------------------------------------------------------

-- Each gives a mask, and a bool tensor that broadcasts to [B, H, L, S]. z.p [L, 1] are positions of
-- queries, z.j [1, S] of keys, in the sequence of each.
local makers = {}

function makers.causal(_, z) return mask.causal(), z.j:le(z.p) end

function makers.window(random, z)
    local left, right = random(0, 40), random(0, 20) * random(0, 1)
    return mask.window(left, right), z.j:ge(z.p - left):logical_and(z.j:le(z.p + right))
end

function makers.dilated(random, z)
    local step = random(1, 40)
    return mask.dilated(step), ((z.p - z.j) % step):eq(0)
end

function makers.prefix(random, z)
    local n = random(0, z.S + 1)
    return mask.prefix(n), (z.j + z.p * 0):le(n)
end

function makers.padding(random, z)
    local lengths = {}
    for b = 1, z.B do lengths[b] = random(0, z.S) end
    return mask.padding(lengths), (z.j + z.p * 0):le(heed.ids(lengths):view(z.B, 1, 1, 1))
end

function makers.bool(random, z)
    local seen = heed.rand(random(1, 2) == 1 and z.B or 1, random(1, 2) == 1 and z.H or 1, z.L,
        z.S):lt(random(1, 9) / 10)
    return mask.bool(seen), seen
end

function makers.segments(random, z)
    local longest = random(3, 40)
    local queries, keys = heed.range(1, z.L, { dtype = "i64" }) // longest,
        heed.range(1, z.S, { dtype = "i64" }) // longest
    return mask.segments(queries, keys), queries:view(z.L, 1):eq(keys:view(1, z.S))
end

local ALONE = { "causal", "causal", "window", "dilated", "prefix", "padding", "bool",
    "segments" }
local IN_SEQUENCES = { "causal", "causal", "window", "dilated", "prefix", "bool" }

local function composition(random, z, depth, names)
    local op = depth > 0 and random(1, 7) or 0
    if op == 0 then return makers[names[random(1, #names)]](random, z) end
    local a, seen_a = composition(random, z, depth - 1, names)
    if op == 1 then return ~a, heed.logical_not(seen_a) end
    local b, seen_b = composition(random, z, depth - 1, names)
    if op < 5 then return a & b, seen_a:logical_and(seen_b) end
    return a | b, seen_a:logical_or(seen_b)
end

local function positions(z)
    return heed.range(1, z.L, { dtype = "i64" }):view(z.L, 1) + (z.S - z.L),
        heed.range(1, z.S, { dtype = "i64" }):view(1, z.S)
end

-- Cuts a row of queries and one of keys into sequences: the lengths, of each place its sequence,
-- its position.
local function cut(random, z)
    local lengths, of, at = { q = {}, k = {} }, { q = {}, k = {} }, { q = {}, k = {} }
    local count, left = random(2, 4), { q = z.L, k = z.S }
    for s = 1, count do
        for side, rest in pairs(left) do
            lengths[side][s] = s == count and rest or random(0, rest)
        end
        for side in pairs(left) do
            local shift = side == "q" and lengths.k[s] - lengths.q[s] or 0
            for i = 1, lengths[side][s] do
                table.insert(of[side], s)
                table.insert(at[side], i + shift)
            end
            left[side] = left[side] - lengths[side][s]
        end
    end
    return lengths, of, at
end

-- The mask of a configuration (nil: none), who is seen [B, H, L, S], and what is added to scores.
local function masks_of(random, z)
    local m, seen = nil, heed.ones({ 1, 1, z.L, z.S }, { dtype = "bool" })
    local function join(other, other_seen)
        m = m and m & other or other
        seen = other_seen and seen:logical_and(other_seen) or seen
    end
    local names = ALONE
    z.p, z.j = positions(z)
    if z.B == 1 and z.L > 1 and z.S > 1 and random(1, 4) == 1 then
        local lengths, of, at = cut(random, z)
        z.p, z.j, names = heed.ids(at.q):view(z.L, 1), heed.ids(at.k):view(1, z.S), IN_SEQUENCES
        join(mask.packed(lengths.q, lengths.k),
            heed.ids(of.q):view(z.L, 1):eq(heed.ids(of.k):view(1, z.S)))
    end
    if random(1, 4) > 1 then join(composition(random, z, random(0, 3), names)) end
    local added
    if random(1, 4) == 1 then
        join(mask.alibi(z.H))
        local slopes = mask.alibi(z.H):dense(1, 2):select(-1, 1):view(1, z.H, 1, 1)
        added = (z.p - z.j):abs():to "f64" * slopes:to "f64"
    end
    return m, seen:expand(z.B, z.H, z.L, z.S), added
end

-- ---- tensors ------------------------------------------------------------------------------------

-- What is given lies in memory in one of these ways: the sizes of the whole, and heads [B, H, rows,
-- features] of it.
local layouts = {
    heads = { function(B, H, n, D) return B, H, n, D end, function(whole) return whole end },
    projected = { function(B, H, n, D) return B, n, H * D end,
        function(whole, B, H, n, D) return whole:view(B, n, H, D):transpose(2, 3) end },
    packed = { function(B, H, n, D) return B, n, 3, H, D end, function(whole)
        return whole:select(3, 2):transpose(2, 3)
    end },
    transposed = { function(B, H, n, D) return B, H, D, n end, function(whole)
        return whole:transpose(3, 4)
    end },
}
local LAYOUTS = { "heads", "projected", "packed", "transposed" }

local function poison_into(heads, hidden)
    local bad = heed.where(heed.rand(heads:size(1), 1, heads:size(3), 1):lt(0.5), 0 / 0,
        math.huge):to(heads.dtype)
    heads:copy_(heed.where(hidden, bad, heads))
end

-- A tensor twice: as attention gets it, and as the reference does, in f64 and without poison in its
-- hidden rows. `stored` (nil: as computed): what attention reads is of that dtype, and so are the
-- values of both.
local function input(random, z, H, rows, features, hidden, stored)
    local layout = layouts[LAYOUTS[random(1, #LAYOUTS)]]
    local sizes = { layout[1](z.B, H, rows, features) }
    local own = heed.randn(sizes, { dtype = z.dtype })
    if stored then own = own:to(stored):to(z.dtype) end
    local clean = own:to("f64"):clone()
    local function heads(whole) return layout[2](whole, z.B, H, rows, features) end
    if z.poison and hidden then poison_into(heads(own), hidden) end
    own.requires_grad, clean.requires_grad = true, true
    return { own = own, clean = clean, heads = heads(stored and own:to(stored) or own),
        clean_heads = heads(clean) }
end

local function bias_of(random, z, m, seen)
    if random(1, 4) > 1 then return nil, m, seen end
    local function or_one(size) return random(1, 2) == 1 and size or 1 end
    local keys = random(1, 6) == 1 and 1 or z.S
    local bias = heed.randn({ or_one(z.B), or_one(z.H), or_one(z.L), keys }, { dtype = z.dtype })
    local hides = heed.rand(bias:size()):lt(keys == 1 and 0 or 0.1)
    local clean = bias:to("f64"):clone()
    bias = bias:masked_fill(hides, -math.huge)
    bias.requires_grad, clean.requires_grad = true, true
    m = m and m & mask.bias(bias) or mask.bias(bias)
    return { own = bias, clean = clean }, m, seen:logical_and(heed.logical_not(hides))
end

local function any_of(seen, dim, keep) return seen:to("i64"):sum(dim, keep):gt(0) end

local function configuration(seed)
    local random = random_of(seed)
    for _ = 1, 3 do random(0, 1) end
    heed.manual_seed(seed)
    local heads = HEADS[random(1, #HEADS)]
    local z = { seed = seed, B = random(1, 2), H = heads[1], Hk = heads[2],
        L = LENGTHS[random(1, #LENGTHS)], S = LENGTHS[random(1, #LENGTHS)],
            D = FEATURES[random(1, #FEATURES)],
        dtype = random(1, 2) == 1 and "f32" or "f64", poison = random(1, 3) > 1,
        threads = random(1, 4) == 1 and random(2, 3) or 1, weights = random(1, 3) == 1,
        softcap = random(1, 4) == 1 and random(1, 4) / 2.0 or nil,
        scale = random(1, 3) == 1 and random(1, 10) / 20.0 or nil, dropout = random(1, 4) == 1
            and 0.4 or 0.0 }
    if z.dtype == "f32" and random(1, 3) == 1 then
        z.stored = random(1, 2) == 1 and "f16" or "bf16"
        z.all_stored = random(1, 2) == 1 and z.stored or nil -- queries too, and what comes out
    end
    z.Dv = random(1, 2) == 1 and z.D or FEATURES[random(1, #FEATURES)]
    if z.L > 0 and z.L <= 8 and random(1, 2) == 1 then
        z.S = 1100
    end -- keys enough for several splits
    if z.L * z.S > 20000 and random(1, 3) > 1 then z.L = 33 end
    local m, seen, added = masks_of(random, z)
    z.bias, m, seen = bias_of(random, z, m, seen)
    z.mask, z.seen, z.added = m, seen, added
    local hidden_rows, hidden_keys
    if z.L * z.S > 0 then
        hidden_rows = heed.logical_not(any_of(seen, 4, true))
        hidden_keys = heed.logical_not(any_of(any_of(seen:reshape(z.B, z.Hk, z.H // z.Hk, z.L, z.S),
            4), 3)):unsqueeze(4)
    end
    z.q = input(random, z, z.H, z.L, z.D, hidden_rows, z.all_stored)
    z.k = input(random, z, z.Hk, z.S, z.D, hidden_keys, z.stored)
    z.v = input(random, z, z.Hk, z.S, z.Dv, hidden_keys, z.stored)
    z.g = input(random, z, z.H, z.L, z.Dv, hidden_rows)
    return z
end

-- ---- both ways ----------------------------------------------------------------------------------

local function attend(z, v, want_weights)
    heed.manual_seed(z.seed)
    return heed.attention(z.q.heads, z.k.heads, v,
        { mask = z.mask, scale = z.scale, softcap = z.softcap, dropout = z.dropout,
            weights = want_weights })
end

-- What dropout keeps, times 1 / (1 - p): values that are rows of the identity show the weights
-- through it.
local function kept(z)
    local identity = heed.eye(z.S):to(z.stored or z.dtype):expand(z.B, z.Hk, z.S, z.S)
    return heed.no_grad(function()
        return attend(z, identity):to("f64"):ne(0):to "f64" / (1 - z.dropout)
    end)
end

local function by_formula(z)
    local group = z.H // z.Hk
    local function of_group(t)
        return t:unsqueeze(3):expand(z.B, z.Hk, group, z.S, t:size(4)):reshape(z.B, z.H, z.S,
            t:size(4))
    end
    local k, v, seen = of_group(z.k.clean_heads), of_group(z.v.clean_heads), z.seen:to "f64"
    local s = z.q.clean_heads:matmul(k:transpose(3, 4)) * (z.scale or 1 / math.sqrt(z.D))
    if z.softcap then s = (s / z.softcap):tanh() * z.softcap end
    if z.added then s = s + z.added end
    if z.bias then s = s + z.bias.clean end
    local p = s:exp() * seen
    local sum = p:sum(4, true)
    p = p / (sum + sum:eq(0):to "f64")
    local w = z.dropout > 0 and p * kept(z) or p
    return w:matmul(v), p
end

local function description(z)
    local sizes = ("B=%d H=%d Hk=%d L=%d S=%d D=%d Dv=%d %s"):format(z.B, z.H, z.Hk, z.L, z.S, z.D,
        z.Dv,
        z.all_stored or z.stored and z.dtype .. " stored " .. z.stored or z.dtype)
    local options = ("threads=%d poison=%s dropout=%g softcap=%s bias=%s mask=%s"):format(z.threads,
        z.poison, z.dropout,
        z.softcap, z.bias ~= nil, z.mask)
    return ("HEED_FUZZ_SEED=%d HEED_FUZZ_COUNT=1 replays %s %s"):format(z.seed, sizes, options)
end

local function compare(z, what, got, want)
    if heed.allclose(got:to "f64", want, TOLERANCES[got.dtype]) then return end
    local off = (got:to "f64" - want):abs()
    error(("%s is off by %s\n%s"):format(what, off:numel() > 0 and off:max():item() or "its shape",
        description(z)), 0)
end

local function check_gradient(z, name)
    local t = z[name]
    if t then
        compare(z, "the gradient of " .. name, t.own.grad,
            t.clean.grad or heed.zeros(t.clean:size()):to "f64")
    end
end

local function check(seed)
    local _ <close> = heed.scope()
    local z = configuration(seed)
    heed.set_num_threads(z.threads)
    local out, weights = attend(z, z.v.heads, z.weights)
    out:backward(z.g.heads:detach())
    if z.L * z.S == 0 then
        compare(z, "out", out, heed.zeros({ out:size() }, { dtype = "f64" }))
    else
        local want, want_weights = by_formula(z)
        compare(z, "out", out, want)
        if weights then compare(z, "weights", weights, want_weights) end
        want:backward(z.g.clean_heads:detach())
    end
    for _, name in ipairs { "q", "k", "v", "bias" } do check_gradient(z, name) end
end

describe("attention of random configurations", function()
    local threads = heed.get_num_threads()
    teardown(function() heed.set_num_threads(threads) end)

    it("is the formula", function()
        for seed = FIRST, FIRST + COUNT - 1 do
            local ok, message = xpcall(check, debug.traceback, seed)
            assert(ok, ("HEED_FUZZ_SEED=%d: %s"):format(seed, message))
        end
    end)
end)
