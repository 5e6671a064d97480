-- Convolution, pooling, batch and group norm against PyTorch 2.13, as spec/fixtures/record_conv.py
-- recorded them in f32.

local heed = require "heed"
local nn = heed.nn
local recorded = require "spec.support.recorded"

local FIXTURE = "spec/fixtures/conv.safetensors"

local call = {}

for _, name in ipairs { "conv1d", "conv2d" } do
    call[name] = function(p, x, w, b) return heed[name](x, w, b, p.options) end
end

for name in ([[ max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d
    adaptive_avg_pool2d ]]):gmatch "%S+" do
    call[name] = function(p, x) return heed[name](x, p.size, p.options) end
end

function call.batch_norm(p, x, w, b)
    local mean, var = heed.tensor(p.mean), heed.tensor(p.var)
    local y = heed.batch_norm(x, mean, var, w, b,
        { training = p.training, momentum = p.momentum, eps = p.eps })
    assert.is_close(mean, p.after_mean, 1e-5)
    assert.is_close(var, p.after_var, 1e-5)
    return y
end

function call.group_norm(p, x, w, b) return heed.group_norm(x, p.groups, w, b, p.eps) end

describe("what PyTorch gives of channels", function()
    require "heed.luassert"
    local cases, values = recorded.cases(FIXTURE, call)

    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end

    it("is all of the file: 59 cases, 172 outputs and gradients", function()
        assert.same({ 59, 172 }, { #cases, values })
    end)

    it("is what a network with PyTorch's state gives", function()
        local state, x, y = {}, nil, nil
        for name, t in pairs(assert(heed.safetensors.load(FIXTURE))) do
            local field = name:match "^state/(.*)$"
            if field == "x" then
                x = t
            elseif field == "y" then
                y = t
            elseif field then
                state[field] = t
            end
        end
        local net = nn.Sequential(nn.Conv2d(3, 8, 3, { padding = 1, bias = false }),
            nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, { stride = 2, groups = 8 }), nn.GroupNorm(4, 8),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
        net:load_state_dict(state, { names = "torch" })
        assert.equal(3, net[2].num_batches_tracked:item())
        assert.is_close(net:eval()(x), y, 1e-5)
        local back = net:state_dict { names = "torch" }
        for name, t in pairs(state) do assert.is_true(back[name]:equal(t), name) end
    end)
end)
