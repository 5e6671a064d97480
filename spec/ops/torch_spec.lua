-- Outputs and gradients against PyTorch 2.13, as spec/fixtures/record_ops.py recorded them in f32.

local heed = require "heed"
local recorded = require "spec.support.recorded"

local call = {}

local function binary(name)
    return function(p, x, y)
        if p.scalar and p.scalar_first then return heed[name](p.scalar, x) end
        return heed[name](x, p.scalar or y)
    end
end
for _, name in ipairs { "add", "sub", "mul", "div", "pow" } do call[name] = binary(name) end

local FUNCTIONS = {
    "neg", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "gelu", "silu",
    "softplus",
}
for _, name in ipairs(FUNCTIONS) do
    call[name] = function(_, x) return heed[name](x) end
end

for _, name in ipairs { "sum", "mean", "logsumexp" } do
    call[name] = function(p, x) return heed[name](x, p.dims, p.keepdim) end
end

for _, name in ipairs { "softmax", "log_softmax", "cumsum" } do
    call[name] = function(p, x) return heed[name](x, p.dim) end
end

for _, name in ipairs { "gather", "index_select" } do
    call[name] = function(p, x, index) return heed[name](x, p.dim, index) end
end

for _, name in ipairs { "cat", "stack" } do
    call[name] = function(p, ...) return heed[name]({ ... }, p.dim) end
end

for _, name in ipairs { "tril", "triu" } do
    call[name] = function(p, x) return heed[name](x, p.diagonal) end
end

function call.matmul(p, x, y)
    if p.note then return x:t():matmul(y:t()) end
    return x:matmul(y)
end

function call.max(p, x)
    if not p.dims then return x:max() end
    return x:max(p.dims[1], p.keepdim)
end

function call.layer_norm(p, x, weight, bias) return heed.layer_norm(x, weight, bias, p.eps) end

function call.embedding(p, weight, tokens) return heed.embedding(weight, tokens, p.padding_idx) end

function call.cross_entropy(p, logits, targets)
    return heed.loss.cross_entropy(logits, targets,
        { ignore_index = p.ignore_index, label_smoothing = p.label_smoothing,
            reduction = p.reduction })
end

function call.masked_fill(p, x, mask)
    return x:masked_fill(mask, p.value == "-inf" and -math.huge or p.value)
end

function call.where(_, condition, x, y) return heed.where(condition, x, y) end

function call.attention(p, q, k, v, mask)
    if p.causal then mask = heed.mask.causal() end
    return heed.attention(q, k, v, { mask = mask, scale = p.scale })
end

function call.permute_reshape(p, x) return x:permute(p.permute):reshape(p.reshape) end

describe("what PyTorch gives", function()
    local cases, values = recorded.cases("spec/fixtures/ops.safetensors", call)
    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 228 cases, 569 outputs and gradients", function()
        assert.same({ 228, 569 }, { #cases, values })
    end)
end)
