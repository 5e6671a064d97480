local heed = require "heed"
require "heed.luassert"

local function message_of(fn)
    local ok, message = pcall(fn)
    assert.is_false(ok)
    return tostring(message.message or message)
end

describe("heed.luassert", function()
    it("is_close takes tensors, tables and numbers", function()
        assert.is_close(heed.ones(2), { 1.0, 1.0 })
        assert.is_close(heed.tensor { 1.0 }, heed.tensor { 1.001 }, 1e-2)
        assert.is_close(heed.full({}, 2), 2)
        assert.is_close({ 0 / 0, math.huge }, heed.tensor { 0 / 0, math.huge })
        assert.is_not_close(heed.ones(2), { 1.0, 2.0 })
    end)

    it("names the worst element, or the shapes", function()
        local message = message_of(function()
            assert.is_close(heed.tensor { { 1.0, 2.0 }, { 3.0, 9.0 } },
                { { 1.0, 2.5 }, { 3.0, 4.0 } })
        end)
        assert.is_truthy(message:find "2 of 4 elements", message)
        assert.is_truthy(message:find("[2, 2]: got 9, want 4", 1, true), message)
        message = message_of(function() assert.is_close(heed.ones(2), heed.ones(3)) end)
        assert.is_truthy(message:find "got %[2%], want %[3%]", message)
        message = message_of(function() assert.is_close(heed.tensor { 0 / 0 }, { 1.0 }) end)
        assert.is_truthy(message:find "got %-?nan, want 1", message)
    end)

    it("has_shape", function()
        assert.has_shape(heed.ones(2, 3), { 2, 3 })
        local message = message_of(function() assert.has_shape(heed.ones(2, 3), { 3, 2 }) end)
        assert.is_truthy(message:find "expected the shape %[3, 2%], got %[2, 3%]", message)
        assert.is_truthy(message_of(function() assert.has_shape(5, { 3 }) end):find "got 5")
    end)
end)
