--- How far numbers are from those that were wanted.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"

local function both(where, predictions, targets)
    predictions, targets = inputs.numbers(where, "predictions", predictions),
        inputs.numbers(where, "targets", targets)
    inputs.same_shape(where, "predictions", predictions, "targets", targets)
    return predictions, targets
end

-- ---- mean absolute error ------------------------------------------------------------------------

local mae_definition = { name = "mae", class = "Mae" }

function mae_definition.start(where, options)
    check.options(where, options, {})
    return { sum = 0.0, count = 0 }
end

function mae_definition.add(state, where, predictions, targets)
    predictions, targets = both(where, predictions, targets)
    state.sum = state.sum + (predictions - targets):abs():sum():item()
    state.count = state.count + targets:numel()
end

function mae_definition.value(state) return state.sum / state.count end

---The mean absolute error: the mean of |prediction - target|, as scikit-learn's
---mean_absolute_error. Of nothing, and where a number is NaN, it is NaN.
---
---```lua
---print(heed.metrics.mae({ 2.5, 0.0, 2.0, 8.0 }, { 3.0, -0.5, 2.0, 7.0 })) --> 0.5
---```
---@param predictions heed.Tensor|table numbers [...]
---@param targets heed.Tensor|table numbers of the same shape
---@return number
local function mae(predictions, targets)
    return metric.once(mae_definition, predictions, targets)
end

---mae over batches.
---
---```lua
---local mae = heed.metrics.Mae()
---mae:add({ 1, 2 }, { 1, 4 }):add({ 3 }, { 2 })
---print(mae:value()) --> 1.0
---```
---@return heed.metrics.Metric
local function Mae() return metric.new(mae_definition) end

-- ---- R² -----------------------------------------------------------------------------------------

local r2_definition = { name = "r2", class = "R2" }

function r2_definition.start(where, options)
    check.options(where, options, {})
    return { count = 0 }
end

-- Numbers as columns [N, D], and what is kept of each: the mean of the targets (from the first
-- batch's, so that a large one costs no digits), the sum of their squared distances from it and of
-- the squared errors. Batches are joined as Chan et al. (1979) do.
function r2_definition.add(state, where, predictions, targets)
    predictions, targets = both(where, predictions, targets)
    if targets:dim() < 1 or targets:dim() > 2 then
        errors.raise("%s: targets: expected [N] or [N, D], got %s", where, tostring(targets.shape))
    end
    local columns, count = targets:dim() == 2 and targets:size(2) or 1, targets:size(1)
    if columns == 0 then
        errors.raise("%s: targets: expected at least one column, got %s", where,
            tostring(targets.shape))
    end
    if state.mean and state.mean:numel() ~= columns then
        errors.raise("%s: targets: expected %d columns as before, got %d", where,
            state.mean:numel(), columns)
    end
    if count == 0 then return end
    predictions, targets = predictions:reshape(count, columns), targets:reshape(count, columns)
    state.origin = state.origin or targets:mean(1)
    local errors_here = (predictions - targets):square():sum(1)
    targets = targets - state.origin
    local mean = targets:mean(1)
    local spread = (targets - mean):square():sum(1)
    if state.mean then
        local total, apart = state.count + count, mean - state.mean
        spread = state.spread + spread + apart:square() * (state.count * count / total)
        mean, errors_here = state.mean + apart * (count / total), state.errors + errors_here
    end
    state.count, state.mean, state.spread, state.errors = state.count + count, mean, spread,
        errors_here
end

function r2_definition.value(state)
    if state.count < 2 then return 0 / 0 end
    local constant = state.spread:eq(0)
    local of_constant = core.where(state.errors:eq(0), 1.0,
        core.where(state.errors:isnan(), state.errors, 0.0))
    return core.where(constant, of_constant, 1 - state.errors / state.spread):mean():item()
end

---R², the share of the targets' variance that the predictions explain: 1 - Σ(prediction - target)²
---/ Σ(target - mean)², as scikit-learn's r2_score: 1 is perfect, 0 is what the mean would get, and
---it may be negative. Of targets that are all equal it is 1 when every prediction is right and 0
---otherwise; of fewer than two, and where a number is NaN, NaN.
---
---```lua
---local score = heed.metrics.r2({ 2.5, 0.0, 2.0, 8.0 }, { 3.0, -0.5, 2.0, 7.0 })
---print(("%.4f"):format(score)) --> 0.9486
---```
---@param predictions heed.Tensor|table numbers [N], or [N, D]: the mean of the columns' own R²
---@param targets heed.Tensor|table numbers of the same shape
---@return number
local function r2(predictions, targets) return metric.once(r2_definition, predictions, targets) end

---r2 over batches.
---
---```lua
---local r2 = heed.metrics.R2()
---r2:add({ 1, 2 }, { 1, 2 }):add({ 3 }, { 4 })
---print(("%.4f"):format(r2:value())) --> 0.7857
---```
---@return heed.metrics.Metric
local function R2() return metric.new(r2_definition) end

return { mae = mae, Mae = Mae, r2 = r2, R2 = R2 }
