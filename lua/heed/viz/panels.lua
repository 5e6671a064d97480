--- Matrices of weights as a drawing: a panel each, side by side, words at their left and above them.
---
--- A picture that stands alone has an element a cell, and its numbers in titles, which a browser shows without any script. On a
--- page all cells of one shade are one path, which is a fraction of the text and of the elements; the numbers stand in
--- attributes of the panel, and heed.viz.pointer shows them.

local svg = require "heed.viz.svg"
local width = require "heed.viz.width"

local panels = { LONGEST_LABEL = 18 }

local MARGIN, PANEL_GAP, PAGE_WIDTH = 16, 28, 960
local LARGEST, SMALLEST, TALLEST = 28, 5, 640 -- pixels: a cell, and all rows
-- Panels a row and pixels a cell where there are many pictures.
local SMALL_IN_ROW, LARGEST_SMALL = 4, 22
-- Pixels a cell: smaller ones have their columns' labels upright, or only every other label or fewer. So many words still have
-- a line each.
local SMALLEST_SLANTED, SMALLEST_LABELLED, MOST_LABELLED = 17, 11, 84
local SLANT = math.sin(math.rad(45))
local LONGEST_HINT = 60

-- A label as it is written beside its row: a blank would be invisible.
local function shown(label, longest)
    if label:find "^%s*$" then return "␣" end
    return (width.cut(label, longest or panels.LONGEST_LABEL))
end

-- ---- sizes -----------------------------------------------------------------------------------------------------------

