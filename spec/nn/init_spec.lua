local heed = require "heed"
local init = heed.nn.init
require "heed.luassert"

-- Mean, standard deviation and kurtosis (3 for normal numbers, 1.8 for uniform ones) of many
-- numbers.
local function moments(t)
    local x = t:to("f64"):flatten()
    local mean = x:mean():item()
    local centred = x - mean
    local variance = (centred * centred):mean():item()
    return mean, math.sqrt(variance), (centred ^ 4):mean():item() / variance ^ 2
end

local function assert_moments(t, want_mean, want_std, want_kurtosis)
    local mean, std, kurtosis = moments(t)
    local scale = want_std / math.sqrt(t:numel())
    assert.is_true(math.abs(mean - want_mean) < 5 * scale, ("mean %g, want %g"):format(mean,
        want_mean))
    assert.is_true(math.abs(std - want_std) < 4 * scale, ("std %g, want %g"):format(std, want_std))
    assert.is_true(math.abs(kurtosis - want_kurtosis) < 0.06,
        ("kurtosis %g, want %g"):format(kurtosis, want_kurtosis))
end

local NORMAL, UNIFORM = 3, 1.8

describe("nn.init", function()
    local t
    before_each(function()
        heed.manual_seed(19)
        t = heed.empty(400, 300)
    end)

    it("uniform_ and normal_", function()
        assert_moments(init.uniform_(t), 0.5, 1 / math.sqrt(12), UNIFORM)
        assert_moments(init.uniform_(t, -3, 1), -1, 4 / math.sqrt(12), UNIFORM)
        assert.is_true(t:min():item() >= -3 and t:max():item() < 1)
        assert_moments(init.normal_(t), 0, 1, NORMAL)
        assert_moments(init.normal_(t, 2, 0.1), 2, 0.1, NORMAL)
        assert_moments(init.normal_(t, { std = 0.1, mean = 2 }), 2, 0.1, NORMAL)
    end)

    it("constant_, zeros_, ones_, eye_", function()
        assert.is_close(init.constant_(heed.empty(2, 2), -1.5), { { -1.5, -1.5 }, { -1.5, -1.5 } })
        assert.is_close(init.zeros_(heed.empty(2)), { 0, 0 })
        assert.is_close(init.ones_(heed.empty(2)), { 1, 1 })
        assert.is_close(init.eye_(heed.empty(2, 3)), { { 1, 0, 0 }, { 0, 1, 0 } })
        assert.error_matches(function() init.eye_(heed.empty(2)) end,
            "eye_: t: expected a matrix %[n, m%], got f32 tensor %[2%]")
    end)

    it("xavier by inputs and outputs", function()
        local std = math.sqrt(2 / 700)
        assert_moments(init.xavier_uniform_(t), 0, std, UNIFORM)
        assert.is_true(t:abs():max():item() <= math.sqrt(3) * std)
        assert_moments(init.xavier_normal_(t, 3), 0, 3 * std, NORMAL)
        -- A receptive field counts with both.
        assert_moments(init.xavier_normal_(heed.empty(40, 30, 10, 5)), 0, math.sqrt(2 / (50 * 70)),
            NORMAL)
    end)

    it("kaiming by inputs or outputs and what comes after", function()
        assert_moments(init.kaiming_uniform_(t), 0, math.sqrt(2 / 300), UNIFORM)
        assert_moments(init.kaiming_uniform_(t, math.sqrt(5)), 0, math.sqrt(1 / 3 / 300), UNIFORM)
        assert_moments(init.kaiming_normal_(t, { mode = "fan_out", nonlinearity = "relu" }), 0,
            math.sqrt(2 / 400), NORMAL)
        assert_moments(init.kaiming_normal_(t, 0, "fan_out", "tanh"), 0, 5 / 3 / math.sqrt(400),
            NORMAL)
    end)

    it("orthogonal_ by rows or columns", function()
        for _, shape in ipairs { { 70, 100 }, { 100, 70 }, { 33, 33 }, { 5, 4, 3 }, { 1, 3 } } do
            local w = init.orthogonal_(heed.empty(shape), 2)
            assert.has_shape(w, shape)
            w = w:flatten(2):to "f64"
            if w:size(1) > w:size(2) then w = w:t() end
            assert.is_close(w:matmul(w:t()), heed.eye(w:size(1)) * 4, 2e-6)
        end
        -- Drawn evenly from all of them: no place has a sign of its own.
        local total = heed.zeros(3, 3)
        for _ = 1, 400 do total = total + init.orthogonal_(heed.empty(3, 3)) / 400 end
        assert.is_true(total:abs():max():item() < 5 / math.sqrt(3 * 400))
    end)

    it("trunc_normal_ is the normal distribution between its bounds", function()
        -- Of N(0, 1) inside ±c: variance 1 - 2 c φ(c) / (2 Φ(c) - 1).
        assert_moments(init.trunc_normal_(t), 0, 0.87962566, 2.3660)
        assert.is_true(t:abs():max():item() <= 2 and t:abs():max():item() > 1.99)
        assert_moments(init.trunc_normal_(t, 1, 0.5, -100, 100), 1, 0.5, NORMAL)
        -- Its quantiles are the normal distribution's.
        init.trunc_normal_(t, { mean = 1, std = 2, low = 0, high = 4 })
        local below = t:lt(1):to("f32"):mean():item()
        assert.is_true(math.abs(below - (0.5 - 0.30853754) / (0.93319280 - 0.30853754)) < 0.006)
        assert.is_true(t:min():item() >= 0 and t:max():item() <= 4)
        assert.is_close(init.trunc_normal_(heed.empty(2), { mean = 3, std = 0 }), { 2, 2 })
        assert.error_matches(function() init.trunc_normal_(t, 0, 1, 2, 2) end,
            "high: expected more than low %(2%), got 2")
    end)

    it("draws from a generator of one's own, and leaves the training stream alone", function()
        for _, name in ipairs { "uniform_", "normal_", "xavier_uniform_", "xavier_normal_",
            "kaiming_uniform_", "kaiming_normal_",
            "orthogonal_", "trunc_normal_" } do
            local before = heed.rng_state()
            local a = init[name](heed.empty(6, 5), { generator = heed.generator(3) })
            assert.is_true(heed.equal(before, heed.rng_state()))
            assert.is_true(heed.equal(a,
                init[name](heed.empty(6, 5), { generator = heed.generator(3) })), name)
            assert.is_false(heed.equal(a, init[name](heed.empty(6, 5))), name)
        end
    end)

    it("writes into parameters, outside the graph", function()
        local p = heed.nn.parameter(heed.zeros(4, 3))
        for _, name in ipairs { "uniform_", "ones_", "eye_", "orthogonal_", "trunc_normal_" } do
            assert.are.equal(p, init[name](p))
            assert.is_true(p.is_leaf and p.requires_grad)
        end
        assert.are.equal("f64", init.orthogonal_(heed.empty(2, 2, { dtype = "f64" })).dtype)
    end)

    it("refuses what it does not take", function()
        assert.error_matches(function() init.normal_(t, 0, -1) end,
            "nn.init.normal_: std: expected a number of at least 0, got %-1")
        assert.error_matches(function() init.uniform_(t, { lo = 1 }) end, 'no option "lo"')
        assert.error_matches(function() init.xavier_normal_(t, 1, 2) end,
            "at most 1 arguments after the tensor, got 2")
        assert.error_matches(function() init.kaiming_normal_(t, 0, "fan") end,
            'mode: expected "fan_in" or "fan_out", got "fan"')
        assert.error_matches(function() init.calculate_gain "x" end,
            'nonlinearity: expected "linear", .* got "x"')
        assert.error_matches(function() init.orthogonal_(heed.empty(3)) end,
            "at least 2 dimensions")
    end)
end)
