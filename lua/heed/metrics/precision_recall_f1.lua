local check = require "heed.check"
local core = require "heed.core"
local counts = require "heed.metrics.counts"
local errors = require "heed.errors"
local metric = require "heed.metrics.metric"

local definition = { name = "precision_recall_f1", class = "PrecisionRecallF1", add = counts.add }

function definition.start(where, options)
    options = check.options(where, options, check.set("average", "classes", "positive"))
    local state = counts.start(where, options.classes)
    state.average = check.one_of(where, "average", check.default(options.average, "macro"),
        { "macro", "micro", "weighted", "none" })
    state.positive = options.positive ~= nil and check.integer(where, "positive", options.positive)
        or nil
    if state.positive and options.average ~= nil then
        errors.raise("%s: positive: the numbers of one class have no average; leave one of them "
            .. "out", where)
    end
    if state.positive and state.classes and state.positive > state.classes then
        errors.raise("%s: positive: expected a class in 1..%d, got %d", where, state.classes,
            state.positive)
    end
    return state
end

-- A share of nothing is 0.
local function share(part, whole) return whole > 0 and part / whole or 0.0 end

local function of_counts(right, predicted, wanted)
    return share(right, predicted), share(right, wanted), share(2 * right, predicted + wanted)
end

local function micro(right, predicted, wanted)
    local sums = { 0, 0, 0 }
    for class = 1, #right do
        sums[1], sums[2], sums[3] = sums[1] + right[class], sums[2] + predicted[class],
            sums[3] + wanted[class]
    end
    return of_counts(sums[1], sums[2], sums[3])
end

-- A mean over the classes that occur, or over all when it was said how many there are; weighted by
-- how often each is wanted.
local function mean(state, right, predicted, wanted)
    local precision, recall, f1, total = 0.0, 0.0, 0.0, 0
    for class = 1, #right do
        local counts_here = state.classes or predicted[class] + wanted[class] > 0
        local weight = state.average == "weighted" and wanted[class] or counts_here and 1 or 0
        local p, r, f = of_counts(right[class], predicted[class], wanted[class])
        precision, recall, f1, total = precision + weight * p, recall + weight * r, f1 + weight * f,
            total + weight
    end
    return share(precision, total), share(recall, total), share(f1, total)
end

local function each(right, predicted, wanted)
    local lists = { {}, {}, {} }
    for class = 1, #right do
        lists[1][class], lists[2][class], lists[3][class] = of_counts(right[class],
            predicted[class], wanted[class])
    end
    local f64 = { dtype = "f64" }
    return core.tensor(lists[1], f64), core.tensor(lists[2], f64), core.tensor(lists[3], f64)
end

function definition.value(state)
    local right, predicted, wanted = counts.totals(state)
    local class = state.positive
    if class then return of_counts(right[class] or 0, predicted[class] or 0, wanted[class] or 0) end
    if state.average == "micro" then return micro(right, predicted, wanted) end
    if state.average == "none" then return each(right, predicted, wanted) end
    return mean(state, right, predicted, wanted)
end

---Precision (right / predicted), recall (right / wanted) and F1 (their harmonic mean) of classes,
---as scikit-learn's precision_recall_fscore_support. A share of nothing is 0.
---
---```lua
---local predictions, targets = { 2, 2, 1, 1, 2 }, { 2, 1, 1, 1, 2 } -- 2 is spam
---local score = heed.metrics.precision_recall_f1
---local precision, recall, f1 = score(predictions, targets, { positive = 2 })
---print(("%.3f %.3f %.3f"):format(precision, recall, f1)) --> 0.667 1.000 0.800
---print(score(predictions, targets, { average = "none" }))
---```
---@param predictions heed.Tensor|table classes [...], or scores of every class [..., C]
---@param targets heed.Tensor|table classes [...], from 1
---@param options? { average?: "macro"|"micro"|"weighted"|"none", classes?: integer, positive?: integer }
---average: default "macro", the mean over classes; "micro" counts all together; "weighted" is the
---mean by how often each class is wanted; "none" gives tensors, a number a class; classes: C, and
---all of them are in the mean (default: those that occur); positive: this class's own numbers
---@return number|heed.Tensor precision [C] of f64 with average "none"
---@return number|heed.Tensor recall
---@return number|heed.Tensor f1
local function precision_recall_f1(predictions, targets, options)
    return metric.once(definition, predictions, targets, options)
end

---precision_recall_f1 over batches.
---
---```lua
---local score = heed.metrics.PrecisionRecallF1 { average = "micro" }
---score:add({ 1, 2 }, { 1, 1 }):add({ 2, 2 }, { 2, 2 })
---print(score:value()) --> 0.75 0.75 0.75
---```
---@param options? { average?: "macro"|"micro"|"weighted"|"none", classes?: integer, positive?: integer }
---those of precision_recall_f1
---@return heed.metrics.Metric
local function PrecisionRecallF1(options) return metric.new(definition, options) end

return { precision_recall_f1 = precision_recall_f1, PrecisionRecallF1 = PrecisionRecallF1 }
