local check = require "heed.check"
local core = require "heed.core"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"

local definition = { name = "topk", class = "TopK" }

function definition.start(where, options)
    options = check.options(where, options, check.set "k")
    return { k = check.integer(where, "k", check.default(options.k, 5)), right = 0, count = 0 }
end

function definition.add(state, where, scores, targets)
    targets = inputs.classes(where, "targets", targets)
    scores = inputs.scores(where, "scores", scores, targets)
    targets = inputs.classes(where, "targets", targets, scores:size(2))
    local count = targets:numel()
    if count > 0 then
        local _, chosen = core.topk(scores, math.min(state.k, scores:size(2)))
        state.right = state.right + chosen:eq(targets:view(count, 1)):sum():item()
    end
    state.count = state.count + count
end

function definition.value(state) return state.right / state.count end

---The share of the targets that are among the k highest scores, as scikit-learn's
---top_k_accuracy_score. Of equal scores the lower class comes first, as heed.topk has it. Of
---nothing it is NaN.
---
---```lua
---local scores = heed.tensor { { 0.5, 0.3, 0.2 }, { 0.1, 0.2, 0.7 }, { 0.4, 0.5, 0.1 } }
---print(heed.metrics.topk(scores, { 2, 3, 3 }, { k = 2 })) --> 0.66666666666667
---```
---@param scores heed.Tensor|table of every class, [..., C]
---@param targets heed.Tensor|table classes [...], from 1
---@param options? { k?: integer } k: default 5; more than there are classes is all of them
---@return number
local function topk(scores, targets, options)
    return metric.once(definition, scores, targets, options)
end

---topk over batches.
---
---```lua
---local top = heed.metrics.TopK { k = 2 }
---top:add(heed.tensor { { 0.5, 0.3, 0.2 } }, { 2 })
---print(top:value()) --> 1.0
---```
---@param options? { k?: integer } those of topk
---@return heed.metrics.Metric
local function TopK(options) return metric.new(definition, options) end

return { topk = topk, TopK = TopK }
