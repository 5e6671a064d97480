--- nn.SSRU: what PyTorch computes step by step (spec/fixtures/record_seq2seq_layers.py), and the
--- states that a cache keeps of it.

local heed = require "heed"
require "heed.luassert"

local nn = heed.nn
local recorded = assert(heed.safetensors.load "spec/fixtures/seq2seq_layers.safetensors")

local function values_of(name)
    local values = {}
    for key, t in pairs(recorded) do
        local own = key:match("^ssru/" .. name .. "/(.*)$")
        if own then values[own] = t end
    end
    return values
end

local function layer_of(values)
    local ssru = nn.SSRU(values.x:size(3))
    ssru.linear.weight = nn.parameter(values.linear)
    ssru.forget.weight, ssru.forget.bias = nn.parameter(values.forget), nn.parameter(values.bias)
    return ssru
end

describe("heed.nn.SSRU", function()
    for _, name in ipairs { "short", "long" } do
        it("gives PyTorch's values and gradients: " .. name, function()
            local v = values_of(name)
            local ssru, x = layer_of(v), v.x:clone():requires_grad_()
            local y = ssru(x)
            assert.is_close(y, v.y, 1e-6)
            ;(y * v.g):sum():backward()
            assert.is_close(x.grad, v.grad_x, 1e-5)
            assert.is_close(ssru.linear.weight.grad, v.grad_linear, 1e-5)
            assert.is_close(ssru.forget.weight.grad, v.grad_forget, 1e-5)
            assert.is_close(ssru.forget.bias.grad, v.grad_bias, 1e-5)
        end)
    end

    it("has the recurrence of PyTorch's with a state before", function()
        local v, core = values_of "state", require "heed.core"
        local function leaf(name) return v[name]:clone():requires_grad_() end
        local x, linear, forget, bias, state = leaf "x", leaf "linear", leaf "forget", leaf "bias",
            leaf "state"
        local f = heed.linear(x, forget, bias):sigmoid()
        local y = core.linear_recurrence(f, (1 - f) * heed.linear(x, linear), state):relu()
        assert.is_close(y, v.y, 1e-6)
        ;(y * v.g):sum():backward()
        assert.is_close(state.grad, v.grad_state, 1e-5)
        assert.is_close(x.grad, v.grad_x, 1e-5)
        assert.is_close(forget.grad, v.grad_forget, 1e-5)
    end)

    it("has the gradient that differences give, in f64", function()
        local core = require "heed.core"
        local function layer(x, linear, forget, bias, state)
            local f = heed.linear(x, forget, bias):sigmoid()
            return core.linear_recurrence(f, (1 - f) * heed.linear(x, linear), state)
        end
        local function random(...) return heed.randn({ ... }, { dtype = "f64" }) end
        assert.is_true(heed.gradcheck(layer, { random(2, 4, 3), random(3, 3), random(3, 3),
            random(3), random(2, 3) }))
    end)

    it("takes one sequence, an empty one, and none", function()
        local ssru = nn.SSRU(4)
        local x = heed.randn(2, 5, 4)
        assert.is_close(ssru(x[2]), ssru(x)[2], 1e-6)
        assert.has_shape(ssru(heed.zeros(2, 0, 4)), { 2, 0, 4 })
        assert.has_shape(ssru(heed.zeros(0, 3, 4)), { 0, 3, 4 })
        assert.are.equal("f64", ssru:to "f64"(x:to "f64").dtype)
    end)

    it("says what does not fit", function()
        local ssru = nn.SSRU(4)
        assert.has_error(function() ssru(heed.zeros(2, 3, 5)) end,
            "SSRU: x: expected [B, L, 4] or [L, 4], got f32 tensor [2, 3, 5]")
        assert.has_error(function() ssru(7) end, "SSRU: x: expected [B, L, 4] or [L, 4], got 7")
        assert.has_error(function() nn.SSRU(0) end)
    end)
end)

