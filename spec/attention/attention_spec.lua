local heed = require "heed"
local mask = heed.mask
require "heed.luassert"

-- softmax(scale · Q K^T + bias) V with plain operations; a row that sees nothing gives zeros.
local function reference(q, k, v, seen, scale, softcap)
    local groups = q:size(2) // k:size(2)
    if groups > 1 then
        local index = {}
        for h = 1, q:size(2) do index[h] = (h - 1) // groups + 1 end
        k, v = k:index_select(2, index), v:index_select(2, index)
    end
    local s = q:matmul(k:transpose(-2, -1)) * (scale or 1 / math.sqrt(q:size(-1)))
    if softcap then s = (s / softcap):tanh() * softcap end
    if seen then s = s:masked_fill(heed.logical_not(seen), -math.huge) end
    local w = s:softmax(-1)
    return w:matmul(v), w
end

local function normal(...) return heed.randn({ ... }, { dtype = "f64" }) end

describe("heed.attention", function()
    heed.manual_seed(21)

    it("is the formula, with masks of every kind and weights on request", function()
        for _, size in ipairs { { 5, 5 }, { 3, 7 }, { 1, 9 }, { 40, 40 } } do
            local L, S = size[1], size[2]
            local q, k, v = normal(2, 4, L, 8), normal(2, 4, S, 8), normal(2, 4, S, 6)
            local both = mask.causal() & mask.padding { 1, S }
            for _, m in ipairs { false, mask.causal(), mask.padding { S, S // 2 },
                mask.window(2, 1), both } do
                local seen = m and m:dense(L, S)
                if seen and seen:dim() == 3 then seen = seen:unsqueeze(2) end
                local want, want_weights = reference(q, k, v, seen)
                local out = heed.attention(q, k, v, { mask = m or nil })
                local same, weights = heed.attention(q, k, v, { mask = m or nil, weights = true })
                assert.is_close(out, want, 1e-9)
                assert.is_close(same, out, 1e-12)
                assert.is_close(weights, want_weights, 1e-9)
            end
        end
    end)

    it("takes a scale and a softcap", function()
        local q, k, v = normal(1, 2, 4, 8), normal(1, 2, 4, 8), normal(1, 2, 4, 8)
        assert.is_close(heed.attention(q, k, v, { scale = 2.0, softcap = 1.5 }),
            (reference(q, k, v, nil, 2.0, 1.5)), 1e-9)
    end)

    it("has correct gradients, of a bias too", function()
        local inputs = { normal(1, 4, 3, 2), normal(1, 2, 4, 2), normal(1, 2, 4, 3), normal(3, 4) }
        for _, m in ipairs { false, mask.causal(), mask.padding { 2 } } do
            assert.is_true(heed.gradcheck(function(q, k, v, bias)
                local both = mask.bias(bias)
                return heed.attention(q, k, v, { mask = m and m & both or both })
            end, inputs))
        end
        assert.is_true(heed.gradcheck(function(q, k, v)
            return heed.attention(q, k, v, { softcap = 0.8 })
        end,
            { inputs[1], inputs[2], inputs[3] }))
    end)

    -- Repeated over rows and heads, T5's; over queries; over rows, heads and keys.
    it("sums the gradient of a bias in its own shape, in one order on any number of threads",
        function()
        local B, H, L = 8, 4, 160
        local q, g = heed.randn({ B, H, L, 8 }, { requires_grad = true }), heed.randn(B, H, L, 8)
        local threads = heed.get_num_threads()
        local function gradient_of(bias, count)
            heed.set_num_threads(count)
            bias.grad = nil
            heed.attention(q, q, q, { mask = mask.bias(bias) }):backward(g)
            return bias.grad
        end
        for _, shape in ipairs { { 1, H, L, L }, { 1, H, 1, L }, { 1, 1, L, L }, { B, H, 1, L },
            { 1, 1, L, 1 } } do
            local bias, dense = heed.randn(shape, { requires_grad = true }),
                heed.zeros({ B, H, L, L }, { requires_grad = true })
            heed.attention(q, q, q, { mask = mask.bias(bias:detach() + dense) }):backward(g)
            local want = dense.grad
            for d, size in ipairs(shape) do want = size == 1 and want:sum(d, true) or want end
            local one = gradient_of(bias, 1)
            assert.is_close(one, want, 1e-4)
            for count = 2, 3 do assert.is_true(one:equal(gradient_of(bias, count))) end
        end
        heed.set_num_threads(threads)
    end)

    it("keeps alive what the bias was made by, and nothing of the bias longer than its scope",
        function()
        local q, leaf, calls = heed.randn(1, 1, 4, 8),
            heed.randn({ 4, 4 }, { requires_grad = true }), 0
        local function attend()
            local double = heed.func(function(_, x) return x * 2 end, function(_, g)
                calls = calls + 1
                return g * 2
            end)
            return heed.attention(q, q, q, { mask = mask.bias(double(leaf)) })
        end
        local out = attend()
        collectgarbage()
        collectgarbage()
        out:sum():backward()
        assert.are.equal(1, calls)
        local live = heed.memory().live
        do
            local _ <close> = heed.scope()
            heed.attention(q, q, q, { mask = mask.bias(heed.randn(1, 4, 4) * 1) })
        end
        assert.are.equal(live, heed.memory().live)
    end)

    it("wants no more memory for the gradient of a bias than the bias", function()
        local B, L = 32, 512
        local q = heed.randn({ B, 1, L, 4 }, { requires_grad = true })
        local bias = heed.randn({ L, L }, { requires_grad = true })
        local limit = heed.memory_limit()
        local function attend()
            heed.attention(q, q, q, { mask = bias }):backward(heed.ones(B, 1, L, 4))
        end
        heed.memory_limit(heed.memory().live + (8 << 20)) -- all scores are 32 MB
        local ok, message = pcall(attend)
        heed.memory_limit(limit)
        assert(ok, message)
    end)

    it("reads keys and values that are stored as f16 and bf16, and gives what their values give",
        function()
        for _, dtype in ipairs { "f16", "bf16" } do
            for _, L in ipairs { 1, 3, 20, 70 } do
                local q, k, v = heed.randn(2, 4, L, 12), heed.randn(2, 2, 75, 12):to(dtype),
                    heed.randn(2, 2, 75, 7):to(dtype)
                local m = mask.causal() & mask.padding { 75, 71 }
                local want = (reference(q:to "f64", k:to "f64", v:to "f64",
                    m:dense(L, 75):unsqueeze(2)))
                local out, weights = heed.attention(q, k, v, { mask = m, weights = true })
                assert.are.same({ "f32", "f32" }, { out.dtype, weights.dtype })
                assert.is_close(out:to "f64", want, 1e-5)
                assert.is_close(heed.attention(q, k:transpose(2, 3):contiguous():transpose(2, 3), v,
                    { mask = m }), out, 1e-6)
                out, weights = heed.attention(q:to(dtype), k, v, { mask = m, weights = true })
                assert.are.same({ dtype, dtype }, { out.dtype, weights.dtype })
                want = (reference(q:to(dtype):to "f64", k:to "f64", v:to "f64",
                    m:dense(L, 75):unsqueeze(2)))
                assert.is_close(out:to "f64", want, dtype == "f16" and 2e-3 or 1.6e-2)
            end
        end
    end)

    it("leaves what stands behind a mask of stored keys and values alone", function()
        for _, L in ipairs { 1, 20 } do
            local k = heed.randn(1, 2, 40, 8)
            k[{ {}, {}, { 31, 40 } }] = 0 / 0
            local out = heed.attention(heed.randn(1, 2, L, 8), k:to "bf16", k:to "bf16",
                { mask = heed.range(1, 40):le(30):view(1, 40) })
            assert.is_true(heed.isfinite(out):all())
        end
    end)

    it("takes all in one dtype, or keys and values in f16 or bf16", function()
        local x = heed.zeros(1, 2, 3, 4)
        local function refuses(q, k, v, message)
            assert.error_matches(function() heed.attention(x:to(q), x:to(k), x:to(v)) end,
                "heed.attention: " .. message, nil, true)
        end
        refuses("f32", "f64", "f64", 'k: expected f32, got f64; t:to "f32" converts')
        refuses("f64", "bf16", "bf16", 'k: expected f64, got bf16; t:to "f64" converts')
        refuses("bf16", "f32", "f32", 'k: expected bf16, got f32; t:to "bf16" converts')
        refuses("f32", "f16", "bf16", 'v: expected f16, got bf16; t:to "f16" converts')
        refuses("i64", "i64", "i64", "q: expected f32 or f64, got i64")
    end)

    it("drops weights only when told, reports those before dropout", function()
        local q, v = heed.zeros(1, 1, 4, 2), heed.ones(1, 1, 4, 2)
        heed.manual_seed(1)
        local out, weights = heed.attention(q, q, v, { dropout = 0.5, weights = true })
        assert.is_false(heed.allclose(out, v))
        assert.is_close(weights, heed.full({ 1, 1, 4, 4 }, 0.25))
        assert.are.equal(0, heed.attention(q, q, v, { dropout = 1 }):abs():sum():item())
        assert.is_close(heed.attention(q, q, v, { mask = mask.causal(), dropout = 0 }), v)
    end)

    it("gives some of the weights", function()
        local q = normal(1, 3, 5, 2)
        local _, all = heed.attention(q, q, q, { weights = true })
        local _, some = heed.attention(q, q, q, { weights = { heads = { 3 }, rows = { 2, 5 } } })
        assert.has_shape(some, { 1, 1, 2, 5 })
        assert.is_close(some[{ 1, 1, 2 }], all[{ 1, 3, 5 }], 1e-12)
    end)

    it("gives weights of rows and heads as they are among all, for every mask and bias", function()
        local q, k, v = normal(2, 4, 9, 5), normal(2, 2, 12, 5), normal(2, 2, 12, 3)
        local rows, heads = { 2, 9, -8, 5 }, { 4, 2 }
        local masks = { false, mask.causal(), mask.causal() & mask.padding { 3, 12 },
            mask.window(2, 1) | ~mask.prefix(7),
            mask.alibi(4) & mask.causal(), mask.bias(normal(9, 12)),
                mask.bias(normal(2, 1, 12)) & mask.alibi(4),
            mask.bias(normal(2, 4, 9, 12)) & mask.fn(function(b, h, p,
                j) return (b + h + p + j) % 3 > 0 end, { over = "bhij" }) }
        for _, m in ipairs(masks) do
            local options = { mask = m or nil, scale = 0.7, softcap = 3 }
            local out = heed.attention(q, k, v, options)
            options.weights = true
            local _, all = heed.attention(q, k, v, options)
            for _, wish in ipairs { { rows = rows }, { heads = heads },
                { rows = heed.ids(rows), heads = heads }, {} } do
                options.weights = wish
                local same, some = heed.attention(q, k, v, options)
                assert.is_close(same, out, 0)
                local want = wish.heads and all:index_select(2, heads) or all
                assert.is_close(some, wish.rows and want:index_select(3, { 2, 9, 2, 5 }) or want,
                    1e-12)
            end
        end
    end)

    it("gives weights of rows of packed sequences, and of queries without heads", function()
        local q, k = normal(5, 4), normal(7, 4)
        local m = mask.packed({ 2, 3 }, { 3, 4 }) & mask.causal()
        local _, all = heed.attention(q, k, k, { mask = m, weights = true })
        local _, some = heed.attention(q, k, k, { mask = m, weights = { rows = { 4, 2 } } })
        assert.is_close(some, all:index_select(1, { 4, 2 }), 1e-12)
        local b = normal(2, 5, 4)
        _, all = heed.attention(b, b, b, { weights = true })
        _, some = heed.attention(b, b, b, { weights = { rows = { 1 } } })
        assert.is_close(some, all:narrow(2, 1, 1), 1e-12)
    end)

    it("gives weights of a row at its cost alone", function()
        local L = 4096
        local q = heed.randn({ 1, 1, L, 8 }, { requires_grad = true })
        local live = heed.memory { reset_peak = true }.live
        local _, row = heed.attention(q, q, q, { mask = mask.causal() & mask.window(100),
            weights = { rows = { L } } })
        assert.is_false(row.requires_grad)
        assert.are.equal(101, row:gt(0):sum():item())
        assert.is_true(heed.memory().peak - live < 4 << 20) -- all weights are 64 MB
    end)

    it("teaches which weights there are", function()
        local q = heed.zeros(1, 2, 3, 4)
        local function refuses(wish, message)
            assert.error_matches(function() heed.attention(q, q, q, { weights = wish }) end,
                message, nil, true)
        end
        refuses({ rows = { 4 } }, "heed.attention: weights: rows: expected 1..3, got 4")
        refuses({ heads = { 0 } }, "heed.attention: weights: heads: expected 1..2, got 0")
        refuses({ rows = { 1.5 } }, "heed.attention: weights: rows: expected 1..3, got 1.5")
        refuses({ row = { 1 } }, 'there is no option "row"')
        q = q:select(2, 1)
        refuses({ heads = { 1 } }, "heed.attention: weights: heads: expected queries with heads")
    end)

    it("groups query heads: heads 1 and 2 read key head 1", function()
        local v = heed.zeros(1, 2, 1, 1)
        v[{ 1, 2 }] = 5
        local out = heed.attention(heed.zeros(1, 4, 1, 1), heed.zeros(1, 2, 1, 1), v)
        assert.are.same({ 0.0, 0.0, 5.0, 5.0 }, out:flatten():totable())
        assert.has_error(function()
            heed.attention(heed.zeros(1, 3, 1, 1), heed.zeros(1, 2, 1, 1), v)
        end)
    end)

    it("hides a whole head alike, with weights asked for and not", function()
        local q = normal(1, 2, 3, 4)
        local m = mask.fn(function(_, h) return h == 2 end, { over = "bhij" })
        local out = heed.attention(q, q, q, { mask = m })
        local same, weights = heed.attention(q, q, q, { mask = m, weights = true })
        assert.is_close(out, same, 1e-12)
        assert.are.equal(0, weights[{ 1, 1 }]:sum():item() + out[{ 1, 1 }]:abs():sum():item())
    end)

    it("has finite gradients where padding hides all that causality leaves", function()
        local q = heed.randn({ 1, 1, 3, 2 }, { requires_grad = true })
        local seen = heed.ids { { 0, 0, 0 }, { 0, 1, 0 }, { 0, 1, 1 } }
        heed.attention(q, q, q, { mask = mask.bool(seen) & mask.causal() })[{ {}, {},
            { 2, 3 } }]:sum():backward()
        assert.is_true(heed.isfinite(q.grad):all())
        assert.are.equal(0, q.grad[{ 1, 1, 1 }]:abs():sum():item())
    end)

    it("a float padding mask of 0 and -inf is the bool mask", function()
        local q = normal(1, 1, 2, 2)
        local floats = heed.tensor({ { 0, -math.huge }, { 0, -math.huge } }, { dtype = "f64" })
        local by_float = heed.attention(q, q, q, { mask = floats })
        assert.is_close(by_float, heed.attention(q, q, q,
            { mask = heed.tensor { { true, false }, { true, false } } }), 1e-12)
    end)

    it("keeps the length when every sample is padded, and the shape of an empty batch", function()
        local q = normal(2, 1, 4, 2)
        assert.has_shape(heed.attention(q, q, q, { mask = mask.padding { 2, 2 } }), { 2, 1, 4, 2 })
        local out = heed.attention(heed.zeros(0, 2, 3, 8), heed.zeros(0, 2, 4, 8),
            heed.zeros(0, 2, 4, 8))
        assert.has_shape(out, { 0, 2, 3, 8 })
    end)

    it("reads views as they lie", function()
        local v = heed.tensor({ { 1.0, 2.0 }, { 3.0, 4.0 } }):t()
        assert.are.same({ { 1.5, 3.5 } }, heed.attention(heed.zeros(1, 1), heed.zeros(2, 1),
            v):totable())
    end)

    it("names what does not fit", function()
        local q = heed.zeros(2, 4, 3, 8)
        assert.error_matches(function() heed.attention(q, heed.zeros(2, 4, 3, 6), q) end,
            "heed.attention: k")
        assert.error_matches(function() heed.attention(q, q, q, { mask = heed.zeros(3, 4) }) end,
            "heed.attention: .*3, 4%]")
        assert.error_matches(function() heed.attention(q, q, q, { causal = true }) end,
            'no option "causal"')
        assert.error_matches(function() heed.attention(q, q, q, { mask = "causal" }) end,
            'expected a mask .* got "causal"')
    end)

    it("refuses lengths of keys that are none", function()
        local q = heed.zeros(2, 3, 4)
        assert.error_matches(function() heed.mask.padding { 3, -1 } end,
            "heed.mask.padding: lengths: expected 0 or more, got -1 at row 2", nil, true)
        local long, list = heed.mask.padding { 3, 4 }, heed.ids { 3, 3 }
        assert.error_matches(function() heed.attention(q, q, q, { mask = long }) end,
            "heed.attention: mask: heed.mask.padding: lengths: expected at most 3, the keys, got "
                .. "4 at row 2", nil, true)
        local written = heed.mask.padding(list)
        list[2] = 5 -- behind the mask's back
        assert.error_matches(function() heed.attention(q, q, q, { mask = written }) end,
            "from 0 to the 3 keys, got 5 at row 2", nil, true)
    end)
end)
