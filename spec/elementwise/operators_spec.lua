local heed = require "heed"

describe("the operators &, | and ~", function()
    local a, b = heed.tensor { true, true, false }, heed.tensor { true, false, false }

    it("are of truth values", function()
        assert.same({ true, false, false }, (a & b):totable())
        assert.same({ true, true, false }, (a | b):totable())
        assert.same({ false, true, false }, (a ~ b):totable())
        assert.same({ false, false, true }, (~a):totable())
        assert.same({ true, true, false }, (a & true):totable())
        assert.same({ true, true, true }, (true | a):totable())
    end)

    it("take no others, whose bits one could mean", function()
        local ids = heed.ids { 1, 2, 4 }
        assert.error_matches(function() return ids & ids end,
            "heed.logical_and: a: expected bool tensors .* got i64 tensor %[3%]")
        assert.error_matches(function() return a | ids end,
            "heed.logical_or: b: expected bool tensors .* got i64 tensor %[3%]")
        assert.error_matches(function() return a & 1 end, "b: expected bool tensors .* got 1")
        assert.error_matches(function() return 1 ~ a end,
            "heed.logical_xor: a: expected bool tensors .* got 1")
        assert.error_matches(function() return ~ids end, "expected a bool tensor")
        assert.same({ true, true, true }, heed.logical_and(ids, ids):totable())
    end)
end)