describe("a cache of heed.nn.SSRU", function()
    local ssru, x, whole, cache

    before_each(function()
        ssru, x = nn.SSRU(4):eval(), heed.randn(3, 6, 4)
        whole = heed.no_grad(function() return ssru(x) end)
        cache = ssru:new_cache { batch = 3, max_len = 6 }
    end)

    local function read(first, count, options)
        options = options or {}
        options.cache = cache
        return heed.no_grad(function() return ssru(x:narrow(2, first, count), options) end)
    end

    it("gives in parts what the whole gives", function()
        assert.is_close(read(1, 3), whole:narrow(2, 1, 3), 1e-6)
        for i = 4, 6 do assert.is_close(read(i, 1), whole:narrow(2, i, 1), 1e-6) end
        assert.has_error(function() read(6, 1) end)
        assert.are.same({ 6, 6, 6 }, cache:lengths():totable())
    end)

    it("goes back within its last step, row by row, and to the beginning", function()
        read(1, 2)
        read(3, 3)
        cache:crop { 4, 2, 5 }
        local rest = heed.stack({ x[1][5], x[2][3], x[3][6] }, 1):unsqueeze(2)
        local y = heed.no_grad(function() return ssru(rest, { cache = cache }) end)
        assert.is_close(y:squeeze(2),
            heed.stack({ whole[1][5], whole[2][3], whole[3][6] }, 1), 1e-6)
        cache:crop(0)
        assert.is_close(read(1, 2), whole:narrow(2, 1, 2), 1e-6)
    end)

    it("refuses to go back further, and stays as it was", function()
        read(1, 3)
        read(4, 2)
        local fine, message = pcall(cache.crop, cache, 2)
        assert.is_false(fine)
        assert.matches("n: expected 0, or at least 3 in row 1, got 2", message, 1, true)
        assert.are.same({ 5, 5, 5 }, cache:lengths():totable())
        assert.is_close(read(6, 1), whole:narrow(2, 6, 1), 1e-6)
    end)

    it("puts rows into another order, more of them or fewer", function()
        read(1, 4)
        cache:reorder { 3, 3, 1, 2 }
        x, whole = x:index_select(1, { 3, 3, 1, 2 }), whole:index_select(1, { 3, 3, 1, 2 })
        assert.is_close(read(5, 1), whole:narrow(2, 5, 1), 1e-6)
        cache:reorder { 4 }
        x, whole = x:index_select(1, { 4 }), whole:index_select(1, { 4 })
        assert.is_close(read(6, 1), whole:narrow(2, 6, 1), 1e-6)
    end)

    it("forgets what a step that fails has read", function()
        local model = nn.Module:extend "Failing"()
        model.ssru = ssru
        function model:forward(tokens, options)
            local y = self.ssru(tokens, { cache = options.cache })
            if options.fail then error "on purpose" end
            return y
        end
        cache = model:new_cache { batch = 3, max_len = 6 }
        heed.no_grad(function()
            model(x:narrow(2, 1, 2), { cache = cache })
            assert.has_error(function()
                model(x:narrow(2, 3, 2), { cache = cache, fail = true })
            end)
            assert.are.same({ 2, 2, 2 }, cache:lengths():totable())
            local y = model(x:narrow(2, 3, 1), { cache = cache })
            assert.is_close(y, whole:narrow(2, 3, 1), 1e-6)
        end)
    end)

    it("refuses a mask that is none, with a cache and without", function()
        assert.error_matches(function() ssru(x, { mask = 5 }) end, "mask: expected a mask")
        assert.error_matches(function() ssru(x, { mask = 5, cache = cache }) end,
            "mask: expected a mask")
    end)

    it("does not keep what padding hides", function()
        read(1, 3, { mask = heed.mask.padding { 3, 1, 2 } })
        assert.are.same({ 3, 1, 2 }, cache:lengths():totable())
        local rest = heed.stack({ x[1][4], x[2][2], x[3][3] }, 1):unsqueeze(2)
        local y = heed.no_grad(function() return ssru(rest, { cache = cache }) end)
        assert.is_close(y:squeeze(2),
            heed.stack({ whole[1][4], whole[2][2], whole[3][3] }, 1), 1e-6)
    end)
end)
