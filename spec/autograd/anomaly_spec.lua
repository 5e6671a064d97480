local heed = require "heed"

local function leaf(values) return heed.tensor(values, { requires_grad = true }) end

-- The number of the line that called.
local function line() return debug.getinfo(2, "l").currentline end

describe("detect_anomaly", function()
    it("names the operation whose gradient first has NaN, and the line that made it", function()
        local x = leaf { 4.0, 0.0 }
        local at
        local ok, message = pcall(heed.detect_anomaly, function()
            local root = (x - 1):sqrt() at = line()
            local y = root:sum()
            y:backward()
        end)
        assert.is_false(ok)
        assert.is_truthy(message:find "backward: sqrt, made at .*anomaly_spec", message)
        assert.is_truthy(message:find(
            (":%d: its gradient by input 1, [2], is the first that has NaN"):format(at), 1, true),
            message)
    end)

    it("holds until the end of a scope, and no longer", function()
        local x = leaf { 0.0 }
        local function run()
            local y = (x - 1):sqrt():sum()
            y:backward()
        end
        do
            local _ <close> = heed.detect_anomaly()
            assert.error_matches(run, "sqrt, made at")
        end
        run()
        assert.is_true(x.grad[1] ~= x.grad[1])
    end)

    it("lets through what is right, with the same gradients", function()
        local x = leaf { 1.0, 2.0 }
        local value = heed.detect_anomaly(function(t)
            local y = (t * t):exp():sum()
            y:backward()
            return y
        end, x)
        local grad = x.grad
        x.grad = nil;
        (x * x):exp():sum():backward()
        assert.is_true(heed.equal(grad, x.grad))
        assert.is_true(value.requires_grad)
    end)

    it("tells infinities that add up from an operation that makes NaN", function()
        local x = leaf { 0.0 }
        local ok, message = pcall(heed.detect_anomaly, function()
            local y = x * 1
            local z = y:log():sum() - y:sqrt():log():sum()
            z:backward()
        end)
        assert.is_false(ok)
        assert.is_truthy(message:find "arrives at the result of mul, made at"
            or message:find "made at", message)
        ok, message = pcall(heed.detect_anomaly, function()
            (x * 1):backward(heed.tensor { 0 / 0 })
        end)
        assert.is_false(ok)
        assert.is_truthy(message:find("arrives at the result of mul, made at .*: it was given to "
            .. "backward so"), message)
    end)

    it("says when the place is not known", function()
        local x = leaf { 0.0 }
        local y = (x - 1):sqrt():sum()
        assert.error_matches(function() heed.detect_anomaly(y.backward, y) end,
            "sqrt %(made outside of detect_anomaly")
    end)

    it("leaves recording as it is, and other coroutines alone", function()
        local x = leaf { 0.0 }
        local _ <close> = heed.no_grad()
        assert.is_false(heed.detect_anomaly(function() return (x * 1).requires_grad end))
        local run = coroutine.wrap(function()
            local y = (x - 1):sqrt():sum()
            y:backward()
            return true
        end)
        assert.is_true(heed.detect_anomaly(run))
    end)

    it("wants a function or nothing", function()
        assert.error_matches(function() heed.detect_anomaly(5) end,
            "fn: expected a function, or nothing, got 5")
    end)
end)
