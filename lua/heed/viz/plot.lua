--- What pictures over two axes share: their numbers, where these stand, and the axes, in the
--- terminal and as SVG.
---
--- Such a picture has x_low, x_high, y_low and y_high, the ends of its axes; x_name and y_name,
--- what a person calls them; and width and height, its columns and lines in the terminal.

local captions = require "heed.viz.captions"
local check = require "heed.check"
local errors = require "heed.errors"
local svg = require "heed.viz.svg"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local plot = { WIDTH = 560, HEIGHT = 260, LONGEST_NAME = 18 }

local MARGIN = captions.MARGIN
local LEAST_LEFT, MOST_CELLS = 56, 10000
local SMALLEST = 1e-290 -- between numbers that are closer there are no round ones

-- ---- numbers ------------------------------------------------------------------------------------

---A list of numbers, or a vector, as a list.
---@return number[]
function plot.numbers(where, name, values)
    if check.is_live(values) then
        if values:dim() ~= 1 or values.dtype == "bool" then
            errors.raise("%s: %s: expected a vector of numbers, got %s", where, name,
                check.describe(values))
        end
        return values:totable()
    end
    local numbers = {}
    for i = 1, rawlen(check.type(where, name, values, "table")) do
        numbers[i] = values[i]
        if type(numbers[i]) ~= "number" then
            errors.raise("%s: %s: expected numbers, got %s at %d", where, name,
                check.describe(numbers[i]), i)
        end
    end
    return numbers
end

---Distances between such numbers are finite too.
---@return boolean
function plot.is_finite(x) return math.abs(x) < 0x1p1022 end

---The lowest and highest of the finite numbers of several lists, apart.
---@param lists number[][]
---@return number low
---@return number high
function plot.extent(lists)
    local low, high = math.huge, -math.huge
    for _, list in ipairs(lists) do
        for _, value in ipairs(list) do
            if plot.is_finite(value) then
                low, high = math.min(low, value), math.max(high, value)
            end
        end
    end
    return plot.apart(low, high)
end

---Two ends that differ, whatever there was.
---@return number low
---@return number high
function plot.apart(low, high)
    if low > high then return 0.0, 1.0 end
    low, high = low + 0.0, high + 0.0 -- integers would wrap
    if high - low > SMALLEST then return low, high end
    local half = math.abs(low) < 2 * SMALLEST and 1 or math.abs(low) / 2
    return low - half, high + half
end

---Columns or lines: no terminal has more than MOST_CELLS.
---@return integer
function plot.size(where, name, value, default, least)
    value = check.integer(where, name, value or default, least)
    return value <= MOST_CELLS and value or errors.raise("%s: %s: expected at most %d, got %d",
        where, name, MOST_CELLS, value)
end

