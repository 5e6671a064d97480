-- Outputs and gradients against PyTorch 2.13, as spec/fixtures/record_ops.py recorded them in f32.

local heed = require "heed"
local plain = require "heed.plain"
local compare = require "spec.support.compare"

local FIXTURE = "spec/fixtures/ops.safetensors"

-- |got - want| <= TOLERANCE * max(1, |want|), unless the case says otherwise. Nothing recorded is left out: where heed's
-- rules differ from PyTorch's (end-aligned causality, rows of -inf, ties), the script records no case.
local TOLERANCE = 4e-6
local GRADIENT_TOLERANCE = 1e-5

local call = {}

local function binary(name)
    return function(p, x, y)
        if p.scalar and p.scalar_first then return heed[name](p.scalar, x) end
        return heed[name](x, p.scalar or y)
    end
end
for _, name in ipairs { "add", "sub", "mul", "div", "pow" } do call[name] = binary(name) end

local FUNCTIONS = { "neg", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "gelu", "silu", "softplus" }
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
        { ignore_index = p.ignore_index, label_smoothing = p.label_smoothing, reduction = p.reduction })
end

function call.masked_fill(p, x, mask) return x:masked_fill(mask, p.value == "-inf" and -math.huge or p.value) end

function call.where(_, condition, x, y) return heed.where(condition, x, y) end

function call.attention(p, q, k, v, mask)
    if p.causal then mask = heed.mask.causal() end
    return heed.attention(q, k, v, { mask = mask, scale = p.scale })
end

function call.permute_reshape(p, x) return x:permute(p.permute):reshape(p.reshape) end

describe("what PyTorch gives", function()
    local tensors, metadata = assert(heed.safetensors.load(FIXTURE))
    local cases = assert(plain.decode(metadata.cases))
    local names, recorded = {}, {}
    for name in pairs(cases) do names[#names + 1] = name end
    table.sort(names)
    for name in pairs(tensors) do
        local case = name:match "^case/(.*)/out2?$" or name:match "^case/(.*)/grad%d$"
        if case then recorded[case] = (recorded[case] or 0) + 1 end
    end

    -- Returns 1, to be counted.
    local function check(case, what, got, want, tolerance)
        local worst, message = compare.worst(got, want)
        assert(worst <= tolerance, ("%s %s: %s"):format(case, what, message))
        return 1
    end

    for _, case in ipairs(names) do
        it("is reproduced: " .. case, function()
            local p, inputs = cases[case], {}
            local operation = case:match "^[^/]+"
            local prefix = "case/" .. case .. "/"
            for i in ipairs(p.inputs) do
                inputs[i] = tensors[prefix .. "in" .. i]
                if tensors[prefix .. "grad" .. i] then inputs[i].requires_grad = true end
            end
            local out, second = call[operation](p, table.unpack(inputs))
            local tolerance = p.tolerance or TOLERANCE
            local compared = check(case, "out", out, tensors[prefix .. "out"], tolerance)
            if tensors[prefix .. "out2"] then
                compared = compared + check(case, "out2", second, tensors[prefix .. "out2"], 0)
            end
            if tensors[prefix .. "g"] and out.requires_grad then out:backward(tensors[prefix .. "g"]) end
            for i in ipairs(p.inputs) do
                local want = tensors[prefix .. "grad" .. i]
                if want then
                    tolerance = math.max(tolerance, GRADIENT_TOLERANCE)
                    compared = compared + check(case, "grad" .. i, inputs[i].grad, want, tolerance)
                end
            end
            assert.equal(recorded[case], compared)
        end)
    end

    it("is all of the file: 228 cases, 569 outputs and gradients", function()
        local total = 0
        for _, count in pairs(recorded) do total = total + count end
        assert.same({ 228, 569 }, { #names, total })
    end)
end)
