--- The picture of matrices of weights: a row for each query, a column for each key, the darker the more; a panel for each head.

local check = require "heed.check"
local errors = require "heed.errors"
local Picture = require "heed.viz.picture"
local svg = require "heed.viz.svg"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = "heed.viz.attention"
local SHADES = { [0] = "  ", "░░", "▒▒", "▓▓", "██" }
local LONGEST_LABEL = 18

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
    if not check.is_tensor(weights) then
        errors.raise("heed.viz.attention: weights: expected a tensor, got %s", check.describe(weights))
    end
    local dims = weights:dim()
    if dims == 2 then return { { rows = weights:totable() } } end
    if dims ~= 3 and dims ~= 4 then
        errors.raise("heed.viz.attention: weights: expected [L, S], [H, L, S] or [B, H, L, S], got %s", tostring(weights.shape))
    end
    local batches = dims == 4 and weights:totable() or { weights:totable() }
    local panels = {}
    for b, heads in ipairs(batches) do
        for h, rows in ipairs(heads) do
            local title = ("head %d"):format(h)
            panels[#panels + 1] = { rows = rows, title = #batches > 1 and ("%d, %s"):format(b, title) or title }
        end
    end
    if #panels == 1 then panels[1].title = nil end
    return panels
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
    local panels = panels_of(weights)
    if options.panels ~= nil then
        for i, title in ipairs(labels_of("panels", options.panels, #panels)) do panels[i].title = title end
    end
    return setmetatable({
        panels = panels,
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

-- ---- as SVG --------------------------------------------------------------------------------------------------------

local MARGIN, PANEL_GAP, PAGE_WIDTH = 16, 28, 960
-- Panels a row and pixels a cell where there are many pictures.
local SMALL_IN_ROW, LARGEST_SMALL = 4, 22
-- Pixels a cell: smaller ones have their columns' labels upright, or only every other label or fewer.
local SMALLEST_SLANTED, SMALLEST_LABELLED = 17, 11

-- A label as it is written beside its row: a blank would be invisible.
local function shown(label)
    if label:find "^%s*$" then return "␣" end
    return (width.cut(label, LONGEST_LABEL))
end

-- Pixels a cell of pictures among many: as many panels a row as leave each label its line. Beside a panel's cells are its labels.
local function small_cell(self, beside)
    local L, S = math.max(1, #self.y), math.max(1, #self.x)
    local room, size = PAGE_WIDTH - 2 * MARGIN + PANEL_GAP, 0
    for in_row = math.max(1, math.min(#self.panels, SMALL_IN_ROW)), 1, -1 do
        size = (room / in_row - PANEL_GAP - beside) // S
        if size >= SMALLEST_LABELLED then break end
    end
    return math.max(5, math.min(LARGEST_SMALL, size, 640 // L))
end

-- Sizes that all panels share: of a cell, of the labels at its left and above it, of the whole.
local function layout(self)
    local L, S = #self.y, #self.x
    local left, longest, last = 0, 0, 0
    for _, label in ipairs(self.y) do left = math.max(left, svg.label_width(shown(label))) end
    for _, label in ipairs(self.x) do
        last = svg.label_width(shown(label))
        longest = math.max(longest, last)
    end
    local cell = self.small and small_cell(self, left + 8) or math.max(5, math.min(28, 640 // math.max(L, S, 1)))
    local angle = longest <= cell - 4 and 0 or (cell >= SMALLEST_SLANTED and not self.small) and 45 or 90
    local above = longest * math.sin(math.rad(angle)) + (angle == 90 and 8 or svg.FONT_SIZE + 4)
    local title = self.panels[1] and self.panels[1].title and svg.FONT_SIZE + 10 or 0
    local overhang = angle == 45 and math.max(0, last * 0.71 - cell / 2) or 0
    return {
        cell = cell, left = left + 8, top = title + above, angle = angle, step = math.ceil(SMALLEST_LABELLED / cell),
        width = left + 8 + S * cell + overhang, height = title + above + L * cell,
    }
end

local function cell_hint(self, i, j, weight)
    return svg.hint(("%s → %s: %.3f"):format(shown(self.y[i]), shown(self.x[j]), weight))
end

-- Weights of exactly 0, as behind a mask, are left blank.
local function draw_cells(self, at, rows, body)
    local size = at.cell > 8 and at.cell - 1 or at.cell
    for i, row in ipairs(rows) do
        for j, weight in ipairs(row) do
            if weight ~= 0 then
                local share = math.max(0, math.min(1, weight / self.max))
                local broken = weight ~= weight
                body[#body + 1] = svg.element("rect", { "class", broken and "heed-cell heed-nan" or "heed-cell heed-weight",
                    "x", at.left + (j - 1) * at.cell, "y", at.top + (i - 1) * at.cell, "width", size, "height", size,
                    "fill-opacity", broken and 1 or share }, cell_hint(self, i, j, weight))
            end
        end
    end
end

local function draw_labels(self, at, body)
    for i = 1, #self.y, at.step do
        body[#body + 1] = svg.text(at.left - 6, at.top + (i - 0.5) * at.cell + 4, shown(self.y[i]), "heed-label heed-ink", "end")
    end
    for j = 1, #self.x, at.step do
        local x, y = at.left + (j - 0.5) * at.cell + (at.angle == 90 and 4 or 0), at.top - 6
        local turn = at.angle > 0 and { "transform", ("rotate(-%d %s %s)"):format(at.angle, svg.number(x), svg.number(y)) }
        body[#body + 1] = svg.text(x, y, shown(self.x[j]), "heed-label heed-ink", at.angle == 0 and "middle" or "start", turn)
    end
end

local function draw_panel(self, at, panel, x, y)
    local body = {}
    if panel.title then body[1] = svg.text(at.left, svg.FONT_SIZE, panel.title, "heed-ink") end
    local frame = { "class", "heed-line", "x", at.left - 1.5, "y", at.top - 1.5, "width", #self.x * at.cell + 2,
        "height", #self.y * at.cell + 2 }
    body[#body + 1] = svg.element("rect", frame)
    draw_labels(self, at, body)
    draw_cells(self, at, panel.rows, body)
    local place = { "transform", ("translate(%s %s)"):format(svg.number(x), svg.number(y)) }
    return svg.element("g", place, table.concat(body, "\n"))
end

-- From 0 to the darkest, with what the sides are.
local function draw_legend(max, x, y)
    local body = { svg.text(x, y + 9, "0", "heed-small heed-faint") }
    for i = 0, 19 do
        body[#body + 1] = svg.element("rect", { "class", "heed-weight", "x", x + 12 + i * 5, "y", y, "width", 5, "height", 10,
            "fill-opacity", (i + 0.5) / 20 })
    end
    body[#body + 1] = svg.text(x + 118, y + 9, ("%.3g"):format(max), "heed-small heed-faint")
    body[#body + 1] = svg.text(x + 156, y + 9, "rows look at columns", "heed-small heed-faint")
    return table.concat(body, "\n")
end

-- How many panels a row: all that fit, or as evenly many as the rows that they need allow.
local function panels_in_row(self, panel_width)
    local most = math.max(1, math.min(#self.panels, (PAGE_WIDTH - 2 * MARGIN + PANEL_GAP) // (panel_width + PANEL_GAP)))
    local rows = math.max(1, math.ceil(#self.panels / most))
    return self.small and math.max(1, math.ceil(#self.panels / rows)) or most
end

-- The picture as a drawing of heed.viz.svg.
function Attention:draw(titled)
    local at = layout(self)
    local in_row = panels_in_row(self, at.width)
    local top = MARGIN + (titled and self.title and svg.TITLE_SIZE + 14 or 0)
    local body = { titled and self.title and svg.text(MARGIN, MARGIN + svg.TITLE_SIZE, self.title, "heed-title heed-ink") or nil }
    for p, panel in ipairs(self.panels) do
        local column, row = (p - 1) % in_row, (p - 1) // in_row
        body[#body + 1] = draw_panel(self, at, panel, MARGIN + column * (at.width + PANEL_GAP), top + row * (at.height + PANEL_GAP))
    end
    local bottom = top + math.ceil(#self.panels / in_row) * (at.height + PANEL_GAP)
    if self.small then
        bottom = bottom - PANEL_GAP
    else
        body[#body + 1] = draw_legend(self.max, MARGIN, bottom - PANEL_GAP + 14)
    end
    local panels_width = in_row * (at.width + PANEL_GAP) - PANEL_GAP
    local title_width = titled and self.title and width.of(self.title) * svg.TITLE_SIZE * 0.62 or 0
    return {
        width = 2 * MARGIN + math.max(panels_width, title_width, 270), height = bottom + 14,
        title = self.title or "Attention weights", body = body,
    }
end

return { new = new, draw_legend = draw_legend, WHERE = WHERE }
