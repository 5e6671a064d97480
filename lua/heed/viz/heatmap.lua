--- Matrices of any numbers in shades: a confusion matrix, correlations, weights of a layer.

local captions = require "heed.viz.captions"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local matrices = require "heed.viz.matrices"
local panels = require "heed.viz.panels"
local Picture = require "heed.viz.picture"
local reduce = require "heed.viz.reduce"
local scale = require "heed.viz.scale"
local terminal = require "heed.viz.terminal"

local WHERE = "heed.viz.heatmap"
local KNOWN = check.set("x", "y", "title", "caption", "panels", "width", "min", "max", "numbers",
    "digits", "colour")

local LABELS = "labels are x, those of the columns, and y, those of the rows"
local ELSEWHERE = {
    labels = LABELS, names = LABELS, classes = LABELS, class_names = LABELS, ticks = LABELS,
    xlabels = "it is x", xticklabels = "it is x", xticks = "it is x", columns = "it is x",
    ylabels = "it is y", yticklabels = "it is y", yticks = "it is y", rows = "it is y",
    annot = "it is numbers = true", annotate = "it is numbers = true",
    values = "it is numbers = true", fmt = "it is digits", format = "it is digits",
    precision = "it is digits", vmin = "it is min", vmax = "it is max",
}

---What heed.viz.heatmap gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Heatmap: heed.viz.Picture
local Heatmap = Picture.class(WHERE)

local MOST_LINES, MOST_CELLS = 60, 400 -- in the terminal; of an SVG on each side
local MOST_DIGITS = 17 -- what a double has

function Heatmap:__tostring()
    local picture = matrices.fitted(self)
    return matrices.text(reduce.to(picture, MOST_LINES, matrices.most_columns(picture)))
end

function Heatmap:draw(titled, live)
    return panels.draw(reduce.to(self, MOST_CELLS, MOST_CELLS), titled, live)
end

-- [R, C] or [P, R, C], of numbers or of what is true.
local function tensor_of(values)
    if type(values) == "table" then
        local ok, t = pcall(core.tensor, values, { dtype = "f64" })
        if not ok then
            errors.raise("%s: values: %s", WHERE, tostring(t):match "values: (.*)$" or tostring(t))
        end
        values = t
    end
    if not check.is_live(values) then
        errors.raise("%s: values: expected a tensor or a table of rows, got %s", WHERE,
            check.describe(values))
    end
    local dims = values:dim()
    if dims ~= 2 and dims ~= 3 then
        errors.raise("%s: values: expected [R, C] or [P, R, C], got %s", WHERE,
            tostring(values.shape))
    end
    return values.dtype == "bool" and values:to "u8" or values
end

local function panels_of(values)
    if values:dim() == 2 then return { { rows = values:totable() } } end
    local list = {}
    for p, rows in ipairs(values:totable()) do list[p] = { rows = rows, title = tostring(p) } end
    if #list == 1 then list[1].title = nil end
    return list
end

local function digits_of(value)
    local digits = check.integer(WHERE, "digits", value)
    if digits <= MOST_DIGITS then return digits end
    return errors.raise("%s: digits: expected at most %d, got %d", WHERE, MOST_DIGITS, digits)
end

-- The lowest and highest of the numbers that are finite.
local function extent(list)
    local low, high = math.huge, -math.huge
    for _, panel in ipairs(list) do
        for _, row in ipairs(panel.rows) do
            for _, value in ipairs(row) do
                if math.abs(value) < math.huge then
                    low, high = math.min(low, value), math.max(high, value)
                end
            end
        end
    end
    if low > high then return 0, 1 end
    return low, high
end

---@class heed.viz.HeatmapOptions
---@field x? string[]|string labels of the columns, a list, or a string whose characters they are
---(default their numbers)
---@field y? string[]|string labels of the rows
---@field title? string above it
---@field caption? string below it
---@field panels? string[] titles of panels, default their numbers
---@field width? integer columns of the terminal for panels side by side, default 80
---@field min? number what is drawn weakest, default 0; where some are negative, both sides reach as
---far as the further
---@field max? number what is drawn strongest, default the highest
---@field numbers? boolean whether each cell says its number, default false
---@field digits? integer significant digits of those that are not whole, default 4; fewer, down to
---2, where the terminal is too narrow. Where these do not fit either, there are no numbers, and a
---line says so
---@field colour? boolean whether the terminal has colours, default whether standard output is one
---that has

---A picture of a matrix in shades: print it, or write it with `:save "it.svg"`, `"it.html"` or
---`"it.png"`. Numbers below 0 have a colour of their own (in a terminal without colours, lines);
---what is no number is marked. Where a screen has too few cells, each stands for a block, and it
---says so.
---
---```lua
---local names = { "cat", "dog", "cow" }
---local matrix = heed.metrics.confusion({ 1, 2, 2, 3, 3 }, { 1, 1, 2, 3, 2 })
---local caption = "rows: what it is; columns: the guess"
---print(heed.viz.heatmap(matrix, { x = names, y = names, numbers = true, caption = caption }))
---print(heed.viz.heatmap { { 1.5, -0.5, 0 }, { 0 / 0, 0.5, -1.5 } })
---```
---@param values heed.Tensor|number[][] [R, C], or [P, R, C]: a panel a matrix
---@param options? heed.viz.HeatmapOptions
---@return heed.viz.Heatmap
local function heatmap(values, options)
    options = check.options(WHERE, options, KNOWN, ELSEWHERE)
    values = tensor_of(values)
    local digits = options.digits ~= nil and digits_of(options.digits) or nil
    local list = panels_of(values)
    matrices.name_panels(WHERE, list, options.panels)
    local title, caption = captions.of(WHERE, options)
    local low, high = extent(list)
    return setmetatable({
        panels = list,
        x = matrices.labels(WHERE, "x", options.x, values:size(-1)),
        y = matrices.labels(WHERE, "y", options.y, values:size(-2)),
        title = title, caption = caption, kind = "Heatmap",
        width = check.integer(WHERE, "width", options.width or terminal.COLUMNS),
        scale = scale.of(WHERE, low, high, options),
        numbers = check.flag(WHERE, "numbers", options.numbers, false), digits = digits,
        colour = check.flag(WHERE, "colour", options.colour, terminal.wants_colour(1)),
    }, Heatmap)
end

return heatmap
