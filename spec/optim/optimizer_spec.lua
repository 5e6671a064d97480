-- What all optimisers share. torch_spec.lua has their numbers.

local heed = require "heed"
require "heed.luassert"

local function parameter(value) return heed.nn.parameter(heed.tensor { value }) end

local function step(opt, ...)
    for i, p in ipairs { ... } do p.grad = heed.ones(p.shape) * i end
    opt:step()
end

describe("groups of an optimiser", function()
    it("with a rate of their own keep its proportion to opt.lr", function()
        local a, b, c = parameter(0.0), parameter(0.0), parameter(0.0)
        local opt = heed.optim.SGD({ { params = { a } }, { params = { b }, lr = 0.01 },
            { params = { c }, lr_scale = 2 } }, { lr = 0.1 })
        assert.is_close({ opt.groups[1].lr, opt.groups[2].lr, opt.groups[3].lr },
            { 0.1, 0.01, 0.2 }, 1e-12)
        opt.lr = heed.optim.schedule.constant { lr = 1 } (1)
        step(opt, a, b, c)
        assert.is_close({ a:item(), b:item(), c:item() }, { -1, -0.2, -6 }, 1e-6)
        opt.groups[2].lr = 0.5
        assert.is_close(opt.groups[2].lr_scale, 0.5, 1e-12)
        opt.lr = 0
        assert.equal(0, opt.groups[2].lr)
        opt.lr = 2
        assert.is_close(opt.groups[2].lr, 1, 1e-12)
    end)

    it("need lr_scale where opt.lr begins at 0", function()
        local a = parameter(0.0)
        assert.error_matches(function() heed.optim.SGD({ { params = { a }, lr = 0.1 } },
            { lr = 0 }) end, "set lr_scale")
        local opt = heed.optim.SGD({ { params = { a }, lr_scale = 0.5 } }, { lr = 0 })
        opt.lr = 1
        step(opt, a)
        assert.equal(-0.5, a:item())
    end)

    it("may be added, and refuse what is there", function()
        local a, b = parameter(0.0), parameter(0.0)
        local opt = heed.optim.SGD({ a }, { lr = 1 })
        step(opt, a)
        opt:add_group { params = { b }, lr = 0.5 }
        step(opt, a, b)
        assert.is_close({ a:item(), b:item() }, { -2, -1 }, 1e-6)
        assert.error_matches(function() opt:add_group { params = { a } } end, "is there twice")
        assert.error_matches(function() opt:add_group { params = { parameter(1.0) }, beta = 1 } end,
            'no option "beta"')
    end)

    it("are shown by tostring", function()
        assert.equal("heed.optim.SGD(1 tensors, lr 0.5, 0 steps)",
            tostring(heed.optim.SGD({ parameter(1.0) }, { lr = 0.5 })))
    end)
end)

describe("settings of an optimiser", function()
    it("are looked at when they are set", function()
        local opt = heed.optim.AdamW({ { params = { parameter(1.0) } } }, { lr = 0.1 })
        local function refuses(message, fn) assert.error_matches(fn, message) end
        refuses("heed.optim.AdamW: lr: expected a number of at least 0, got .*nan", function()
            opt.lr = 0 / 0
        end)
        refuses('lr: expected a number of at least 0, got "1"', function() opt.lr = "1" end)
        refuses("lr: expected a number of at least 0, got nil", function() opt.lr = nil end)
        refuses("eps: expected a value, got nil", function() opt.eps = nil end)
        refuses("betas: expected two numbers below 1", function() opt.betas = { 0.9, 1 } end)
        refuses('there is no setting "wd"', function() opt.wd = 0.5 end)
        refuses('there is no setting "weight_deca"; did you mean weight_decay', function()
            opt.weight_deca = 0.5
        end)
        refuses("weight_decay: expected a number of at least 0, got %-1", function()
            opt.groups[1].weight_decay = -1
        end)
        refuses('there is no setting "wd"', function() opt.groups[1].wd = 1 end)
        refuses("group: lr_scale: expected a number", function() opt.groups[1].lr_scale = "1" end)
        opt.lr, opt.weight_decay, opt.groups[1].eps = 0.2, 0.5, 1e-3
        assert.are.same({ 0.2, 0.5, 1e-3, 1e-8 }, { opt.lr, opt.weight_decay, opt.groups[1].eps,
            opt.eps })
        assert.are.equal(1e-3, opt:state_dict().groups[1].eps)
    end)

    it("count for the next step", function()
        local a, b = parameter(0.0), parameter(0.0)
        local opt = heed.optim.SGD({ { params = { a } }, { params = { b } } }, { lr = 1 })
        opt.groups[2].weight_decay = 1
        step(opt, a, b)
        step(opt, a, b)
        -- of b the second gradient is 2 - 2
        assert.is_close({ a:item(), b:item() }, { -2, -2 }, 1e-6)
    end)
end)

