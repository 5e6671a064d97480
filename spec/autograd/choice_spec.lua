-- What was not chosen has no part in the gradient, be it NaN or infinite there:
-- docs/conventions.md, "Numbers".

local core = require "heed.core"
local heed = require "heed"

local INF, NAN = math.huge, 0 / 0

-- Functions that have no slope, or no value, at what they get in the second place.
local FUNCTIONS = {
    sqrt = { heed.sqrt, 0 }, rsqrt = { heed.rsqrt, 0 }, log = { heed.log, 0 },
        log1p = { heed.log1p, -1 }, exp = { heed.exp, INF },
    expm1 = { heed.expm1, INF }, square = { heed.square, INF }, sin = { heed.sin, INF },
        cos = { heed.cos, INF }, tanh = { heed.tanh, NAN },
    sigmoid = { heed.sigmoid, NAN }, erf = { heed.erf, NAN }, gelu = { heed.gelu, NAN },
        silu = { heed.silu, NAN },
    gelu_tanh = { function(x) return heed.gelu(x, { approximate = "tanh" }) end, NAN },
    gelu_sigmoid = { function(x) return heed.gelu(x, { approximate = "sigmoid" }) end, NAN },
    softplus = { heed.softplus, NAN }, abs = { heed.abs, NAN }, relu = { heed.relu, NAN },
    elu = { function(x) return heed.elu(x, INF) end, -1 },
        leaky_relu = { function(x) return heed.leaky_relu(x, INF) end, -1 },
    pow = { function(x) return x ^ 0.5 end, 0 }, reciprocal = { function(x) return 1 / x end, 0 },
    squared = { function(x) return x ^ 2 end, INF }, cubed = { function(x) return x ^ 3 end, INF },
    exponent = { function(x) return 2 ^ x end, INF }, root = { function(x) return x ^ -1.5 end, 0 },
    quotient = { function(x) return x / (x - 1) end, 1 },
        product = { function(x) return x * x end, INF },
    by_zero = { function(x) return x / 0 end, 1 }, by_infinity = { function(x) return x * INF end,
        1 },
    remainder = { function(x) return 5 % x end, 0 }, power = { function(x) return x ^ x end, -1 },
    clamp = { function(x) return x:clamp { min = 0 } end, NAN },
    maximum = { function(x) return heed.maximum(x, 1) end, NAN },
        lerp = { function(x) return heed.lerp(x, x * 2, INF) end, 1 },
    mse = { function(x) return core.mse_loss(x, heed.zeros_like(x), "none") end, INF },
    kl = { function(x) return core.kl_div(heed.zeros_like(x), x, "none") end, 0 },
}

-- Each keeps the third and fourth element of what f gives.
local KEPT = heed.tensor { false, false, true, true }
local CHOICES = {
    where = function(y) return heed.where(KEPT, y, 0) end,
    ["where of tensors"] = function(y) return heed.where(KEPT, y, heed.zeros_like(y)) end,
    masked_fill = function(y) return y:masked_fill(heed.logical_not(KEPT), 0) end,
    masked_select = function(y) return y:masked_select(KEPT) end,
    ["t[mask]"] = function(y) return y[KEPT] end,
    narrow = function(y) return y:narrow(1, 3, 2) end,
    slice = function(y) return y[{ { 3, 4 } }] end,
    gather = function(y) return y:gather(1, heed.ids { 3, 4 }) end,
    index_select = function(y) return y:index_select(1, heed.ids { 3, 4 }) end,
    ["t[mask] = v"] = function(y)
        local t = y * 1
        t[heed.logical_not(KEPT)] = 0
        return t
    end,
    ["t[slice] = v"] = function(y)
        local t = y * 1
        t[{ { 1, 2 } }] = 0
        return t
    end,
}

local function gradient(f, choose, values, dtype)
    local x = heed.tensor(values, { dtype = dtype, requires_grad = true })
    choose(f(x)):sum():backward()
    return x.grad:totable()
end

describe("what was not chosen has no gradient", function()
    for name, row in pairs(FUNCTIONS) do
        it("in " .. name, function()
            local f, bad = row[1], row[2]
            local fine = (name:find "log1p" or name:find "elu$") and { 1, 2 } or { 2, 3 }
            for _, dtype in ipairs { "f32", "f64" } do
                for chosen, choose in pairs(CHOICES) do
                    local got = gradient(f, choose, { bad, bad, fine[1], fine[2] }, dtype)
                    local want = gradient(f, choose, { fine[1], fine[2], fine[1], fine[2] }, dtype)
                    local words = ("%s, %s: %s, %s"):format(chosen, dtype, got[1], got[2])
                    assert(got[1] == 0 and got[2] == 0, words)
                    for i = 3, 4 do
                        assert(got[i] == want[i] or (got[i] ~= got[i] and want[i] ~= want[i]),
                            words)
                    end
                end
            end
        end)
    end

    it("in norms, deviations and products of rows", function()
        local rows = {
            norm = function(x) return x:norm(2, 2) end, norm_3 = function(x) return x:norm(3,
                2) end,
            norm_1 = function(x) return x:norm(1, 2) end,
                norm_max = function(x) return x:norm(INF, 2) end,
            var = function(x) return x:var(2) end, std = function(x) return x:std(2) end,
                prod = function(x) return x:prod(2) end,
            logsumexp = function(x) return x:logsumexp(2) end,
                amax = function(x) return x:amax(2) end,
        }
        for name, f in pairs(rows) do
            for _, bad in ipairs { INF, -INF, NAN } do
                local x = heed.tensor({ { bad, 1, 2 }, { 1, 2, 4 } }, { requires_grad = true })
                heed.where(heed.tensor { false, true }, f(x), 0):sum():backward()
                local got = x.grad:totable()
                assert.same({ 0, 0, 0 }, got[1], name)
                for _, v in ipairs(got[2]) do assert(v == v and math.abs(v) < INF, name) end
            end
        end
    end)

    it("but NaN that is part of a result is part of the gradient", function()
        for _, f in ipairs { heed.sqrt, heed.exp, heed.tanh, heed.gelu,
            function(x) return x * x end, function(x) return 1 / x end } do
            local x = heed.tensor({ NAN, 1 }, { requires_grad = true })
            f(x):sum():backward()
            assert(x.grad[1] ~= x.grad[1] and x.grad[2] == x.grad[2])
        end
        local x = heed.tensor({ 0, 4 }, { requires_grad = true })
        x:sqrt():sum():backward()
        assert.equal(INF, x.grad[1])
    end)
end)
