local heed = require "heed.core"

local function settle()
    collectgarbage()
    collectgarbage()
end

describe("a loop that makes tensors", function()
    for _, mode in ipairs { "incremental", "generational" } do
        it("plateaus in " .. mode .. " mode, with nothing called by hand", function()
            settle()
            local former = collectgarbage(mode)
            local before = heed.memory({ reset_peak = true }).live
            for _ = 1, 400 do heed.zeros(256, 1024):add(1) end -- 2 MB a turn
            local grown = heed.memory().peak - before
            collectgarbage(former)
            assert.is_true(grown < 180e6, ("grew by %d MB"):format(grown // 1000000))
        end)
    end

    it("plateaus over training steps", function()
        settle()
        local w = heed.randn(256, 256, { requires_grad = true })
        local x = heed.randn(64, 256)
        local before = heed.memory({ reset_peak = true }).live
        for _ = 1, 300 do
            w.grad = nil
            local h = x
            for _ = 1, 4 do h = heed.tanh(h:matmul(w)) end
            h:sum():backward()
        end
        local grown = heed.memory().peak - before
        assert.is_true(grown < 180e6, ("grew by %d MB"):format(grown // 1000000))
    end)

    it("leaves a stopped collector alone", function()
        settle()
        collectgarbage("stop")
        local before = heed.memory().live
        for _ = 1, 60 do heed.zeros(256, 1024) end
        local grown = heed.memory().live - before
        collectgarbage("restart")
        assert.is_true(grown > 60e6)
    end)

    it("does not collect inside a finalizer", function()
        local inside
        setmetatable({}, { __gc = function()
            for _ = 1, 60 do heed.zeros(256, 1024) end
            inside = heed.zeros(2):sum():item()
        end })
        settle()
        assert.equal(0, inside)
        settle()
    end)
end)

describe("a scope", function()
    it("drops what was made inside, at once", function()
        settle()
        local before = heed.memory().live
        local dropped
        do
            local scope <close> = heed.scope()
            assert.is_truthy(scope)
            for _ = 1, 10 do dropped = heed.zeros(256, 1024) end
        end
        assert.is_true(heed.memory().live - before < 1e6)
        assert.error_matches(function() return dropped + 1 end,
            "heed.add: a: this tensor was dropped")
        assert.error_matches(function() return dropped.shape end, "dropped")
        assert.error_matches(function() return dropped[1] end, "dropped")
        assert.error_matches(function() return heed.cat({ dropped }) end, "dropped")
        assert.equal("dropped tensor", tostring(dropped))
    end)

    it("keeps what it is told to", function()
        local function f()
            local scope <close> = heed.scope()
            local x = heed.ones(2)
            local y, list, word = scope:keep(x + 1, { heed.ones(1), deep = { heed.ones(1) } },
                "word")
            assert.equal("word", word)
            return y, list, x
        end
        local y, list, x = f()
        assert.same({ 2, 2 }, y:totable())
        assert.equal(1, list[1]:item())
        assert.equal(1, list.deep[1]:item())
        assert.error_matches(function() return x + 1 end, "dropped")
    end)

    it("calls a function, and keeps what that returns", function()
        local made
        local sum, list, word = heed.scope(function(a, b)
            made = heed.ones(2)
            return made + a, { heed.ones(1) * b }, "word"
        end, 1, 2)
        assert.same({ 2, 2 }, sum:totable())
        assert.equal(2, list[1]:item())
        assert.equal("word", word)
        assert.error_matches(function() return made + 1 end, "dropped")
        assert.equal(0, select("#", heed.scope(function() end)))
        for _, wrong in ipairs { 5, "x", heed.ones(1) } do
            assert.error_matches(function() heed.scope(wrong) end,
                "heed.scope: fn: expected a function, or nothing, got")
        end
        assert.error_matches(function() heed.scope(nil) end,
            "heed.scope: fn: expected a function, or nothing, got nil")
    end)

    it("around a function ends when that fails, and waits when it yields", function()
        local made
        local ok, message = pcall(heed.scope, function()
            made = heed.ones(2)
            error("no", 0)
        end)
        assert.is_false(ok)
        assert.equal("no", message)
        assert.error_matches(function() return made + 1 end, "dropped")
        local outer
        local co = coroutine.wrap(function()
            return heed.scope(function()
                made = heed.ones(2)
                coroutine.yield()
                outer = made:sum()
                return outer
            end)
        end)
        co()
        assert.equal(2, made:sum():item())
        assert.equal(2, co():item())
        assert.error_matches(function() return made + 1 end, "dropped")
        heed.scope(function()
            made = heed.scope(function() return heed.ones(1) end)
            assert.equal(1, made:item())
        end)
        assert.error_matches(function() return made + 1 end, "dropped")
    end)

    it("hands what it keeps to the scope around it", function()
        local kept
        do
            local outer <close> = heed.scope()
            assert.is_truthy(outer)
            do
                local inner <close> = heed.scope()
                kept = inner:keep(heed.ones(1))
            end
            assert.equal(1, kept:item())
        end
        assert.has_error(function() return kept:item() end)
    end)

    it("leaves alone what others refer to", function()
        local w, base, view, moment
        do
            local scope <close> = heed.scope()
            assert.is_truthy(scope)
            w = heed.ones(2, { requires_grad = true })
            base = heed.ones(3)
            view = scope:keep(base:view(3, 1))
            moment = heed.keep(heed.ones(1))
            w:sum():backward()
        end
        assert.same({ 1, 1 }, w:totable())
        assert.same({ 1, 1 }, w.grad:totable())
        assert.same({ { 1 }, { 1 }, { 1 } }, view:totable())
        assert.equal(1, moment:item())
    end)

    it("belongs to its coroutine", function()
        local co = coroutine.wrap(function()
            local scope <close> = heed.scope()
            assert.is_truthy(scope)
            local inside = heed.ones(1)
            coroutine.yield(inside)
        end)
        local inside = co()
        local outside = heed.ones(1)
        co()
        assert.equal(1, outside:item())
        assert.error_matches(function() return inside:item() end, "dropped")
    end)

    it("may be closed twice, and out of order", function()
        local a, b = heed.scope(), heed.scope()
        a:close()
        local x = heed.ones(1)
        b:close()
        b:close()
        assert.has_error(function() return x:item() end)
        assert.equal(1, heed.ones(1):item())
    end)

    it("closes with a collected coroutine without touching what it made", function()
        local inside
        do
            local co = coroutine.create(function()
                local scope <close> = heed.scope()
                assert.is_truthy(scope)
                inside = heed.ones(1)
                coroutine.yield()
            end)
            coroutine.resume(co)
        end
        settle()
        assert.equal(1, inside:item())
    end)
end)

describe("a second try after memory ran out", function()
    it("draws the same random numbers", function()
        local x, w, q = heed.ones(64), heed.ones(8, 8), heed.ones(1, 2, 4, 8)
        local function drawn(f, n)
            heed.manual_seed(3)
            heed.fail_allocation(n)
            local y = f()
            heed.fail_allocation(0)
            return y, heed.rng_state()
        end
        for _, f in ipairs {
            function() return heed.dropout(x, 0.5) end,
            function() return heed.dropout(x, 0.5, { generator = heed.generator(4) }) end,
            function() return heed.linear(w, w, nil, "relu", 0.5) end,
            function() return (heed.attention(q, q, q, nil, nil, 0.5)) end,
            function()
                return (heed.multi_head_attention({ in_proj_weight = heed.ones(24, 8),
                    out_proj = { weight = w },
                    num_heads = 2, num_kv_heads = 2, dropout = 0.5, training = true }, q[1]))
            end,
        } do
            local y, state = drawn(f, 0)
            for n = 1, 6 do
                local again, reached = drawn(f, n)
                assert.is_true(heed.equal(y, again))
                assert.is_true(heed.equal(state, reached))
            end
        end
    end)
end)

describe("memory", function()
    it("is freed by free(), twice as well", function()
        settle()
        local t = heed.zeros(1024, 1024)
        local before = heed.memory().live
        t:free()
        assert.is_true(before - heed.memory().live >= 4194304)
        t:free()
        assert.error_matches(function() return t + 1 end, "dropped")
    end)

    it("is not pulled from under an operation by a finalizer", function()
        local former = collectgarbage("incremental", 10, 10000)
        local x
        for _ = 1, 30 do
            x = heed.ones(2, 2)
            local victim = x
            setmetatable({}, { __gc = function() victim:free() end })
            pcall(function()
                return x.shape, x:totable(), x:split(1), tostring(x), heed.cat({ x, x }), x.grad
            end)
        end
        collectgarbage(former, 200, 100)
        settle()
        assert.error_matches(function() return x + 1 end, "dropped")
    end)

    it("has a limit, past which operations raise and say how many bytes they wanted", function()
        settle()
        local before = heed.memory_limit(heed.memory().live + 20e6 // 1 | 0)
        assert.error_matches(function() return heed.zeros(4000, 4000) end, "heed.zeros: .*64000000")
        assert.equal(4, heed.ones(2, 2):sum():item())
        for _ = 1, 100 do heed.zeros(1000, 1000) end -- collects in time
        heed.memory_limit(before)
        assert.equal(16000000, heed.zeros(4000, 4000):numel())
    end)

    it("runs out cleanly at each allocation of an operation", function()
        local x = heed.randn(8, 8, { requires_grad = true })
        for n = 1, 40 do
            heed.fail_allocation(n)
            local ok, message = pcall(function()
                return (x:matmul(x):softmax(2) * x):sum():backward()
            end)
            heed.fail_allocation(0)
            if not ok then assert.matches("bytes", message) end
        end
        x.grad = nil
        x:sum():backward()
        assert.equal(1, x.grad[1][1])
    end)
end)