describe("a step without a gradient anywhere", function()
    it("raises: a backward was forgotten, or the parameters are not the model's", function()
        local model = heed.nn.Linear(2, 1)
        local opt = heed.optim.SGD(model:parameters())
        assert.error_matches(function() opt:step() end,
            "heed.optim.SGD:step: no parameter has a gradient: expected a loss:backward%(%) "
                .. "before it")
        model:to "f64"
        model(heed.ones({ 1, 2 }, { dtype = "f64" })):sum():backward()
        assert.error_matches(function() opt:step() end, "make the optimiser after it")
        assert.are.equal(0, opt.steps)
    end)
end)

describe("clip_grad_norm", function()
    it("counts a tensor that is there twice once", function()
        local a, b = parameter(0.0), parameter(0.0)
        a.grad, b.grad = heed.tensor { 3.0 }, heed.tensor { 4.0 }
        assert.are.equal(5, heed.optim.clip_grad_norm({ a, b, a }, 2.5))
        assert.is_close({ a.grad:item(), b.grad:item() }, { 1.5, 2 }, 1e-5)
        heed.optim.scale_grads({ b, a, b }, 2)
        assert.is_close({ a.grad:item(), b.grad:item() }, { 3, 4 }, 1e-5)
    end)
end)

describe("every optimiser", function()
    for _, name in ipairs { "SGD", "Adam", "AdamW", "RMSprop", "Lion" } do
        local make = heed.optim[name]

        it("moves all or none: " .. name, function()
            local a, b = heed.nn.parameter(heed.ones(20000)), heed.nn.parameter(heed.ones(300))
            local opt = make({ { params = { a } }, { params = { b } } }, { lr = 0.1 })
            step(opt, a, b)
            local before, steps = { a:detach():clone(), b:detach():clone() }, opt.steps
            local wrong = heed.zeros(1):expand(3)
            wrong.grad = heed.ones(3)
            opt:add_group { params = { wrong } }
            assert.error_matches(function() step(opt, a, b) end, "parameter 3: it is expanded")
            assert.is_true(heed.equal(before[1], a) and heed.equal(before[2], b))
            assert.equal(steps, opt.steps)
        end)

        it("takes a tied parameter once: " .. name, function()
            local w = parameter(1.0)
            local Model = heed.nn.Module:extend "Model"
            function Model:init() self.first, self.second = w, w end
            local opt = make(Model():parameters(), { lr = 0.5 });
            (w * 3 + w * 4):backward()
            opt:step()
            local alone = parameter(1.0)
            local other = make({ alone }, { lr = 0.5 })
            alone.grad = heed.tensor { 7.0 }
            other:step()
            assert.equal(alone:item(), w:item())
        end)

        it("computes in f64 too: " .. name, function()
            local w = heed.nn.parameter(heed.tensor({ 1.0, 2.0 }, { dtype = "f64" }))
            local opt = make({ w }, { lr = 0.1 })
            w.grad = heed.tensor({ 1.0, -1.0 }, { dtype = "f64" })
            opt:step()
            assert.equal("f64", w.dtype)
            assert.is_true(w[1] < 1 and w[2] > 2 - 0.01)
        end)

        it("refuses the state of another: " .. name, function()
            local opt = make({ parameter(1.0) }, {})
            local other = name == "SGD" and heed.optim.Adam or heed.optim.SGD
            local ok, message = opt:check_state_dict(other({ parameter(1.0) }, {}):state_dict())
            assert.is_nil(ok)
            assert.is_truthy(message:find "the state is of")
            step(opt, opt.groups[1].params[1])
            local state = opt:state_dict()
            state.groups[1].steps = { 1.5 }
            assert.is_nil((opt:check_state_dict(state)))
        end)

        it("decreases a quadratic: " .. name, function()
            local w = heed.nn.parameter(heed.tensor { 3.0, -2.0 })
            local opt = make({ w }, { lr = 0.1 })
            for _ = 1, 100 do
                opt:zero_grad();
                (w * w):sum():backward()
                opt:step()
            end
            assert.is_true((w * w):sum():item() < 0.2)
        end)
    end
end)

