--- Bars: a number for each name.

local captions = require "heed.viz.captions"
local check = require "heed.check"
local errors = require "heed.errors"
local matrices = require "heed.viz.matrices"
local Picture = require "heed.viz.picture"
local plot = require "heed.viz.plot"
local svg = require "heed.viz.svg"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = "heed.viz.bar"
local KNOWN = check.set("title", "caption", "labels", "x_name", "width")

---What heed.viz.bar gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Bar: heed.viz.Picture
---@field private labels string[]
---@field private low number 0 or below
---@field private high number 0 or above
---@field private values number[]
---@field private width integer
---@field private x_name string?
local Bar = Picture.class(WHERE)

-- ---- what is drawn ------------------------------------------------------------------------------

-- Labels and numbers: of a table by names in the order of these.
local function of_names(values)
    local labels, numbers = {}, {}
    for name in pairs(values) do labels[#labels + 1] = check.type(WHERE, "name", name, "string") end
    table.sort(labels)
    for i, name in ipairs(labels) do
        numbers[i] = values[name]
        if type(numbers[i]) ~= "number" then
            errors.raise("%s: values: expected numbers, got %s for %s", WHERE,
                check.describe(numbers[i]), name)
        end
    end
    return labels, numbers
end

---@class heed.viz.BarOptions
---@field title? string above it
---@field caption? string below it
---@field labels? string[]|string of a list, default its indices
---@field x_name? string what is measured
---@field width? integer columns of the terminal in all, default 80

---A picture of bars, a number for each name: print it, or write it with `:save "it.svg"`,
---`"it.html"` or `"it.png"`. Numbers below 0 go to the left; what is no number says so.
---
---```lua
---local scores = { accuracy = 0.91, recall = 0.85, precision = 0.97 }
---print(heed.viz.bar(scores, { width = 50, title = "spam" }))
---print(heed.viz.bar({ 3, -1.5, 0 / 0 }, { labels = { "up", "down", "nowhere" }, width = 50 }))
---```
---@param values number[]|heed.Tensor|table<string, number> [N], or numbers by their names, in the
---order of these
---@param options? heed.viz.BarOptions
---@return heed.viz.Bar
local function bar(values, options)
    options = check.options(WHERE, options, KNOWN)
    local title, caption = captions.of(WHERE, options)
    local self = {
        title = title, caption = caption,
        x_name = options.x_name ~= nil and check.type(WHERE, "x_name", options.x_name, "string")
            or nil,
        width = plot.size(WHERE, "width", options.width, terminal.COLUMNS, 20),
    }
    if type(values) == "table" and values[1] == nil and next(values) ~= nil then
        if options.labels ~= nil then
            errors.raise("%s: labels: the numbers have names already", WHERE)
        end
        self.labels, self.values = of_names(values)
    else
        self.values = plot.numbers(WHERE, "values", values)
        self.labels = matrices.labels(WHERE, "labels", options.labels, #self.values)
    end
    self.low, self.high = 0.0, 0.0
    for _, value in ipairs(self.values) do
        if plot.is_finite(value) then
            self.low, self.high = math.min(self.low, value + 0.0), math.max(self.high, value + 0.0)
        end
    end
    if self.low == self.high then self.high = 1.0 end
    return setmetatable(self, Bar)
end

-- A number as it is written beside its bar.
local function text_of(value)
    if value ~= value then return "nan" end
    if value == math.floor(value) and math.abs(value) < 1e6 then return ("%d"):format(value) end
    return ("%.4g"):format(value)
end

-- How long a bar is of the whole from low to high; what is infinite goes to the end.
local function share(self, value)
    if value ~= value then return 0 end
    return math.max(self.low, math.min(self.high, value)) / (self.high - self.low)
end

-- ---- in the terminal ----------------------------------------------------------------------------

local EIGHTHS = { [0] = "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" }

-- The bar in `below` columns left of 0 and as many right of it as `whole` has more, and its number
-- behind it.
local function bar_text(self, value, below, whole)
    local length = share(self, value) * whole
    if length < 0 then
        local halves = math.max(1, math.floor(-length * 2 + 0.5))
        local bar_columns = halves // 2 + halves % 2
        return (" "):rep(below - bar_columns) .. (halves % 2 == 1 and "▐" or "")
            .. ("█"):rep(halves // 2) .. " " .. text_of(value)
    end
    local eighths = math.floor(length * 8 + 0.5)
    if value > 0 then eighths = math.max(1, eighths) end
    local filled = ("█"):rep(eighths // 8) .. EIGHTHS[eighths % 8]
    return (" "):rep(below) .. filled .. (eighths > 0 and " " or "") .. text_of(value)
end

function Bar:__tostring()
    local indent, numbers = 0, 0
    for i, label in ipairs(self.labels) do
        indent = math.max(indent, math.min(width.of(label), plot.LONGEST_NAME, self.width // 3))
        numbers = math.max(numbers, #text_of(self.values[i]) + 1)
    end
    local columns = math.max(8, self.width - indent - 1 - numbers)
    local part = -self.low / (self.high - self.low)
    local below = math.ceil(columns * part)
    local whole = math.min(part > 0 and below / part or columns,
        part < 1 and (columns - below) / (1 - part) or columns)
    local lines = {}
    for i, value in ipairs(self.values) do
        lines[i] = width.fit(self.labels[i], indent, true) .. " "
            .. bar_text(self, value, below, whole)
    end
    if self.x_name then
        lines[#lines + 1] = (" "):rep(indent + 1)
            .. (width.cut(self.x_name, self.width - indent - 1))
    end
    return captions.text(self, lines)
end

-- ---- as SVG -------------------------------------------------------------------------------------

local ROW, THICK, WIDE = 24, 16, 480 -- pixels: from bar to bar, a bar, and all of the axis

function Bar:draw(titled)
    local body, left = {}, 0
    local top = captions.above(self, titled, body)
    for _, label in ipairs(self.labels) do
        left = math.max(left, svg.label_width((width.cut(label, plot.LONGEST_NAME))))
    end
    left = captions.MARGIN + left + 10
    -- Numbers left of a bar need room of their own.
    local before = 0
    for _, value in ipairs(self.values) do
        if value < 0 then before = math.max(before, svg.label_width(text_of(value)) + 6) end
    end
    local zero, right = left + before - self.low / (self.high - self.low) * WIDE, 0
    for i, value in ipairs(self.values) do
        local y, length = top + (i - 1) * ROW, share(self, value) * WIDE
        body[#body + 1] = svg.text(left - 10, y + THICK - 4,
            (width.cut(self.labels[i], plot.LONGEST_NAME)), "heed-label heed-ink", "end")
        if length ~= 0 then
            local look = length < 0 and "heed-negative" or "heed-fill-1"
            body[#body + 1] = svg.element("rect",
                { "class", "heed-bar " .. look, "x", math.min(zero, zero + length), "y", y,
                "width", math.abs(length), "height", THICK },
                    svg.hint(self.labels[i] .. ": " .. text_of(value)))
        end
        local text, x = text_of(value), zero + length + (length < 0 and -6 or 6)
        body[#body + 1] = svg.text(x, y + THICK - 4, text, "heed-faint",
            length < 0 and "end" or nil)
        right = math.max(right, x + (length < 0 and 0 or svg.label_width(text)))
    end
    local bottom = top + math.max(1, #self.values) * ROW
    body[#body + 1] = svg.element("line", { "class", "heed-axis", "x1", zero, "x2", zero, "y1",
        top - 4, "y2", bottom - 4 })
    if self.x_name then
        bottom = bottom + 18
        body[#body + 1] = svg.text(left + before + WIDE / 2, bottom - 4, self.x_name, "heed-faint",
            "middle")
    end
    local size = captions.around(self, titled, body,
        math.max(right, left + before + WIDE) + captions.MARGIN, bottom)
    return { width = size.width, height = size.height + captions.MARGIN,
        title = self.title or "Bars", body = body }
end

return bar
