local check = require "heed.check"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"

local definition = { name = "accuracy", class = "Accuracy" }

function definition.start(where, options)
    check.options(where, options, {})
    return { right = 0, count = 0 }
end

function definition.add(state, where, predictions, targets)
    targets = inputs.classes(where, "targets", targets)
    predictions = inputs.predictions(where, predictions, targets)
    state.right = state.right + predictions:eq(targets):sum():item()
    state.count = state.count + targets:numel()
end

function definition.value(state) return state.right / state.count end

---The share of the targets that were predicted: right / all, as scikit-learn's accuracy_score. Of
---nothing it is NaN.
---
---```lua
---print(heed.metrics.accuracy({ 1, 2, 3, 1 }, { 1, 2, 2, 1 })) --> 0.75
---local logits = heed.tensor { { 2.0, 0.5 }, { 0.1, 0.3 } }
---print(heed.metrics.accuracy(logits, { 1, 1 })) --> 0.5
---```
---@param predictions heed.Tensor|table classes [...], or scores of every class [..., C]: the
---highest counts, the first of equals
---@param targets heed.Tensor|table classes [...], from 1
---@return number
local function accuracy(predictions, targets)
    return metric.once(definition, predictions, targets)
end

---accuracy over batches.
---
---```lua
---local accuracy = heed.metrics.Accuracy()
---for _ = 1, 3 do accuracy:add(heed.tensor { { 0.2, 0.8 }, { 0.6, 0.4 } }, { 2, 2 }) end
---print(accuracy:value()) --> 0.5
---```
---@return heed.metrics.Metric
local function Accuracy() return metric.new(definition) end

return { accuracy = accuracy, Accuracy = Accuracy }
