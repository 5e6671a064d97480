--- Drawings of heed.viz.svg as pixels: rectangles, lines, paths, circles and letters, with soft
--- edges.

local letters = require "heed.viz.letters"
local svg = require "heed.viz.svg"
local width = require "heed.viz.width"

local raster = {}

-- What classes say beside colours.
local STROKE_WIDTHS = { ["heed-curve"] = 2, ["heed-dots"] = 4 }
local OPACITIES = { ["heed-point"] = 0.75, ["heed-dots"] = 0.6, ["heed-spot"] = 0 }
local SIZES = { ["heed-title"] = svg.TITLE_SIZE, ["heed-small"] = 11 }

-- ---- pixels -------------------------------------------------------------------------------------

---@class heed.viz.Canvas
---@field width integer
---@field height integer
---@field scale number pixels for one of the drawing
---@field colours table<string, integer> of the palette, by class
---@field private rows integer[][] a pixel is 0xRRGGBB

local function colour_of(text) return tonumber(text:sub(2), 16) end

local function mixed(under, over, share)
    local red = (under >> 16) + ((over >> 16) - (under >> 16)) * share
    local green = (under >> 8 & 255) + ((over >> 8 & 255) - (under >> 8 & 255)) * share
    local blue = (under & 255) + ((over & 255) - (under & 255)) * share
    return (red + 0.5) // 1 | 0, (green + 0.5) // 1 | 0, (blue + 0.5) // 1 | 0
end

local function blend(row, x, colour, share)
    if share >= 1 then
        row[x] = colour
    elseif share > 0 then
        local red, green, blue = mixed(row[x], colour, share)
        row[x] = red << 16 | green << 8 | blue
    end
end

-- How much of each pixel from..to covers, from the first to the last that it touches.
local function cover(from, to, last, use)
    for p = math.max(0, math.floor(from)), math.min(last - 1, math.ceil(to) - 1) do
        use(p, math.min(p + 1, to) - math.max(p, from))
    end
end

local function fill_rect(canvas, x, y, wide, high, colour, opacity)
    local s = canvas.scale
    cover(y * s, (y + high) * s, canvas.height, function(j, down)
        local row = canvas.rows[j]
        cover(x * s, (x + wide) * s, canvas.width,
            function(i, across) blend(row, i, colour, across * down * opacity) end)
    end)
end

-- A line with round ends, whose edge is one pixel soft; a point is a disc.
local function stroke(canvas, x, y, to_x, to_y, thick, colour, opacity)
    local s = canvas.scale
    x, y, to_x, to_y = x * s, y * s, to_x * s, to_y * s
    local radius, dx, dy = thick * s / 2, to_x - x, to_y - y
    local length = dx * dx + dy * dy
    local reach = radius + 1
    for j = math.max(0, math.floor(math.min(y, to_y) - reach)),
        math.min(canvas.height - 1, math.ceil(math.max(y, to_y) + reach)) do
        local row, py = canvas.rows[j], j + 0.5 - y
        for i = math.max(0, math.floor(math.min(x, to_x) - reach)),
            math.min(canvas.width - 1, math.ceil(math.max(x, to_x) + reach)) do
            local px = i + 0.5 - x
            local t = length > 0 and math.max(0, math.min(1, (px * dx + py * dy) / length)) or 0
            local ex, ey = px - t * dx, py - t * dy
            local share = radius + 0.5 - math.sqrt(ex * ex + ey * ey)
            if share > 0 then blend(row, i, colour, math.min(1, share, 2 * radius) * opacity) end
        end
    end
end

-- ---- letters ------------------------------------------------------------------------------------

local CURVE_STEPS = 6
local DOT = 1.5 -- as thick as lines
local NARROW = 0.9 -- of texts whose letters differ in width in other fonts

