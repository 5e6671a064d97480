-- Functions, norms, variances and orders against PyTorch 2.13, as spec/fixtures/record_compute.py
-- recorded them in f32.

local heed = require "heed"
local recorded = require "spec.support.recorded"

local call = {}

for _, name in ipairs { "expm1", "log1p", "leaky_relu", "elu", "rsqrt", "square", "abs", "sin",
    "cos", "erf", "floor", "sign" } do
    call[name] = function(p, x)
        if p.transposed then x = x:t() end
        return heed[name](x, p.number)
    end
end

function call.gelu(p, x) return heed.gelu(x, { approximate = p.approximate }) end

function call.clamp(p, x) return x:clamp(p.low, p.high) end

function call.round(p, x) return x:round(p.decimals) end

function call.maximum(_, x, y) return heed.maximum(x, y) end

function call.minimum(_, x, y) return heed.minimum(x, y) end

local P = { inf = math.huge, ["-inf"] = -math.huge }
function call.norm(p, x)
    return x:norm { p = P[p.p] or tonumber(p.p), dim = p.dims, keepdim = p.keepdim }
end

for _, name in ipairs { "var", "std" } do
    call[name] = function(p, x)
        return x[name](x, { dim = p.dims, keepdim = p.keepdim, correction = p.correction })
    end
end

function call.prod(p, x) return x:prod(p.dims, p.keepdim) end

function call.min(p, x) return x:min(p.dims[1], p.keepdim) end

for _, name in ipairs { "argmax", "argmin" } do
    call[name] = function(p, x) return x[name](x, p.dim) end
end

function call.sort(p, x) return x:sort(p.dim, { descending = p.descending }) end

function call.topk(p, x) return x:topk(p.k, p.dim, { largest = p.largest }) end

describe("what PyTorch gives, of functions, norms and orders,", function()
    local cases, values = recorded.cases("spec/fixtures/compute.safetensors", call)

    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 199 cases, 414 outputs and gradients", function()
        assert.same({ 199, 414 }, { #cases, values })
    end)
end)
