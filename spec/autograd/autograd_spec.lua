local heed = require "heed.core"

local function leaf(values) return heed.tensor(values, { requires_grad = true }) end

describe("backward", function()
    it("leaves gradients on leaves and accumulates", function()
        local x = leaf({ 1, 2 });
        (x * x):sum():backward()
        assert.same({ 2, 4 }, x.grad:totable());
        (x * 3):sum():backward()
        assert.same({ 5, 7 }, x.grad:totable())
        assert.equal(x.grad, x.grad)
        x.grad = nil
        assert.is_nil(x.grad)
        x.grad = heed.ones(2)
        assert.same({ 1, 1 }, x.grad:totable())
        assert.error_matches(function() x.grad = heed.ones(3) end,
            "grad: expected f32 %[2%] like its tensor, got f32 %[3%]")
    end)

    it("takes a gradient, and says when it needs one", function()
        local x = leaf({ 1, 2 })
        assert.error_matches(function() (x * 2):backward() end,
            "heed.backward: gradient: expected one")
        local y = x * 2
        y:backward(heed.tensor({ 1, 10 }))
        assert.same({ 2, 20 }, x.grad:totable())
        assert.error_matches(function() heed.zeros(1):backward() end,
            "does not depend on anything that wants a gradient")
    end)

    it("takes a chain of a million operations, back and in release, without depth", function()
        local x = leaf({ 1 })
        local y = x
        for _ = 1, 1000000 do y = y + 1 end
        y:backward()
        assert.equal(1, x.grad:item())
        local abandoned = x
        for _ = 1, 1000000 do abandoned = abandoned + 1 end
        abandoned = nil -- luacheck: ignore
        collectgarbage()
        assert.is_true(heed.memory().live < 600e6)
    end)

    it("goes twice only with retain", function()
        local x = leaf({ 1 })
        local y = (x * x):sum()
        y:backward({ retain = true })
        y:backward()
        assert.equal(4, x.grad:item())
        assert.error_matches(function() y:backward() end, "retain = true")
        local z = (x * x):sum()
        z:backward(nil, { retain = true })
        z:backward()
    end)

    it("gives shared parts once", function()
        local a = leaf({ 1 })
        local b = a + a
        local c = b + b
        c:backward()
        assert.equal(4, a.grad:item())
    end)

    it("names the operation whose saved tensor was overwritten", function()
        local x = leaf({ 1, 2 })
        local y = x * 2
        local z = y * y
        y:add_(1)
        assert.error_matches(function() z:sum():backward() end,
            "a tensor %[2%] that the gradient of mul needs was overwritten")
    end)

    it("refuses in-place writes on leaves that want a gradient, outside no_grad", function()
        local x = leaf({ 1, 2 })
        assert.error_matches(function() x:add_(1) end, "heed.add_: .*leaf that wants a gradient")
        heed.no_grad(function() x:add_(1) end)
        assert.same({ 2, 3 }, x:totable())
    end)

    it("can be detached from", function()
        local x = leaf({ 1, 2 })
        local y = (x * 2):detach()
        assert.is_false(y.requires_grad)
        assert.is_true(y.is_leaf)
    end)
end)

describe("no_grad", function()
    it("runs a function and returns what it returns", function()
        local x = leaf({ 1 })
        local a, b, c = heed.no_grad(function(n) return (x * n).requires_grad, nil, n end, 3)
        assert.is_false(a)
        assert.is_nil(b)
        assert.equal(3, c)
        assert.is_true(heed.is_grad_enabled())
        assert.is_true((x * 2).requires_grad)
    end)

    it("ends with its block, whether or not it raises", function()
        local x = leaf({ 1 })
        do
            local _ <close> = heed.no_grad()
            assert.is_false((x * 2).requires_grad)
            do
                local _ <close> = heed.enable_grad()
                assert.is_true((x * 2).requires_grad)
            end
            assert.is_false((x * 2).requires_grad)
        end
        assert.is_true((x * 2).requires_grad)
        assert.has_error(function() heed.no_grad(error, "x") end)
        assert.is_true(heed.is_grad_enabled())
        assert.has_error(function() heed.no_grad(3) end)
    end)

    it("does not leak out of a coroutine that yields inside", function()
        local x = leaf({ 1 })
        local co = coroutine.wrap(function()
            local first = heed.no_grad(function()
                coroutine.yield((x * 2).requires_grad)
                return (x * 2).requires_grad
            end)
            coroutine.yield(first)
            coroutine.yield((x * 2).requires_grad)
        end)
        assert.is_false(co())
        assert.is_true((x * 2).requires_grad)
        assert.is_false(co())
        assert.is_true(co())
    end)

    it("ends with a coroutine that is dropped inside", function()
        for _ = 1, 200 do
            local co = coroutine.create(function()
                local _ <close> = heed.no_grad()
                coroutine.yield()
            end)
            coroutine.resume(co)
        end
        collectgarbage()
        collectgarbage()
        for _ = 1, 200 do
            local co = coroutine.wrap(function() return heed.is_grad_enabled() end)
            assert.is_true(co())
        end
    end)

    it("is told apart from another coroutine's", function()
        local inside = coroutine.wrap(function()
            local _ <close> = heed.no_grad()
            coroutine.yield()
            return heed.is_grad_enabled()
        end)
        inside()
        local _ <close> = heed.no_grad()
        do
            local _ <close> = heed.enable_grad()
            assert.is_false(inside())
            assert.is_true(heed.is_grad_enabled())
        end
        assert.is_false(heed.is_grad_enabled())
    end)
end)

describe("uninterrupted", function()
    it("returns and raises what its function does", function()
        local a, b = heed.uninterrupted(function(...) return ... end, 1, 2)
        assert.same({ 1, 2 }, { a, b })
        assert.error_matches(function() heed.uninterrupted(error, "inside") end, "inside")
        local co = coroutine.wrap(function() return heed.uninterrupted(
            function() return coroutine.yield(1) end) end)
        assert.equal(1, co())
        assert.equal(5, co(5))
    end)
end)
