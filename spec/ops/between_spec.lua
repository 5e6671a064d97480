-- Results that the dtype holds are not lost on the way; what is homogeneous is scaled by powers of
-- two; parameters at their ends. spec/ops/ends_spec.lua goes through the registry.

local heed = require "heed"
local core = require "heed.core"

local INF = math.huge

-- f(c x) = c^degree f(x), to the last bit where c is a power of two, and so for gradients.
local SCALED = {
    sum = { 1, function(x) return x:sum(2) end }, mean = { 1, function(x) return x:mean(2) end },
    std = { 1, function(x) return x:std(2) end }, ["std of all"] = { 1,
        function(x) return x:std() end },
    ["std of columns"] = { 1, function(x) return x:std(1) end },
    amax = { 1, function(x) return x:amax(2) end },
    normalize = { 0, function(x) return x:normalize { eps = 0 } end },
    cosine_similarity = { 0, function(x) return heed.cosine_similarity(x, x:flip(2),
        { eps = 0 }) end },
    layer_norm = { 0, function(x) return core.layer_norm(x, nil, nil, 0) end },
    rms_norm = { 0, function(x) return core.rms_norm(x, nil, 0) end },
    batch_norm = { 0, function(x)
        return heed.batch_norm(x, nil, nil, nil, nil, { training = true, eps = 0 })
    end },
    group_norm = { 0, function(x) return heed.group_norm(x, 2, nil, nil, 0) end },
    avg_pool1d = { 1, function(x) return heed.avg_pool1d(x, 3, { stride = 1 }) end },
    adaptive_avg_pool1d = { 1, function(x) return heed.adaptive_avg_pool1d(x, 1) end },
    lerp = { 1, function(x) return heed.lerp(x, x:flip(2), 0.25) end },
}
for _, p in ipairs { 1, 1.5, 2, 3, 100, 0.5, -1, -2, INF, -INF } do
    SCALED["norm " .. p] = { 1, function(x) return x:norm(p, 2) end }
    SCALED["norm of columns " .. p] = { 1, function(x) return x:norm(p, 1) end }
end

local function value_and_gradient(f, x)
    local leaf = x:clone()
    leaf.requires_grad = true
    local y = f(leaf)
    y:sum():backward()
    return y:detach():to "f64", leaf.grad:to "f64"
end

describe("scaled by powers of two", function()
    local base = heed.tensor { { 1.5, -2.25, 3, 0.75 }, { -1, 4, -3.5, 2 }, { 2, 1.25, -0.5, 1 } }
    for name, row in pairs(SCALED) do
        it(name .. " is what it was", function()
            local degree, f = row[1], row[2]
            for dtype, powers in pairs { f32 = { -110, -60, 60, 110 }, f64 = { -1000, -500, 500,
                1000 } } do
                local x = base:to(dtype)
                local y, g = value_and_gradient(f, x)
                for _, e in ipairs(powers) do
                    local scaled, slope = value_and_gradient(f, x * 2.0 ^ e)
                    local tolerance = { rtol = dtype == "f32" and 1e-5 or 1e-10,
                        atol = dtype == "f32" and 1e-6 or 1e-10 }
                    assert.is_true(heed.allclose(scaled / 2.0 ^ (e * degree), y, tolerance),
                        ("%s 2^%d: %s"):format(dtype, e, scaled))
                    if degree == 1 then
                        assert.is_true(heed.allclose(slope, g, tolerance),
                            ("%s 2^%d: gradient %s"):format(dtype, e, slope))
                    end
                end
            end
        end)
    end
end)

