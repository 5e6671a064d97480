--- What every metric is made of: one that goes on over batches, and a function that takes all at
--- once.
---
--- A metric is { name = "accuracy", start = fn, add = fn, value = fn }. start(where, options)
--- checks the options and makes a state; add(state, where, a, b) checks two arguments, then counts
--- them; value(state) gives the results.

local check = require "heed.check"

local metric = {}

---What the functions with capital letters make: a metric that goes on over batches. Its value is
---that of the function of the same name on everything at once, whatever the batches were.
---
---```lua
---local accuracy = heed.metrics.Accuracy()
---accuracy:add({ 1, 2, 3 }, { 1, 2, 2 })
---accuracy:add({ 1 }, { 1 })
---print(accuracy:value()) --> 0.75
---```
---@class heed.metrics.Metric
---@field private definition table
---@field private options table?
---@field private state any
local Metric = {}
Metric.__index = Metric

local function where_of(definition, method)
    return ("heed.metrics.%s%s"):format(definition.class, method or "")
end

---Counts a batch. When an argument is refused, nothing of it was counted.
---@param predictions any what the function takes first
---@param targets any what it takes next
---@return heed.metrics.Metric self
function Metric:add(predictions, targets)
    check.object(self, "heed.metrics.Metric", "add", "metric")
    self.definition.add(self.state, where_of(self.definition, ":add"), predictions, targets)
    return self
end

---What the function would give for all that was added.
---@return any ...
function Metric:value()
    check.object(self, "heed.metrics.Metric", "value", "metric")
    return self.definition.value(self.state)
end

---Begins anew: for the next epoch.
---@return heed.metrics.Metric self
function Metric:reset()
    check.object(self, "heed.metrics.Metric", "reset", "metric")
    self.state = self.definition.start(where_of(self.definition), self.options)
    return self
end

---A metric that goes on.
---@param definition table
---@param options table?
---@return heed.metrics.Metric
function metric.new(definition, options)
    return Metric.reset(setmetatable({ definition = definition, options = options }, Metric))
end

---The results of two arguments that are all there is.
---@param definition table
---@return any ...
function metric.once(definition, predictions, targets, options)
    local where = "heed.metrics." .. definition.name
    local state = definition.start(where, options)
    definition.add(state, where, predictions, targets)
    return definition.value(state)
end

return metric