describe("what an optimiser remembers", function()
    local function stepped()
        local w = heed.ones(3, { requires_grad = true })
        local opt = heed.optim.AdamW({ w }, { lr = 0.1 })
        w:sum():backward()
        opt:step()
        return opt, opt.remembered[1], w
    end

    it("is looked at before it is believed", function()
        for _, name in ipairs { "m", "v" } do
            for _, wrong in ipairs { 5, "x", heed.ones(3), {}, { 5 }, { heed.ones(2) }, print } do
                local opt, memory, w = stepped()
                local before = w:detach():clone()
                memory[name] = wrong
                assert.is_false(pcall(opt.step, opt))
                assert.is_true(heed.equal(before, w))
            end
        end
        for _, wrong in ipairs { 5, { "x" }, { -1 }, { math.maxinteger }, { 0.5 } } do
            local opt, memory = stepped()
            memory.steps = wrong
            assert.is_false(pcall(opt.step, opt))
        end
        local opt, memory = stepped()
        memory.steps = { math.maxinteger }
        assert.error_matches(function() opt:step() end,
            "steps: expected counts of 0 or more, got 9223372036854775807 at 1")
        memory.steps = { 1 }
        opt:step()
        for _, wrong in ipairs { 5, "x", { 5 }, {} } do
            opt.groups[1].params = wrong
            pcall(opt.step, opt)
        end
    end)
end)

describe("optim.SGD", function()
    it("begins its buffer when momentum comes later", function()
        local a, b = parameter(0.0), parameter(0.0)
        local late, always = heed.optim.SGD({ a }, { lr = 1 }),
            heed.optim.SGD({ b }, { lr = 1, momentum = 0.5, dampening = 0.5 })
        step(late, a)
        late.momentum, late.dampening = 0.5, 0.5
        for _ = 1, 3 do
            step(late, a)
            step(always, b)
        end
        assert.is_close(a:item(), b:item() - 1, 1e-6)
    end)

    it("teaches on misuse", function()
        local w = parameter(1.0)
        assert.error_matches(function() heed.optim.SGD({ w }, { nesterov = true }) end,
            "nesterov: expected a momentum above 0")
        assert.error_matches(function() heed.optim.SGD({ w }, { nesterov = true, momentum = 0.9,
            dampening = 0.1 }) end, "no dampening")
        assert.error_matches(function() heed.optim.SGD({ w }, { momentum = -1 }) end,
            "momentum: expected a number of at least 0, got %-1")
        assert.error_matches(function() heed.optim.Adam({ w }, { betas = { 0.9, 1 } }) end,
            "betas: expected two numbers below 1, got 1")
        assert.error_matches(function() heed.optim.Adam(heed.nn.Linear(1, 1)) end,
            "model:parameters%(%)")
    end)
end)

