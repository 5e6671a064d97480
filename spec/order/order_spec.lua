-- Rows that are too long for one task to put in order: sort and topk go another way there.

local heed = require "heed"

local N = 3 * 65536 + 7 -- the last block has fewer than are asked for

-- Few values, so that most have equals; with NaN, infinities and both zeros for floats.
local function numbers(dtype)
    local x = heed.randint(-500, 500, N, { generator = heed.generator(7) }):to(dtype)
    if dtype == "f32" or dtype == "f64" then
        x = x / 8
        for i, v in ipairs { 0 / 0, math.huge, -math.huge, -0.0 } do
            for place = i, N, 7001 do x[place] = v end
        end
    end
    return x
end

-- Each pair of neighbours: in order, and equal ones as they were.
local function is_stable(values, indices, descending)
    local a, b = values:narrow(1, 1, N - 1), values:narrow(1, 2, N - 1)
    if descending then a, b = b, a end
    local nan_a, nan_b = a:isnan(), b:isnan()
    local equal = a:eq(b):logical_or(nan_a:logical_and(nan_b))
    local rises = indices:narrow(1, 1, N - 1):lt(indices:narrow(1, 2, N - 1))
    local in_order = a:lt(b):logical_or(nan_b:logical_and(nan_a:logical_not()))
    return in_order:logical_or(equal:logical_and(rises)):all()
end

local function same(a, b) return a:bytes() == b:bytes() end

describe("a long row", function()
    local threads = heed.get_num_threads()
    after_each(function() heed.set_num_threads(threads) end)

    for _, dtype in ipairs { "f32", "f64", "i64", "i32", "u8", "bool" } do
        for _, descending in ipairs { false, true } do
            it(("of %s is sorted, %s"):format(dtype, descending and "falling" or "rising"),
                function()
                local x = numbers(dtype)
                local values, indices = x:sort { descending = descending }
                assert.is_true(same(x:index_select(1, indices), values))
                assert.is_true(is_stable(values, indices, descending))
                local seen = heed.zeros(N, { dtype = "i64" })
                seen[indices] = 1
                assert.are.equal(N, seen:sum():item())
            end)

            it(("of %s has its first, %s"):format(dtype, descending and "largest" or "smallest"),
                function()
                local x = numbers(dtype)
                local values, indices = x:sort { descending = descending }
                for _, k in ipairs { 1, 50, 1000, 3000, N } do
                    local best, places = x:topk(k, { largest = descending })
                    assert.is_true(same(best, values:narrow(1, 1, k):contiguous()), k)
                    assert.is_true(same(places, indices:narrow(1, 1, k):contiguous()), k)
                end
            end)
        end
    end

    it("has one order on any number of threads", function()
        local x = numbers "f32"
        local first
        for count = 1, 3 do
            heed.set_num_threads(count)
            local bytes = select(2, x:sort()):bytes() .. select(2, x:topk(100)):bytes()
            first = first or bytes
            assert.is_true(first == bytes)
        end
    end)

    it("sends gradients back to where elements came from", function()
        local x = heed.randn(N, { generator = heed.generator(1) })
        x.requires_grad = true
        local weights = heed.randn(N, { generator = heed.generator(2) })
        local values, indices = x:sort()
        values:backward(weights)
        assert.is_true(same(x.grad:index_select(1, indices), weights))
    end)
end)
