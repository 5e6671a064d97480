--- From numbers to shades: how strong one is drawn, and on which side of 0 it is.

local check = require "heed.check"
local errors = require "heed.errors"

---@class heed.viz.Scale
---@field low number where shades begin: 0, or as far below it as high is above
---@field high number what is drawn strongest
---@field diverging boolean numbers below 0 have a colour of their own
---@field format string of a number
---@field sparse boolean? zeros are nothing, as behind a mask
local Scale = {}
Scale.__index = Scale

local scale = {}

---Of weights from 0 to a highest.
---@param max number
---@return heed.viz.Scale
function scale.weights(max)
    return setmetatable({ low = 0, high = max, diverging = false, format = "%.3f", sparse = true },
        Scale)
end

---Of any numbers. Where some are negative both sides reach equally far; where none are it begins at
---0.
---@param where string
---@param low number the lowest that there is
---@param high number
---@param options { min?: number, max?: number } bounds of one's own
---@return heed.viz.Scale
function scale.of(where, low, high, options)
    local min = options.min and check.number(where, "min", options.min)
    local max = options.max and check.number(where, "max", options.max)
    if min and max and min >= max then
        errors.raise("%s: min: expected less than max (%g), got %g", where, max, min)
    end
    local self = { low = min or math.min(0, low), high = max or high, format = "%.4g" }
    self.diverging = self.low < 0
    if self.diverging then
        self.high = math.max(math.abs(self.low), math.abs(self.high))
        self.low = -self.high
    elseif self.high <= self.low then
        self.high = self.low + math.max(1, math.abs(self.low))
    end
    return setmetatable(self, Scale)
end

---@param value number
---@return number|nil strength from 0 to 1; nil for what is no number
---@return boolean negative
function Scale:level(value)
    if value ~= value then return nil, false end
    local strength = self.diverging and math.abs(value) / self.high
        or (value - self.low) / (self.high - self.low)
    return math.max(0, math.min(1, strength)), self.diverging and value < 0
end

---@param value number
---@return string
function Scale:text(value)
    if value ~= value then return "nan" end
    if value == math.floor(value) and math.abs(value) < 1e6 and not self.sparse then
        return ("%d"):format(value)
    end
    return self.format:format(value)
end

---A bound of a scale, as a legend says it.
---@param value number
---@return string
function scale.bound(value) return (("%.3g"):format(value)) end

return scale
