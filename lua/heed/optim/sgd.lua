local check = require "heed.check"
local errors = require "heed.errors"
local optimizer = require "heed.optim.optimizer"

local BUFFER, NONE = { "m" }, {}

local function check_settings(where, settings)
    for _, name in ipairs { "momentum", "dampening", "weight_decay" } do
        optimizer.check_rate(where, settings, name)
    end
    if check.flag(where, "nesterov", settings.nesterov, false) then
        if settings.momentum == 0 or (settings.dampening or 0) ~= 0 then
            errors.raise("%s: nesterov: expected a momentum above 0 and no dampening with it",
                where)
        end
    end
end

local define = optimizer.define {
    name = "heed.optim.SGD", kind = "sgd", remembers = BUFFER, may_lack = { m = true },
        check = check_settings,
    defaults = { lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0, nesterov = false },
    moments = function(settings) return settings.momentum ~= 0 and BUFFER or NONE end,
    rates = function(settings)
        return { momentum = settings.momentum, dampening = settings.dampening,
            nesterov = settings.nesterov }
    end,
}

---Stochastic gradient descent: g ← g + wd·w, b ← μ b + (1-dampening) g (b ← g the first time), w ←
---w - lr·b; with nesterov w ← w - lr·(g + μ b) (Sutskever et al. 2013). Without momentum w ← w -
---lr·g. The same numbers as PyTorch's.
---
---```lua
---local w = heed.nn.parameter(heed.tensor { 1.0, -1.0 })
---local opt = heed.optim.SGD({ w }, { lr = 0.1, momentum = 0.9, nesterov = true })
---local loss = (w * w):sum()
---loss:backward()
---opt:step()
---print(w) --> [ 0.6200, -0.6200] f32 [2], requires_grad
---```
---@param params heed.Tensor[]|table[] model:parameters(), or groups { params = list, lr =, momentum
---=, ... }
---@param options? { lr?: number, momentum?: number, dampening?: number, weight_decay?: number, nesterov?: boolean }
---lr: default 1e-3; momentum: μ, default 0; dampening: default 0; weight_decay: wd, default 0;
---nesterov: default false
---@return heed.optim.Optimizer
local function SGD(params, options)
    if type(options) == "table" and options.nesterov and not options.momentum then
        errors.raise "heed.optim.SGD: nesterov: expected a momentum above 0 with it"
    end
    return define(params, options)
end

return SGD
