-- Running products and extremes, medians, quantiles, places in order, distances, atan2 and hypot
-- against PyTorch 2.13, as spec/fixtures/record_order.py recorded them in f32; and what they refuse
-- or hold beyond that.

local heed = require "heed"
local recorded = require "spec.support.recorded"

local call = {}

for _, name in ipairs { "cumprod", "cummax", "cummin" } do
    call[name] = function(p, x) return x[name](x, p.dim) end
end

function call.median(p, x)
    if not p.dim then return x:median() end
    return x:median(p.dim, p.keepdim)
end

function call.quantile(p, x)
    return x:quantile(p.q, { dim = p.dim, keepdim = p.keepdim, interpolation = p.interpolation })
end

function call.meshgrid(p, a, b, c)
    local x, y, z = heed.meshgrid(a, b, c, { indexing = p.indexing })
    return x + 10 * y + 100 * z
end

function call.searchsorted(p, sorted, x) return sorted:searchsorted(x, { right = p.right }) end

function call.bucketize(p, x, boundaries) return x:bucketize(boundaries, { right = p.right }) end

function call.cdist(p, x, y)
    return x:cdist(y, { p = p.p == "inf" and math.huge or tonumber(p.p) })
end

function call.atan2(_, a, b) return a:atan2(b) end

function call.hypot(_, a, b) return a:hypot(b) end

local cases, values = recorded.cases("spec/fixtures/order.safetensors", call)

