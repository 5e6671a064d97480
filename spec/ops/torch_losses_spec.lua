-- Losses and their gradients against PyTorch 2.13, as spec/fixtures/record_losses.py recorded them
-- in f32: every loss with every reduction, weights, ignored and smoothed targets, corners.

local heed = require "heed"
local plain = require "heed.plain"
local compare = require "spec.support.compare"

local TOLERANCE, GRADIENT_TOLERANCE = 4e-6, 1e-5
local TENSORS = { "weight", "pos_weight" } -- options that are recorded as tensors

local call = {}
for _, name in ipairs { "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "huber_loss",
    "smooth_l1_loss", "bce_with_logits",
    "kl_div" } do
    call[name] = function(options, input, target)
        if name == "nll_loss" then input = input:log_softmax(-1) end
        return heed.loss[name](input, target, options)
    end
end

function call.linear_cross_entropy(options, hidden, targets, weight, bias)
    options.bias = bias
    return heed.loss.linear_cross_entropy(hidden, weight, targets, options)
end

describe("what PyTorch's losses give", function()
    local tensors, metadata = assert(heed.safetensors.load "spec/fixtures/losses.safetensors")
    local cases = assert(plain.decode(metadata.cases))
    local names = {}
    for name in pairs(cases) do names[#names + 1] = name end
    table.sort(names)

    local function check(what, got, want, tolerance)
        local worst, message = compare.worst(got, want)
        assert(worst <= tolerance, ("%s: %s"):format(what, message))
    end

    local function inputs_of(case)
        local inputs = {}
        for i = 1, 4 do
            inputs[i] = tensors[("%s/in%d"):format(case, i)]
            if inputs[i] and inputs[i].dtype == "f32" then inputs[i].requires_grad = true end
        end
        return inputs
    end

    for _, case in ipairs(names) do
        it("is reproduced: " .. case, function()
            local options, inputs = cases[case], inputs_of(case)
            for _, name in ipairs(TENSORS) do options[name] = tensors[case .. "/" .. name] end
            local out = call[case:match "^[^/]+"](options, table.unpack(inputs))
            check("out", out, tensors[case .. "/out"], TOLERANCE)
            out:backward(tensors[case .. "/g"])
            for i, input in ipairs(inputs) do
                if input.requires_grad then
                    check("grad" .. i, input.grad or heed.zeros_like(input),
                        tensors[("%s/grad%d"):format(case, i)], GRADIENT_TOLERANCE)
                end
            end
        end)
    end

    it("is all of the file", function() assert.equal(205, #names) end)
end)
