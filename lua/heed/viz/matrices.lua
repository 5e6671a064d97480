--- The picture of matrices of weights: a row for each query, a column for each key, the darker the more; a panel for each head.

local check = require "heed.check"
local errors = require "heed.errors"
local panels = require "heed.viz.panels"
local Picture = require "heed.viz.picture"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = "heed.viz.attention"
local SHADES = { [0] = "  ", "░░", "▒▒", "▓▓", "██" }
local LONGEST_LABEL = panels.LONGEST_LABEL

---What heed.viz.attention gives: it prints, and goes out as SVG and HTML.
---@class heed.viz.Attention: heed.viz.Picture
---@field private panels table[]
---@field private title string?
---@field private width integer
---@field private max number
---@field private small boolean?
---@field private y string[]
---@field private x string[]
local Attention = Picture.class(WHERE)

-- ---- what is drawn -------------------------------------------------------------------------------------------------

-- A list of { rows = [L][S] numbers, title }; one panel alone has no title of its own.
local function panels_of(weights)
    if not check.is_live(weights) or weights.dtype == "bool" then
        errors.raise("heed.viz.attention: weights: expected a tensor of numbers, got %s", check.describe(weights))
    end
    local dims = weights:dim()
    if dims == 2 then return { { rows = weights:totable() } } end
    if dims ~= 3 and dims ~= 4 then
        errors.raise("heed.viz.attention: weights: expected [L, S], [H, L, S] or [B, H, L, S], got %s", tostring(weights.shape))
    end
    local batches = dims == 4 and weights:totable() or { weights:totable() }
    local list = {}
    for b, heads in ipairs(batches) do
        for h, rows in ipairs(heads) do
            local title = ("head %d"):format(h)
            list[#list + 1] = { rows = rows, title = #batches > 1 and ("%d, %s"):format(b, title) or title }
        end
    end
    if #list == 1 then list[1].title = nil end
    return list
end

local function labels_of(name, labels, count)
    local texts = {}
    if labels == nil then
        for i = 1, count do texts[i] = tostring(i) end
        return texts
    end
    if type(labels) == "string" then labels = width.characters(labels) end
    check.type(WHERE, name, labels, "table")
    if #labels ~= count then
        errors.raise("heed.viz.attention: %s: expected %d labels, got %d", name, count, #labels)
    end
    for i, label in ipairs(labels) do texts[i] = tostring(label) end
    return texts
end

---The picture of options that are known to be ones.
---@param weights heed.Tensor [L, S], [H, L, S] or [B, H, L, S]
---@param options { x?: string[]|string, y?: string[]|string, title?: string, panels?: string[], width?: integer, max?: number,
---small?: boolean } small: one of many pictures on a page, so several panels a row and no legend
---@return heed.viz.Attention
local function new(weights, options)
    local list = panels_of(weights)
    if options.panels ~= nil then
        for i, title in ipairs(labels_of("panels", options.panels, #list)) do list[i].title = title end
    end
    return setmetatable({
        panels = list,
        x = labels_of("x", options.x, weights:size(-1)),
        y = labels_of("y", options.y, weights:size(-2)),
        title = options.title and check.type(WHERE, "title", options.title, "string"),
        width = check.integer(WHERE, "width", options.width or terminal.COLUMNS),
        max = check.number(WHERE, "max", options.max or 1, 1e-30),
        small = options.small,
    }, Attention)
end

-- ---- in the terminal -----------------------------------------------------------------------------------------------

-- Below 1/8 is blank, then a shade for each quarter.
local function shade(weight)
    if weight ~= weight then return "??" end
    return SHADES[math.floor(math.max(0, math.min(4, weight * 4 + 0.5)))]
end

-- The labels of the columns, read from top to bottom.
local function header(labels, indent)
    local columns, height = {}, 0
    for i, label in ipairs(labels) do
        local characters, taken = width.characters(label)
        if #characters > LONGEST_LABEL then
            characters[LONGEST_LABEL] = "…"
            taken[LONGEST_LABEL] = 1
        end
        columns[i] = { characters = characters, taken = taken, height = math.min(#characters, LONGEST_LABEL) }
        height = math.max(height, columns[i].height)
    end
    local lines = {}
    for row = 1, height do
        local cells = {}
        for i, column in ipairs(columns) do
            local at = row - (height - column.height)
            cells[i] = at < 1 and "  " or column.characters[at] .. (" "):rep(2 - column.taken[at])
        end
        lines[row] = (" "):rep(indent) .. table.concat(cells)
    end
    return lines
end

-- The lines of one panel.
local function block(self, panel, indent)
    local lines = panel.title and { panel.title } or {}
    for _, line in ipairs(header(self.x, indent + 1)) do lines[#lines + 1] = line end
    for i, row in ipairs(panel.rows) do
        local cells = {}
        for j, weight in ipairs(row) do cells[j] = shade(weight / self.max) end
        lines[#lines + 1] = width.fit(self.y[i], indent, true) .. " " .. table.concat(cells)
    end
    return lines
end

function Attention:__tostring()
    local indent = 0
    for _, label in ipairs(self.y) do indent = math.max(indent, math.min(width.of(label), LONGEST_LABEL)) end
    local blocks = {}
    for p, panel in ipairs(self.panels) do blocks[p] = block(self, panel, indent) end
    local lines = terminal.beside(blocks, self.width)
    if self.title then table.move({ self.title, "" }, 1, 2, 1, table.move(lines, 1, #lines, 3)) end
    return table.concat(lines, "\n")
end

-- ---- as SVG and HTML -----------------------------------------------------------------------------------------------

-- The picture as a drawing of heed.viz.svg.
function Attention:draw(titled, live) return panels.draw(self, titled, live) end

return { new = new, WHERE = WHERE }