describe("what PyTorch gives in order", function()
    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 75 cases, 183 outputs and gradients", function()
        assert.same({ 75, 183 }, { #cases, values })
    end)
end)

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return text
end

local NAN = 0 / 0

describe("median", function()
    it("is that of a long row, on any number of threads", function()
        for _, dtype in ipairs { "f32", "f64", "i32", "i64" } do
            heed.manual_seed(3)
            local x = (heed.randn(200001) * 1e4):to(dtype)
            local sorted = x:sort()
            local value, index = x:median(1)
            assert.equal(sorted[100001], value:item())
            assert.equal(x[index:item()], value:item())
            assert.equal(index:item(), (x:eq(value)):nonzero()[1][1])
            assert.equal(value:item(), x:median():item())
        end
    end)

    it("is NaN, the first, where there is one, in short rows and in long ones", function()
        for _, n in ipairs { 5, 1000, 200000 } do
            local x = heed.range(1, n)
            x[n], x[4] = NAN, NAN
            local value, index = x:median(1)
            assert.is_true(value:isnan():all())
            assert.equal(4, index:item())
        end
    end)

    it("shares its gradient over all elements that are it", function()
        local x = heed.tensor({ 2, 1, 2, 3, 2 }, { requires_grad = true })
        x:median():backward()
        assert.is_true(heed.allclose(x.grad, heed.tensor { 1 / 3, 0, 1 / 3, 0, 1 / 3 }))
    end)

    it("says what it does not take", function()
        assert.matches("median over dimension 2 of %[2, 0%], which has no elements",
            message(heed.median, heed.zeros(2, 0), 2))
        assert.matches("expected at least one element", message(heed.median, heed.zeros(0)))
    end)
end)

describe("quantile", function()
    it("is exact at the ends, and at huge ones", function()
        local x = heed.tensor { 3.4e38, -3.4e38, 0.1, 1e-40 }
        assert.equal(heed.tensor({ -3.4e38, 3.4e38 }):bytes(), x:quantile({ 0, 1 }):bytes())
        assert.is_true(x:narrow(1, 1, 2):quantile(0.5):eq(0):all())
    end)

    it("takes infinities as they are, and NaN first of all", function()
        local x = heed.tensor { { math.huge, math.huge, 1 }, { 1, NAN, 2 } }
        assert.equal(heed.tensor({ math.huge, NAN }):isnan():bytes(),
            x:quantile(0.75, 2):isnan():bytes())
        assert.equal(math.huge, x:quantile(0.75, 2)[1])
    end)

    it("gives f32 for integers, rounded once", function()
        local x = heed.ids { 2 ^ 24 + 1 | 0, 2 ^ 24 + 3 | 0 }
        assert.equal("f32", x:quantile(0.5).dtype)
        assert.equal(2.0 ^ 24 + 2, x:quantile(0.5):item())
    end)

    it("has the gradient of differences in f64", function()
        heed.manual_seed(5)
        local x = heed.randn(3, 7, { dtype = "f64" })
        for _, how in ipairs { "linear", "lower", "higher", "midpoint", "nearest" } do
            assert(heed.gradcheck(function(t)
                return t:quantile({ 0.2, 0.9, 1 }, { dim = 2, interpolation = how })
            end, { x }))
        end
    end)

    it("says what it does not take", function()
        local x = heed.ones(3)
        assert.matches("q: expected numbers from 0 to 1, got 1.5", message(x.quantile, x, 1.5))
        assert.matches("q: expected numbers from 0 to 1", message(x.quantile, x, { 0.5, NAN }))
        assert.matches('interpolation: expected "linear"',
            message(x.quantile, x, 0.5, { interpolation = "cubic" }))
        assert.matches("t: expected at least one element",
            message(heed.quantile, heed.zeros(0), 0.5))
    end)
end)

describe("searchsorted", function()
    it("puts NaN behind all, before or behind others", function()
        local sorted = heed.tensor { 1, math.huge, NAN, NAN }
        local x = heed.tensor { NAN, math.huge, 0 }
        assert.same({ 3, 2, 1 }, sorted:searchsorted(x):totable())
        assert.same({ 5, 3, 1 }, sorted:searchsorted(x, true):totable())
    end)

    it("takes sequences for each row alone", function()
        assert.matches("sorted: expected a vector, or the values' shape but for the last dimension",
            message(heed.searchsorted, heed.zeros(2, 3), heed.zeros(3, 3)))
        assert.matches("boundaries: expected a vector", message(heed.bucketize, heed.zeros(2),
            heed.zeros(2, 3)))
    end)
end)

-- Of both dtypes, and rows far from the origin, where products alone would leave no digit.
describe("cdist by products", function()
    for dtype, tolerance in pairs { f32 = 2e-6, f64 = 1e-14 } do
        for _, offset in ipairs { 0, 1, 100, 1e4 } do
            it(("keeps its digits: %s, %g from the origin"):format(dtype, offset), function()
                heed.manual_seed(7)
                local x = (heed.rand(60, 48) + offset):to(dtype)
                local y = x:narrow(1, 1, 50):clone()
                y:narrow(1, 1, 20):add_(1e-3)
                local d, exact = heed.cdist(x, y), (x:to("f64"):unsqueeze(2)
                    - y:to("f64"):unsqueeze(1)):norm(2, 3)
                assert.is_true(heed.allclose(d:to "f64", exact, { rtol = tolerance, atol = 0 }))
                assert.equal(0, d[30][30])
            end)
        end
    end

    it("is no other than without, at ends of the range", function()
        for _, scale in ipairs { 1e-30, 1e30, 1e-44 } do
            local x = heed.range(1, 30 * 9):view(30, 9) * scale
            local d, few = heed.cdist(x, x), heed.cdist(x:narrow(1, 1, 3), x)
            assert.is_true(heed.allclose(d:narrow(1, 1, 3), few, { rtol = 2e-6, atol = 3e-45 }))
            assert.is_true(few[1][2] > 0 and few[1][2] < math.huge)
        end
    end)
end)

describe("lerp", function()
    it("has the gradient of its weight where the difference alone leaves the range", function()
        for dtype, most in pairs { f32 = 3e38, f64 = 1.5e308 } do
            local w = heed.tensor({ 0.5 }, { dtype = dtype, requires_grad = true })
            local a, b = heed.tensor({ -most }, { dtype = dtype }), heed.tensor({ most },
                { dtype = dtype })
            a:lerp(b, w):backward(heed.tensor({ 0.25 }, { dtype = dtype }))
            assert.is_true(math.abs(w.grad[1] / most - 0.5) < 1e-6)
        end
    end)
end)
