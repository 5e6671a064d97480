--- From numbers to shades: how strong one is drawn, and on which side of 0 it is.

local check = require "heed.check"
local errors = require "heed.errors"

---@class heed.viz.Scale
---@field low number where shades begin: 0, or as far below it as high is above
---@field high number what is drawn strongest
---@field diverging boolean numbers below 0 have a colour of their own
---@field digits integer? of numbers that are not whole; without, they are weights, of three decimals
---@field sparse boolean? zeros are nothing, as behind a mask
local Scale = {}
Scale.__index = Scale

local scale = {}

local DIGITS = 4
local LARGEST_WHOLE = 2 ^ 53 -- beyond it not every whole number is a double

-- Whole numbers whole, others with so many significant digits, without an exponent where that is no
-- longer.
local function text_of(value, format)
    if value == math.floor(value) and math.abs(value) <= LARGEST_WHOLE then
        return ("%d"):format(value)
    end
    local text = format:format(value):gsub("%.$", ""):gsub("%.?0*e%+?(%-?)0*", "e%1")
    local plain = ("%.0f"):format(value)
    return math.abs(value) >= 1 and #plain <= #text and text:find "e" and plain or text
end

---Of weights from 0 to a highest.
---@param max number
---@return heed.viz.Scale
function scale.weights(max)
    return setmetatable({ low = 0, high = max, diverging = false, sparse = true }, Scale)
end

---Of any numbers. Where some are negative both sides reach equally far; where none are it begins at
---0.
---@param where string
---@param low number the lowest that there is
---@param high number
---@param options { min?: number, max?: number, digits?: integer } bounds of one's own; digits of
---numbers
---@return heed.viz.Scale
function scale.of(where, low, high, options)
    local min = options.min and check.number(where, "min", options.min)
    local max = options.max and check.number(where, "max", options.max)
    if min and max and min >= max then
        errors.raise("%s: min: expected less than max (%g), got %g", where, max, min)
    end
    local self = { low = min or math.min(0, low), high = max or high,
        digits = math.max(DIGITS, options.digits or DIGITS) }
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
---@param digits? integer how many significant ones a number has that is not whole
---@return string
function Scale:text(value, digits)
    if value ~= value then return "nan" end
    if self.sparse then return ("%.3f"):format(value) end
    return text_of(value, digits and ("%%#.%dg"):format(digits)
        or ("%%.%dg"):format(self.digits))
end

---A number in little space: all are of so many significant digits, whole ones too where that is
---shorter.
---@param value number
---@param digits integer
---@param bare? boolean without the 0 before the point
---@return string
function Scale:short(value, digits, bare)
    local text = self:text(value, digits)
    local exponent = ("%%.%de"):format(digits - 1):format(value):gsub("%.?0*e%+?(%-?)0*", "e%1")
    if #exponent < #text and math.abs(value) >= 1 then text = exponent end
    return bare and text:gsub("^(%-?)0%.", "%1.") or text
end

---A bound of a scale, as a legend says it.
---@param value number
---@return string
function scale.bound(value) return text_of(value, "%.3g") end

return scale