describe("integers", function()
    local MOST, LEAST = math.maxinteger, math.mininteger

    it("have exact means", function()
        assert.equal(2.0 ^ 63, heed.ids { MOST, MOST }:mean():item())
        assert.equal(-2.0 ^ 63, heed.ids { LEAST, LEAST, LEAST }:mean():item())
        assert.near(1 / 3, heed.ids { MOST, -MOST, 1 }:mean():item(), 1e-7)
        assert.same({ 2.0 ^ 62, 2.0 }, heed.ids { { MOST, 1 }, { 1, 3 } }:mean(1):totable())
        assert.same({ 2.0 ^ 62, 2.0 }, heed.ids { { MOST, 1 }, { 1, 3 } }:t():mean(2):totable())
    end)

    it("have exact variances, far from 0 too", function()
        assert.equal(2, heed.ids { (1 << 24) + 1, (1 << 24) + 3 }:var():item())
        assert.near(5 / 3, heed.ids { (1 << 40) + 1, (1 << 40) + 2, (1 << 40) + 3,
            (1 << 40) + 4 }:var():item(), 1e-6)
        assert.equal(2, heed.ids { MOST, MOST - 2 }:var():item())
        assert.near(math.sqrt(2), heed.ids { LEAST, LEAST + 2 }:std():item(), 1e-6)
        assert.equal(2.0 ^ 127, heed.ids { MOST, LEAST }:var():item())
    end)

    it("become 16 bits in one step, half to even", function()
        assert.equal(16908288, heed.ids { 16842753 }:to "bf16":to("f64"):item())
        assert.equal(16777216, heed.ids { 16842752 }:to "bf16":to("f64"):item())
        assert.equal(16908288, heed.tensor({ 16842753 },
            { dtype = "i32" }):to "bf16":to("f64"):item())
        assert.equal(2.0 ^ 60 + 2 ^ 53,
            heed.ids { (1 << 60) + (1 << 52) + 1 }:to "bf16":to("f64"):item())
        assert.equal(65504, heed.tensor({ 65520 - 2 ^ -20 },
            { dtype = "f64" }):to "f16":to("f64"):item())
        assert.equal(INF, heed.tensor({ 65520 }, { dtype = "f64" }):to "f16":to("f64"):item())
        assert.equal(2049 - 1, heed.ids { 2049 }:to "f16":to("f64"):item())
        assert.equal(2052, heed.ids { 2051 }:to "f16":to("f64"):item())
    end)

    it("become elements in one step", function()
        -- just above half of two neighbours in f32, and f64 does not hold it
        local between = (1 << 60) + (1 << 36) + 1
        assert.equal(2.0 ^ 60 + 2 ^ 37, heed.tensor({ between }):item())
        assert.equal(2.0 ^ 60 + 2 ^ 37, heed.full(1, between):item())
        assert.equal(16908288, heed.tensor({ 16842753 }, { dtype = "bf16" }):to("f64"):item())
        assert.equal(16908288, heed.full(1, 16842753, { dtype = "bf16" }):to("f64"):item())
    end)

    it("are rounded to tens exactly", function()
        local n = (1 << 62) + 1 -- 4611686018427387905
        assert.equal(n - 5, heed.ids { n }:round(-1):item())
        assert.equal(n + 5 + 10, heed.ids { n + 10 }:round(-1):item())
        assert.equal(MOST, heed.ids { MOST }:round(-1):item())
        assert.equal(0, heed.ids { MOST }:round(-25):item())
    end)

    it("are compared exactly", function()
        local a, b = heed.ids { (1 << 53) + 1 }, heed.ids { 1 << 53 }
        assert.is_false(heed.allclose(a, b, { rtol = 0, atol = 0 }))
        assert.is_true(heed.allclose(a, b, { rtol = 0, atol = 1 }))
        assert.is_false(heed.allclose(heed.ids { MOST }, heed.ids { LEAST }))
    end)
end)

