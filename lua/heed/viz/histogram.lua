--- How often numbers fall between bounds.

local check = require "heed.check"
local errors = require "heed.errors"
local Picture = require "heed.viz.picture"
local plot = require "heed.viz.plot"
local svg = require "heed.viz.svg"

local WHERE = "heed.viz.histogram"
local KNOWN = check.set("title", "caption", "x_name", "y_name", "bins", "low", "high", "width",
    "height")
local MOST_BINS = 10000

---What heed.viz.histogram gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Histogram: heed.viz.Picture
---@field counts integer[] of each bin
---@field edges number[] one more than bins
---@field private height integer
---@field private note string?
local Histogram = Picture.class(WHERE)

-- ---- what is drawn ------------------------------------------------------------------------------

local function numbers_of(values)
    if check.is_live(values) and values.dtype ~= "bool" then return values:flatten():totable() end
    return plot.numbers(WHERE, "values", values)
end

local function edges_of(values, options)
    local low, high = plot.extent { values }
    low = options.low ~= nil and check.number(WHERE, "low", options.low) or low
    high = options.high ~= nil and check.number(WHERE, "high", options.high) or high
    if not (plot.is_finite(low) and plot.is_finite(high) and low < high) then
        errors.raise("%s: high: expected a finite number above low (%g), got %g", WHERE, low, high)
    end
    local bins = check.integer(WHERE, "bins", check.default(options.bins, 20))
    if bins > MOST_BINS then
        errors.raise("%s: bins: expected at most %d, got %d", WHERE, MOST_BINS, bins)
    end
    low, high = low + 0.0, high + 0.0
    local edges = {}
    for i = 0, bins do edges[i + 1] = low + (high - low) * (i / bins) end
    edges[bins + 1] = high
    return edges
end

-- A bin has its lower edge, the last its upper one too. Counts, and how many are no numbers and how
-- many lie outside.
local function count(values, edges)
    local counts, bins, low, high = {}, #edges - 1, edges[1], edges[#edges]
    local nan, outside = 0, 0
    for i = 1, bins do counts[i] = 0 end
    for _, value in ipairs(values) do
        if value ~= value then
            nan = nan + 1
        elseif value < low or value > high then
            outside = outside + 1
        else
            local i = math.min(bins, math.floor((value - low) / (high - low) * bins) + 1)
            if i > 1 and value < edges[i] then
                i = i - 1
            elseif i < bins and value >= edges[i + 1] then
                i = i + 1
            end
            counts[i] = counts[i] + 1
        end
    end
    return counts, nan, outside
end

---@class heed.viz.HistogramOptions
---@field title? string above it
---@field caption? string below it
---@field x_name? string of the axis
---@field y_name? string of the axis
---@field bins? integer default 20
---@field low? number the lower bound, default the lowest number
---@field high? number the upper one, default the highest
---@field width? integer columns of the terminal in all, default 80
---@field height? integer lines, default 12

---A picture of how often numbers fall between bounds: print it, or write it with `:save "it.svg"`,
---`"it.html"` or `"it.png"`. It says how many are no numbers, or outside. `counts` and `edges` are
---what it draws.
---
---```lua
---local options = { bins = 24, low = -3, high = 3, title = "randn", height = 6, width = 50 }
---local picture = heed.viz.histogram(heed.randn(1000), options)
---print(picture)
---print(#picture.counts, picture.edges[1]) --> 24 -3.0
---```
---@param values number[]|heed.Tensor of any shape
---@param options? heed.viz.HistogramOptions
---@return heed.viz.Histogram
local function histogram(values, options)
    options = check.options(WHERE, options, KNOWN)
    local self = plot.options(WHERE, options)
    values = numbers_of(values)
    self.edges = edges_of(values, options)
    local nan, outside
    self.counts, nan, outside = count(values, self.edges)
    local notes = {}
    if nan > 0 then notes[1] = ("%d of %d are no numbers"):format(nan, #values) end
    if outside > 0 then notes[#notes + 1] = ("%d of %d lie outside"):format(outside, #values) end
    self.note = notes[1] and table.concat(notes, "; ")
    self.x_low, self.x_high = self.edges[1], self.edges[#self.edges]
    self.y_low, self.y_high = 0, math.max(1, table.unpack(self.counts))
    return setmetatable(self, Histogram)
end

-- ---- in the terminal ----------------------------------------------------------------------------

local EIGHTHS = { [0] = " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- The bin at a column: the fullest, where several share one.
local function count_at(self, column, columns)
    local bins = #self.counts
    local first = math.floor((column - 1) * bins / columns) + 1
    local last = math.max(first, math.ceil(column * bins / columns) - (bins > columns and 0 or 1))
    local most = 0
    for i = first, math.min(last, bins) do most = math.max(most, self.counts[i]) end
    return most
end

function Histogram:__tostring()
    local columns, ends, indent = plot.columns(self)
    if #self.counts < columns then columns = columns // #self.counts * #self.counts end
    local filled, rows = {}, {}
    for column = 1, columns do
        local most = count_at(self, column, columns)
        filled[column] = most > 0 and math.max(1,
            math.floor(most / self.y_high * self.height * 8 + 0.5)) or 0
    end
    for row = 1, self.height do
        local cells, below = {}, (self.height - row) * 8
        for column, eighths in ipairs(filled) do
            cells[column] = EIGHTHS[math.max(0, math.min(8, eighths - below))]
        end
        rows[row] = table.concat(cells)
    end
    return plot.text(self, rows, nil, columns, ends, indent)
end

-- ---- as SVG -------------------------------------------------------------------------------------

function Histogram:draw(titled)
    local frame = plot.frame(self, titled)
    local bottom, gap = frame.y_of(0), #self.counts > 140 and 0 or 1
    for i, n in ipairs(self.counts) do
        local left, right = frame.x_of(self.edges[i]), frame.x_of(self.edges[i + 1])
        local closing = i == #self.counts and "]" or ")"
        local hint = svg.hint(("[%.6g, %.6g%s: %d"):format(self.edges[i], self.edges[i + 1],
            closing, n))
        frame.body[#frame.body + 1] = svg.element("rect",
            { "class", "heed-bar heed-fill-1", "x", left + gap / 2, "y", frame.y_of(n),
            "width", math.max(0.5, right - left - gap), "height", bottom - frame.y_of(n) },
                n > 0 and hint or nil)
    end
    return plot.drawing(self, titled, frame, "Histogram")
end

return histogram
