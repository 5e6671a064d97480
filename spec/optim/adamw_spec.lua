local heed = require "heed"
require "heed.luassert"

local function parameters(seed)
    heed.manual_seed(seed)
    return { heed.nn.parameter(heed.randn(3, 2)), heed.nn.parameter(heed.randn(5)) }
end

local function gradients(params, seed)
    heed.manual_seed(seed)
    for _, p in ipairs(params) do p.grad = heed.randn(p.shape) end
end

describe("optim.AdamW", function()
    it("is the paper's formula", function()
        local params = { heed.nn.parameter(heed.tensor { 1.0, -2.0 }) }
        local opt = heed.optim.AdamW(params, { lr = 0.1, betas = { 0.9, 0.99 }, eps = 1e-8,
            weight_decay = 0.5 })
        local w, m, v = { 1.0, -2.0 }, { 0, 0 }, { 0, 0 }
        for step, g in ipairs { { 0.5, 1.0 }, { -1.0, 0.25 }, { 2.0, 2.0 } } do
            params[1].grad = heed.tensor(g)
            opt:step()
            for i = 1, 2 do
                m[i], v[i] = 0.9 * m[i] + 0.1 * g[i], 0.99 * v[i] + 0.01 * g[i] ^ 2
                w[i] = w[i] - 0.1 * 0.5 * w[i]
                    - 0.1 * (m[i] / (1 - 0.9 ^ step)) / (math.sqrt(v[i] / (1 - 0.99 ^ step)) + 1e-8)
            end
            assert.is_close(params[1], w, 1e-6)
        end
    end)

    it("passes over parameters without a gradient, and forgets gradients", function()
        local params = parameters(1)
        local opt = heed.optim.AdamW(params)
        gradients(params, 2)
        params[2].grad = nil
        local first, second = params[1]:detach():clone(), params[2]:detach():clone()
        opt:step()
        assert.is_false(heed.equal(first, params[1]))
        assert.is_true(heed.equal(second, params[2]))
        opt:zero_grad()
        assert.is_nil(params[1].grad)
    end)

    it("has groups with settings of their own, and a settable lr", function()
        local params = parameters(1)
        local still = { params = { params[2] }, lr = 0, weight_decay = 0 }
        local opt = heed.optim.AdamW({ { params = { params[1] } }, still }, { lr = 0.1 })
        gradients(params, 2)
        local before = params[2]:detach():clone()
        opt:step()
        assert.is_true(heed.equal(before, params[2]))
        before = params[1]:detach():clone()
        opt.lr = 0
        opt:step()
        assert.is_true(heed.equal(before, params[1]))
    end)

    it("goes on with the same bits after save and load", function()
        local a, b = parameters(1), parameters(1)
        local opt = heed.optim.AdamW(a, { lr = 0.01 })
        for seed = 1, 10 do
            gradients(a, seed)
            opt:step()
        end
        local first = heed.optim.AdamW(b, { lr = 0.01 })
        for seed = 1, 5 do
            gradients(b, seed)
            first:step()
        end
        local state = first:state_dict()
        local second = heed.optim.AdamW(b, { lr = 99 })
        second:load_state_dict(state)
        assert.are.equal(0.01, second.lr)
        for seed = 6, 10 do
            gradients(b, seed)
            second:step()
        end
        for i = 1, 2 do assert.is_true(heed.equal(a[i], b[i])) end
    end)

    it("refuses the state of other parameters", function()
        local opt = heed.optim.AdamW(parameters(1))
        gradients(opt.groups[1].params, 1)
        opt:step()
        local other = heed.optim.AdamW { heed.nn.parameter(heed.ones(3, 2)),
            heed.nn.parameter(heed.ones(4)) }
        assert.error_matches(function() other:load_state_dict(opt:state_dict()) end,
            "parameter 2 of group 1 is %[4%] here")
        assert.error_matches(function()
            heed.optim.AdamW({ heed.nn.parameter(heed.ones(1)) }):load_state_dict(opt:state_dict())
        end, "group 1 has 1 parameters here, and 2 in the state")
        assert.has_error(function() opt:load_state_dict {} end)
        assert.is_nil((opt:check_state_dict(5)))
        for name, value in pairs { steps = -1, lr = 0 / 0, eps = -1, weight_decay = "0",
            betas = { 0.9, 1.1 } } do
            local state = opt:state_dict()
            state[name] = value
            assert.is_nil((opt:check_state_dict(state)), name)
        end
    end)

    it("teaches on misuse", function()
        local params = parameters(1)
        assert.error_matches(function() heed.optim.AdamW {} end, "params: ")
        assert.error_matches(function() heed.optim.AdamW(heed.nn.Linear(1, 1)) end,
            "model:parameters%(%)")
        assert.error_matches(function() heed.optim.AdamW { params[1], params[1] } end,
            "is there twice")
        assert.error_matches(function() heed.optim.AdamW { heed.ids { 1 } } end,
            "tensors of floats, got .*i64.* at 1")
        assert.error_matches(function() heed.optim.AdamW { params[1], nil, params[2] } end,
            "got nil at 2")
        assert.error_matches(function() heed.optim.AdamW(params, { lr = "1" }) end,
            'lr: expected a number of at least 0, got "1"')
        assert.error_matches(function() heed.optim.AdamW(params, { momentum = 1 }) end,
            'no option "momentum"')
        assert.error_matches(function() heed.optim.AdamW { { params = params, beta = 1 } } end,
            'no option "beta"')
    end)

    it("keeps its moments beyond the scope that a step or a load is made in", function()
        local params = parameters(1)
        local opt, other = heed.optim.AdamW(params), heed.optim.AdamW(params)
        gradients(params, 2)
        do
            local _ <close> = heed.scope()
            opt:step()
            other:load_state_dict(opt:state_dict())
        end
        gradients(params, 3)
        opt:step()
        other:step()
        assert.are.equal(2, other.steps)
    end)

    it("refuses an expanded parameter", function()
        local w = heed.zeros(1):expand(3)
        w.grad = heed.ones(3)
        local opt = heed.optim.AdamW { w }
        assert.error_matches(function() opt:step() end, "parameter 1: it is expanded")
    end)
end)

