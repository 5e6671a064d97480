-- lua/heed/composed.lua against PyTorch 2.13, as spec/fixtures/record_composed.py recorded it in
-- f32; and what it refuses.

local heed = require "heed"
local recorded = require "spec.support.recorded"

local call = {}

for _, name in ipairs { "amax", "amin" } do
    call[name] = function(p, x)
        local y = x[name](x, p.dim, p.keepdim)
        assert.equal(y:bytes(), heed[name](x, { dim = p.dim, keepdim = p.keepdim }):bytes())
        return y
    end
end

function call.argsort(p, x) return x:argsort { dim = p.dim, descending = p.descending } end

-- What is stored of integers is one more, because most of them are indices.
function call.bincount(p, n, weights)
    local counts = n:bincount { weights = weights, minlength = p.minlength }
    return weights and counts or counts + 1
end

function call.unique(_, x) return x:unique() end

function call.counts(_, x) return select(3, x:unique()) + 1 end

function call.movedim(p, x) return x:movedim(p.source, p.destination) end

function call.unflatten(p, x) return x:unflatten(p.dim, p.sizes) end

-- Of a tensor that lies otherwise in memory too.
function call.unfold(p, x)
    local windows = x:unfold(p.dim, p.size, p.step)
    if x:dim() == 2 then
        local turned = x:detach():t():contiguous():t()
        assert.equal(windows:bytes(), turned:unfold(p.dim, p.size, p.step):bytes())
    end
    return windows
end

function call.repeat_interleave(p, x) return x:repeat_interleave(p.times, p.dim) end

function call.scatter(p, x, index, src) return x:scatter(p.dim, index, p.value or src) end

function call.ceil(_, x) return x:ceil() end

function call.isinf(_, x) return x:isinf():to "f32" end

function call.reciprocal(_, x) return x:reciprocal() end

function call.lerp(p, a, b, weight) return a:lerp(b, p.weight or weight) end

function call.normalize(p, x) return x:normalize { p = p.p, dim = p.dim, eps = p.eps } end

function call.cosine_similarity(p, a, b) return a:cosine_similarity(b, p.dim) end

function call.linspace(p) return heed.linspace(p.first, p.last, p.count) end

local cases, values = recorded.cases("spec/fixtures/composed.safetensors", call)