describe("optim.RMSprop", function()
    it("begins what it remembers when a setting wants it later", function()
        local a, b = parameter(1.0), parameter(1.0)
        local late, plain = heed.optim.RMSprop({ a }, { lr = 0.1 }), heed.optim.RMSprop({ b },
            { lr = 0.1 })
        step(late, a)
        step(plain, b)
        assert.is_nil(late.remembered[1].m or late.remembered[1].a)
        late.momentum, late.centered = 0.5, true
        local w, v = a:item(), late.remembered[1].v[1]:item()
        step(late, a)
        v = 0.99 * v + 0.01
        local mean = 0.01
        assert.is_close(a:item(), w - 0.1 / (math.sqrt(v - mean ^ 2) + 1e-8), 1e-5)
        step(late, a)
        v, mean = 0.99 * v + 0.01, 0.99 * mean + 0.01
        assert.is_close(late.remembered[1].a[1]:item(), mean, 1e-7)
        assert.is_close(late.remembered[1].v[1]:item(), v, 1e-7)
    end)

    it("takes the state of one that remembers less, and refuses one that lacks the squares",
        function()
            local a, b = parameter(1.0), parameter(1.0)
            local plain, whole = heed.optim.RMSprop({ a }), heed.optim.RMSprop({ b },
                { momentum = 0.9, centered = true })
            step(plain, a)
            step(whole, b)
            local state = whole:state_dict()
            assert.is_true(plain:check_state_dict(state))
            state.groups[1].m = nil
            assert.is_true(plain:check_state_dict(state))
            state.groups[1].a[1] = heed.zeros(2)
            assert.matches("its moment is %[2%]", (select(2, plain:check_state_dict(state))))
            state.groups[1].a, state.groups[1].v = nil, nil
            assert.equal("group 1 lacks its moments", (select(2, plain:check_state_dict(state))))
        end)

    it("has no root of what rounding leaves below 0", function()
        local w = heed.nn.parameter(heed.zeros(100))
        local opt = heed.optim.RMSprop({ w }, { lr = 0.1, alpha = 0.5, centered = true, eps = 1 })
        local gradient = heed.linspace(0.1, 1, 100)
        for _ = 1, 60 do
            w.grad = gradient
            opt:step()
        end
        assert.is_true(w:isfinite():all())
    end)

    it("teaches on misuse", function()
        local w = parameter(1.0)
        for pattern, options in pairs {
            ["heed.optim.RMSprop: alpha: expected a number below 1, got 1"] = { alpha = 1 },
            ["alpha: expected a number .*got %-1"] = { alpha = -1 },
            ["eps: expected a number of at least 0, got %-1"] = { eps = -1 },
            ["momentum: expected a number of at least 0, got \"x\""] = { momentum = "x" },
            ["centered: expected a boolean, got 1"] = { centered = 1 },
            ["there is no option \"betas\""] = { betas = { 0.9, 0.99 } },
        } do assert.error_matches(function() heed.optim.RMSprop({ w }, options) end, pattern) end
    end)
end)

describe("optim.Lion", function()
    it("moves every element alike, and keeps NaN", function()
        local w = heed.nn.parameter(heed.zeros(5))
        local opt = heed.optim.Lion({ w }, { lr = 0.5 })
        w.grad = heed.tensor { 1e-30, -7, 0, 0 / 0, math.huge }
        opt:step()
        assert.is_close(w:narrow(1, 1, 3), { -0.5, 0.5, 0 }, 0)
        assert.is_true(w[4] ~= w[4])
        assert.equal(-0.5, w[5])
    end)

    it("teaches on misuse", function()
        local w = parameter(1.0)
        for pattern, options in pairs {
            ["heed.optim.Lion: betas: expected two numbers below 1, got 1"] = { betas = { 0.9, 1 } },
            ["weight_decay: expected a number of at least 0"] = { weight_decay = -1 },
            ["there is no option \"eps\""] = { eps = 1 },
        } do assert.error_matches(function() heed.optim.Lion({ w }, options) end, pattern) end
    end)
end)

describe("optim.scale_grads", function()
    it("weighs accumulated gradients by their tokens", function()
        -- The mean over three targets of loss 1 and one of loss 5 is 2, and so is its gradient.
        local w = parameter(1.0)
        local tokens = 0
        for _, part in ipairs { { 1.0, 1.0, 1.0 }, { 5.0 } } do
            (w * heed.tensor(part)):sum():backward()
            tokens = tokens + #part
        end
        heed.optim.scale_grads({ w, parameter(0.0) }, 1 / tokens)
        assert.equal(2.0, w.grad:item())
        assert.error_matches(function() heed.optim.scale_grads(heed.nn.Linear(1, 1), 1) end,
            "model:parameters%(%)")
        assert.error_matches(function() heed.optim.scale_grads({ w }) end,
            "factor: expected a number, got nil")
    end)
end)
