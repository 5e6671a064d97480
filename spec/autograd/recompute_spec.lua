local heed = require "heed"
require "heed.luassert"

local function leaf(...)
    local t = heed.randn(...)
    t.requires_grad = true
    return t
end

-- The results and all gradients of a weighted sum of them, by the leaves, once plainly and once
-- recomputed.
local function both(fn, leaves, arguments)
    local found = {}
    for _, way in ipairs { "plain", "again" } do
        heed.manual_seed(5)
        for _, t in ipairs(leaves) do t.grad = nil end
        local results
        if way == "plain" then
            results = table.pack(fn(table.unpack(arguments, 1, arguments.n)))
        else
            results = table.pack(heed.recompute(fn, table.unpack(arguments, 1, arguments.n)))
        end
        local total = 0
        for i = 1, results.n do
            if results[i].dtype == "f32" then total = total + (results[i] * i):sum() end
        end
        local drawn_after = heed.rand(1):item()
        total:backward()
        local grads = {}
        for i, t in ipairs(leaves) do grads[i] = t.grad end
        found[way] = { results = results, grads = grads, drawn_after = drawn_after,
            then_drawn = heed.rand(1):item() }
    end
    return found.plain, found.again
end

local function check_same(fn, leaves, arguments)
    local plain, again = both(fn, leaves, arguments)
    assert.equal(plain.results.n, again.results.n)
    for i = 1, plain.results.n do assert.is_true(heed.equal(plain.results[i], again.results[i])) end
    for i, t in ipairs(leaves) do
        assert.is_true(heed.equal(plain.grads[i], again.grads[i]),
            ("gradient %d of %s"):format(i, tostring(t.shape)))
    end
    assert.equal(plain.drawn_after, again.drawn_after)
    assert.equal(plain.then_drawn, again.then_drawn)
end

