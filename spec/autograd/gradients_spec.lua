local heed = require "heed"

describe("grad and value_and_grad", function()
    it("give values and gradients of every float argument", function()
        local f = heed.value_and_grad(function(x, y, n) return (x * x * y * n):sum() end)
        local value, dx, dy = f(heed.tensor { 2.0, 3.0 }, heed.tensor { 5.0, 7.0 }, 1)
        assert.are.equal(83, value:item())
        assert.are.same({ 20.0, 42.0 }, dx:totable())
        assert.are.same({ 4.0, 9.0 }, dy:totable())
        assert.is_false(value.requires_grad)
        assert.are.same({ 2.0 }, heed.grad(function(x)
            return x * 2
        end)(heed.tensor { 1.0 }):totable())
    end)

    it("by some arguments, or by leaves", function()
        local x, y = heed.tensor { 2.0 }, heed.tensor { 5.0 }
        local grads = table.pack(heed.grad(function(a, b) return a * b end, { wrt = 2 })(x, y))
        assert.are.equal(1, grads.n)
        assert.are.equal(2, grads[1]:item())
        local layer = heed.nn.Linear(1, 1)
        layer.weight.grad = heed.tensor { { 42.0 } }
        local _, dw, db = heed.value_and_grad(function(input) return layer(input):sum() end,
            { wrt = layer:parameters() })(
            heed.tensor { { 3.0 } })
        assert.are.equal(3, dw:item())
        assert.are.equal(1, db:item())
        assert.are.equal(42, layer.weight.grad:item())
    end)

    it("give zeros for what takes no part", function()
        local dx, dy = heed.grad(function(x) return x:sum() end)(heed.ones(2), heed.ones(3))
        assert.are.same({ { 1.0, 1.0 }, { 0.0, 0.0, 0.0 } }, { dx:totable(), dy:totable() })
    end)

    it("refuse gradients of gradients instead of giving zeros", function()
        local function cubes(x) return (x * x * x):sum() end
        local twice = heed.grad(function(x) return heed.grad(cubes)(x):sum() end)
        assert.error_matches(function() twice(heed.tensor { 1.0, 2.0 }) end,
            "gradients of gradients are not supported")
        local through_value = heed.grad(function(x) return (heed.value_and_grad(cubes)(x)) end)
        assert.error_matches(function() through_value(heed.tensor { 1.0 }) end,
            "gradients of gradients")
        local beside = heed.grad(function(x)
            return (x * heed.grad(cubes)(heed.tensor { 2.0 })):sum()
        end)
        assert.are.equal(12, beside(heed.tensor { 1.0 }):item())
    end)

    it("teach on misuse", function()
        assert.error_matches(function() heed.grad(5) end, "fn: expected a function")
        assert.error_matches(function() heed.grad(function(x)
            return x
        end)(heed.ones(2)) end, "one element")
        assert.error_matches(function() heed.grad(function(x) return x end, { wrt = 1 })(5) end,
            "argument 1: expected a tensor of floats, got 5")
    end)
end)

describe("gradcheck", function()
    local function input(...) return heed.randn({ ... }, { dtype = "f64" }) end

    it("passes what is right", function()
        assert.is_true(heed.gradcheck(function(a, b) return a:matmul(b):tanh() end,
            { input(2, 3), input(3, 2) }))
        assert.is_true(heed.gradcheck(function(a) return a:exp(), a * 2 end, { input(2) }))
    end)

    it("raises with the worst element of what is wrong", function()
        local wrong = heed.func(function(ctx, x)
            ctx:save(x)
            return x * x
        end, function(ctx, g)
            local x = ctx:saved()
            local d = 2 * x * g
            d[2] = 0
            return d
        end)
        assert.error_matches(function()
            heed.gradcheck(wrong, { heed.tensor({ 1, 2, 3 }, { dtype = "f64" }) })
        end,
            "input 1 %[3%], element 2: the gradient is 0, the difference quotient")
    end)

    it("names the element that is furthest off, in the second input too", function()
        local wrong = heed.func(function(ctx, x, y)
            ctx:save(x, y)
            return x * y
        end, function(ctx, g)
            local x, y = ctx:saved()
            local dy = g * x
            dy[1] = dy[1] * 1.5
            dy[3] = dy[3] * 4
            return g * y, dy
        end)
        local inputs = { heed.tensor({ 1, 1, 1 }, { dtype = "f64" }),
            heed.tensor({ 1, 2, 3 }, { dtype = "f64" }) }
        assert.error_matches(function() heed.gradcheck(wrong, inputs) end,
            "input 2 %[3%], element 3: the gradient is")
    end)

    it("wants f64", function()
        assert.error_matches(function() heed.gradcheck(function(x) return x end,
            { heed.ones(1) }) end, "expected an f64 tensor")
    end)
end)
