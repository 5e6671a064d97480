local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"

local definition = { name = "roc_auc", class = "RocAuc" }

function definition.start(where, options)
    options = check.options(where, options, check.set("average", "positive"))
    return {
        average = check.one_of(where, "average", check.default(options.average, "macro"),
            { "macro", "weighted", "none" }),
        positive = check.integer(where, "positive", check.default(options.positive, 2)),
        averaged = options.average ~= nil, chosen = options.positive ~= nil,
        columns = nil, -- classes of scores [N, C], or 1 for a vector of scores
        scores = {}, targets = {},
    }
end

-- true and false as classes 2 and 1.
local function targets_of(where, value)
    if type(value) == "table" and type(value[1]) == "boolean" then
        for i = 1, #value do
            if type(value[i]) ~= "boolean" then
                errors.raise("%s: targets: expected booleans, or classes from 1, got %s at %d",
                    where, check.describe(value[i]), i)
            end
        end
        value = core.tensor(value)
    end
    if check.is_live(value) and value.dtype == "bool" then value = value:to "i64" + 1 end
    local targets = inputs.classes(where, "targets", value)
    if targets:dim() ~= 1 then
        errors.raise("%s: targets: expected a vector, got %s", where, tostring(targets.shape))
    end
    return targets
end

-- Which options fit one column of scores, or several.
local function check_columns(state, where, columns)
    if state.columns and state.columns ~= columns then
        errors.raise("%s: scores: expected %d columns as before, got %d", where, state.columns,
            columns)
    end
    if columns == 1 and state.averaged then
        errors.raise("%s: average: scores of one class have none; give scores of all, [N, C]",
            where)
    elseif columns > 1 and state.chosen then
        errors.raise("%s: positive: every class of scores [N, C] is it in turn; give scores [N]",
            where)
    end
end

function definition.add(state, where, scores, targets)
    targets = targets_of(where, targets)
    scores = inputs.numbers(where, "scores", scores)
    local columns = scores:dim() == 2 and scores:size(2) or 1
    if scores:dim() < 1 or scores:dim() > 2 or scores:size(1) ~= targets:numel()
        or columns == 0 then
        errors.raise("%s: scores: expected [%d] or [%d, C], one for each target, got %s", where,
            targets:numel(), targets:numel(),
            tostring(scores.shape))
    end
    if scores:isnan():any() then
        errors.raise("%s: scores: expected scores that can be ordered, got NaN", where)
    end
    check_columns(state, where, columns)
    if scores:dim() == 2 and columns > 1 then
        targets = inputs.classes(where, "targets", targets, columns)
    end
    state.columns = columns
    state.scores[#state.scores + 1] = scores:reshape(scores:size(1), columns):clone()
    state.targets[#state.targets + 1] = targets:clone()
end

-- The chance that a positive stands above a negative, ties half: from the ranks of the positives,
-- twice, so that the middle rank of equals is whole.
local function area(scores, is_positive)
    local order, values = scores:argsort():totable(), scores:totable()
    local positives, negatives, ranks = 0, 0, 0
    local first = 1
    while first <= #order do
        local last, here = first, 0
        while last < #order and values[order[last + 1]] == values[order[first]] do
            last = last + 1
        end
        for i = first, last do here = here + (is_positive[order[i]] and 1 or 0) end
        ranks = ranks + here * (first + last)
        positives, negatives = positives + here, negatives + last - first + 1 - here
        first = last + 1
    end
    if positives == 0 or negatives == 0 then return 0 / 0, positives end
    return (ranks - positives * (positives + 1)) / (2.0 * positives * negatives), positives
end

local function average(state, areas, positives)
    local sum, total = 0.0, 0
    for class, value in ipairs(areas) do
        local weight = state.average == "weighted" and positives[class] or 1
        if weight > 0 then sum, total = sum + weight * value, total + weight end
    end
    return sum / total
end

function definition.value(state)
    if not state.columns then return 0 / 0 end
    local scores, targets = core.cat(state.scores, 1), core.cat(state.targets, 1):totable()
    local areas, positives = {}, {}
    for column = 1, state.columns do
        local wanted, is_positive = state.columns == 1 and state.positive or column, {}
        for i, class in ipairs(targets) do is_positive[i] = class == wanted end
        areas[column], positives[column] = area(scores:select(2, column), is_positive)
    end
    if state.columns == 1 then return areas[1] end
    if state.average == "none" then return core.tensor(areas, { dtype = "f64" }) end
    return average(state, areas, positives)
end

---The area under the ROC curve, as scikit-learn's roc_auc_score: the chance that one of the class
---scores higher than one that is not, ties half. Where a class, or everything beside it, does not
---occur it is NaN.
---
---```lua
---print(heed.metrics.roc_auc({ 0.1, 0.4, 0.35, 0.8 }, { 1, 1, 2, 2 })) --> 0.75
---print(heed.metrics.roc_auc({ 0.2, 0.2, 0.9 }, { false, true, true })) --> 0.75
---local scores = heed.tensor { { 0.8, 0.1, 0.1 }, { 0.2, 0.7, 0.1 }, { 0.3, 0.1, 0.6 } }
---print(heed.metrics.roc_auc(scores, { 1, 2, 3 }, { average = "none" })) --> [1., 1., 1.] f64 [3]
---```
---@param scores heed.Tensor|table [N], of being the positive class; or [N, C], of every class
---@param targets heed.Tensor|table classes [N], from 1; for scores [N] also booleans
---@param options? { average?: "macro"|"weighted"|"none", positive?: integer } average: of scores
---[N, C], each class against the rest: their mean (default), their mean by how often each occurs,
---or a tensor [C]; positive: of scores [N], the class that they are of, default 2
---@return number|heed.Tensor
local function roc_auc(scores, targets, options)
    return metric.once(definition, scores, targets, options)
end

---roc_auc over batches. It keeps all scores.
---
---```lua
---local auc = heed.metrics.RocAuc()
---auc:add({ 0.1, 0.35 }, { 1, 2 }):add({ 0.4, 0.8 }, { 1, 2 })
---print(auc:value()) --> 0.75
---```
---@param options? { average?: "macro"|"weighted"|"none", positive?: integer } those of roc_auc
---@return heed.metrics.Metric
local function RocAuc(options) return metric.new(definition, options) end

return { roc_auc = roc_auc, RocAuc = RocAuc }
