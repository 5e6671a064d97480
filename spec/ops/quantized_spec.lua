-- Quantised weights: what they are, and what products and look-ups make of them.

local heed = require "heed"
require "heed.luassert"

local TYPES = { "q4_0", "q4_1", "q5_0", "q5_1", "q8_0" }

local function weight(rows, columns, type)
    heed.manual_seed(rows + columns)
    local w = heed.quantize(heed.randn(rows, columns), type)
    return w, w:to "f32"
end

local function is_same(want, got) assert.is_true(heed.equal(want, got)) end

local function raises(f, text)
    local ok, message = pcall(f)
    assert.is_false(ok)
    assert.matches(text, message, 1, true)
end

-- As far from the product with the numbers as two bytes for an element of x allow.
local function is_product(got, x, numbers)
    local want = heed.linear(x, numbers)
    local scale = x:abs():max():item() * numbers:norm { dim = 2 }:max():item()
    assert.is_close(got, want, 2e-4 * scale / math.sqrt(x:size(-1)))
end

describe("a quantised weight", function()
    for _, type in ipairs(TYPES) do
        it("is multiplied as its numbers are: " .. type, function()
            for _, rows in ipairs { 1, 15, 16, 17, 100 } do
                local w, numbers = weight(rows, 96, type)
                for _, count in ipairs { 1, 2, 3, 9, 70 } do
                    local x = heed.randn(count, 96)
                    is_product(heed.linear(x, w), x, numbers)
                end
            end
        end)

        it("gives gradients to the input and to the bias: " .. type, function()
            local w, numbers = weight(300, 64, type)
            local g = heed.randn(2, 3, 300)
            local function gradients(matrix)
                heed.manual_seed(5)
                local x = heed.randn(2, 3, 64, { requires_grad = true })
                local b = heed.randn(300, { requires_grad = true })
                ;(heed.linear(x, matrix, b, "gelu") * g):sum():backward()
                return x.grad, b.grad
            end
            local dx, db = gradients(w)
            local want_dx, want_db = gradients(numbers)
            assert.is_close(dx, want_dx, 5e-3)
            assert.is_close(db, want_db, 5e-3)
        end)

        it("is looked up to the bit: " .. type, function()
            local w, numbers = weight(20, 32, type)
            local ids = heed.ids { { 1, 20, 7 }, { 7, 7, 2 } }
            is_same(heed.embedding(numbers, ids), heed.embedding(w, ids))
            is_same(heed.embedding(numbers, ids, nil, 3), heed.embedding(w, ids, nil, 3))
        end)
    end

    it("has a shape, a format as its dtype, and no elements", function()
        local w = weight(20, 32, "q4_1")
        assert.are.same({ "q4_1", 20, 2, 640 }, { w.dtype, w:size(1), w:dim(), w:numel() })
        assert.has_shape(w, { 20, 32 })
        assert.are.equal("quantised weight, q4_1 [20, 32]", tostring(w))
        assert.is_true(heed.is_quantized(w))
        assert.is_false(heed.is_quantized(w:to "f32"))
        assert.are.equal("f64", w:to("f64").dtype)
        for _, use in ipairs { function() return w + 1 end, function() return w[1] end,
            function() w[1] = 0 end, function() return w:sum() end, function() return w:totable() end,
            function() return heed.matmul(heed.ones(2, 20), w) end,
            function() return w:transpose(1, 2) end, function() return w:narrow(1, 1, 2) end,
            function() return heed.linear(w, w) end, function() w:zero_() end } do
            raises(use, 'got a Q4_1 weight; its :to "f32" gives them')
        end
        raises(function() w.requires_grad = true end, "has no gradient")
        w.requires_grad = false
        assert.is_false(w.requires_grad)
    end)

    it("is refused where it does not fit", function()
        local w = weight(20, 32, "q8_0")
        raises(function() heed.linear(heed.ones(2, 33), w) end, "expected 32 features")
        raises(function() heed.linear(heed.ones(2, 32, { dtype = "f64" }), w) end, "f64")
        raises(function() heed.embedding(w, { 21 }) end, "1..20, got 21")
        raises(function() heed.quantize(heed.ones(2, 31), "q4_0") end,
            "multiple of 32, got [2, 31]")
        raises(function() heed.quantize(heed.ones(2, 32), "q9") end,
            "type: expected one of q4_0")
        raises(function() heed.quantize(heed.full({ 2, 32 }, 0 / 0), "q4_0") end, "finite")
        raises(function() heed.quantize(heed.ones(32), "q4_0") end, "[out, in]")
    end)

    it("takes no rows, and what is not finite stays in its row", function()
        local w = weight(20, 32, "q5_0")
        assert.has_shape(heed.linear(heed.empty(0, 32), w), { 0, 20 })
        local x = heed.ones(3, 32)
        x[{ 2, 5 }] = 1 / 0
        local y = heed.linear(x, w)
        assert.is_true(y[1]:isfinite():all() and y[3]:isfinite():all())
        assert.is_true(y[2]:isnan():all())
        is_same(heed.zeros(1, 20), heed.linear(heed.zeros(1, 32), w))
    end)

    it("gives the same bits on any number of threads, and in any company", function()
        local w, threads = weight(200, 256, "q4_1"), heed.get_num_threads()
        local x = heed.randn(130, 256)
        local y = heed.linear(x, w)
        for _, count in ipairs { 1, 2, 5 } do
            heed.set_num_threads(count)
            is_same(y, heed.linear(x, w))
        end
        heed.set_num_threads(threads)
        is_same(y[77], heed.linear(x[77], w))
        is_same(y:narrow(1, 3, 9), heed.linear(x:narrow(1, 3, 9), w))
    end)

    it("keeps small elements beside large ones", function()
        local w, numbers = weight(64, 64, "q8_0")
        local x = heed.randn(4, 64)
        x[{ {}, 1 }] = 3000
        local rest = heed.cat({ heed.zeros(4, 1), x:narrow(2, 2, 63) }, 2)
        local got = heed.linear(x, w) - heed.linear(heed.cat({ x:narrow(2, 1, 1),
            heed.zeros(4, 63) }, 2), w)
        assert.is_close(got, heed.linear(rest, numbers), 0.5)
    end)
end)