describe("recompute", function()
    it("gives the same results, gradients and random numbers", function()
        local x, w = leaf(4, 5), leaf(5, 5)
        check_same(function(a) return heed.dropout(a:matmul(w):tanh(), 0.5) end, { x, w },
            { x, n = 1 })
    end)

    it("takes several arguments, of any kind, and gives several results", function()
        local x, y = leaf(3), leaf(3)
        local function fn(a, factor, b, _, options)
            local sum = a * factor + b * options.scale
            return sum:exp(), sum:argmax(), a * b
        end
        check_same(fn, { x, y }, { x, 2, y, nil, { scale = 3 }, n = 5 })
    end)

    it("reaches parameters when no argument wants a gradient", function()
        local layer = heed.nn.TransformerEncoderLayer(8, 2, 16)
        check_same(function(x) return layer(x) end, layer:parameters(),
            { heed.randn(2, 3, 8), n = 1 })
        check_same(layer, layer:parameters(), { heed.randn(2, 3, 8), n = 1 })
    end)

    it("reaches tensors of the graph around it, whether arguments or not", function()
        local x, w = leaf(3), leaf(3)
        local plain, again
        for _, way in ipairs { "plain", "again" } do
            x.grad, w.grad = nil, nil
            local outside, given = x * w, x:exp()
            local function fn(a) return a * outside + a end
            local y = way == "plain" and fn(given) or heed.recompute(fn, given);
            (y * outside):sum():backward()
            if way == "plain" then plain = { x.grad, w.grad } else again = { x.grad, w.grad } end
        end
        for i = 1, 2 do assert.is_close(again[i], plain[i], 1e-6) end
    end)

    it("nests, also with functions of one's own", function()
        local x, w = leaf(2, 3), leaf(3)
        local double = heed.func(function(_, a) return a * 2 end, function(_, g) return g * 2 end)
        local function inner(a) return double(heed.dropout(a * w, 0.3)) end
        local function outer(a)
            local b = heed.recompute(inner, a)
            collectgarbage()
            return heed.recompute(inner, b + a):exp()
        end
        check_same(outer, { x, w }, { x, n = 1 })
        local y = heed.recompute(outer, x)
        collectgarbage()
        y:sum():backward()
    end)

    it("records nothing when nothing wants a gradient, or recording is off", function()
        local x, w = heed.ones(2), leaf(2)
        assert.is_false(heed.recompute(function(a) return a * 2 end, x).requires_grad)
        assert.is_false(heed.no_grad(function() return heed.recompute(function(a) return a * w end,
            x) end).requires_grad)
        assert.is_true(heed.recompute(function(a) return a * w end, x).requires_grad)
    end)

    it("is gone through twice with retain, and once without", function()
        local x = leaf(3)
        local runs = 0
        local y = heed.recompute(function(a)
            runs = runs + 1
            return a * a
        end, x):sum()
        y:backward { retain = true }
        local once = x.grad:clone()
        y:backward()
        assert.is_close(x.grad, once * 2)
        assert.equal(3, runs)
        assert.error_matches(function() y:backward() end, "retain = true")
    end)

    it("passes a gradcheck", function()
        local function fn(a, b) return heed.recompute(function(c, d) return c:matmul(d):tanh(),
            c:sum() end, a, b) end
        assert.is_true(heed.gradcheck(fn, { heed.randn({ 2, 3 }, { dtype = "f64" }),
            heed.randn({ 3, 2 }, { dtype = "f64" }) }))
    end)

    it("outlives scopes, and works in coroutines", function()
        local x = leaf(3)
        local y
        do
            local scope <close> = heed.scope()
            local given = x * 2
            y = scope:keep(heed.recompute(function(a) return a:exp() end, given))
        end
        y:sum():backward()
        assert.is_close(x.grad, 2 * (2 * x:detach()):exp(), 1e-5)
        local co = coroutine.wrap(function()
            return heed.recompute(function(a)
                coroutine.yield()
                return a * 3
            end, x)
        end)
        co()
        assert.is_true(co().requires_grad)
    end)

    it("is collected with everything that leads to it", function()
        local function make()
            local held = setmetatable({}, { __mode = "v" })
            for i = 1, 20 do
                local x = leaf(1000)
                local closure
                local y = heed.recompute(function(a) return a * 2, closure and a or a end, x)
                closure = function() return y end
                held[i] = closure
            end
            return held
        end
        collectgarbage()
        local live = heed.memory().live
        local held = make()
        collectgarbage()
        collectgarbage()
        assert.is_nil(next(held))
        assert.is_true(heed.memory().live <= live + 20000)
    end)

    it("holds less memory than what is recorded", function()
        local x = leaf(64, 512)
        local function block(a)
            for _ = 1, 8 do a = a:tanh() end
            return a
        end
        local function held(run)
            collectgarbage()
            local before = heed.memory().live
            local y = run(x)
            collectgarbage()
            local bytes = heed.memory().live - before
            y:sum():backward()
            return bytes
        end
        local plain = held(block)
        local again = held(function(a) return heed.recompute(block, a) end)
        assert.is_true(again * 4 < plain, ("%d bytes recomputed, %d recorded"):format(again, plain))
    end)

    it("says what is wrong with the function", function()
        local x = leaf(2)
        assert.error_matches(function() heed.recompute(5) end,
            "fn: expected a function or a module, got 5")
        assert.error_matches(function() heed.recompute(function() end, x) end,
            "fn: expected at least one tensor, it returned nothing")
        assert.error_matches(function() heed.recompute(function(a) return a * 2, 7 end, x) end,
            "fn: expected tensors, it returned 7")
        local z = x * 1
        assert.error_matches(function() heed.recompute(function(a) return a:add_(1) end, z) end,
            "fn: argument 1, %[2%], was overwritten in place")
        local times = 0
        local function changes(a)
            times = times + 1
            if times == 1 then return a * 2 end
            return a:view(1, 2) * 2
        end
        local y = heed.recompute(changes, x):sum()
        assert.error_matches(function() y:backward() end,
            "its result 1 was f32 %[2%] the first time, and is .*%[1, 2%]")
        times = 0
        local function fewer(a)
            times = times + 1
            if times == 1 then return a, a * 2 end
            return a * 2
        end
        local _, w = heed.recompute(fewer, x)
        assert.error_matches(function() w:sum():backward() end,
            "it returned 2 tensors the first time, and 1 values now")
    end)

    it("notices arguments that were overwritten before backward", function()
        local x = leaf(2)
        local given = x * 2
        local y = heed.recompute(function(a) return a:exp() end, given)
        given:add_(1)
        assert.error_matches(function() y:sum():backward() end,
            "recompute: fn: argument 1, %[2%], was overwritten in place")
    end)

    it("raises what the function raises in backward, and all works on", function()
        local x, bad = leaf(2), false
        local function fn(a)
            if bad then error "in the second run" end
            return a * 2
        end
        local y = heed.recompute(fn, x):sum()
        bad = true
        assert.error_matches(function() y:backward() end, "in the second run")
        assert.is_true(heed.is_grad_enabled())
        local w = (x * 2):sum()
        w:backward()
        assert.same({ 2, 2 }, x.grad:totable())
    end)
end)
