-- Elements moved, added by index, and einsum, against PyTorch 2.13, as
-- spec/fixtures/record_shapes.py recorded them in f32.

local heed = require "heed"
local recorded = require "spec.support.recorded"

local call = {}

function call.tile(p, x) return x:tile(p.counts) end

function call.roll(p, x) return x:roll(p.shifts, p.dims) end

function call.flip(p, x) return x:flip(p.dims) end

function call.pad(p, x)
    local value = p.value == "-inf" and -math.huge or p.value
    return x:pad(p.amounts, { mode = p.mode or "constant", value = value })
end

function call.diagonal(p, x) return x:diagonal(p.offset, p.dim1, p.dim2) end

function call.squeeze(p, x) return x:squeeze(p.dims) end

function call.chunk_product(p, x) return heed.stack(x:chunk(p.count, p.dim)):prod(1) end

function call.unbind_product(_, x) return x:unbind()[1] * x:unbind()[3] end

function call.split_some(p, x) return x:split(p.sizes, p.dim)[p.part] end

for _, name in ipairs { "scatter_add", "index_add" } do
    call[name] = function(p, x, index, src)
        local sum = x[name](x, p.dim, index, src)
        -- In place it gives the same bits.
        assert.equal(sum:bytes(), x:detach():clone()[name .. "_"](x:detach():clone(), p.dim, index,
            src:detach()):bytes())
        return sum
    end
end

function call.masked_select(_, x, mask) return x:masked_select(mask) end

function call.keyed(p, x, ...)
    local key, tensors = {}, { ... }
    for i, k in ipairs(p.key) do
        for n, name in ipairs(p.inputs) do
            if k == name then key[i] = tensors[n - 1] end
        end
        key[i] = key[i] or k
    end
    if not p.assigned then return x[key] end
    local y = x:clone()
    y[key] = tensors[#tensors]
    return y
end

function call.outer(_, a, b) return a:outer(b) end

function call.einsum(p, ...) return heed.einsum(p.equation, ...) end

describe("what PyTorch gives, of shapes and indices,", function()
    local cases, values = recorded.cases("spec/fixtures/shapes.safetensors", call)
    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 102 cases, 247 outputs and gradients", function()
        assert.same({ 102, 247 }, { #cases, values })
    end)
end)
