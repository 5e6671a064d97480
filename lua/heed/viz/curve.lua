--- Curves of numbers, a loss for example, in the terminal (in dots of braille) and as SVG.

local braille = require "heed.viz.braille"
local check = require "heed.check"
local errors = require "heed.errors"
local Picture = require "heed.viz.picture"
local plot = require "heed.viz.plot"
local svg = require "heed.viz.svg"
local width = require "heed.viz.width"

local WHERE = "heed.viz.curve"
local KNOWN = check.set("title", "caption", "x", "x_name", "y_name", "width", "height")

---What heed.viz.curve gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Curve: heed.viz.Picture
---@field private height integer
---@field private series { name: string?, values: number[] }[]
---@field private title string?
---@field private width integer
---@field private x number[]? where the values stand; default 1, 2, 3 ...
---@field private x_high number
---@field private x_low number
---@field private y_high number
---@field private y_low number
local Curve = Picture.class(WHERE)

-- ---- what is drawn ------------------------------------------------------------------------------

-- A list of { name, values }, sorted by name; one list alone has no name.
local function series_of(values)
    if check.is_tensor(values) or type(values) ~= "table" or values[1] ~= nil
        or next(values) == nil then
        return { { values = plot.numbers(WHERE, "values", values) } }
    end
    local series = {}
    for name, list in pairs(values) do
        check.type(WHERE, "name", name, "string")
        series[#series + 1] = { name = name, values = plot.numbers(WHERE, name, list) }
    end
    table.sort(series, function(a, b) return a.name < b.name end)
    return series
end

-- Where the values stand, and the ends of that axis.
local function place(self, x, count)
    if x == nil then
        self.x_low, self.x_high = 1, math.max(count, 2)
        self.x_ends = { "1", tostring(count) }
        return
    end
    self.x = plot.numbers(WHERE, "x", x)
    if #self.x < count then
        errors.raise("%s: x: expected a number for each of %d values, got %d", WHERE, count,
            #self.x)
    end
    for i, value in ipairs(self.x) do
        if not plot.is_finite(value) then
            errors.raise("%s: x: expected finite numbers, got %s at %d", WHERE, value, i)
        end
    end
    self.x_low, self.x_high = plot.extent { self.x }
end

local function place_of(self, i) return self.x and self.x[i] or i end

---@class heed.viz.CurveOptions
---@field title? string above it
---@field caption? string below it
---@field x? number[]|heed.Tensor where the values stand, default 1, 2, 3 ...
---@field x_name? string of the axis
---@field y_name? string of the axis
---@field width? integer columns of the terminal in all, default 80
---@field height? integer lines, default 12

---A picture of curves over 1, 2, 3 ... or over x: print it, or write it with `:save "it.svg"`,
---`"it.html"` or `"it.png"`. Numbers that are not finite leave gaps.
---
---```lua
---local train, valid = {}, {}
---for epoch = 1, 20 do train[epoch], valid[epoch] = 3 / epoch, 3 / epoch + epoch / 40 end
---local both = { train = train, valid = valid }
---print(heed.viz.curve(both, { title = "loss", x_name = "epoch", height = 6, width = 60 }))
---```
---@param values number[]|heed.Tensor|table<string, number[]|heed.Tensor> one list or vector, or
---several by their names
---@param options? heed.viz.CurveOptions
---@return heed.viz.Curve
local function curve(values, options)
    options = check.options(WHERE, options, KNOWN)
    local self, lists, count = plot.options(WHERE, options), {}, 0
    self.series = series_of(values)
    for s, one in ipairs(self.series) do
        lists[s], count = one.values, math.max(count, #one.values)
    end
    self.y_low, self.y_high = plot.extent(lists)
    place(self, options.x, count)
    return setmetatable(self, Curve)
end

-- Calls line(i, a, j, b) for each pair of neighbours, and for a number alone with itself. Long
-- lists are drawn by the lowest and highest of each stretch, in their order, so that no peak is
-- lost.
local function each_line(values, stretches, line)
    local step = math.max(1, #values // stretches)
    local last_i, last
    local function to(i, value)
        if not plot.is_finite(value) then
            last = nil
            return
        end
        line(last and last_i or i, last or value, i, value)
        last_i, last = i, value
    end
    for from = 1, #values, step do
        local low, high = from, from
        for i = from, math.min(from + step - 1, #values) do
            if plot.is_finite(values[i]) then
                if not plot.is_finite(values[low]) or values[i] < values[low] then low = i end
                if not plot.is_finite(values[high]) or values[i] > values[high] then high = i end
            end
        end
        to(math.min(low, high), values[math.min(low, high)])
        if low ~= high then to(math.max(low, high), values[math.max(low, high)]) end
    end
end

-- The last number of a list that is finite, and where it stands.
local function last_of(values)
    for i = #values, 1, -1 do
        if plot.is_finite(values[i]) then return values[i], i end
    end
end

-- ---- in the terminal ----------------------------------------------------------------------------

local function dots(self, columns)
    local grid = braille.new(columns, self.height)
    local function x_of(i)
        return (place_of(self, i) - self.x_low) / (self.x_high - self.x_low) * grid.wide
    end
    local function y_of(value)
        return (self.y_high - value) / (self.y_high - self.y_low) * grid.high
    end
    for _, one in ipairs(self.series) do
        each_line(one.values, 2 * grid.wide, function(i, a, j, b) braille.line(grid, x_of(i),
            y_of(a), x_of(j), y_of(b)) end)
    end
    return braille.rows(grid)
end

-- The names at the lines where their curves end; those of one line stand on the next free one.
local function names_by_line(self)
    local names = {}
    for _, one in ipairs(self.series) do
        local value = one.name and last_of(one.values)
        if value then
            local share = (self.y_high - value) / (self.y_high - self.y_low)
            local line = math.floor(share * (self.height - 1) + 0.5)
            while names[line] and line < self.height - 1 do line = line + 1 end
            while names[line] and line > 0 do line = line - 1 end
            names[line] = (width.cut(one.name, plot.longest_name(self)))
        end
    end
    return names
end

function Curve:__tostring()
    local names, for_names = names_by_line(self), 0
    for _, name in pairs(names) do for_names = math.max(for_names, width.of(name) + 1) end
    local columns, ends, indent = plot.columns(self, for_names)
    return plot.text(self, dots(self, columns), names, columns, ends, indent)
end

-- ---- as SVG -------------------------------------------------------------------------------------

local MOST_SPOTS = 240 -- points with a number under the pointer, a curve

local function draw_line(self, one, colour, frame)
    local path, previous, body = {}, nil, frame.body
    local function x_of(i) return frame.x_of(place_of(self, i)) end
    each_line(one.values, plot.WIDTH, function(i, a, j, b)
        if i ~= previous or i == j then
            path[#path + 1] = ("M%s %s"):format(svg.number(x_of(i)), svg.number(frame.y_of(a)))
        end
        path[#path + 1] = ("L%s %s"):format(svg.number(x_of(j)), svg.number(frame.y_of(b)))
        previous = j
    end)
    body[#body + 1] = svg.element("path", { "class", "heed-curve heed-stroke-" .. colour, "d",
        table.concat(path) })
    for i = 1, #one.values, math.max(1, math.ceil(#one.values / MOST_SPOTS)) do
        local value = one.values[i]
        if plot.is_finite(value) then
            local hint = svg.hint(("%s%.10g: %.6g"):format(one.name and one.name .. " " or "",
                place_of(self, i), value))
            body[#body + 1] = svg.element("circle",
                { "class", "heed-spot heed-fill-" .. colour, "cx", x_of(i), "cy", frame.y_of(value),
                "r", 4 }, hint)
        end
    end
end

-- Places from above down, each at least so far below the one before, the last not below the bottom.
local function push_apart(places, distance, bottom)
    for p = 2, #places do places[p].y = math.max(places[p].y, places[p - 1].y + distance) end
    for p = #places, 1, -1 do
        local next_one = places[p + 1]
        places[p].y = math.min(places[p].y, next_one and next_one.y - distance or bottom)
    end
end

-- The names at the ends of their curves, pushed apart where they would meet. The room that they
-- take.
local function draw_names(self, frame)
    local ends, room = {}, 0
    for s, one in ipairs(self.series) do
        local value, i = last_of(one.values)
        if one.name and value then
            ends[#ends + 1] = { y = frame.y_of(value), x = frame.x_of(place_of(self, i)),
                name = one.name, colour = plot.colour(s) }
        end
    end
    table.sort(ends, function(a, b) return a.y < b.y end)
    push_apart(ends, svg.FONT_SIZE + 3, frame.top + plot.HEIGHT)
    for _, at in ipairs(ends) do
        local name = width.cut(at.name, plot.LONGEST_NAME)
        room = math.max(room, at.x + 8 + svg.label_width(name) - frame.left - plot.WIDTH)
        frame.body[#frame.body + 1] = svg.text(at.x + 8, at.y + 4, name,
            "heed-label heed-fill-" .. at.colour)
    end
    return room
end

-- The picture as a drawing of heed.viz.svg.
function Curve:draw(titled)
    if not self.x then
        self.x_ticks = {}
        for _, i in ipairs(plot.ticks(1, self.x_high, 6)) do
            if i >= 1 and i == math.floor(i) then self.x_ticks[#self.x_ticks + 1] = i end
        end
    end
    local frame = plot.frame(self, titled)
    for s, one in ipairs(self.series) do draw_line(self, one, plot.colour(s), frame) end
    return plot.drawing(self, titled, frame, "Curve", draw_names(self, frame))
end

return curve
