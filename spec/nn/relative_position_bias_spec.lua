--- nn.RelativePositionBias: the buckets of T5 (spec/fixtures/record_seq2seq_layers.py), and what
--- becomes of them.

local heed = require "heed"
require "heed.luassert"

local nn = heed.nn
local recorded, metadata = assert(heed.safetensors.load "spec/fixtures/seq2seq_layers.safetensors")
local described = assert(heed.json.decode(metadata.buckets))

describe("heed.nn.RelativePositionBias", function()
    for name, options in pairs(described) do
        it("has the buckets of T5: " .. name, function()
            local positions = nn.RelativePositionBias(1, options)
            positions.weight = nn.parameter(heed.range(1, options.buckets):view(-1, 1):to "f32")
            -- The last of 301 queries sees what is behind, the first what is ahead.
            local bias = positions(301):dense(301):view(301, 301)
            local buckets = recorded["buckets/" .. name]:to "f32"
            assert.is_true(bias[301]:equal(buckets:narrow(1, 1, 301)))
            assert.is_true(bias[1]:equal(buckets:narrow(1, 301, 301)))
        end)
    end

    it("is the same for queries behind others, row by row", function()
        local positions = nn.RelativePositionBias(2, { buckets = 8, max_distance = 12 })
        local whole = positions(6):dense(6)
        assert.has_shape(whole, { 1, 2, 6, 6 })
        assert.is_true(positions(2, { offset = 4 }):dense(2, 6):equal(whole:narrow(3, 5, 2)))
        local rows = positions(2, { offset = { 4, 1 } }):dense(2, 6)
        assert.has_shape(rows, { 2, 2, 2, 6 })
        assert.is_true(rows[1]:equal(whole[1]:narrow(2, 5, 2)))
        assert.is_true(rows[2]:narrow(3, 1, 3):equal(whole[1]:narrow(2, 2, 2):narrow(3, 1, 3)))
    end)

    it("learns", function()
        local positions = nn.RelativePositionBias(2, { buckets = 4, max_distance = 8 })
        local mha, x = nn.MultiHeadAttention(8, 2), heed.randn(2, 5, 8)
        mha(x, { mask = positions(5) }):square():sum():backward()
        assert.has_shape(positions.weight.grad, { 4, 2 })
        -- One bucket is of what is ahead by nothing: no key is.
        local used = positions.weight.grad:abs():sum(2):gt(0)
        assert.are.same({ true, true, false, true }, used:totable())
    end)

    it("says what does not fit", function()
        assert.has_error(function() nn.RelativePositionBias(0) end)
        assert.has_error(function() nn.RelativePositionBias(2, { buckets = 3 }) end)
        assert.has_error(function() nn.RelativePositionBias(2, { heads = 3 }) end)
        assert.has_error(function() nn.RelativePositionBias(2)(0) end)
        assert.has_error(function() nn.RelativePositionBias(2)(1, { offset = -1 }) end)
        assert.error_matches(function() nn.RelativePositionBias(2, { max_distance = 8 }) end,
            "max_distance: expected an integer of at least 9, got 8")
        assert.error_matches(function() nn.RelativePositionBias(2)(1 << 40) end,
            "L: expected an integer from 1 to 1048576, got 1099511627776")
        assert.error_matches(function() nn.RelativePositionBias(2)(1, { offset = "x" }) end,
            'offset: expected an integer from 0 to 1048576, got "x"')
    end)
end)
