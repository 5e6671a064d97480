-- scatter_reduce and later roundings against PyTorch 2.13, as spec/fixtures/record_scatter.py
-- recorded them in f32.

local heed = require "heed"
local recorded = require "spec.support.recorded"

local call = {}

function call.scatter_reduce(p, x, index, src)
    return x:scatter_reduce(p.dim, index, src, p.reduce, { include_self = p.include_self })
end

for _, name in ipairs { "trunc", "frac" } do
    call[name] = function(_, x) return heed[name](x) end
end

function call.isinf(_, x) return x:isinf():to "f32" end

describe("what PyTorch gives where an index says", function()
    local cases, values = recorded.cases("spec/fixtures/scatter.safetensors", call)

    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 41 cases, 111 outputs and gradients", function()
        assert.same({ 41, 111 }, { #cases, values })
    end)
end)

describe("scatter_reduce", function()
    local function message(f)
        local ok, text = pcall(f)
        assert.is_false(ok)
        return text
    end

    it("says what it does not take", function()
        local t, src = heed.zeros(2, 3), heed.zeros(1, 3)
        local index = heed.ones(1, 3):to "i64"
        for pattern, f in pairs {
            ['reduce: expected "sum", "prod", "mean", "amax" or "amin", got "max"'] = function()
                t:scatter_reduce(1, index, src, "max")
            end,
            ["index: expected values in 1..2, got 3"] = function()
                t:scatter_reduce(1, { { 3, 1, 1 } }, src, "sum")
            end,
            ["src: expected f32 as the tensor it is reduced with, got f64"] = function()
                t:scatter_reduce(1, index, src:to "f64", "sum")
            end,
            ["t: expected f32 or f64 for a mean, got i64"] = function()
                t:to("i64"):scatter_reduce(1, index, src:to "i64", "mean")
            end,
            ["src: expected at least the index' shape"] = function()
                t:scatter_reduce(1, index, heed.zeros(1, 2), "sum")
            end,
        } do assert.matches(pattern, message(f)) end
    end)
end)