---The longest name beside a picture in the terminal: a quarter of its columns, or a few letters.
---@return integer
function plot.longest_name(self)
    return math.max(6, math.min(plot.LONGEST_NAME, self.width // 4))
end

---What every picture over axes takes: title, caption, x_name, y_name, width, height.
---@param where string
---@param options table
---@return table picture
function plot.options(where, options)
    local title, caption = captions.of(where, options)
    return {
        title = title, caption = caption,
        x_name = options.x_name ~= nil and check.type(where, "x_name", options.x_name, "string")
            or nil,
        y_name = options.y_name ~= nil and check.type(where, "y_name", options.y_name, "string")
            or nil,
        width = plot.size(where, "width", options.width, terminal.COLUMNS, 20),
        height = plot.size(where, "height", options.height, 12, 2),
    }
end

---Numbers as texts, in as many digits as tell neighbours apart, at least four.
---@param numbers number[]
---@param step number between neighbours
---@return string[]
function plot.texts(numbers, step)
    local largest = 0
    for _, value in ipairs(numbers) do largest = math.max(largest, math.abs(value)) end
    local digits = largest > 0 and step > 0 and math.ceil(math.log(largest / step, 10)) + 1 or 4
    local format, texts = ("%%.%dg"):format(math.max(4, math.min(digits, 15))), {}
    for i, value in ipairs(numbers) do texts[i] = format:format(value) end
    return texts
end

---Round numbers from low to high, about `count` of them, and how far apart they are.
---@return number[]
---@return number step
function plot.ticks(low, high, count)
    local rough = (high - low) / count
    local power = 10.0 ^ math.floor(math.log(rough, 10))
    local step = power * 10
    for _, factor in ipairs { 1, 2, 5 } do
        if factor * power >= rough then
            step = factor * power
            break
        end
    end
    local list = {}
    for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
        list[#list + 1] = k * step
    end
    return list, step
end

-- ---- in the terminal ----------------------------------------------------------------------------

---The columns that are left for the picture beside its axis and for_names.
---@param self table
---@param for_names? integer
---@return integer columns
---@return string[] ends of the axis: the highest, the lowest
---@return integer indent
function plot.columns(self, for_names)
    local ends = plot.texts({ self.y_high, self.y_low }, self.y_high - self.y_low)
    local indent = math.max(#ends[1], #ends[2])
    return math.max(8, self.width - indent - 2 - (for_names or 0)), ends, indent
end

-- The line below the axis: its ends, and between them its name where that fits.
local function x_line(self, columns, indent)
    local ends = self.x_ends or plot.texts({ self.x_low, self.x_high }, self.x_high - self.x_low)
    local lines = { width.fit(ends[1], columns - #ends[2]) .. ends[2] }
    if self.x_name then
        local name, taken = width.cut(self.x_name, columns)
        local before = (columns - taken) // 2
        if before > #ends[1] and before + taken < columns - #ends[2] then
            lines[1] = width.fit(ends[1], before) .. name
                .. width.fit(ends[2], columns - before - taken, true)
        else
            lines[2] = (" "):rep(before) .. name
        end
    end
    for i, line in ipairs(lines) do lines[i] = (" "):rep(indent + 2) .. line end
    return lines
end

---The picture's rows of text between its axes.
---@param self table
---@param rows string[]
---@param after? table<integer, string> what stands behind a row, from 0
---@param columns integer
---@param ends string[]
---@param indent integer
---@return string
function plot.text(self, rows, after, columns, ends, indent)
    local lines = {}
    if self.y_name then lines[1] = (" "):rep(indent + 1) .. (width.cut(self.y_name, columns)) end
    for i, row in ipairs(rows) do
        local label = i == 1 and ends[1] or i == #rows and ends[2] or ""
        local line = ("%s %s%s %s"):format(width.fit(label, indent, true),
            label == "" and "│" or "┤", row, after and after[i - 1] or "")
        lines[#lines + 1] = line:gsub("%s+$", "")
    end
    lines[#lines + 1] = (" "):rep(indent + 1) .. "└" .. ("─"):rep(columns)
    for _, line in ipairs(x_line(self, columns, indent)) do lines[#lines + 1] = line end
    return captions.text(self, lines)
end

-- ---- as SVG -------------------------------------------------------------------------------------

---Where the picture's numbers are on a drawing, with its title and axes in the body.
---@param self table
---@param titled boolean
---@return { body: table[], left: number, top: number, x_of: fun(x: number): number, y_of: fun(y: number): number }
function plot.frame(self, titled)
    local body = {}
    local frame = { body = body, top = captions.above(self, titled, body) }
    local values, step = plot.ticks(self.y_low, self.y_high, 5)
    local texts, widest = plot.texts(values, step), 0
    for _, text in ipairs(texts) do widest = math.max(widest, svg.label_width(text)) end
    frame.left = math.max(LEAST_LEFT, widest + MARGIN + 8) + (self.y_name and 18 or 0)
    function frame.x_of(x)
        return frame.left + (x - self.x_low) / (self.x_high - self.x_low) * plot.WIDTH
    end
    function frame.y_of(y)
        return frame.top + (self.y_high - y) / (self.y_high - self.y_low) * plot.HEIGHT
    end
    for i, value in ipairs(values) do
        local y = frame.y_of(value)
        local line = { "class", value == 0 and "heed-axis" or "heed-line", "x1", frame.left, "x2",
            frame.left + plot.WIDTH,
            "y1", y, "y2", y }
        body[#body + 1] = svg.element("line", line)
        body[#body + 1] = svg.text(frame.left - 8, y + 4, texts[i], "heed-faint", "end")
    end
    local bottom, middle = frame.top + plot.HEIGHT, frame.left + plot.WIDTH / 2
    local marks = self.x_ticks or plot.ticks(self.x_low, self.x_high, 6)
    for i, text in ipairs(plot.texts(marks, #marks > 1 and marks[2] - marks[1] or 0)) do
        body[#body + 1] = svg.text(frame.x_of(marks[i]), bottom + 18, text, "heed-faint", "middle")
    end
    if self.x_name then
        body[#body + 1] = svg.text(middle, bottom + 36, self.x_name, "heed-faint", "middle")
    end
    if self.y_name then
        local x, y = MARGIN + 10, frame.top + plot.HEIGHT / 2
        local turn = ("rotate(-90 %s %s)"):format(svg.number(x), svg.number(y))
        body[#body + 1] = svg.text(x, y, self.y_name, "heed-faint", "middle", { "transform", turn })
    end
    return frame
end

---The drawing of a frame that is filled.
---@param self table
---@param titled boolean
---@param frame table
---@param kind string what the picture is where it has no title
---@param room? number for names at the right
---@return table drawing of heed.viz.svg
function plot.drawing(self, titled, frame, kind, room)
    local right = frame.left + plot.WIDTH + math.max(room or 0, 8) + MARGIN
    local bottom = frame.top + plot.HEIGHT + 26 + (self.x_name and 18 or 0)
    local size = captions.around(self, titled, frame.body, right, bottom)
    return { width = size.width, height = size.height + MARGIN, title = self.title or kind,
        body = frame.body }
end

---The colour of a series; more series than colours begin again.
---@param s integer
---@return integer
function plot.colour(s) return (s - 1) % svg.SERIES_COUNT + 1 end

return plot
