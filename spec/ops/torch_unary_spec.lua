-- Functions of one operand against PyTorch 2.13, as spec/fixtures/record_unary.py recorded them in
-- f32.

local heed = require "heed"
local recorded = require "spec.support.recorded"

-- What is recorded under a name is called by it.
local call = setmetatable({
    -- Of numbers that have a logarithm.
    acosh = function(p, x) return heed.acosh((p.transposed and x:t() or x):abs() + 1) end,
    log2 = function(p, x) return heed.log2((p.transposed and x:t() or x):abs()) end,
    log10 = function(p, x) return heed.log10((p.transposed and x:t() or x):abs()) end,
}, {
    __index = function(_, name)
        return function(p, x) return heed[name](p.transposed and x:t() or x) end
    end,
})

describe("what PyTorch gives", function()
    local cases, values = recorded.cases("spec/fixtures/unary.safetensors", call)
    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: five cases of each function, their outputs and gradients", function()
        local count = {}
        for _, case in ipairs(cases) do
            local name = case.name:match "^[^/]+"
            count[name] = (count[name] or 0) + 1
        end
        assert.is_not_nil(next(count))
        for name, found in pairs(count) do assert.are.equal(5, found, name) end
        assert.are.equal(2 * #cases, values)
    end)
end)