-- Pixels a cell that so many rows allow.
local function for_rows(count)
    return math.max(TALLEST // math.max(1, count), count <= MOST_LABELLED and SMALLEST_LABELLED or 0)
end

-- Pixels a cell of pictures among many: as many panels a row as leave each label its line. Beside a panel's cells are its labels.
local function small_cell(picture, beside)
    local S = math.max(1, #picture.x)
    local room, size = PAGE_WIDTH - 2 * MARGIN + PANEL_GAP, 0
    for in_row = math.max(1, math.min(#picture.panels, SMALL_IN_ROW)), 1, -1 do
        size = (room / in_row - PANEL_GAP - beside) // S
        if size >= SMALLEST_LABELLED then break end
    end
    return math.max(SMALLEST, math.min(LARGEST_SMALL, size, for_rows(#picture.y)))
end

local function large_cell(picture, beside)
    local S = math.max(1, #picture.x)
    local size = math.min(LARGEST, for_rows(math.max(#picture.y, S)))
    if size * S + beside > PAGE_WIDTH - 2 * MARGIN then size = TALLEST // S end
    return math.max(SMALLEST, size)
end

-- How wide the labels are, and the widest.
local function label_widths(labels)
    local widths, widest = {}, 0
    for i, label in ipairs(labels) do
        widths[i] = svg.label_width(shown(label))
        widest = math.max(widest, widths[i])
    end
    return widths, widest
end

-- How far slanted labels reach beyond the last column.
local function overhang_of(widths, cell)
    local most = 0
    for j, size in ipairs(widths) do most = math.max(most, SLANT * (size + svg.FONT_SIZE) - (#widths - j + 0.5) * cell) end
    return most
end

-- Sizes that all panels share: of a cell, of the labels at its left and above it, of the whole.
local function layout(picture)
    local L, S = #picture.y, #picture.x
    local _, left = label_widths(picture.y)
    local widths, longest = label_widths(picture.x)
    local cell = (picture.small and small_cell or large_cell)(picture, left + 8)
    local angle = longest <= cell - 4 and 0 or (cell >= SMALLEST_SLANTED and not picture.small) and 45 or 90
    local above = angle == 90 and longest + 8 or (angle == 45 and SLANT * longest or 0) + svg.FONT_SIZE + 4
    local title = picture.panels[1] and picture.panels[1].title and svg.FONT_SIZE + 10 or 0
    return {
        cell = cell, gap = cell > 8 and 1 or 0, left = left + 8, top = title + above, angle = angle,
        step = math.ceil(SMALLEST_LABELLED / cell), width = left + 8 + S * cell + (angle == 45 and overhang_of(widths, cell) or 0),
        height = title + above + L * cell,
    }
end

-- ---- cells -----------------------------------------------------------------------------------------------------------

-- How dark a weight is drawn, in hundredths; nil for what is no number.
local function shade(weight, max)
    if weight ~= weight then return nil end
    return math.floor(math.max(0, math.min(1, weight / max)) * 100 + 0.5)
end

local function number_of(weight) return weight ~= weight and "nan" or ("%.3f"):format(weight) end

local function cell_hint(picture, i, j, weight)
    local from, to = shown(picture.y[i], LONGEST_HINT), shown(picture.x[j], LONGEST_HINT)
    return svg.hint(("%s → %s: %s"):format(width.isolated(from), width.isolated(to), number_of(weight)))
end

-- The cells' group: inside, they count from its own corner.
local function cells_group(at, class, body)
    local place = ("translate(%s %s)"):format(svg.number(at.left), svg.number(at.top))
    return svg.element("g", { "class", class, "transform", place }, table.concat(body, "\n"))
end

-- An element a cell. Weights of exactly 0, as behind a mask, are left blank.
local function draw_cells(picture, at, rows)
    local body, size = {}, at.cell - at.gap
    for i, row in ipairs(rows) do
        for j, weight in ipairs(row) do
            if weight ~= 0 then
                local dark = shade(weight, picture.max)
                local attributes = { "x", (j - 1) * at.cell, "y", (i - 1) * at.cell, "width", size, "height", size }
                table.move(dark and { "fill-opacity", dark / 100 } or { "class", "heed-nan" }, 1, 2, 9, attributes)
                body[#body + 1] = svg.element("rect", attributes, cell_hint(picture, i, j, weight))
            end
        end
    end
    return cells_group(at, "heed-cells heed-weight", body)
end

-- A path a shade.
local function draw_shades(picture, at, rows)
    local paths, shades, size = {}, {}, at.cell - at.gap
    local square = ("h%sv%sh-%sz"):format(size, size, size)
    for i, row in ipairs(rows) do
        for j, weight in ipairs(row) do
            local dark = shade(weight, picture.max) or -1
            if dark ~= 0 then
                if not paths[dark] then
                    paths[dark], shades[#shades + 1] = {}, dark
                end
                table.insert(paths[dark], ("M%d %d%s"):format((j - 1) * at.cell, (i - 1) * at.cell, square))
            end
        end
    end
    table.sort(shades)
    local body = {}
    for s, dark in ipairs(shades) do
        local look = dark < 0 and { "class", "heed-nan" } or { "fill-opacity", dark / 100 }
        body[s] = svg.element("path", { look[1], look[2], "d", table.concat(paths[dark]) })
    end
    return cells_group(at, "heed-weight", body)
end

-- The numbers of a panel for the script of a page: thousandths, rows apart by ";", a 0 is nothing.
local function numbers_of(rows)
    local lines = {}
    for i, row in ipairs(rows) do
        local cells = {}
        for j, weight in ipairs(row) do cells[j] = weight == 0 and "" or number_of(weight):gsub("^0%.", ".") end
        lines[i] = table.concat(cells, ",")
    end
    return table.concat(lines, ";")
end

-- ---- panels ----------------------------------------------------------------------------------------------------------

-- Those of the rows, and those of the columns: each a group.
local function draw_labels(picture, at, body)
    local beside, above = {}, {}
    for i = 1, #picture.y, at.step do
        beside[#beside + 1] = svg.text(at.left - 6, at.top + (i - 0.5) * at.cell + 4, shown(picture.y[i]))
    end
    local shift = at.angle == 90 and 4 or at.angle == 45 and 3 or 0
    for j = 1, #picture.x, at.step do
        local x, y = at.left + (j - 0.5) * at.cell + shift, at.top - 6
        local turn = at.angle > 0 and { "transform", ("rotate(-%d %s %s)"):format(at.angle, svg.number(x), svg.number(y)) }
        above[#above + 1] = svg.text(x, y, shown(picture.x[j]), nil, nil, turn)
    end
    local class = "heed-label heed-ink"
    body[#body + 1] = svg.element("g", { "class", class .. " heed-y", "text-anchor", "end" }, table.concat(beside, "\n"))
    body[#body + 1] = svg.element("g", { "class", class .. " heed-x", "text-anchor", at.angle == 0 and "middle" or "start" },
        table.concat(above, "\n"))
end

local function draw_panel(picture, at, panel, x, y, live)
    live = live and #picture.x > 0 and #picture.y > 0
    local body = {}
    if panel.title then body[1] = svg.text(at.left, svg.FONT_SIZE, panel.title, "heed-ink") end
    local frame = { "class", "heed-line", "x", at.left - 1.5, "y", at.top - 1.5, "width", #picture.x * at.cell + 2,
        "height", #picture.y * at.cell + 2 }
    body[#body + 1] = svg.element("rect", frame)
    draw_labels(picture, at, body)
    body[#body + 1] = (live and draw_shades or draw_cells)(picture, at, panel.rows)
    local group = { "transform", ("translate(%s %s)"):format(svg.number(x), svg.number(y)) }
    if live then
        local sizes = ("%s %s %d %d"):format(svg.number(at.left), svg.number(at.top), at.cell, at.step)
        table.move({ "class", "heed-panel", "tabindex", 0, "role", "img", "aria-label", panel.title or picture.title or "Attention",
            "data-at", sizes, "data-weights", numbers_of(panel.rows) }, 1, 12, 3, group)
    end
    return svg.element("g", group, table.concat(body, "\n"))
end

-- Words for the script of a page, whole.
local function words_of(labels)
    local words = {}
    for i, label in ipairs(labels) do words[i] = shown(label, LONGEST_HINT) end
    return words
end

---From 0 to the darkest, with what the sides are.
---@param max number
---@param x number
---@param y number
---@return string
function panels.legend(max, x, y)
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
local function panels_in_row(picture, panel_width)
    local most = math.max(1, math.min(#picture.panels, (PAGE_WIDTH - 2 * MARGIN + PANEL_GAP) // (panel_width + PANEL_GAP)))
    local rows = math.max(1, math.ceil(#picture.panels / most))
    return picture.small and math.max(1, math.ceil(#picture.panels / rows)) or most
end

---@param picture heed.viz.Attention
---@param titled boolean its title stands in it
---@param live? boolean it is for a page with the script of heed.viz.pointer
---@return table drawing of heed.viz.svg
function panels.draw(picture, titled, live)
    local at = layout(picture)
    local in_row = panels_in_row(picture, at.width)
    local title = titled and picture.title
    local top = MARGIN + (title and svg.TITLE_SIZE + 14 or 0)
    local body = { title and svg.text(MARGIN, MARGIN + svg.TITLE_SIZE, title, "heed-title heed-ink") or nil }
    for p, panel in ipairs(picture.panels) do
        local column, row = (p - 1) % in_row, (p - 1) // in_row
        local x, y = MARGIN + column * (at.width + PANEL_GAP), top + row * (at.height + PANEL_GAP)
        body[#body + 1] = draw_panel(picture, at, panel, x, y, live)
    end
    local bottom = top + math.ceil(#picture.panels / in_row) * (at.height + PANEL_GAP)
    if picture.small then
        bottom = bottom - PANEL_GAP
    else
        body[#body + 1] = panels.legend(picture.max, MARGIN, bottom - PANEL_GAP + 14)
    end
    local panels_width = in_row * (at.width + PANEL_GAP) - PANEL_GAP
    local title_width = title and width.of(title) * svg.TITLE_SIZE * 0.62 or 0
    return {
        width = 2 * MARGIN + math.max(panels_width, title_width, 270), height = bottom + 14,
        title = picture.title or "Attention weights", body = body,
        words = live and { x = words_of(picture.x), y = words_of(picture.y) } or nil,
    }
end

return panels
