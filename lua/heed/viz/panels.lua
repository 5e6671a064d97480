--- Matrices of weights as a drawing: a panel each, side by side, words at their left and above
--- them.
---
--- A picture that stands alone has an element a cell, and its numbers in titles, which a browser
--- shows without any script. On a page all cells of one shade are one path, which is a fraction of
--- the text and of the elements; the numbers stand in attributes of the panel, and heed.viz.pointer
--- shows them.

local captions = require "heed.viz.captions"
local scales = require "heed.viz.scale"
local svg = require "heed.viz.svg"
local width = require "heed.viz.width"

local panels = { LONGEST_LABEL = 18, SIDES = "rows look at columns" }

local NO_NUMBER = -101 -- below every shade

local MARGIN, PANEL_GAP, PAGE_WIDTH = 16, 28, 960
local LARGEST, SMALLEST, TALLEST = 28, 5, 640 -- pixels: a cell, and all rows
-- Panels a row and pixels a cell where there are many pictures.
local SMALL_IN_ROW, LARGEST_SMALL = 4, 22
-- Pixels a cell: smaller ones have their columns' labels upright, or only every other label or
-- fewer. So many words still have a line each.
local SMALLEST_SLANTED, SMALLEST_LABELLED, MOST_LABELLED = 17, 11, 84
local SLANT = math.sin(math.rad(45))
local LONGEST_HINT = 60

-- A label as it is written beside its row: a blank would be invisible.
local function shown(label, longest)
    if label:find "^%s*$" then return "␣" end
    return (width.cut(label, longest or panels.LONGEST_LABEL))
end

-- ---- sizes --------------------------------------------------------------------------------------

-- Pixels a cell that so many rows allow.
local function for_rows(count)
    return math.max(TALLEST // math.max(1, count), count <= MOST_LABELLED and SMALLEST_LABELLED
        or 0)
end