describe("optim.clip_grad_norm", function()
    local params = { heed.nn.parameter(heed.zeros(1)), heed.nn.parameter(heed.zeros(1)) }
    local function set(a, b)
        params[1].grad, params[2].grad = heed.tensor { a }, heed.tensor { b }
    end

    it("returns the norm and scales what is above", function()
        set(3.0, 4.0)
        assert.are.equal(5.0, heed.optim.clip_grad_norm(params, 10))
        assert.are.equal(3.0, params[1].grad:item())
        assert.are.equal(5.0, heed.optim.clip_grad_norm(params, 1))
        assert.is_close(params[1].grad, { 0.6 }, 1e-6)
        assert.is_close(params[2].grad, { 0.8 }, 1e-6)
    end)

    it("refuses a module, which has no gradients of its own", function()
        assert.error_matches(function() heed.optim.clip_grad_norm(heed.nn.Linear(1, 1), 1) end,
            "model:parameters%(%)")
    end)

    it("leaves gradients alone when the norm is not finite", function()
        set(math.huge, 4.0)
        assert.are.equal(math.huge, heed.optim.clip_grad_norm(params, 1))
        assert.are.equal(4.0, params[2].grad:item())
        set(0 / 0, 4.0)
        local norm = heed.optim.clip_grad_norm(params, 1)
        assert.are_not.equal(norm, norm)
        assert.are.equal(4.0, params[2].grad:item())
    end)
end)

describe("optim.clip_grad_value", function()
    it("cuts every element off, and passes over what has no gradient", function()
        local params = { heed.nn.parameter(heed.zeros(4)), heed.nn.parameter(heed.zeros(1)) }
        params[1].grad = heed.tensor { 3.0, -0.5, -math.huge, 0 / 0 }
        heed.optim.clip_grad_value(params, 1)
        local cut = params[1].grad:totable()
        assert.same({ 1, -0.5, -1 }, { cut[1], cut[2], cut[3] })
        assert.are_not.equal(cut[4], cut[4])
        assert.is_nil(params[2].grad)
    end)

    it("says what it does not take", function()
        assert.error_matches(function() heed.optim.clip_grad_value(heed.nn.Linear(1, 1), 1) end,
            "model:parameters%(%)")
        assert.error_matches(function() heed.optim.clip_grad_value({}, -1) end,
            "max: expected a number of at least 0")
    end)
end)
