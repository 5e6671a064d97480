local check = require "heed.check"
local errors = require "heed.errors"
local optimizer = require "heed.optim.optimizer"

local function check_settings(where, settings)
    for _, name in ipairs { "eps", "momentum", "weight_decay" } do
        optimizer.check_rate(where, settings, name)
    end
    if settings.alpha ~= nil and check.number(where, "alpha", settings.alpha, 0, 1) == 1 then
        errors.raise("%s: alpha: expected a number below 1, got 1", where)
    end
    check.flag(where, "centered", settings.centered, false)
end

-- v: the mean of squares; m: the buffer; a: the mean gradient.
local function moments(settings)
    local names = { "v" }
    if settings.momentum ~= 0 then names[#names + 1] = "m" end
    if settings.centered then names[#names + 1] = "a" end
    return names
end

local define = optimizer.define {
    name = "heed.optim.RMSprop", kind = "rmsprop", remembers = { "v", "m", "a" },
    may_lack = check.set("m", "a"), check = check_settings, moments = moments,
    defaults = { lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0,
        centered = false },
    rates = function(settings)
        return { alpha = settings.alpha, eps = settings.eps, momentum = settings.momentum }
    end,
}

---RMSprop (Tieleman and Hinton 2012): g ← g + wd·w, v ← α v + (1-α) g², w ← w - lr · g / (sqrt(v) +
---eps). Centred, v - a² stands for v, with a ← α a + (1-α) g (Graves 2013); with momentum b ← μ b +
---g / (sqrt(v) + eps), w ← w - lr·b. The same numbers as PyTorch's.
---
---```lua
---local w = heed.nn.parameter(heed.tensor { 1.0, -1.0 })
---local opt = heed.optim.RMSprop({ w }, { lr = 0.01, alpha = 0.75 })
---local loss = (w * w):sum()
---loss:backward()
---opt:step()
---print(w) --> [ 0.9800, -0.9800] f32 [2], requires_grad
---```
---@param params heed.Tensor[]|table[] model:parameters(), or groups { params = list, lr =, alpha =,
---... }
---@param options? { lr?: number, alpha?: number, eps?: number, weight_decay?: number, momentum?: number, centered?: boolean }
---lr: default 1e-2; alpha: α, default 0.99; eps: default 1e-8; weight_decay: wd, default 0;
---momentum: μ, default 0; centered: default false
---@return heed.optim.Optimizer
local function RMSprop(params, options) return define(params, options) end

return RMSprop
