-- Reductions of rows and columns that are longer than the pieces they go by: f32 against f64, and
-- corners late in them.

local heed = require "heed"

local function generator(seed) return heed.generator(seed) end
local INF, NAN = math.huge, 0 / 0

-- Contents of N numbers as f64, exact in f32.
local N = 150001
local function exact(x) return x:to("f32"):to "f64" end
local CONTENTS = {
    normal = function()
        return exact(heed.randn(N, { dtype = "f64", generator = generator(1) }))
    end,
    ["far from 0"] = function()
        return exact(heed.randn(N, { dtype = "f64", generator = generator(2) }) + 1000)
    end,
    rising = function() return exact(heed.linspace(-40, 50, N, { dtype = "f64" })) end,
    falling = function() return exact(heed.linspace(50, -40, N, { dtype = "f64" })) end,
    ["two levels"] = function()
        local x = heed.randn(N, { dtype = "f64", generator = generator(3) })
        x[{ { 1, 70 } }] = x:narrow(1, 1, 70) + 80
        return exact(x)
    end,
}
local REDUCTIONS = {
    sum = function(x, dim) return x:sum(dim) end,
    mean = function(x, dim) return x:mean(dim) end,
    var = function(x, dim) return x:var(dim) end,
    logsumexp = function(x, dim) return x:logsumexp(dim) end,
    norm = function(x, dim) return x:norm(2, dim) end,
    amax = function(x, dim) return x:amax(dim) end,
    max = function(x, dim) return (x:max(dim)) end,
    argmax = function(x, dim) return x:argmax(dim):to(x.dtype) end,
    argmin = function(x, dim) return x:argmin(dim):to(x.dtype) end,
}

-- Seen as a row, as columns of some widths, and transposed.
local LAYOUTS = {
    ["a row"] = function(x) return x:view(1, N), 2 end,
    ["two rows"] = function(x) return heed.stack({ x, x:flip(1) }, 1), 2 end,
    ["three columns"] = function(x) return heed.stack({ x, x:flip(1), x }, 2), 1 end,
    ["37 columns"] = function(x) return x:narrow(1, 1, 4000 * 37):view(4000, 37), 1 end,
    ["2100 columns"] = function(x) return x:narrow(1, 1, 70 * 2100):view(70, 2100), 1 end,
    ["rows that are turned"] = function(x)
        return heed.stack({ x, x:flip(1) }, 1):t():contiguous():t(), 2
    end,
}

describe("a long reduction", function()
    local threads = heed.get_num_threads()
    after_each(function() heed.set_num_threads(threads) end)

    for content, make in pairs(CONTENTS) do
        for layout, laid in pairs(LAYOUTS) do
            it(("of %s, as %s, is that of f64 and the same on any number of threads"):format(
                content, layout), function()
                local x, dim = laid(make())
                for name, f in pairs(REDUCTIONS) do
                    local y, wanted = f(x:to "f32", dim), f(x, dim)
                    local size = name == "sum" and x:abs():sum(dim) * 1e-6 or wanted:abs() * 1e-5
                    assert.is_true((y:to "f64" - wanted):abs():le(size + 1e-6):all(), name)
                    for count = 1, 3 do
                        heed.set_num_threads(count)
                        assert.equal(y:bytes(), f(x:to "f32", dim):bytes(), name)
                    end
                end
            end)
        end
    end

    -- What max says is what stands there, and the first of equals; argmin likewise.
    for _, dtype in ipairs { "f32", "f64", "i64", "i32", "u8", "bool" } do
        it("finds the first extreme of " .. dtype, function()
            local x = heed.randint(0, 100, N, { generator = generator(4) })
            x = dtype == "bool" and x:eq(50) or x:to(dtype)
            for _, laid in pairs(LAYOUTS) do
                local t, dim = laid(x)
                for _, descending in ipairs { true, false } do
                    local values, indices = t:sort(dim, { descending = descending })
                    local best, place = (descending and heed.max or heed.min)(t, dim)
                    assert.equal(values:select(dim, 1):contiguous():bytes(), best:bytes())
                    assert.equal(indices:select(dim, 1):contiguous():bytes(), place:bytes())
                end
            end
        end)
    end

    -- { contents at places, logsumexp, place of max }
    for corner, case in pairs {
        ["NaN"] = { { [140000] = NAN }, NAN, 140000 },
        ["two NaN"] = { { [9000] = NAN, [140000] = NAN }, NAN, 9000 },
        ["infinity"] = { { [140000] = INF }, INF, 140000 },
        ["infinity and NaN"] = { { [5] = INF, [140000] = NAN }, NAN, 140000 },
        ["-infinity"] = { { [140000] = -INF }, nil, nil },
    } do
        it("sees " .. corner, function()
            local x = CONTENTS.normal():to "f32"
            for place, v in pairs(case[1]) do x[place] = v end
            for _, columns in ipairs { false, true } do
                local t, dim = x, 1
                if columns then
                    t, dim = heed.stack({ CONTENTS.normal():to "f32", x,
                        CONTENTS.normal():to "f32" }, 2), 1
                end
                local function item(y) return columns and y[2] or y:item() end
                local lse, place = item(t:logsumexp(dim)), item(t:argmax(dim))
                if case[2] then
                    assert.is_true(lse == case[2] or (lse ~= lse and case[2] ~= case[2]), lse)
                end
                if not case[2] then assert.is_true(lse == lse and math.abs(lse) < INF) end
                if case[3] then assert.equal(case[3], place) end
            end
        end)
    end

    it("of nothing but -infinity is that; one number among them is itself", function()
        local x = heed.full({ 5000, 3 }, -INF)
        assert.same({ -INF, -INF, -INF }, x:logsumexp(1):totable())
        assert.equal(-INF, x:select(2, 1):logsumexp(1):item())
        x[{ 4100, 2 }] = 2.5
        assert.same({ -INF, 2.5, -INF }, x:logsumexp(1):totable())
        assert.equal(2.5, x:logsumexp():item())
        x[{ 7, 3 }] = NAN
        assert.is_true(x:logsumexp(1):isnan()[3])
    end)
end)

