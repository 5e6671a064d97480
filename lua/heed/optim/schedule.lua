--- Learning rates as functions of the step: `opt.lr = schedule(step)`. Steps count from 1; 0 counts
--- as 1.

local check = require "heed.check"

local schedule = {}

-- A function of the step from one of a whole number of at least 1.
local function of_step(where, f)
    return function(step)
        check.number(where, "step", step, 0)
        return f(math.max(step, 1))
    end
end

-- The share of the full rate in a warm-up of so many steps: from 1/warmup to 1.
local function risen(step, warmup) return warmup > 0 and math.min(1, step / warmup) or 1 end

local function warmup_of(where, options)
    return check.number(where, "warmup", options.warmup or 0, 0)
end

---factor · d_model^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, section 5.3).
---
---```lua
---local rate = heed.optim.schedule.noam { d_model = 512, warmup = 4000 }
---print(rate(1), rate(4000)) --> 1.7469281074217e-07 0.00069877124296868
---```
---@param options { d_model: integer, warmup?: number, factor?: number } d_model: E; warmup: steps,
---default 4000; factor: default 1
---@return fun(step: number): number
function schedule.noam(options)
    local where = "heed.optim.schedule.noam"
    options = check.options(where, options, check.set("d_model", "warmup", "factor"))
    local d_model = check.integer(where, "d_model", options.d_model)
    local warmup = check.number(where, "warmup", options.warmup or 4000, 0)
    local factor = check.number(where, "factor", options.factor or 1)
    return of_step(where, function(step)
        local rate = step ^ -0.5
        if warmup > 0 then rate = math.min(rate, step * warmup ^ -1.5) end
        return factor * d_model ^ -0.5 * rate
    end)
end

---Rises to lr in `warmup` steps, then falls with 1/sqrt(step): lr · sqrt(warmup / step).
---
---```lua
---local rate = heed.optim.schedule.inverse_sqrt { lr = 1e-3, warmup = 100 }
---print(rate(100), rate(400)) --> 0.001 0.0005
---```
---@param options { lr: number, warmup?: number } lr: the largest; warmup: steps, default 0
---@return fun(step: number): number
function schedule.inverse_sqrt(options)
    local where = "heed.optim.schedule.inverse_sqrt"
    options = check.options(where, options, check.set("lr", "warmup"))
    local lr, warmup = check.number(where, "lr", options.lr, 0), warmup_of(where, options)
    return of_step(where, function(step)
        return lr * risen(step, warmup) * math.sqrt(math.max(warmup, 1) / math.max(step, warmup, 1))
    end)
end

-- From lr after the warm-up to min_lr at `steps`, along fall(progress) from 1 to 0.
local function falling(where, options, fall)
    options = check.options(where, options, check.set("lr", "steps", "warmup", "min_lr"))
    local lr, warmup = check.number(where, "lr", options.lr, 0), warmup_of(where, options)
    local steps = check.integer(where, "steps", options.steps)
    local min_lr = check.number(where, "min_lr", options.min_lr or 0, 0)
    return of_step(where, function(step)
        if step < warmup then return lr * risen(step, warmup) end
        local progress = steps > warmup and math.min(1, (step - warmup) / (steps - warmup)) or 1
        return min_lr + (lr - min_lr) * fall(progress)
    end)
end

---Rises to lr in `warmup` steps, then falls to min_lr at `steps` along half a cosine (Loshchilov
---and Hutter 2017), and stays.
---
---```lua
---local opt = heed.optim.AdamW({ nn.parameter(heed.zeros(2)) }, { lr = 0 })
---local rate = heed.optim.schedule.cosine { lr = 1e-3, steps = 1000, warmup = 100 }
---opt.lr = rate(550)
---print(opt.lr) --> 0.0005
---```
---@param options { lr: number, steps: integer, warmup?: number, min_lr?: number } lr: the largest;
---steps: in all; warmup: of these, default 0; min_lr: the last, default 0
---@return fun(step: number): number
function schedule.cosine(options)
    return falling("heed.optim.schedule.cosine", options, function(progress)
        return 0.5 * (1 + math.cos(math.pi * progress))
    end)
end

---Rises to lr in `warmup` steps, then falls to min_lr at `steps` along a line, and stays.
---
---```lua
---local rate = heed.optim.schedule.linear { lr = 1e-3, steps = 1000, min_lr = 1e-4 }
---print(rate(500), rate(2000)) --> 0.00055 0.0001
---```
---@param options { lr: number, steps: integer, warmup?: number, min_lr?: number } lr: the largest;
---steps: in all; warmup: of these, default 0; min_lr: the last, default 0
---@return fun(step: number): number
function schedule.linear(options)
    return falling("heed.optim.schedule.linear", options, function(progress)
        return 1 - progress
    end)
end

---Rises to lr in `warmup` steps and stays.
---
---```lua
---local rate = heed.optim.schedule.constant { lr = 1e-3, warmup = 10 }
---print(rate(5), rate(50)) --> 0.0005 0.001
---```
---@param options { lr: number, warmup?: number } lr: the largest; warmup: steps, default 0
---@return fun(step: number): number
function schedule.constant(options)
    local where = "heed.optim.schedule.constant"
    options = check.options(where, options, check.set("lr", "warmup"))
    local lr, warmup = check.number(where, "lr", options.lr, 0), warmup_of(where, options)
    return of_step(where, function(step) return lr * risen(step, warmup) end)
end

return schedule
