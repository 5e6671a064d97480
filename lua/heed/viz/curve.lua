--- Curves of numbers, a loss for example, in the terminal (in dots of braille) and as SVG.

local check = require "heed.check"
local errors = require "heed.errors"
local Picture = require "heed.viz.picture"
local svg = require "heed.viz.svg"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = "heed.viz.curve"
local KNOWN = check.set("title", "width", "height")
local LONGEST_NAME, MOST_CELLS = 18, 10000

---What heed.viz.curve gives: it prints, and goes out as SVG and HTML.
---@class heed.viz.Curve: heed.viz.Picture
---@field private count integer
---@field private height integer
---@field private high number
---@field private low number
---@field private series table[]
---@field private title string?
---@field private width integer
local Curve = Picture.class(WHERE)

-- ---- what is drawn -------------------------------------------------------------------------------------------------

local function numbers_of(name, values)
    if check.is_live(values) then
        if values:dim() ~= 1 then errors.raise("heed.viz.curve: %s: expected a vector, got %s", name, tostring(values.shape)) end
        values = values:totable()
    end
    local numbers = {}
    for i = 1, rawlen(check.type(WHERE, name, values, "table")) do
        numbers[i] = values[i]
        if type(numbers[i]) ~= "number" then
            errors.raise("heed.viz.curve: %s: expected numbers, got %s at %d", name, check.describe(numbers[i]), i)
        end
    end
    return numbers
end

