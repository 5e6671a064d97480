--- Points over two axes.

local braille = require "heed.viz.braille"
local check = require "heed.check"
local errors = require "heed.errors"
local Picture = require "heed.viz.picture"
local plot = require "heed.viz.plot"
local svg = require "heed.viz.svg"
local width = require "heed.viz.width"

local WHERE = "heed.viz.scatter"
local KNOWN = check.set("title", "caption", "x_name", "y_name", "groups", "width", "height")

---What heed.viz.scatter gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Scatter: heed.viz.Picture
---@field private groups { name: string?, x: number[], y: number[] }[]
---@field private height integer
---@field private note string?
local Scatter = Picture.class(WHERE)

-- ---- what is drawn ------------------------------------------------------------------------------

-- The group of each point, as texts.
local function labels_of(labels, count)
    if check.is_live(labels) and labels:dim() == 1 then labels = labels:totable() end
    check.type(WHERE, "groups", labels, "table")
    if #labels ~= count then
        errors.raise("%s: groups: expected %d labels, got %d", WHERE, count, #labels)
    end
    local texts = {}
    for i, label in ipairs(labels) do texts[i] = tostring(label) end
    return texts
end

-- Numbers by size, before words by letters.
local function in_order(a, b)
    local x, y = tonumber(a.name), tonumber(b.name)
    if x and y then return x < y end
    if x or y then return x ~= nil end
    return a.name < b.name
end

-- The points that are finite, by group, and how many are not.
local function groups_of(x, y, labels)
    local by_name, list, lost = {}, {}, 0
    for i = 1, #x do
        local name = labels and labels[i] or ""
        local group = by_name[name]
        if not group then
            group = { name = labels and name or nil, x = {}, y = {} }
            by_name[name], list[#list + 1] = group, group
        end
        if plot.is_finite(x[i]) and plot.is_finite(y[i]) then
            group.x[#group.x + 1], group.y[#group.y + 1] = x[i], y[i]
        else
            lost = lost + 1
        end
    end
    if labels then table.sort(list, in_order) end
    return list, lost
end

-- A little beyond the outermost points, so that these are not on the frame.
local function padded(low, high)
    local pad = (high - low) * 0.04
    return low - pad, high + pad
end

---@class heed.viz.ScatterOptions
---@field title? string above it
---@field caption? string below it
---@field x_name? string of the axis
---@field y_name? string of the axis
---@field groups? any[]|heed.Tensor what each point belongs to, words or classes, which get colours
---(in the terminal, marks)
---@field width? integer columns of the terminal in all, default 80
---@field height? integer lines, default 12

---A picture of points: print it, or write it with `:save "it.svg"`, `"it.html"` or `"it.png"`.
---Points that are not finite are not drawn, and it says how many.
---
---```lua
---local x, y = heed.randn(60), heed.randn(60)
---local groups = {}
---for i = 1, 60 do groups[i] = x[i] + y[i] > 0 and "above" or "below" end
---local options = { groups = groups, title = "two halves", x_name = "x", height = 8, width = 50 }
---print(heed.viz.scatter(x, y, options))
---```
---@param x number[]|heed.Tensor [N]
---@param y number[]|heed.Tensor [N]
---@param options? heed.viz.ScatterOptions
---@return heed.viz.Scatter
local function scatter(x, y, options)
    options = check.options(WHERE, options, KNOWN)
    local self = plot.options(WHERE, options)
    x, y = plot.numbers(WHERE, "x", x), plot.numbers(WHERE, "y", y)
    if #x ~= #y then errors.raise("%s: y: expected as many as x (%d), got %d", WHERE, #x, #y) end
    local lost
    self.groups, lost = groups_of(x, y, options.groups ~= nil and labels_of(options.groups, #x)
        or nil)
    if lost > 0 then self.note = ("%d of %d points are not finite"):format(lost, #x) end
    local xs, ys = {}, {}
    for g, group in ipairs(self.groups) do xs[g], ys[g] = group.x, group.y end
    self.x_low, self.x_high = padded(plot.extent(xs))
    self.y_low, self.y_high = padded(plot.extent(ys))
    return setmetatable(self, Scatter)
end

-- ---- in the terminal ----------------------------------------------------------------------------

local MARKS = { "●", "○", "+", "×", "◆", "◇", "▲", "△" }

local function mark_of(g) return MARKS[(g - 1) % #MARKS + 1] end

-- One group in dots of braille.
local function dots(self, columns)
    local grid = braille.new(columns, self.height)
    for _, group in ipairs(self.groups) do
        for i, x in ipairs(group.x) do
            braille.dot(grid, (x - self.x_low) / (self.x_high - self.x_low) * grid.wide,
                (self.y_high - group.y[i]) / (self.y_high - self.y_low) * grid.high)
        end
    end
    return braille.rows(grid)
end

-- Several by their marks; where groups meet, the last one's.
local function marks(self, columns)
    local cells, rows = {}, {}
    for g, group in ipairs(self.groups) do
        for i, x in ipairs(group.x) do
            local right = (x - self.x_low) / (self.x_high - self.x_low)
            local down = (self.y_high - group.y[i]) / (self.y_high - self.y_low)
            local column = math.floor(right * (columns - 1) + 0.5)
            local row = math.floor(down * (self.height - 1) + 0.5)
            cells[row * columns + column] = mark_of(g)
        end
    end
    for row = 0, self.height - 1 do
        local texts = {}
        for column = 0, columns - 1 do texts[column + 1] = cells[row * columns + column] or " " end
        rows[row + 1] = table.concat(texts)
    end
    return rows
end

function Scatter:__tostring()
    local named = #self.groups > 0 and self.groups[1].name ~= nil
    local names, for_names = {}, 0
    for g, group in ipairs(named and self.groups or {}) do
        if g <= self.height then
            names[g - 1] = ("%s %s"):format(mark_of(g),
                (width.cut(group.name, plot.longest_name(self))))
            for_names = math.max(for_names, width.of(names[g - 1]) + 1)
        end
    end
    local columns, ends, indent = plot.columns(self, for_names)
    return plot.text(self, (named and marks or dots)(self, columns), names, columns, ends, indent)
end

-- ---- as SVG -------------------------------------------------------------------------------------

local MOST_POINTS = 4000 -- with numbers under the pointer

local function draw_circles(group, colour, frame)
    for i, x in ipairs(group.x) do
        local hint = svg.hint(("%s%.6g, %.6g"):format(group.name and group.name .. ": " or "", x,
            group.y[i]))
        frame.body[#frame.body + 1] = svg.element("circle",
            { "class", "heed-point heed-fill-" .. colour, "cx", frame.x_of(x),
            "cy", frame.y_of(group.y[i]), "r", 3.5 }, hint)
    end
end

-- Very many: dots in one path, each place once.
local function draw_dots(group, colour, frame)
    local path, seen = {}, {}
    for i, x in ipairs(group.x) do
        local at = ("M%d %dh0"):format(math.floor(frame.x_of(x) + 0.5),
            math.floor(frame.y_of(group.y[i]) + 0.5))
        if not seen[at] then path[#path + 1], seen[at] = at, true end
    end
    frame.body[#frame.body + 1] = svg.element("path",
        { "class", "heed-dots heed-stroke-" .. colour, "d", table.concat(path) })
end

local function draw_legend(self, frame)
    local room, x = 0, frame.left + plot.WIDTH + 12
    for g, group in ipairs(self.groups) do
        if group.name then
            local y, name = frame.top + (g - 0.5) * (svg.FONT_SIZE + 6),
                (width.cut(group.name, plot.LONGEST_NAME))
            frame.body[#frame.body + 1] = svg.element("circle",
                { "class", "heed-fill-" .. plot.colour(g), "cx", x + 4, "cy", y, "r", 4 })
            frame.body[#frame.body + 1] = svg.text(x + 14, y + 4, name, "heed-label heed-ink")
            room = math.max(room, 26 + svg.label_width(name))
        end
    end
    return room
end

function Scatter:draw(titled)
    local frame, count = plot.frame(self, titled), 0
    for _, group in ipairs(self.groups) do count = count + #group.x end
    for g, group in ipairs(self.groups) do
        (count > MOST_POINTS and draw_dots or draw_circles)(group, plot.colour(g), frame)
    end
    return plot.drawing(self, titled, frame, "Scatter", draw_legend(self, frame))
end

return scatter
