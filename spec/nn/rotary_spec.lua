local heed = require "heed"
local nn = heed.nn
require "heed.luassert"

local function normal(...) return heed.randn({ ... }, { dtype = "f64" }) end

describe("Rotary", function()
    it("makes products depend on the distance alone", function()
        for _, options in ipairs { {}, { interleaved = true }, { dim = 4, base = 30 } } do
            local rotary = nn.Rotary(8, options)
            local q, k = normal(1, 1, 8), normal(1, 1, 8)
            local function product(i, j)
                return (rotary(q, { offset = i }) * rotary(k, { offset = j })):sum():item()
            end
            assert.is_true(math.abs(product(3, 1) - product(102, 100)) < 1e-12)
            assert.is_true(math.abs(product(3, 1) - product(1, 3)) > 1e-3)
        end
    end)

    it("takes positions for each of a batch, as numbers before it too", function()
        local rotary, x = nn.Rotary(4), normal(2, 3, 5, 4)
        local by_offset = rotary(x, { offset = { 2, 7 } })
        for b, offset in ipairs { 2, 7 } do
            assert.is_close(by_offset[b], rotary(x[b], { offset = offset }), 0)
        end
        assert.error_matches(function() rotary(x,
            { offset = 1, positions = { 1, 2, 3, 4, 5 } }) end, "expected one of them, got both")
        assert.error_matches(function() rotary(x, { positions = { 1, 2 } }) end,
            "positions: expected %[5%], .* got %[2%]")
        assert.error_matches(function() rotary(x, { positions = { 0, 1, 2, 3, 4 } }) end,
            "expected values in 1")
        assert.error_matches(function() rotary(x, { offset = -1 }) end,
            "offset: expected an integer of at least 0, got %-1")
        assert.error_matches(function() rotary(normal(5, 6)) end,
            "x: expected %[%.%.%., L, 4%] %(head_dim%), got %[5, 6%]")
    end)

    it("has correct gradients", function()
        for _, options in ipairs { {}, { interleaved = true }, { dim = 2 } } do
            local rotary = nn.Rotary(6, options)
            local function turned(x)
                return rotary(x, { positions = { { 4, 1, 9 }, { 2, 2, 3 } } })
            end
            assert.is_true(heed.gradcheck(turned, { normal(2, 2, 3, 6) }))
        end
    end)

    it("refuses scalings that are none", function()
        local function scaled(scaling, dim)
            return function() nn.Rotary(dim or 8, { scaling = scaling }) end
        end
        assert.error_matches(scaled "linear", 'scaling: expected a table, got "linear"')
        assert.error_matches(scaled { type = "spiral", factor = 2 },
            'scaling.type: expected "linear", .*, got "spiral"')
        assert.error_matches(scaled { type = "linear" },
            "scaling.factor: expected a number .*, got nil")
        assert.error_matches(scaled { type = "linear", factor = 0 },
            "scaling.factor: expected a number above 0")
        assert.error_matches(scaled { type = "ntk", factor = 0.5 },
            "scaling.factor: expected a number of at least 1, got 0.5")
        assert.error_matches(scaled { type = "linear", factor = 2, base = 3 }, 'no option "base"')
        assert.error_matches(scaled({ type = "ntk", factor = 2 }, 2), "more than 2 features")
        assert.error_matches(scaled { type = "llama3", factor = 8, low_freq_factor = 4,
            high_freq_factor = 4,
            original_max_position_embeddings = 64 },
                "high_freq_factor: expected more than low_freq_factor %(4%), got 4")
        local function yarn(more)
            local s = { type = "yarn", factor = 2, original_max_position_embeddings = 9 }
            for name, value in pairs(more) do s[name] = value end
            return scaled(s)
        end
        assert.error_matches(yarn { original_max_position_embeddings = false },
            "original_max_position_embeddings: expected a number")
        assert.error_matches(yarn { beta_slow = 32 },
            "scaling.beta_fast: expected more than beta_slow %(32%), got 32")
        assert.error_matches(yarn { truncate = 1 }, "scaling.truncate: expected a boolean")
        assert.error_matches(yarn { attention_factor = 0 }, "attention_factor: .* above 0")
        assert.error_matches(yarn { mscale = 1 }, 'no option "mscale"')
        assert.error_matches(function()
            nn.Rotary(8, { base = 1, scaling = { type = "yarn", factor = 2,
                original_max_position_embeddings = 9 } })
        end, "wants a base above 1")
        local function longrope(short, long)
            return scaled { type = "longrope", short_factor = short, long_factor = long,
                original_max_position_embeddings = 9 }
        end
        assert.error_matches(longrope({ 1, 1, 1, 1 }), "long_factor: expected a table, got nil")
        assert.error_matches(longrope({ 1, 1, 1 }, { 1, 1, 1, 1 }),
            "short_factor: expected 4 numbers, one for each pair of features, got 3")
        assert.error_matches(longrope({ 1, 1, 1, 1 }, { 1, 1, 0, 1 }),
            "long_factor%[3%]: expected a number above 0")
        assert.error_matches(scaled { type = "linear", factor = { 1, 2 } },
            "scaling.factor: expected 4 numbers")
    end)

    it("goes from the short factors of longrope to the long ones and back", function()
        local s = { type = "longrope", short_factor = { 1, 2 }, long_factor = { 3, 8 },
            original_max_position_embeddings = 4, factor = 16 }
        local rotary, x = nn.Rotary(4, { scaling = s }), normal(6, 4)
        local function by(factor, t)
            local linear = nn.Rotary(4, { scaling = { type = "linear", factor = factor } })
            return linear(t) * math.sqrt(1 + math.log(16) / math.log(4))
        end
        for _ = 1, 2 do
            assert.is_close(rotary(x[{ { 1, 4 } }]), by({ 1, 2 }, x[{ { 1, 4 } }]), 1e-12)
            assert.is_close(rotary(x), by({ 3, 8 }, x), 1e-12)
        end
        assert.is_close(rotary(x[{ { 5 } }], { offset = 4 }), by({ 3, 8 }, x)[{ { 5 } }], 1e-12)
        assert.are.same({ 1, 0.01 / 2 }, rotary:rates(4))
        assert.are.same({ 1 / 3, 0.01 / 8 }, rotary:rates(5))
    end)
end)
