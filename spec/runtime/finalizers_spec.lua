--- Whatever allocates may run finalizers, and those may change what a function of the core has just
--- read. It counts again, or refuses; under AddressSanitizer this shows what it reads.

local core = require "heed.core"
local heed = require "heed"

-- f(disturb), again and again: sooner or later `disturb` runs in the middle of it, by a collector
-- that never rests.
local function among_finalizers(times, disturb, f)
    local mode = collectgarbage("incremental", 10, 10000)
    for i = 1, times do
        setmetatable({}, { __gc = function() disturb(i) end })
        f(i)
    end
    collectgarbage(mode, 200, 100)
    collectgarbage()
end

describe("a finalizer in the middle of", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    it("safetensors.save may add to the metadata, and take away", function()
        local metadata = {}
        among_finalizers(40, function(i)
            for k = 1, 50 do
                metadata[("key %d %d"):format(i, k)] = i % 2 == 0 and ("value"):rep(k) or nil
            end
        end, function(i)
            metadata = {}
            for k = 1, 20 do metadata["first " .. k .. " " .. i] = ("text"):rep(k) .. i end
            assert(core.safetensors_save(path, { { "t", core.ones(2) } }, metadata))
        end)
        local _, read = assert(core.safetensors_load(path))
        assert.are.equal(("text"):rep(20) .. 40, read["first 20 40"])
    end)

    it("ctx:saved() may save something else", function()
        local f
        local refused, gave = 0, 0
        f = heed.func(function(ctx, ...)
            local x = ...
            ctx:save(...)
            among_finalizers(10, function(i)
                if i % 2 == 0 then ctx:save(x) else ctx:save(x, nil, x, x, x, x, x) end
            end, function()
                local ok, message = pcall(function() return select("#", ctx:saved()) end)
                if not ok then
                    refused = refused + 1
                    assert.matches("something else was saved", message)
                else
                    gave = gave + 1
                end
            end)
            return x * 2
        end, function(_, g) return g * 2 end)
        local x = core.ones(2, { requires_grad = true })
        for _ = 1, 8 do f(x, x, x, x, x, x, x, x) end
        assert.is_true(gave > 0)
        assert.are.equal(80, gave + refused)
    end)

    it("an update of averages may take the parameters away", function()
        among_finalizers(20, function() end, function()
            local params = { heed.ones(64, { requires_grad = true }),
                heed.ones(64, { requires_grad = true }) }
            local ema = heed.optim.EMA(params)
            setmetatable({}, { __gc = function()
                ema.averages[1], ema.averages[2], ema.params[1] = nil, nil, nil
            end })
            pcall(ema.update, ema)
        end)
    end)

    it("t.grad may take the gradient away", function()
        local x = core.ones(2, { requires_grad = true })
        among_finalizers(20, function() x.grad = nil end, function()
            x:sum():backward()
            local grad = x.grad
            assert.is_true(grad == nil or grad:numel() == 2)
        end)
    end)
end)

describe("a table that calls itself longer than it is", function()
    -- #t is 2^62: a border, though nearly all of it is nil. (Written out, so that no part of it
    -- becomes an array.)
    local fields = {}
    for k = 0, 62 do fields[#fields + 1] = ("[%d] = item"):format(1 << k) end
    local with_a_border = assert(load("local item = ... return { " .. table.concat(fields, ", ")
        .. " }"))

    it("is refused where lists are read", function()
        local list = with_a_border({ "t", core.ones(1) })
        assert.is_true(#list > 2 ^ 40)
        assert.error_matches(function() core.safetensors_save(os.tmpname(), list) end,
            "tensors: expected at most 1000000 in a list")
        assert.error_matches(function() core.cat(with_a_border(core.ones(1))) end,
            "expected at most 1000000")
        assert.error_matches(function() core.flip(core.ones(2, 2), with_a_border(1)) end,
            "dims: expected at most 1000000")
        assert.error_matches(function() core.optim_step("sgd", with_a_border({})) end,
            "groups: expected at most 1000000")
        assert.error_matches(function()
            core.cross_entropy(core.ones(1, 2), core.ids { 1 }, nil, 0.1, nil, nil,
                with_a_border(1))
        end, "smoothing_exclude: expected at most 1000000")
    end)

    it("is no endless search among the arguments of a function of heed.func", function()
        local f = heed.func(function(_, x) return x * 2 end, function(_, g) return g * 2 end)
        assert.are.equal(2, f(core.ones(1, { requires_grad = true }), with_a_border(1)):item())
    end)
end)
