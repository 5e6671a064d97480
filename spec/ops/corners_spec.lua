-- Infinities, NaN and ties: what docs/conventions.md promises, and IEEE 754 elsewhere.

local heed = require "heed"
local layouts = require "spec.support.layouts"
local naive = require "spec.support.naive"
require "heed.luassert"

local INF, NAN = math.huge, 0 / 0

local function leaf(nested, dtype)
    local t = heed.tensor(nested, { dtype = dtype })
    t.requires_grad = true
    return t
end

local function gradient(f, nested)
    local x = leaf(nested)
    f(x):sum():backward()
    return x.grad
end

-- Every pair of the corners, more than a vector's lanes of them, against what f says.
local CORNERS = { 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN, 1e-30, -3.0 }

local function pairs_of(dtype)
    local n = #CORNERS * #CORNERS
    local function at(f) return naive.build({ n }, dtype,
        function(index) return CORNERS[f(index[1] - 1) + 1] end) end
    return at(function(i) return i // #CORNERS end), at(function(i) return i % #CORNERS end)
end

local BINARY = {
    add = function(a, b) return a + b end,
    sub = function(a, b) return a - b end,
    mul = function(a, b) return a * b end,
    div = function(a, b) return a / b end,
    pow = function(a, b) return a ^ b end,
    mod = function(a, b) return a % b end,
    floordiv = function(a, b) return a // b end,
    maximum = function(a, b) return (a ~= a or b ~= b) and NAN or math.max(a, b) end,
    minimum = function(a, b) return (a ~= a or b ~= b) and NAN or math.min(a, b) end,
}
local COMPARISONS = {
    eq = function(a, b) return a == b end,
    ne = function(a, b) return a ~= b end,
    lt = function(a, b) return a < b end,
    le = function(a, b) return a <= b end,
    gt = function(a, b) return a > b end,
    ge = function(a, b) return a >= b end,
}

describe("two corners", function()
    for _, functions in ipairs { BINARY, COMPARISONS } do
        for name, f in pairs(functions) do
            it("meet in " .. name, function()
                for _, dtype in ipairs { "f32", "f64" } do
                    local a, b = pairs_of(dtype)
                    local want = naive.zip(functions == COMPARISONS and "bool" or dtype, f, a, b)
                    local message = naive.mismatch(heed[name](layouts.tensor(a), layouts.tensor(b)),
                        want, 1e-5)
                    if message then error(message .. " " .. dtype, 0) end
                end
            end)
        end
    end
end)

describe("rows", function()
    it("that are all -inf have softmax 0 and logsumexp -inf, with gradients 0", function()
        local rows = { { -INF, -INF, -INF }, { -INF, 0, 0 } }
        assert.is_close(heed.softmax(heed.tensor(rows), 2), { { 0, 0, 0 }, { 0, 0.5, 0.5 } })
        assert.is_close(heed.logsumexp(heed.tensor(rows), 2), { -INF, math.log(2) })
        assert.is_close(gradient(function(x) return x:softmax(2):square() end, rows),
            { { 0, 0, 0 }, { 0, 0, 0 } })
        assert.is_close(gradient(function(x) return x:logsumexp(2) end, rows),
            { { 0, 0, 0 }, { 0, 0.5, 0.5 } })
    end)

    it("with a visible NaN are NaN", function()
        local row = heed.tensor { { NAN, 1, -INF } }
        assert.is_close(row:softmax(2), { { NAN, NAN, NAN } })
        assert.is_close(row:logsumexp(2), { NAN })
        assert.is_close(row:sum(2), { NAN })
        assert.is_close(row:mean(2), { NAN })
        assert.is_close(heed.layer_norm(row), { { NAN, NAN, NAN } })
    end)

    it("long ones too, wherever the NaN is", function()
        for _, at in ipairs { 1, 16, 17, 33, 40 } do
            local x = heed.zeros(2, 40)
            x[{ 2, at }] = NAN
            for _, name in ipairs { "softmax", "log_softmax", "logsumexp", "sum", "mean", "var",
                "prod" } do
                local y = heed[name](x, 2)
                assert.is_false(y:narrow(1, 1, 1):isnan():any(), name)
                assert.is_true(y:narrow(1, 2, 1):isnan():any(), name)
            end
        end
    end)

    it("have a largest: NaN is larger, and smaller, than all", function()
        local x = heed.tensor { { 1, NAN, 3 }, { -INF, -INF, -INF }, { INF, 2, INF } }
        local largest, at = x:max(2)
        assert.is_close(largest, { NAN, -INF, INF })
        assert.is_close(at, { 2, 1, 1 })
        local smallest
        smallest, at = x:min(2)
        assert.is_close(smallest, { NAN, -INF, 2 })
        assert.is_close(at, { 2, 1, 2 })
        assert.is_close(x:argmax(1), { 3, 1, 3 })
    end)
end)

describe("gradients at corners", function()
    it("clamp passes 1 at its bounds", function()
        assert.is_close(gradient(function(x) return x:clamp(-1, 2) end, { -2, -1, 0, 2, 3 }),
            { 0, 1, 1, 1, 0 })
    end)

    it("relu and abs have 0 at 0, and pass NaN on", function()
        assert.is_close(gradient(heed.relu, { -1, 0, 1 }), { 0, 0, 1 })
        assert.is_close(gradient(heed.abs, { -1, 0, 1 }), { -1, 0, 1 })
    end)

    it("the norm has 0 at 0", function()
        assert.is_close(gradient(heed.norm, { 0, 0 }), { 0, 0 })
        assert.is_close(gradient(heed.norm, { 3, 4 }), { 0.6, 0.8 })
    end)

    it("ties of maximum and minimum share", function()
        local a, b = leaf { 1, 2, 3 }, leaf { 2, 2, 2 }
        heed.maximum(a, b):sum():backward()
        assert.is_close(a.grad, { 0, 0.5, 1 })
        assert.is_close(b.grad, { 1, 0.5, 0 })
    end)

    it("ties of max over everything share, along a dimension the first has all", function()
        assert.is_close(gradient(function(x) return x:max() end, { { 1, 3 }, { 3, 2 } }),
            { { 0, 0.5 }, { 0.5, 0 } })
        assert.is_close(gradient(function(x) return (x:max(2)) end, { { 3, 3 }, { 1, 2 } }),
            { { 1, 0 }, { 0, 1 } })
    end)

    it("of a product are right with zeros among the factors", function()
        assert.is_close(gradient(heed.prod, { 2, 0, 3 }), { 0, 6, 0 })
        assert.is_close(gradient(heed.prod, { 0, 0, 3 }), { 0, 0, 0 })
    end)

    it("of powers: 0^0 has none, squares of negatives have theirs", function()
        assert.is_close(gradient(function(x) return x ^ 0 end, { 0, 2 }), { 0, 0 })
        assert.is_close(gradient(function(x) return x ^ 2 end, { -3, 0 }), { -6, 0 })
        local exponent = leaf { 2, 3 }
        heed.pow(heed.tensor { 0, 2 }, exponent):sum():backward()
        assert.is_close(exponent.grad, { 0, 8 * math.log(2) })
    end)
end)

describe("what is not chosen", function()
    it("leaks neither value nor gradient, NaN least", function()
        local hidden, shown = leaf { NAN, 1, INF }, leaf { 5, 6, 7 }
        local y = heed.where(heed.tensor { false, true, false }, hidden, shown)
        assert.is_close(y, { 5, 1, 7 })
        y:square():sum():backward()
        assert.is_close(hidden.grad, { 0, 2, 0 })
        assert.is_close(shown.grad, { 10, 0, 14 })
    end)

    it("by masked_fill, forward and backward", function()
        local x = leaf { NAN, 2, INF }
        local y = x:masked_fill(heed.tensor { true, false, true }, 0)
        assert.is_close(y, { 0, 2, 0 })
        y:log():sum():backward() -- the gradient that arrives is infinite at what was filled
        assert.is_close(x.grad, { 0, 0.5, 0 })
    end)

    it("by tril and triu", function()
        local x = heed.full({ 2, 2 }, NAN)
        assert.is_close(x:tril(-1), { { 0, 0 }, { NAN, 0 } })
        assert.is_close(x:triu(1), { { 0, NAN }, { 0, 0 } })
    end)
end)

describe("what an operation gives", function()
    it("lies in memory of its own, of integers too", function()
        for _, f in ipairs { heed.floor, heed.round, function(t) return t:round(2) end } do
            local t = heed.ids { 1, 2, 3 }
            f(t):add_(1)
            assert.are.same({ 1, 2, 3 }, t:totable())
        end
    end)

    it("is right when a tensor is its own mask", function()
        local t = heed.tensor { false, true, true }
        t:masked_fill_(t, false)
        assert.are.same({ false, false, false }, t:totable())
    end)

    it("is not kept alive by itself as its own gradient", function()
        local function live()
            collectgarbage()
            return heed.memory().live
        end
        local function circle()
            local a, b = heed.zeros(1 << 16), heed.zeros(1 << 16)
            a.grad = a
            b.grad = a
            a.grad = b
        end
        local before = live()
        circle()
        assert.is_true(live() < before + (1 << 16))
    end)

    it("takes an empty table for options that are all nil", function()
        local x = heed.tensor { 3, 1, 2 }
        local nothing = nil
        assert.are.same({ 1, 2, 3 }, x:sort({ dim = nothing }):totable())
        assert.are.equal(6, x:sum({ dim = nothing }):item())
        assert.is_true(x:norm({}):allclose(x:norm()))
        assert.are.equal(1, #x:multinomial(1, { generator = nothing }))
    end)

    it("has no more parts than elements", function()
        assert.are.equal(3, #heed.range(1, 3):chunk(math.maxinteger))
    end)
end)

describe("numbers beyond what there can be", function()
    it("are refused as lengths, and a scale of 0 is", function()
        assert.error_matches(function() heed.sequence_starts(heed.ids { 1 << 62, 1 << 62 }) end,
            "lengths: their sum is more than there can be")
        local x = heed.ones(2, 2)
        assert.error_matches(function() heed.attention(x, x, x, { scale = 0 }) end,
            "scale: expected a number that is finite and not 0, got 0")
    end)

    it("may be amounts to pad by, as long as what is left can be", function()
        local x = heed.range(1, 5)
        assert.are.same({ 7.0, 7.0, 7.0, 7.0 }, heed.pad(x, math.mininteger, math.maxinteger,
            { value = 7 }):totable())
        assert.are.same({ 3.0, 4.0, 5.0, 0.0 }, heed.pad(x, -2, 1):totable())
        assert.are.same({ 0.0, 0.0 }, heed.pad(x, -6, 3):totable())
    end)

    it("are refused as what a cache holds", function()
        local attention, core = heed.nn.MultiHeadAttention(4, 2), require "heed.core"
        local function attend(before, length)
            local step = {
                k = heed.zeros(1, 3, 2, 2), v = heed.zeros(1, 3, 2, 2), before = before,
                    length = length,
            }
            return heed.no_grad(core.multi_head_attention, attention, heed.ones(1, 1, 4), nil, nil,
                nil,
                false, nil, nil, step)
        end
        assert.are.same({ 1, 1, 4 }, { table.unpack(attend(2, 3).shape) })
        for _, wrong in ipairs { { math.maxinteger, 3 }, { math.mininteger, 3 }, { -1, 3 },
            { 3, 3 }, { 2, -1 }, { 2, math.maxinteger },
            { 2, math.mininteger } } do
            assert.is_false(pcall(attend, wrong[1], wrong[2]))
        end
    end)
end)
