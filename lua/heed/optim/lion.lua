local optimizer = require "heed.optim.optimizer"

local MOMENT = { "m" }

local function check_settings(where, settings)
    optimizer.check_rate(where, settings, "weight_decay")
    optimizer.check_betas(where, settings)
end

local define = optimizer.define {
    name = "heed.optim.Lion", kind = "lion", remembers = MOMENT, check = check_settings,
    defaults = { lr = 1e-4, betas = { 0.9, 0.99 }, weight_decay = 0 },
    moments = function() return MOMENT end,
    rates = function(settings)
        return { beta1 = settings.betas[1], beta2 = settings.betas[2] }
    end,
}

---Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms"): every element moves by
---the same amount. u ← sign(β1 m + (1-β1) g), w ← w - lr·(u + wd·w), m ← β2 m + (1-β2) g. The
---paper's advice beside AdamW: a learning rate 3 to 10 times smaller, a weight decay as many times
---larger.
---
---```lua
---local w = heed.nn.parameter(heed.tensor { 1.0, -3.0, 0.0 })
---local opt = heed.optim.Lion({ w }, { lr = 0.25 })
---local loss = (w * w):sum()
---loss:backward()
---opt:step()
---print(w) --> [ 0.7500, -2.7500, 0.0000] f32 [3], requires_grad
---```
---@param params heed.Tensor[]|table[] model:parameters(), or groups { params = list, lr =, betas =,
---weight_decay = }
---@param options? { lr?: number, betas?: number[], weight_decay?: number } lr: default 1e-4; betas:
---default { 0.9, 0.99 }; weight_decay: wd, default 0
---@return heed.optim.Optimizer
local function Lion(params, options) return define(params, options) end

return Lion
