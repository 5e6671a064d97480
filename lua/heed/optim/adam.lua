--- Adam and AdamW.

local optimizer = require "heed.optim.optimizer"

local adam = {}

local MOMENTS = { "m", "v" }

local function check_settings(where, settings)
    optimizer.check_rate(where, settings, "eps")
    optimizer.check_rate(where, settings, "weight_decay")
    optimizer.check_betas(where, settings)
end

local function rates(settings)
    return { beta1 = settings.betas[1], beta2 = settings.betas[2], eps = settings.eps }
end

local function define(name, kind, weight_decay)
    return optimizer.define {
        name = "heed.optim." .. name, kind = kind, remembers = MOMENTS, check = check_settings,
            rates = rates,
        defaults = { lr = 1e-3, betas = { 0.9, 0.999 }, eps = 1e-8, weight_decay = weight_decay },
        moments = function() return MOMENTS end,
    }
end

local new_adam, new_adamw = define("Adam", "adam", 0), define("AdamW", "adamw", 0.01)

---Adam with decoupled weight decay (Kingma and Ba 2015; Loshchilov and Hutter 2019, "Decoupled
---weight decay regularization"): m ← β1 m + (1-β1) g, v ← β2 v + (1-β2) g², w ← w - lr·wd·w - lr ·
---m/(1-β1^t) / (sqrt(v/(1-β2^t)) + eps). t counts the steps of each parameter: one that gets its
---first gradient later starts at 1.
---
---A group without lr follows opt.lr; one with its own keeps its proportion to it: setting opt.lr,
---as schedules do, moves both.
---
---```lua
---local model = heed.nn.Linear(3, 1)
---local opt = heed.optim.AdamW({ { params = { model.weight } },
---    { params = { model.bias }, lr = 1e-2, weight_decay = 0 } },
---    { lr = 1e-3 })
---opt.lr = 5e-4
---print(opt.groups[1].lr, opt.groups[2].lr) --> 0.0005 0.005
---```
---@param params heed.Tensor[]|table[] model:parameters(), or groups { params = list, lr =, betas =,
---eps =, weight_decay = }
---@param options? { lr?: number, betas?: number[], eps?: number, weight_decay?: number } lr:
---default 1e-3; betas: default { 0.9, 0.999 }; eps: default 1e-8; weight_decay: default 0.01
---@return heed.optim.Optimizer
function adam.AdamW(params, options) return new_adamw(params, options) end

---Adam (Kingma and Ba 2015) whose weight decay is part of the gradient: g ← g + wd·w, then as AdamW
---without decay.
---
---```lua
---local w = heed.nn.parameter(heed.tensor { 1.0, -1.0 })
---local opt = heed.optim.Adam({ w }, { lr = 0.1 })
---local loss = (w * w):sum()
---loss:backward()
---opt:step()
---print(w) --> [ 0.9000, -0.9000] f32 [2], requires_grad
---```
---@param params heed.Tensor[]|table[] model:parameters(), or groups { params = list, lr =, betas =,
---eps =, weight_decay = }
---@param options? { lr?: number, betas?: number[], eps?: number, weight_decay?: number } lr:
---default 1e-3; betas: default { 0.9, 0.999 }; eps: default 1e-8; weight_decay: default 0
---@return heed.optim.Optimizer
function adam.Adam(params, options) return new_adam(params, options) end

return adam