-- A stroke's points as short lines: a curve bends from middle to middle of its inner points, as a
-- B-spline of degree 2 does.
local function each_piece(points, line)
    if #points == 1 then return line(points[1], points[1]) end
    if not points.curved then
        for p = 2, #points do line(points[p - 1], points[p]) end
        return
    end
    local from = points[1]
    for p = 2, #points - 1 do
        local bend, to = points[p], points[p + 1]
        if p < #points - 1 then to = { (bend[1] + to[1]) / 2, (bend[2] + to[2]) / 2 } end
        local before = from
        for k = 1, CURVE_STEPS do
            local t = k / CURVE_STEPS
            local a, b, c = (1 - t) ^ 2, 2 * t * (1 - t), t ^ 2
            local point = { a * from[1] + b * bend[1] + c * to[1],
                a * from[2] + b * bend[2] + c * to[2] }
            line(before, point)
            before = point
        end
        from = to
    end
end

-- A text from x on, its line at y, turned by so many degrees around that point; letters of a narrow
-- one are closer.
local function draw_text(canvas, text, x, y, size, narrow, thick, angle, colour)
    local unit, sine, cosine = size / 12, math.sin(math.rad(angle)), math.cos(math.rad(angle))
    local characters, taken = width.characters(text)
    local at = 0
    local function place(point)
        local px, py = (at + 0.6 + point[1]) * narrow * unit, (point[2] - letters.LINE) * unit
        return x + px * cosine - py * sine, y + px * sine + py * cosine
    end
    for c, character in ipairs(characters) do
        for _, points in ipairs(letters.strokes(character)) do
            each_piece(points, function(from, to)
                local x1, y1 = place(from)
                local x2, y2 = place(to)
                stroke(canvas, x1, y1, x2, y2, thick * unit * (#points == 1 and DOT or 1), colour,
                    1)
            end)
        end
        at = at + letters.ADVANCE * taken[c]
    end
end

-- ---- elements -----------------------------------------------------------------------------------

-- The attributes by name, over what the group around says.
local function attributes_of(element, around)
    local found = setmetatable({}, { __index = around })
    for i = 1, #element.attributes, 2 do
        local name, value = element.attributes[i], element.attributes[i + 1]
        if name == "class" then
            for class in value:gmatch "%S+" do found[class] = true end
        else
            found[name] = value
        end
    end
    return found
end

-- The colour that fill or stroke has, by what is said, by the element's classes, or by those around
-- it.
local function paint_of(canvas, kind, element, at)
    if at[kind] then return colour_of(at[kind]) end
    for i = 1, #element.attributes, 2 do
        if element.attributes[i] == "class" then
            for class in element.attributes[i + 1]:gmatch "%S+" do
                if canvas[kind][class] then return canvas[kind][class] end
            end
        end
    end
    return at["paint-" .. kind]
end

local function number_by_class(table, at, default)
    for class, value in pairs(table) do
        if at[class] then return value end
    end
    return default
end

local draw = {}

function draw.rect(canvas, element, at, left, top)
    local x, y, wide, high = left + at.x, top + at.y, at.width, at.height
    local line = paint_of(canvas, "stroke", element, at)
    if line then
        for _, side in ipairs { { x, y, x + wide, y }, { x, y + high, x + wide, y + high },
            { x, y, x, y + high },
            { x + wide, y, x + wide, y + high } } do
            stroke(canvas, side[1], side[2], side[3], side[4], 1, line, 1)
        end
        return
    end
    fill_rect(canvas, x, y, wide, high, paint_of(canvas, "fill", element, at) or 0,
        at["fill-opacity"] or 1)
end

function draw.line(canvas, element, at, left, top)
    stroke(canvas, left + at.x1, top + at.y1, left + at.x2, top + at.y2, 1,
        paint_of(canvas, "stroke", element, at), 1)
end

function draw.circle(canvas, element, at, left, top)
    local opacity = number_by_class(OPACITIES, at, 1)
    if opacity == 0 then return end
    local x, y = left + at.cx, top + at.cy
    stroke(canvas, x, y, x, y, 2 * at.r, paint_of(canvas, "fill", element, at), opacity)
end

-- Squares "Mx yhWvHh-Wz", dots "Mx yh0", or lines "Mx yLx y...".
function draw.path(canvas, element, at, left, top)
    local line, fill = paint_of(canvas, "stroke", element, at),
        paint_of(canvas, "fill", element, at)
    local thick, opacity = number_by_class(STROKE_WIDTHS, at, 1), number_by_class(OPACITIES, at, 1)
    if not line then
        for x, y, wide, high in at.d:gmatch "M([%d.-]+) ([%d.-]+)h([%d.]+)v([%d.]+)" do
            fill_rect(canvas, left + x, top + y, tonumber(wide), tonumber(high), fill,
                at["fill-opacity"] or 1)
        end
        return
    end
    local before_x, before_y
    for command, x, y in at.d:gmatch "([ML])([%d.-]+) ([%d.-]+)" do
        x, y = left + x, top + y
        if command == "L" then
            stroke(canvas, before_x, before_y, x, y, thick, line, opacity)
        elseif at["heed-dots"] then
            stroke(canvas, x, y, x, y, thick, line, opacity)
        end
        before_x, before_y = x, y
    end
end

function draw.text(canvas, element, at, left, top)
    local size = number_by_class(SIZES, at, svg.FONT_SIZE)
    local narrow = (at["heed-label"] or at["heed-title"]) and 1 or NARROW
    local long = width.of(element.content) * letters.ADVANCE * narrow * size / 12
    local angle = at.transform and tonumber(at.transform:match "^rotate%(([%d.-]+)") or 0
    local back = at["text-anchor"] == "end" and long or at["text-anchor"] == "middle" and long / 2
        or 0
    local x, y = left + at.x - back * math.cos(math.rad(angle)),
        top + at.y - back * math.sin(math.rad(angle))
    local colour = paint_of(canvas, "fill", element, at) or canvas.fill["heed-ink"]
    draw_text(canvas, element.content, x, y, size, narrow, at["heed-title"] and 1.7 or 1.05, angle,
        colour)
end

local function draw_all(canvas, elements, around, left, top)
    for _, element in ipairs(elements) do
        local at = attributes_of(element, around)
        if element.name == "g" then
            local x, y = (at.transform or ""):match "^translate%(([%d.-]+) ([%d.-]+)%)"
            at["paint-fill"], at["paint-stroke"] = paint_of(canvas, "fill", element, at),
                paint_of(canvas, "stroke", element, at)
            at.transform = false
            draw_all(canvas, element.content, at, left + (x or 0), top + (y or 0))
        else
            draw[element.name](canvas, element, at, left, top)
        end
    end
end

-- ---- the whole ----------------------------------------------------------------------------------

local function new_canvas(drawing, scale, palette)
    local canvas = { width = math.ceil(drawing.width * scale),
        height = math.ceil(drawing.height * scale), scale = scale, rows = {},
        fill = {}, stroke = {} }
    for _, look in ipairs(svg.LOOKS) do
        local kind = look.fill and "fill" or "stroke"
        canvas[kind][look.class] = colour_of(palette[look[kind]])
    end
    for i, colour in ipairs(palette.series) do
        canvas.fill["heed-fill-" .. i], canvas.stroke["heed-stroke-" .. i] = colour_of(colour),
            colour_of(colour)
    end
    local ground = colour_of(palette.ground)
    for j = 0, canvas.height - 1 do
        local row = {}
        for i = 0, canvas.width - 1 do row[i] = ground end
        canvas.rows[j] = row
    end
    return canvas
end

-- The rows' pixels as bytes.
local function bytes_of(canvas)
    local texts, rows = {}, {}
    for j = 0, canvas.height - 1 do
        local parts = {}
        for i = 0, canvas.width - 1 do
            local pixel = canvas.rows[j][i]
            local text = texts[pixel]
            if not text then
                text = string.char(pixel >> 16, pixel >> 8 & 255, pixel & 255)
                texts[pixel] = text
            end
            parts[i + 1] = text
        end
        rows[j + 1] = table.concat(parts)
    end
    return table.concat(rows)
end

---A drawing as pixels.
---@param drawing table of heed.viz.svg
---@param scale number pixels for one of the drawing
---@param dark boolean
---@return string bytes red, green and blue of each pixel, row by row
---@return integer width
---@return integer height
function raster.pixels(drawing, scale, dark)
    local canvas = new_canvas(drawing, scale, dark and svg.PALETTES.dark or svg.PALETTES.light)
    draw_all(canvas, drawing.body, nil, 0, 0)
    return bytes_of(canvas), canvas.width, canvas.height
end

return raster
