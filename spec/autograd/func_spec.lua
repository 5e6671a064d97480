local heed = require "heed.core"

local function leaf(values) return heed.tensor(values, { requires_grad = true }) end

local cube = heed.func(
    function(ctx, x)
        ctx:save(x)
        return x * x * x
    end,
    function(ctx, grad)
        local x = ctx:saved()
        return grad * 3 * x * x
    end)

describe("heed.func", function()
    it("is differentiated by its own backward", function()
        local x = leaf({ 1, 2 })
        local y = cube(x)
        assert.is_true(y.requires_grad);
        (y * 2):sum():backward()
        assert.same({ 6, 24 }, x.grad:totable())
    end)

    it("runs forward without recording", function()
        local recorded
        local f = heed.func(function(_, x)
            local y = x * 2
            recorded = y.requires_grad
            return y
        end, function(_, g) return g * 2 end)
        local x = leaf({ 1 })
        f(x)
        assert.is_false(recorded)
        assert.is_true(heed.is_grad_enabled())
        assert.is_false(f(heed.ones(1)).requires_grad)
        assert.is_false(heed.no_grad(f, x).requires_grad)
    end)

    it("takes arguments of any kind, and several tensors in and out", function()
        local seen
        local f = heed.func(
            function(ctx, a, factor, b)
                ctx.factor = factor
                ctx:save(a, nil, b)
                return a * factor, (a * b):sum()
            end,
            function(ctx, g1, g2)
                local a, none, b = ctx:saved()
                seen = { none, ctx:needs(1), ctx:needs(2), ctx:needs(3) }
                return g1 * ctx.factor + g2 * b, nil, g2 * a
            end)
        local a, b = leaf({ 1, 2 }), leaf({ 3, 4 })
        local y, s = f(a, 10, b);
        (y:sum() + s):backward()
        assert.same({ 13, 14 }, a.grad:totable())
        assert.same({ 1, 2 }, b.grad:totable())
        assert.same({ nil, true, false, true }, seen)
    end)

    it("gives zeros for a result that nothing came back through", function()
        local f = heed.func(function(_, x) return x * 1, x * 2 end, function(_, g1, g2)
            assert.is_true(heed.equal(g2, heed.zeros(2)))
            return g1
        end)
        local x = leaf({ 1, 2 })
        local y = f(x)
        y:sum():backward()
        assert.same({ 1, 1 }, x.grad:totable())
    end)

    it("may return its argument", function()
        local f = heed.func(function(_, x) return x end, function(_, g) return g * 7 end)
        local x = leaf({ 1 })
        local y = f(x)
        assert.not_equal(x, y)
        y:backward()
        assert.equal(7, x.grad:item())
        assert.is_true(x.is_leaf)
        assert.error_matches(function() f(x):add_(1) end, "view")
    end)

    it("guards what it saved against writes, and releases it after backward", function()
        local x = leaf({ 1, 2 })
        local y = x * 1
        local z = cube(y)
        y:mul_(2)
        assert.error_matches(function() z:sum():backward() end,
            "saved tensor 1, %[2%], was overwritten in place")
        local context
        local f = heed.func(function(ctx, v)
            context = ctx
            ctx:save(v)
            return v * 1
        end, function(ctx, g)
            ctx:saved()
            return g
        end)
        local s = f(x):sum()
        s:backward({ retain = true })
        s:backward()
        assert.error_matches(function() context:saved() end, "released")
        assert.error_matches(function() s:backward() end, "retain = true")
    end)

    it("raises what its functions raise, with a traceback, and the state stays usable", function()
        local f = heed.func(function(_, x) return x * 1 end, function()
            error("inside backward")
        end)
        local x = leaf({ 1 })
        local y = f(x)
        local ok, message = pcall(y.backward, y)
        assert.is_false(ok)
        assert.matches("inside backward", message)
        assert.matches("stack traceback", message)
        local object = {}
        local g = heed.func(function(_, v) return v * 1 end, function() error(object) end)
        local z = g(x)
        ok, message = pcall(z.backward, z)
        assert.is_false(ok)
        assert.equal(object, message)
        cube(x):backward()
        assert.equal(3, x.grad:item())
        assert.error_matches(function() heed.func(function() error("in forward") end, print)(x) end,
            "in forward")
        assert.is_true(heed.is_grad_enabled())
    end)

    it("explains wrong results", function()
        local x = leaf({ 1, 2 })
        local function grads(fn) return heed.func(function(_, v) return v * 1 end, fn)(x):sum() end
        assert.error_matches(function() heed.func(function() return 1 end, print)(x) end,
            "forward: expected tensors, it returned 1")
        assert.error_matches(function() heed.func(function() end, print)(x) end,
            "it returned nothing")
        assert.error_matches(function() grads(function() return 1 end):backward() end,
            "expected a tensor or nil as gradient of argument 1, got 1")
        assert.error_matches(function() grads(function(_, g)
            return g, g
        end):backward() end, "one gradient for each of the 1 arguments")
        assert.error_matches(function() grads(function()
            return heed.ones(3)
        end):backward() end, "expected f32 %[2%], got f32 %[3%]")
        assert.error_matches(function() heed.func(1) end, "forward: expected a function, got 1")
        assert.error_matches(function() heed.func(print, {}) end, "backward: expected a function")
        assert.error_matches(function() heed.func(function(ctx, v) ctx:save(3) return v end,
            print)(x) end, "expected a tensor, got 3")
    end)

    it("may run another backward inside its own", function()
        local f = heed.func(function(ctx, x)
            ctx:save(x)
            return x * x
        end, function(ctx, g)
            local x = ctx:saved()
            x.requires_grad = true
            local _ <close> = heed.enable_grad()
            cube(x):backward(g)
            return x.grad
        end)
        local x = leaf({ 2 })
        f(x):backward()
        assert.equal(12, x.grad:item())
    end)

    it("stays alive behind tensors that are gone", function()
        local x = leaf({ 1, 2 })
        local function chain()
            local f = heed.func(function(_, v) return v * 1 end, function(_, g) return g * 10 end)
            local y = f(x)
            local z = heed.cat({ y * 2, heed.zeros(2) })
            local a, b = z[{ { 1, 2 } }], z:narrow(1, 3, 2)
            a = a + b
            local into = heed.zeros(2)
            into:add_(a)
            local whole = heed.zeros(2, 2)
            whole[1] = into
            return heed.stack({ whole, whole }):chunk(2)[1]:sum()
        end
        local loss = chain()
        collectgarbage()
        collectgarbage()
        loss:backward()
        assert.same({ 20, 20 }, x.grad:totable())
    end)

    it("stays alive behind another function whose results alone are held", function()
        local x = leaf({ 1, 2 })
        local function chain()
            local f = heed.func(function(_, v) return v * 1 end, function(_, g) return g * 10 end)
            local h = heed.func(function(_, v) return v * 1 end, function(_, g) return g * 3 end)
            return h(f(x) + f(x)):sum()
        end
        local loss = chain()
        collectgarbage()
        collectgarbage()
        loss:backward()
        assert.same({ 60, 60 }, x.grad:totable())
    end)

    it("is collected with what it refers to, cycles and all", function()
        local alive = setmetatable({}, { __mode = "k" })
        local x = leaf({ 1 })
        for _ = 1, 1000 do
            local token, y = {}, nil
            alive[token] = true
            local f = heed.func(function(_, v) return v * 1 end, function(_, g)
                return token and y and g
            end)
            y = f(x * 1) + 1 -- closure -> y -> node -> closure
            local z = f(y)
            token.z = z
        end
        collectgarbage()
        collectgarbage()
        collectgarbage()
        local count = 0
        for _ in pairs(alive) do count = count + 1 end
        assert.is_true(count <= 1, count .. " cycles are left")
    end)

    it("frees the memory of the graph when collected", function()
        collectgarbage()
        collectgarbage()
        local before = heed.memory().live
        local x = leaf({ 1 })
        for _ = 1, 50 do
            local y
            local f = heed.func(function(ctx, v)
                ctx:save(v)
                ctx.y = function() return y end
                return v + 1
            end, function(_, g) return g end)
            y = f(heed.zeros(10000) + x)
        end
        x = nil -- luacheck: ignore
        collectgarbage()
        collectgarbage()
        collectgarbage()
        assert.is_true(heed.memory().live - before < 200000, heed.memory().live - before)
    end)

    it("runs in coroutines, and forward may yield", function()
        local f = heed.func(function(_, v)
            coroutine.yield("here")
            return v * 2
        end, function(_, g) return g * 2 end)
        local x = leaf({ 1 })
        local co = coroutine.wrap(function() return f(x) end)
        assert.equal("here", co())
        assert.is_true(heed.is_grad_enabled())
        local y = co()
        coroutine.wrap(function() y:backward() end)()
        assert.equal(2, x.grad:item())
    end)
end)
