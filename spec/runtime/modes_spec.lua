--- Modes belong to a call and its coroutine, and end with it however it ends: by an error that
--- nothing in the coroutine catches, by a yield that nothing resumes, by an interrupt, for want of
--- memory.

local heed = require "heed"
local core = require "heed.core"
local nn = heed.nn

-- Runs f in a coroutine, without closing it: what it gives first, or its error. The coroutine is
-- kept.
local kept = {}
local function in_coroutine(f, ...)
    local co = coroutine.create(f)
    kept[#kept + 1] = co
    return coroutine.resume(co, ...)
end

-- A model that does what it is told in the middle of its forward.
local Told = nn.Module:extend "Told"
function Told:init() self.drop = nn.Dropout(0.5) end
function Told:forward(x)
    if self.act then self.act() end
    return self.drop(x * 2)
end

local function fail() error "on purpose" end

-- Is everything as it is outside of all modes?
local function assert_plain(model)
    assert.is_false(core.shapes_only())
    assert.is_false(core.differentiating())
    assert.is_true(heed.is_grad_enabled())
    assert.are.equal(1e5, heed.ones(100000):sum():item())
    if model then assert.is_true(model.training and model.drop.training) end
end

describe("a mode", function()
    after_each(function() kept = {} end)

    it("of shapes alone ends with the coroutine that died in it", function()
        local model, stream = Told(), heed.rng_state()
        model.act = fail
        assert.is_false(in_coroutine(model.check, model, heed.ones(3)))
        assert_plain(model)
        assert.is_true(heed.equal(stream, heed.rng_state()))
    end)

    it("of shapes alone rests while its coroutine does", function()
        local model = Told()
        model.act = function() coroutine.yield "resting" end
        local ok, what = in_coroutine(model.check, model, heed.ones(3))
        assert.are.same({ true, "resting" }, { ok, what })
        assert_plain(model)
        assert.are.equal("[3]", tostring(select(2, coroutine.resume(kept[1]))))
        assert_plain(model)
    end)

    it("of shapes alone holds in coroutines that run inside", function()
        local model = Told()
        model.act = function()
            assert.is_true(core.shapes_only())
            assert.is_true(coroutine.wrap(function()
                local huge = heed.ones(2 ^ 20 // 1 | 0, 2 ^ 20 // 1 | 0) -- 4 TB
                return core.shapes_only() and huge:sum():item() == 0
            end)())
        end
        assert.are.equal("[3]", tostring((model:check(heed.ones(3)))))
    end)

    it("of shapes alone ends for want of memory", function()
        local model = Told()
        for n = 1, 40 do
            model.act = function() core.fail_allocation(n) end
            local co = in_coroutine(function()
                for _ = 1, 50 do assert(model:check(heed.ones(3))) end
            end)
            core.fail_allocation(0)
            assert_plain(model)
            if not co then break end
        end
    end)

    it("of evaluation ends with a model that raises in a coroutine", function()
        local model = Told()
        model.act = fail
        local ok, message = in_coroutine(function()
            return heed.generate(model, { { 1 } }, { max_new_tokens = 1 })
        end)
        assert.is_false(ok)
        assert.matches("on purpose", message)
        assert_plain(model)
    end)

    it("of evaluation ends with a model that nobody resumes", function()
        local model, modes = Told(), require "heed.generate.modes"
        model.act = coroutine.yield
        in_coroutine(modes.of(model), function(x) return model(x) end, heed.ones(3))
        kept = {}
        collectgarbage()
        collectgarbage()
        assert_plain(model)
    end)

    it("of gradients ends with the coroutine that died in it, and rests with one that rests",
        function()
        assert.is_false(in_coroutine(heed.grad(fail), heed.ones(2)))
        assert.is_true(in_coroutine(heed.grad(function(x)
            return coroutine.yield() or x:sum()
        end), heed.ones(2)))
        assert_plain()
        local w = heed.tensor({ 1.0, 2.0 }, { requires_grad = true })
        local value, gradient = heed.value_and_grad(function(x) return (x * x):sum() end)(w)
        assert.is_false(value.requires_grad or gradient.requires_grad) -- no error waits in them
        assert.are.same({ 2.0, 4.0 }, gradient:totable())
    end)

    it("of gradients still holds inside another function's", function()
        local inner = heed.grad(function(x) return (x * x):sum() end)
        assert.error_matches(function()
            heed.grad(function(x) return coroutine.wrap(
                function() return inner(x):sum() end)() end)(heed.ones(2))
        end, "gradients of gradients")
    end)

    it("of a capture is not begun for want of memory", function()
        local capture = require "heed.capture"
        local model = nn.TransformerEncoder(1, 8, 2, 8)
        for n = 1, 30 do
            core.fail_allocation(n)
            local ok = pcall(heed.capture, model, { rows = { 1 }, heads = { 1 } })
            core.fail_allocation(0)
            if ok then break end
            assert.is_false(capture.is_open())
        end
        collectgarbage()
        assert.is_false(capture.is_open())
    end)
end)