describe("layers with quantised weights", function()
    local function quantised(module)
        for _, name in ipairs { "linear1", "linear2", "linear3" } do
            if module[name] then module[name].weight = heed.nn.parameter(heed.quantize(module[name].weight, "q8_0")) end
        end
        local attention = module.self_attn
        attention.in_proj_weight = heed.nn.parameter(heed.quantize(attention.in_proj_weight, "q8_0"))
        attention.out_proj.weight = heed.nn.parameter(heed.quantize(attention.out_proj.weight, "q8_0"))
        return module
    end

    local function numbers(module)
        local copy = {}
        for name, p in module:named_parameters() do copy[name] = heed.is_quantized(p) and p:to "f32" or p end
        return copy
    end

    it("compute as with their numbers, also in parts, with a cache and weights shown", function()
        heed.manual_seed(3)
        local options = { norm_first = true, norm = "rms", activation = "swiglu", num_kv_heads = 2,
            rotary = true, dropout = 0 }
        local layer = quantised(heed.nn.TransformerEncoderLayer(64, 4, 96, options)):eval()
        local plain = heed.nn.TransformerEncoderLayer(64, 4, 96, options):eval()
        plain:load_state_dict(numbers(layer))
        local x, mask = heed.randn(2, 7, 64), heed.mask.causal()
        local want = plain(x, { mask = mask })
        assert.is_close(layer(x, { mask = mask }), want, 2e-3)
        local capture = heed.capture(layer)
        assert.is_close(layer(x, { mask = mask }), want, 2e-3)
        capture:close()
        assert.is_false(layer.linear1.weight.requires_grad)
    end)

    it("pass gradients on to what stands before them", function()
        heed.manual_seed(4)
        local layer = quantised(heed.nn.TransformerEncoderLayer(32, 2, 64, { dropout = 0 }))
        local plain = heed.nn.TransformerEncoderLayer(32, 2, 64, { dropout = 0 })
        plain:load_state_dict(numbers(layer))
        local function gradient(module)
            heed.manual_seed(6)
            local x = heed.randn(2, 5, 32, { requires_grad = true })
            module(x):square():sum():backward()
            return x.grad
        end
        assert.is_close(gradient(layer), gradient(plain), 5e-3)
        assert.is_truthy(layer.norm1.weight.grad)
    end)
end)
