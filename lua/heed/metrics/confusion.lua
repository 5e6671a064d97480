local check = require "heed.check"
local core = require "heed.core"
local counts = require "heed.metrics.counts"
local metric = require "heed.metrics.metric"

local definition = { name = "confusion", class = "Confusion", add = counts.add }

function definition.start(where, options)
    options = check.options(where, options, check.set("classes", "normalize"))
    local state = counts.start(where, options.classes)
    state.normalize = options.normalize and check.one_of(where, "normalize", options.normalize,
        { "targets", "predictions", "all" })
    return state
end

function definition.value(state)
    local matrix = counts.matrix(state)
    if not state.normalize then return matrix end
    matrix = matrix:to "f64"
    if matrix:numel() == 0 then return matrix end
    local total = state.normalize == "all" and matrix:sum()
        or matrix:sum { dim = state.normalize == "targets" and 2 or 1, keepdim = true }
    return matrix / core.where(total:eq(0), 1, total) -- what never occurred stays 0
end

---How often each class was predicted for each: row i, column j is how often j was predicted where i
---was right, as scikit-learn's confusion_matrix. `heed.viz.heatmap` draws it.
---
---```lua
---local matrix = heed.metrics.confusion({ 1, 2, 2, 3 }, { 1, 1, 2, 3 })
---print(matrix) --> [[1, 1, 0], [0, 1, 0], [0, 0, 1]] i64 [3, 3]
---```
---@param predictions heed.Tensor|table classes [...], or scores of every class [..., C]
---@param targets heed.Tensor|table classes [...], from 1
---@param options? { classes?: integer, normalize?: "targets"|"predictions"|"all" } classes: C,
---default the highest that occurs; normalize: shares instead of counts, that sum to 1 over each
---row, over each column, or over all
---@return heed.Tensor # [C, C], i64, or f64 when normalised
local function confusion(predictions, targets, options)
    return metric.once(definition, predictions, targets, options)
end

---confusion over batches.
---
---```lua
---local matrix = heed.metrics.Confusion { classes = 3 }
---matrix:add({ 1, 2 }, { 1, 1 }):add({ 3 }, { 3 })
---print(matrix:value()[1]) --> [1, 1, 0] i64 [3]
---```
---@param options? { classes?: integer, normalize?: "targets"|"predictions"|"all" } those of
---confusion
---@return heed.metrics.Metric
local function Confusion(options) return metric.new(definition, options) end

return { confusion = confusion, Confusion = Confusion }