describe("elements of 8 bytes", function()
    for name, shape in pairs { rows = { 50, 700 }, ["a long row"] = { 1, 200000 } } do
        for content, make in pairs {
            ["over all their range"] = function()
                return heed.randint(math.mininteger, math.maxinteger, shape,
                    { generator = generator(5) })
            end,
            ["of one value"] = function() return heed.full(shape, -7, { dtype = "i64" }) end,
            ["close together, far from 0"] = function()
                return heed.randint(0, 9, shape,
                    { generator = generator(6) }) + (math.maxinteger - 10)
            end,
            ["that are f64"] = function()
                return heed.randn(shape, { dtype = "f64", generator = generator(7) }):round(1)
            end,
        } do
            it(("%s are sorted as %s"):format(content, name), function()
                local x = make()
                for _, descending in ipairs { false, true } do
                    local values, indices = x:sort(2, { descending = descending })
                    assert.equal(values:bytes(), x:gather(2, indices):bytes())
                    local n = shape[2]
                    local a, b = values:narrow(2, 1, n - 1), values:narrow(2, 2, n - 1)
                    local rises = indices:narrow(2, 1, n - 1):lt(indices:narrow(2, 2, n - 1))
                    local order = descending and a:gt(b) or a:lt(b)
                    assert.is_true(order:logical_or(a:eq(b):logical_and(rises)):all())
                end
            end)
        end
    end
end)

-- Lines that are gone along in segments, against the same in two parts.
describe("lines of more than a segment", function()
    local n, half = (1 << 20) + 7, 700001
    local x = heed.randn(n, { generator = generator(5) })
    local index = heed.randint(1, n, n, { generator = generator(6) })
    local function parts(t) return t:narrow(1, 1, half), t:narrow(1, half + 1, n - half) end

    it("have running sums, products and extremes without a seam", function()
        local a, b = parts(x:to "f64")
        local sums = x:to("f64"):cumsum(1)
        assert.is_true(heed.allclose(sums:narrow(1, half + 1, n - half), b:cumsum(1)
            + a:cumsum(1)[half], { rtol = 1e-9, atol = 1e-9 }))
        local near = (x:to "f64" * 1e-4 + 1)
        local c, d = parts(near)
        assert.is_true(heed.allclose(near:cumprod(1):narrow(1, half + 1, n - half), d:cumprod(1)
            * c:cumprod(1)[half], { rtol = 1e-9 }))
        local steps = heed.range(1, n) + x
        local e, f = parts(steps)
        local most, at = steps:cummax(1)
        local later, later_at = f:cummax(1)
        assert.is_true(most:narrow(1, half + 1, n - half):equal(later:maximum(e:max())))
        assert.equal(later_at[n - half] + half, at[n])
    end)

    it("have their gradients from the other end", function()
        local t = (x:to "f64" * 1e-4 + 1):requires_grad_()
        t:cumsum(1):sum():backward()
        assert.equal(n, t.grad[1])
        assert.equal(1, t.grad[n])
        t.grad = nil
        local y = t:cumprod(1)
        y:backward(heed.ones(n, { dtype = "f64" }))
        assert.is_true(math.abs(t.grad[n] * t[n] / y:detach()[n] - 1) < 1e-9)
        assert.is_true(math.abs(t.grad[1] * t[1] / y:detach():sum():item() - 1) < 1e-9)
    end)

    it("are read, written and added to where an index says", function()
        local a, b = parts(index)
        local xa, xb = parts(x)
        assert.is_true(x:gather(1, index):equal(heed.cat({ x:gather(1, a), x:gather(1, b) }, 1)))
        for _, name in ipairs { "scatter_", "scatter_add_", "index_add_" } do
            local whole, twice = heed.zeros(n), heed.zeros(n)
            whole[name](whole, 1, index, x)
            twice[name](twice, 1, a, xa)
            twice[name](twice, 1, b, xb)
            assert.is_true(whole:equal(twice), name)
        end
        local src = x:clone():requires_grad_()
        local g = heed.randn(n, { generator = generator(7) })
        heed.zeros(n):scatter(1, index, src):backward(g)
        local last = heed.zeros(n, { dtype = "i64" }):scatter_(1, index, heed.range(1, n, {
            dtype = "i64" }))
        local taken = last:gather(1, index):eq(heed.range(1, n, { dtype = "i64" }))
        assert.is_true(src.grad:equal(heed.where(taken, g:gather(1, index), 0)))
    end)
end)
