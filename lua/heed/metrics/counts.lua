--- How often each class was predicted for each: what confusion matrices and all that is computed
--- from them count.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local inputs = require "heed.metrics.inputs"

local counts = {}

local MOST = 1 << 24 -- classes

---@param classes any how many there are, or nil: as many as occur
function counts.start(where, classes)
    return { classes = classes ~= nil and check.integer(where, "classes", classes) or nil, size = 0,
        rows = {} }
end

-- Targets and predictions that occur together, and how often.
local function pairs_of(where, targets, predictions)
    local size = math.max(targets:max():item(), predictions:max():item())
    if size > MOST then
        errors.raise("%s: targets: expected classes in 1..%d, got %d", where, MOST, size)
    end
    local cells, _, often = ((targets - 1) * size + (predictions - 1)):flatten():unique()
    return size, cells:totable(), often:totable()
end

---@param state table
function counts.add(state, where, predictions, targets)
    targets = inputs.classes(where, "targets", targets, state.classes)
    predictions = inputs.predictions(where, predictions, targets, state.classes)
    if targets:numel() == 0 then return end
    local size, cells, often = pairs_of(where, targets, predictions)
    state.size = math.max(state.size, size)
    for i, cell in ipairs(cells) do
        local target, predicted = cell // size + 1, cell % size + 1
        local row = state.rows[target] or {}
        state.rows[target] = row
        row[predicted] = (row[predicted] or 0) + often[i]
    end
end

---The matrix [C, C] of i64: a row for each target, a column for each prediction.
---@return heed.Tensor
function counts.matrix(state)
    local C = state.classes or state.size
    local matrix = core.zeros(C, C, { dtype = "i64" })
    for target, row in pairs(state.rows) do
        for predicted, count in pairs(row) do matrix[{ target, predicted }] = count end
    end
    return matrix
end

---Of each class: how often it was right, how often predicted, how often the target. Lists.
---@return integer[] right
---@return integer[] predicted
---@return integer[] wanted
function counts.totals(state)
    local right, predicted, wanted = {}, {}, {}
    for class = 1, state.classes or state.size do
        right[class], predicted[class], wanted[class] = 0, 0, 0
    end
    for target, row in pairs(state.rows) do
        for class, count in pairs(row) do
            predicted[class], wanted[target] = predicted[class] + count, wanted[target] + count
            if class == target then right[class] = count end
        end
    end
    return right, predicted, wanted
end

return counts