describe("what is composed, as PyTorch has it", function()
    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 82 cases, 155 outputs and gradients", function()
        assert.same({ 82, 155 }, { #cases, values })
    end)
end)

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return text
end

describe("what is composed", function()
    local composed = require "heed.composed"

    it("is there as functions, and as methods", function()
        local t = heed.ones(1)
        for name, f in pairs(composed.both) do
            assert.equal(f, heed[name])
            assert.equal(f, t[name])
        end
    end)

    it("has gradients that differences confirm", function()
        local x = heed.randn(3, 4, { dtype = "f64", generator = heed.generator(1) })
        local y = heed.randn(3, 4, { dtype = "f64", generator = heed.generator(2) })
        for _, f in ipairs {
            function(a) return a:amax({ 1, 2 }) end, function(a) return a:amin(2) end, function(a)
                return a:unfold(2, 2, 1)
            end,
            function(a) return a:repeat_interleave(2, 1) end, function(a) return a:normalize() end,
        } do assert.is_true(heed.gradcheck(f, { x })) end
        local index = heed.ids { { 1, 4 }, { 2, 3 } }
        assert.is_true(heed.gradcheck(function(a, b) return a:scatter(2, index, b) end, { x, y }))
        assert.is_true(heed.gradcheck(function(a, b) return a:cosine_similarity(b) * a[1]:lerp(b[1],
            0.7):sum() end, { x, y }))
    end)

    it("keeps dtypes", function()
        for _, dtype in ipairs { "f32", "f64", "i64", "i32", "u8", "bool" } do
            local t = heed.ones(2, 2, { dtype = dtype })
            for _, result in ipairs { t:amax(1), t:unfold(2, 2, 1), t:repeat_interleave(2),
                t:scatter(1, { { 1 } }, t), (t:unique()) } do
                assert.equal(dtype, result.dtype)
            end
            assert.equal("bool", t:isinf().dtype)
            assert.equal(dtype == "bool" and "i64" or dtype, t:ceil().dtype)
        end
        assert.equal("f64", heed.linspace(0, 1, 3, { dtype = "f64" }).dtype)
        assert.is_true(heed.linspace(0, 1, 3, { requires_grad = true }).requires_grad)
    end)

    it("takes what is empty or without dimensions", function()
        assert.same({ 0 }, { #heed.zeros(0):unique() })
        assert.same({ 0, 0, 0 }, heed.bincount(heed.zeros(0, { dtype = "i64" }),
            { minlength = 3 }):totable())
        assert.equal(3, heed.tensor(3):amax():item())
        assert.equal(1, heed.tensor(3):argsort():item())
        assert.equal("[2, 3]", tostring(heed.zeros(2, 3):scatter(2,
            heed.zeros(2, 0, { dtype = "i64" }), 1).shape))
    end)

    it("meets both ends with their bits", function()
        local a, b = heed.tensor { 1e8, 1 }, heed.tensor { 1, 1e8 }
        for _, weight in ipairs { 1, heed.ones(2) } do
            assert.equal(b:bytes(), a:lerp(b, weight):bytes())
        end
        for _, weight in ipairs { 0, heed.zeros(2) } do
            assert.equal(a:bytes(), a:lerp(b, weight):bytes())
        end
        assert.equal(1, heed.linspace(0, 1, 50, { dtype = "f64" })[50]) -- 49 * (1 / 49) is less
        -- farther apart than f64 holds
        local wide = heed.linspace(-1.5e308, 1.5e308, 5, { dtype = "f64" })
        assert.same({ -1.5e308, -0.75e308, 0, 0.75e308, 1.5e308 }, wide:totable())
        assert.same({ 0, 1, 2 }, heed.linspace(0.5, 2.5, 3, { dtype = "i64" }):totable())
    end)

    it("lets the last of several values at one place count, and leaves its input alone", function()
        local t = heed.zeros(3)
        local src = heed.tensor({ 1, 3 }, { requires_grad = true })
        local y = t:scatter(1, { 2, 2 }, src)
        assert.same({ 0, 3, 0 }, y:totable())
        y:sum():backward()
        assert.same({ 0, 1 }, src.grad:totable())
        assert.same({ 0, 0, 0 }, t:totable())
    end)

    it("refuses to write into windows that overlap", function()
        local t = heed.zeros(5)
        assert.matches("several of its elements share one place", message(function()
            t:unfold(1, 3, 1):add_(1)
        end))
        t:unfold(1, 2, 2):add_(1)
        assert.same({ 1, 1, 1, 1, 0 }, t:totable())
        assert.equal(t:data_id(), t:unfold(1, 3, 1):data_id())
    end)

    it("repeats as often as counts say, and refuses what are none", function()
        local t = heed.range(1, 4)
        assert.same({ 2, 2, 4 }, t:repeat_interleave({ 0, 2, 0, 1 }, 1):totable())
        assert.same({ 1, 1, 2 }, t:repeat_interleave(heed.ids { 2, 1, 0, 0 }, 1):totable())
        assert.same({}, t:repeat_interleave({ 0, 0, 0, 0 }, 1):totable())
        local function refuses(got, times)
            assert.matches("heed.repeat_interleave: times: expected .*0.*, got " .. got,
                message(function() t:repeat_interleave(times, 1) end))
        end
        refuses("%-1", { 0, 2, 0, -1 })
        refuses("%-1", heed.tensor({ 0, 2, 0, -1 }, { dtype = "i64" }))
        refuses("1.5", { 0, 2, 0, 1.5 })
    end)

    it("says what it does not take", function()
        local t = heed.zeros(2, 3)
        for pattern, f in pairs {
            ["heed.amax: dim: expected a dimension 1..2 or %-2..%-1, got 0; dimensions count from 1"] = function()
                t:amax(0)
            end,
            ["heed.amin: dim: .*twice"] = function() t:amin { 2, -1 } end,
            ['heed.amax: options: there is no option "axis"; did you mean dim%?'] = function()
                t:amax { axis = 1 }
            end,
            ["heed.amax: t: expected a tensor, got 3"] = function() heed.amax(3) end,
            ["heed.argsort: dim: expected a dimension"] = function() t:argsort(3) end,
            ["heed.bincount: t: expected a vector of integers from 1, got i64 tensor %[2%] with "
                .. "0 in it"] = function()
                heed.bincount { 0, 1 }
            end,
            ["heed.bincount: t: expected a vector of integers from 1, got bool"] = function()
                heed.bincount(heed.ones(2, { dtype = "bool" }))
            end,
            ["heed.bincount: t: expected a vector of integers from 1, got f32"] = function()
                t[1]:bincount()
            end,
            ["heed.movedim: destination: expected as many dimensions as source has, 2, got 1"] =
                function()
                t:movedim({ 1, 2 }, 1)
            end,
            ["heed.unflatten: sizes: expected sizes whose product is 3, the size of dimension 2, "
                .. "got { 2, 2 }"] = function()
                t:unflatten(2, { 2, 2 })
            end,
            ["heed.unfold: size: expected 1 to 3, the size of dimension 2, got 4"] = function()
                t:unfold(2, 4, 1)
            end,
            ["heed.unfold: step: expected 1 or more, got 0"] = function() t:unfold(2, 1, 0) end,
            ["heed.repeat_interleave: times: expected an integer, or 3 of them"] = function()
                t:repeat_interleave({ 1, 2 }, 2)
            end,
            ["heed.scatter: src: expected f32 as the tensor it is written to, got i64"] = function()
                t:scatter(1, { { 1 } }, heed.ids { { 1 } })
            end,
            ["heed.scatter: index: expected values in 1..2, got 3"] = function()
                t:scatter(1, { { 3 } }, 1)
            end,
            ["heed.scatter: index: expected a shape that fits into"] = function()
                t:scatter(1, { 1 }, 1)
            end,
            ["heed.scatter: src: expected at least the index' shape"] = function()
                t:scatter(1, { { 1, 2 } }, heed.zeros(1, 1))
            end,
            ["heed.scatter: index: expected a shape that fits into %[2, 3%]"] = function()
                t:scatter(1, { { 1, 2, 1, 1 } }, 1)
            end,
            ["heed.scatter: src: expected a tensor, a number or a boolean, got \"1\""] = function()
                t:scatter(1, { { 1 } }, "1")
            end,
            ["heed.linspace: count: expected an integer of at least 0, got %-1"] = function()
                heed.linspace(0, 1, -1)
            end,
            ["heed.linspace: first: expected a finite number, got inf"] = function()
                heed.linspace(math.huge, 1, 2)
            end,
            ["heed.linspace: last: expected a number that f32 can hold, got 1e%+39"] = function()
                heed.linspace(0, 1e39, 2)
            end,
            ["heed.linspace: last: expected a number that u8 can hold, got 256"] = function()
                heed.linspace(0, 256.5, 2, { dtype = "u8" })
            end,
        } do assert.matches(pattern, message(f)) end
    end)
end)