-- A list of { name, values }, sorted by name; one list alone has no name.
local function series_of(values)
    if check.is_tensor(values) or type(values) ~= "table" or values[1] ~= nil or next(values) == nil then
        return { { values = numbers_of("values", values) } }
    end
    local series = {}
    for name, list in pairs(values) do
        check.type(WHERE, "name", name, "string")
        series[#series + 1] = { name = name, values = numbers_of(name, list) }
    end
    table.sort(series, function(a, b) return a.name < b.name end)
    return series
end

-- Distances between such numbers are finite too.
local function is_finite(x) return math.abs(x) < 0x1p1022 end

-- Lowest and highest of all finite numbers, apart, and the longest list's length.
local function extent(series)
    local low, high, count = math.huge, -math.huge, 0
    for _, one in ipairs(series) do
        count = math.max(count, #one.values)
        for _, value in ipairs(one.values) do
            if is_finite(value) then low, high = math.min(low, value), math.max(high, value) end
        end
    end
    if low > high then low, high = 0, 1 end
    if low == high then
        local half = low == 0 and 1 or math.abs(low) / 2
        low, high = low - half, high + half
    end
    return low, high, count
end

-- Columns or lines: no terminal has more than MOST_CELLS.
local function size_of(name, value, default, least)
    value = check.integer(WHERE, name, value or default, least)
    return value <= MOST_CELLS and value or errors.raise("%s: %s: expected at most %d, got %d", WHERE, name, MOST_CELLS, value)
end

---A picture of curves over 1, 2, 3 ...: print it, or write it with `:svg(path)` and `:html(path)` (true, or nil and a message;
---without a path they return the text). Numbers that are not finite leave gaps.
---
---```lua
---local loss = {}
---for step = 1, 200 do loss[step] = 3 / math.sqrt(step) end
---print(heed.viz.curve(loss, { title = "loss", height = 6, width = 40 }))
---```
---@param values number[]|heed.Tensor|table<string, number[]|heed.Tensor> one list or vector, or several by their names
---@param options? { title?: string, width?: integer, height?: integer } title: above it; width: columns of the
---terminal in all, default 80; height: lines of the curve, default 12
---@return heed.viz.Curve
local function curve(values, options)
    options = check.options(WHERE, options, KNOWN)
    local self = {
        series = series_of(values),
        title = options.title and check.type(WHERE, "title", options.title, "string"),
        width = size_of("width", options.width, terminal.COLUMNS, 20),
        height = size_of("height", options.height, 12, 2),
    }
    self.low, self.high, self.count = extent(self.series)
    return setmetatable(self, Curve)
end

-- Calls line(i, a, j, b) for each pair of neighbours, and for a number alone with itself. Long lists are drawn by the lowest
-- and highest of each stretch, in their order, so that no peak is lost.
local function each_line(values, stretches, line)
    local step = math.max(1, #values // stretches)
    local last_i, last
    local function to(i, value)
        if not is_finite(value) then
            last = nil
            return
        end
        line(last and last_i or i, last or value, i, value)
        last_i, last = i, value
    end
    for from = 1, #values, step do
        local low, high = from, from
        for i = from, math.min(from + step - 1, #values) do
            if is_finite(values[i]) then
                if not is_finite(values[low]) or values[i] < values[low] then low = i end
                if not is_finite(values[high]) or values[i] > values[high] then high = i end
            end
        end
        to(math.min(low, high), values[math.min(low, high)])
        if low ~= high then to(math.max(low, high), values[math.max(low, high)]) end
    end
end

-- The last number of a list that is finite, and where it stands.
local function last_of(values)
    for i = #values, 1, -1 do
        if is_finite(values[i]) then return values[i], i end
    end
end

-- ---- in the terminal -----------------------------------------------------------------------------------------------

-- A cell of braille is two dots wide and four high; dots[x][y] is its bit.
local DOTS = { [0] = { [0] = 0x01, 0x02, 0x04, 0x40 }, { [0] = 0x08, 0x10, 0x20, 0x80 } }

local function set_dot(grid, columns, x, y)
    local cell = (y // 4) * columns + x // 2
    grid[cell] = (grid[cell] or 0) | DOTS[x % 2][y % 4]
end

local function braille(self, columns)
    local grid, wide, high = {}, columns * 2 - 1, self.height * 4 - 1
    local function x_of(i) return (i - 1) / math.max(1, self.count - 1) * wide end
    local function y_of(value) return (self.high - value) / (self.high - self.low) * high end
    for _, one in ipairs(self.series) do
        each_line(one.values, 2 * wide, function(i, a, j, b)
            local x, y = x_of(i), y_of(a)
            local dx, dy = x_of(j) - x, y_of(b) - y
            local steps = math.max(1, math.ceil(math.abs(dx)), math.ceil(math.abs(dy)))
            for s = 0, steps do
                set_dot(grid, columns, math.floor(x + dx * s / steps + 0.5), math.floor(y + dy * s / steps + 0.5))
            end
        end)
    end
    return grid
end

-- The names at the lines where their curves end; those of one line stand on the next free one.
local function names_by_line(self)
    local names = {}
    for _, one in ipairs(self.series) do
        local value = one.name and last_of(one.values)
        if value then
            local line = math.floor((self.high - value) / (self.high - self.low) * (self.height - 1) + 0.5)
            while names[line] and line < self.height - 1 do line = line + 1 end
            while names[line] and line > 0 do line = line - 1 end
            names[line] = (width.cut(one.name, LONGEST_NAME))
        end
    end
    return names
end

local function row_text(grid, columns, row)
    local cells = {}
    for column = 0, columns - 1 do
        local bits = grid[row * columns + column]
        cells[column + 1] = bits and utf8.char(0x2800 | bits) or " "
    end
    return table.concat(cells)
end

function Curve:__tostring()
    local high, low = ("%.4g"):format(self.high), ("%.4g"):format(self.low)
    local indent = math.max(#high, #low)
    local names, for_names = names_by_line(self), 0
    for _, name in pairs(names) do for_names = math.max(for_names, width.of(name) + 1) end
    local columns = math.max(8, self.width - indent - 2 - for_names)
    local grid = braille(self, columns)
    local lines = self.title and { self.title } or {}
    for row = 0, self.height - 1 do
        local label = row == 0 and high or row == self.height - 1 and low or ""
        local line = ("%s %s%s %s"):format(width.fit(label, indent, true), label == "" and "│" or "┤", row_text(grid, columns, row),
            names[row] or "")
        lines[#lines + 1] = line:gsub("%s+$", "")
    end
    local last = tostring(self.count)
    lines[#lines + 1] = (" "):rep(indent + 1) .. "└" .. ("─"):rep(columns)
    lines[#lines + 1] = (" "):rep(indent + 2) .. "1" .. (" "):rep(columns - 1 - #last) .. last
    return table.concat(lines, "\n")
end

-- ---- as SVG --------------------------------------------------------------------------------------------------------

local PLOT_WIDTH, PLOT_HEIGHT, MARGIN, LEFT = 560, 260, 16, 56
local MOST_SPOTS = 240 -- points with a number under the pointer, a curve

-- Round numbers from low to high, about `count` of them.
local function ticks(low, high, count)
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
    for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do list[#list + 1] = k * step end
    return list
end

local function draw_axes(self, x_of, y_of, top, body)
    for _, value in ipairs(ticks(self.low, self.high, 5)) do
        local y = y_of(value)
        body[#body + 1] = svg.element("line", { "class", "heed-line", "x1", LEFT, "x2", LEFT + PLOT_WIDTH, "y1", y, "y2", y })
        body[#body + 1] = svg.text(LEFT - 8, y + 4, ("%.4g"):format(value), "heed-faint", "end")
    end
    for _, i in ipairs(ticks(1, math.max(self.count, 2), 6)) do
        if i >= 1 and i == math.floor(i) then
            body[#body + 1] = svg.text(x_of(i), top + PLOT_HEIGHT + 18, ("%d"):format(i), "heed-faint", "middle")
        end
    end
end

local function draw_line(one, colour, x_of, y_of, body)
    local path, previous = {}, nil
    each_line(one.values, PLOT_WIDTH, function(i, a, j, b)
        if i ~= previous or i == j then path[#path + 1] = ("M%s %s"):format(svg.number(x_of(i)), svg.number(y_of(a))) end
        path[#path + 1] = ("L%s %s"):format(svg.number(x_of(j)), svg.number(y_of(b)))
        previous = j
    end)
    body[#body + 1] = svg.element("path", { "class", "heed-curve heed-stroke-" .. colour, "d", table.concat(path) })
    for i = 1, #one.values, math.max(1, math.ceil(#one.values / MOST_SPOTS)) do
        local value = one.values[i]
        if is_finite(value) then
            local hint = svg.hint(("%s%d: %.6g"):format(one.name and one.name .. " " or "", i, value))
            body[#body + 1] = svg.element("circle", { "class", "heed-spot heed-fill-" .. colour, "cx", x_of(i), "cy", y_of(value),
                "r", 4 }, hint)
        end
    end
end

-- More curves than colours begin again.
local function colour_of(s) return (s - 1) % svg.SERIES_COUNT + 1 end

-- The names at the ends of their curves, pushed apart where they would meet. The room that they take.
local function draw_names(self, x_of, y_of, body)
    local ends, room = {}, 0
    for s, one in ipairs(self.series) do
        local value, i = last_of(one.values)
        if one.name and value then ends[#ends + 1] = { y = y_of(value), x = x_of(i), name = one.name, colour = colour_of(s) } end
    end
    table.sort(ends, function(a, b) return a.y < b.y end)
    for e, at in ipairs(ends) do
        if e > 1 then at.y = math.max(at.y, ends[e - 1].y + svg.FONT_SIZE + 3) end
        local name = width.cut(at.name, LONGEST_NAME)
        room = math.max(room, at.x + 8 + svg.label_width(name) - LEFT - PLOT_WIDTH)
        body[#body + 1] = svg.text(at.x + 8, at.y + 4, name, "heed-label heed-fill-" .. at.colour)
    end
    return room
end

-- The picture as a drawing of heed.viz.svg.
function Curve:draw(titled)
    local title = titled and self.title
    local top = MARGIN + (title and svg.TITLE_SIZE + 14 or 0)
    local function x_of(i) return LEFT + (i - 1) / math.max(1, self.count - 1) * PLOT_WIDTH end
    local function y_of(value) return top + (self.high - value) / (self.high - self.low) * PLOT_HEIGHT end
    local body = { title and svg.text(MARGIN, MARGIN + svg.TITLE_SIZE, title, "heed-title heed-ink") or nil }
    draw_axes(self, x_of, y_of, top, body)
    for s, one in ipairs(self.series) do draw_line(one, colour_of(s), x_of, y_of, body) end
    local room = draw_names(self, x_of, y_of, body)
    return {
        width = LEFT + PLOT_WIDTH + math.max(room, 8) + MARGIN, height = top + PLOT_HEIGHT + 26 + MARGIN,
        title = self.title or "Curve", body = body,
    }
end

return curve