-- Pixels a cell of pictures among many: as many panels a row as leave each label its line. Beside a
-- panel's cells are its labels.
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
    for j, size in ipairs(widths) do
        most = math.max(most, SLANT * (size + svg.FONT_SIZE) - (#widths - j + 0.5) * cell)
    end
    return most
end

-- Pixels a cell that its number needs.
local function for_numbers(picture)
    local most = 0
    for _, panel in ipairs(picture.numbers and picture.panels or {}) do
        for _, row in ipairs(panel.rows) do
            for _, value in ipairs(row) do
                most = math.max(most, svg.label_width(picture.scale:text(value, picture.digits))
                    + 8)
            end
        end
    end
    return math.ceil(most)
end

-- Sizes that all panels share: of a cell, of the labels at its left and above it, of the whole.
local function layout(picture)
    local L, S = #picture.y, #picture.x
    local _, left = label_widths(picture.y)
    local widths, longest = label_widths(picture.x)
    local cell = math.max((picture.small and small_cell or large_cell)(picture, left + 8),
        for_numbers(picture))
    local angle = longest <= cell - 4 and 0 or (cell >= SMALLEST_SLANTED and not picture.small)
        and 45 or 90
    local above = angle == 90 and longest + 8 or (angle == 45 and SLANT * longest
        or 0) + svg.FONT_SIZE + 4
    local title = picture.panels[1] and picture.panels[1].title and svg.FONT_SIZE + 10 or 0
    return {
        cell = cell, gap = cell > 8 and 1 or 0, left = left + 8, top = title + above, angle = angle,
        step = math.ceil(SMALLEST_LABELLED / cell),
        width = left + 8 + S * cell + (angle == 45 and overhang_of(widths, cell) or 0),
        height = title + above + L * cell,
    }
end

-- ---- cells --------------------------------------------------------------------------------------

-- How strong a number is drawn, in hundredths; below 0 on the negative side, NaN for what is none.
local function shade(scale, value)
    local strength, negative = scale:level(value)
    if not strength then return 0 / 0 end
    local hundredths = math.floor(strength * 100 + 0.5)
    return negative and -hundredths or hundredths
end

-- What a cell of a shade looks like, inside a group of the class of positive ones.
local function look_of(dark)
    if dark ~= dark then return { "class", "heed-nan" } end
    if dark < 0 then return { "class", "heed-negative", "fill-opacity", -dark / 100 } end
    return { "fill-opacity", dark / 100 }
end

local function cell_hint(picture, i, j, value)
    local from, to = shown(picture.y[i], LONGEST_HINT), shown(picture.x[j], LONGEST_HINT)
    return svg.hint(("%s → %s: %s"):format(width.isolated(from), width.isolated(to),
        picture.scale:text(value)))
end

-- The cells' group: inside, they count from its own corner.
local function cells_group(at, class, body)
    local place = ("translate(%s %s)"):format(svg.number(at.left), svg.number(at.top))
    return svg.element("g", { "class", class, "transform", place }, body)
end

-- An element a cell. Weights of exactly 0, as behind a mask, are left blank.
local function draw_cells(picture, at, rows)
    local body, size = {}, at.cell - at.gap
    for i, row in ipairs(rows) do
        for j, value in ipairs(row) do
            if value ~= 0 or not picture.scale.sparse then
                local attributes = { "x", (j - 1) * at.cell, "y", (i - 1) * at.cell, "width", size,
                    "height", size }
                local look = look_of(shade(picture.scale, value))
                table.move(look, 1, #look, 9, attributes)
                body[#body + 1] = svg.element("rect", attributes, cell_hint(picture, i, j, value))
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
        for j, value in ipairs(row) do
            local dark = shade(picture.scale, value)
            local key = dark == dark and dark or NO_NUMBER
            if dark ~= 0 then
                if not paths[key] then
                    paths[key], shades[#shades + 1] = {}, key
                end
                table.insert(paths[key], ("M%d %d%s"):format((j - 1) * at.cell, (i - 1) * at.cell,
                    square))
            end
        end
    end
    table.sort(shades)
    local body = {}
    for s, key in ipairs(shades) do
        local attributes = look_of(key == NO_NUMBER and 0 / 0 or key)
        table.move({ "d", table.concat(paths[key]) }, 1, 2, #attributes + 1, attributes)
        body[s] = svg.element("path", attributes)
    end
    return cells_group(at, "heed-weight", body)
end

-- The numbers in the cells, in the ground's colour where these are dark.
local function draw_numbers(picture, at, rows)
    local body = {}
    for i, row in ipairs(rows) do
        for j, value in ipairs(row) do
            local strength = picture.scale:level(value)
            local class = (not strength or strength > 0.55) and "heed-ground" or "heed-ink"
            body[#body + 1] = svg.text((j - 0.5) * at.cell - at.gap / 2, (i - 0.5) * at.cell + 4,
                picture.scale:text(value, picture.digits), class, "middle")
        end
    end
    return cells_group(at, "heed-label heed-numbers", body)
end

-- The numbers of a panel for the script of a page: rows apart by ";"; of weights thousandths, where
-- a 0 is nothing.
local function numbers_of(picture, rows)
    local lines, sparse = {}, picture.scale.sparse
    for i, row in ipairs(rows) do
        local cells = {}
        for j, value in ipairs(row) do
            local text = picture.scale:text(value)
            cells[j] = sparse and value == 0 and "" or sparse and text:gsub("^0%.", ".") or text
        end
        lines[i] = table.concat(cells, ",")
    end
    return table.concat(lines, ";")
end

-- ---- panels -------------------------------------------------------------------------------------

-- Those of the rows, and those of the columns: each a group.
local function draw_labels(picture, at, body)
    local beside, above = {}, {}
    for i = 1, #picture.y, at.step do
        beside[#beside + 1] = svg.text(at.left - 6, at.top + (i - 0.5) * at.cell + 4,
            shown(picture.y[i]))
    end
    local shift = at.angle == 90 and 4 or at.angle == 45 and 3 or 0
    for j = 1, #picture.x, at.step do
        local x, y = at.left + (j - 0.5) * at.cell + shift, at.top - 6
        local turn = at.angle > 0 and { "transform",
            ("rotate(-%d %s %s)"):format(at.angle, svg.number(x), svg.number(y)) }
        above[#above + 1] = svg.text(x, y, shown(picture.x[j]), nil, nil, turn)
    end
    local class = "heed-label heed-ink"
    body[#body + 1] = svg.element("g", { "class", class .. " heed-y", "text-anchor", "end" },
        beside)
    body[#body + 1] = svg.element("g", { "class", class .. " heed-x", "text-anchor",
        at.angle == 0 and "middle" or "start" },
        above)
end

local function draw_panel(picture, at, panel, x, y, live)
    live = live and #picture.x > 0 and #picture.y > 0
    local body = {}
    if panel.title then body[1] = svg.text(at.left, svg.FONT_SIZE, panel.title, "heed-ink") end
    local frame = { "class", "heed-line", "x", at.left - 1.5, "y", at.top - 1.5, "width",
        #picture.x * at.cell + 2,
        "height", #picture.y * at.cell + 2 }
    body[#body + 1] = svg.element("rect", frame)
    draw_labels(picture, at, body)
    body[#body + 1] = (live and draw_shades or draw_cells)(picture, at, panel.rows)
    if picture.numbers then body[#body + 1] = draw_numbers(picture, at, panel.rows) end
    local group = { "transform", ("translate(%s %s)"):format(svg.number(x), svg.number(y)) }
    if live then
        local sizes = ("%s %s %d %d"):format(svg.number(at.left), svg.number(at.top), at.cell,
            at.step)
        table.move({ "class", "heed-panel", "tabindex", 0, "role", "img", "aria-label",
            panel.title or picture.title or picture.kind,
            "data-at", sizes, "data-weights", numbers_of(picture, panel.rows) }, 1, 12, 3, group)
        if not picture.scale.sparse then
            table.move({ "data-exact", 1 }, 1, 2, #group + 1, group)
        end
    end
    return svg.element("g", group, body)
end

-- Words for the script of a page, whole.
local function words_of(labels)
    local words = {}
    for i, label in ipairs(labels) do words[i] = shown(label, LONGEST_HINT) end
    return words
end

local RAMP, RAMP_STEPS = 100, 20 -- pixels of a legend's shades on one side of 0

-- Shades from one end of a legend to the other.
local function ramp(class, x, y, step, body)
    for i = 0, RAMP_STEPS - 1 do
        local size = RAMP / RAMP_STEPS
        body[#body + 1] = svg.element("rect", { "class", class, "x",
            x + step * i * size - (step < 0 and size or 0), "y", y,
            "width", size, "height", 10, "fill-opacity", (i + 0.5) / RAMP_STEPS })
    end
end

local function small_text(body, x, y, text, anchor)
    body[#body + 1] = svg.text(x, y + 9, text, "heed-small heed-faint", anchor)
    return x + svg.label_width(text)
end

---From the weakest to the strongest, and what is no number if there is any; then what the sides
---are.
---@param scale heed.viz.Scale
---@param x number
---@param y number
---@param has_nan? boolean
---@param caption? string
---@return table[] elements
---@return number right where it ends
function panels.legend(scale, x, y, has_nan, caption)
    local body = {}
    local right = math.ceil(small_text(body, x, y, scales.bound(scale.low))) + 6
    if scale.diverging then
        right = right + RAMP
        ramp("heed-negative", right, y, -1, body)
    end
    ramp("heed-weight", right, y, 1, body)
    right = small_text(body, right + RAMP + 6, y, scales.bound(scale.high))
    if has_nan then
        body[#body + 1] = svg.element("rect", { "class", "heed-nan", "x", right + 18, "y", y,
            "width", 10, "height", 10 })
        right = small_text(body, right + 34, y, "no number")
    end
    if caption then right = small_text(body, right + 24, y, caption) end
    return body, right
end

-- How many panels a row: all that fit, or as evenly many as the rows that they need allow.
local function panels_in_row(picture, panel_width)
    local most = math.max(1, math.min(#picture.panels,
        (PAGE_WIDTH - 2 * MARGIN + PANEL_GAP) // (panel_width + PANEL_GAP)))
    local rows = math.max(1, math.ceil(#picture.panels / most))
    return picture.small and math.max(1, math.ceil(#picture.panels / rows)) or most
end

local function any_nan(picture)
    for _, panel in ipairs(picture.panels) do
        for _, row in ipairs(panel.rows) do
            for _, value in ipairs(row) do
                if value ~= value then return true end
            end
        end
    end
    return false
end

---@param picture heed.viz.Attention
---@param titled boolean its title stands in it
---@param live? boolean it is for a page with the script of heed.viz.pointer
---@return table drawing of heed.viz.svg
function panels.draw(picture, titled, live)
    local at, body = layout(picture), {}
    local in_row = panels_in_row(picture, at.width)
    local top = captions.above(picture, titled, body)
    for p, panel in ipairs(picture.panels) do
        local column, row = (p - 1) % in_row, (p - 1) // in_row
        local x, y = MARGIN + column * (at.width + PANEL_GAP), top + row * (at.height + PANEL_GAP)
        body[#body + 1] = draw_panel(picture, at, panel, x, y, live)
    end
    local bottom = top + math.ceil(#picture.panels / in_row) * (at.height + PANEL_GAP) - PANEL_GAP
    local right = MARGIN + in_row * (at.width + PANEL_GAP) - PANEL_GAP
    if not picture.small then
        local legend, legend_right = panels.legend(picture.scale, MARGIN, bottom + 14,
            any_nan(picture), picture.sides)
        table.move(legend, 1, #legend, #body + 1, body)
        bottom, right = bottom + 28, math.max(right, legend_right)
    end
    local size = captions.around(picture, titled, body, right + MARGIN, bottom)
    return {
        width = size.width, height = size.height + 14, title = picture.title or picture.kind,
        body = body,
        words = live and { x = words_of(picture.x), y = words_of(picture.y) } or nil,
    }
end

return panels