describe("f64 to 16 bits", function()
    -- The nearest of all 65536, worked out by comparing distances.
    local function nearest(x, values)
        local best
        for i, v in ipairs(values) do
            local off, least = math.abs(v - x), best and math.abs(values[best] - x)
            if not best or off < least or (off == least and i % 2 == 1) then best = i end
        end
        return values[best]
    end
    for _, dtype in ipairs { "f16", "bf16" } do
        it("rounds once: " .. dtype, function()
            local bytes = {}
            for i = 0, 511 do bytes[#bytes + 1] = ("<I2"):pack(0x3c00 + i) end
            local values = heed.frombytes(table.concat(bytes), dtype, { 512 }):to("f64"):totable()
            for i = 1, 511, 7 do
                local middle, step = (values[i] + values[i + 1]) / 2, values[i + 1] - values[i]
                for _, off in ipairs { 0, 2 ^ -40, -2 ^ -40, 2 ^ -24, -2 ^ -24 } do
                    local x = middle + off * step
                    assert.equal(nearest(x, values), heed.tensor({ x },
                        { dtype = "f64" }):to(dtype):to("f64"):item())
                end
            end
        end)
    end
end)

describe("uniform_", function()
    local RANGES = { { 0, 1 }, { 1, 1 + 1e-8 }, { -2e38, 2e38 }, { -3.4e38, 3.4e38 }, { 0,
        2.0 ^ -149 }, { 1 + 1e-9, 1 + 1.2e-7 },
        { -1, -1 + 2 ^ -23 }, { 16777216, 16777218 }, { -2.0 ^ -149, 0 }, { -1.7e308, 1.7e308 },
            { 5e-324, 1e-323 } }
    for _, dtype in ipairs { "f32", "f64" } do
        it("is in [low, high), or says that there is nothing: " .. dtype, function()
            for _, range in ipairs(RANGES) do
                local low, high = range[1], range[2]
                local ok, x = pcall(function() return heed.empty(999,
                    { dtype = dtype }):uniform_(low, high) end)
                if ok then
                    for _, v in ipairs(x:totable()) do assert(v >= low and v < high,
                        ("%.17g: %.17g, %.17g"):format(v, low, high)) end
                    if high - low > 1e38 then
                        assert(x:gt(high / 2):any() and x:lt(low / 2):any())
                    end
                else
                    assert(dtype == "f32" and (high > 1e100 or high < 1e-300), x)
                end
            end
        end)
    end

    it("wants finite ends that the dtype holds", function()
        local x = heed.empty(3)
        assert.error_matches(function() x:uniform_(0, INF) end,
            "high: expected a finite number, got inf")
        assert.error_matches(function() x:uniform_(-INF, 0) end, "low: expected a finite number")
        assert.error_matches(function() x:uniform_(0, 1e39) end,
            "high: expected a number that f32 can hold")
        assert.error_matches(function() x:uniform_(1 + 1e-9, 1 + 2e-9) end,
            "low, high: expected a range that has a number of f32")
        assert.error_matches(function() x:normal_(0, INF) end, "std: expected a finite number")
        assert.error_matches(function() x:normal_(INF, 1) end, "mean: expected a finite number")
    end)
end)

describe("between two", function()
    it("lerp is exact at its ends, and nowhere beyond them", function()
        local a, b = heed.tensor { -3e38, INF, 1, INF, -0.0 }, heed.tensor { 3e38, 1, -INF, INF, 5 }
        assert.equal(a:bytes(), heed.lerp(a, b, 0):bytes())
        assert.equal(b:bytes(), heed.lerp(a, b, 1):bytes())
        assert.same({ INF, -INF, INF }, heed.lerp(a, b, 0.25):narrow(1, 2, 3):totable())
        assert.near(-1.5, heed.lerp(a, b, 0.25)[1] / 1e38, 1e-6)
        local spoilt = heed.lerp(heed.tensor { 0 / 0, 1 }, heed.tensor { 1, 0 / 0 },
            heed.tensor { 1, 0 }):totable()
        assert(spoilt[1] ~= spoilt[1] and spoilt[2] ~= spoilt[2])
    end)

    it("range ends at its last, and wants finite numbers", function()
        assert.equal(0.3, heed.range(0, 0.3, 0.1, { dtype = "f64" })[4])
        assert.same({ -1.7e308, 0.0, 1.7e308 }, heed.range(-1.7e308, 1.7e308, 1.7e308,
            { dtype = "f64" }):totable())
        for _, bad in ipairs { INF, -INF, 0 / 0 } do
            assert.error_matches(function() heed.range(-1, 0.1, bad) end,
                "expected finite ends and a finite step")
            assert.error_matches(function() heed.range(bad, 1, 0.5) end,
                "expected finite ends and a finite step")
            assert.error_matches(function() heed.range(0.5, bad) end,
                "expected finite ends and a finite step")
        end
    end)

    it("cosine_similarity of equal vectors is 1, whatever their length", function()
        for _, size in ipairs { 1e20, 1e30, 1, 1e-3 } do
            local a = heed.full({ 1, 4 }, size):requires_grad_()
            local y = heed.cosine_similarity(a, a:detach())
            y:sum():backward()
            assert.near(1, y[1], 1e-6)
            for _, v in ipairs(a.grad:view(-1):totable()) do assert(v == v
                and math.abs(v) < INF) end
        end
    end)

    it("round of what has no decimals keeps it", function()
        assert.same({ 3e38, -3e38, 0 }, heed.tensor({ 3e38, -3e38, 0 },
            { dtype = "f64" }):round(300):totable())
        local x = heed.tensor { 3e38, -INF, 1.26 }
        assert.near(1.3, x:round(1)[3], 1e-6)
        assert.equal(x:narrow(1, 1, 2):bytes(), x:round(1):narrow(1, 1, 2):bytes())
        assert.error_matches(function() x:round(400) end, "decimals: expected %-300..300, got 400")
    end)
end)

describe("what would fill memory with Lua's values", function()
    it("is refused of expanded tensors", function()
        local x = heed.ones(1):expand(1 << 40)
        assert.error_matches(function() x:totable() end,
            "totable: t: expected at most 67108864 elements of an expanded tensor")
        assert.error_matches(function() x:unbind() end,
            "unbind: t: expected at most 16777216 parts")
        assert.error_matches(function() x:split(1) end, "split: t: expected at most 16777216 parts")
        assert.error_matches(function() x:chunk(1 << 40) end,
            "chunk: t: expected at most 16777216 parts")
    end)

    it("is refused when a softmax's dimension is none", function()
        for _, dim in ipairs { 1 << 53, 9, -9, math.mininteger, 0 } do
            assert.error_matches(function() heed.nn.Softmax(dim) end,
                "heed.nn.Softmax: dim: expected a dimension")
        end
    end)
end)
