--- What pictures are drawn of, and its text as SVG, in colours that follow the reader's light or
--- dark screen.
---
--- A drawing is { width, height, title, body }: a size in pixels and a list of elements
--- (svg.element); for a page with heed.viz.pointer also words = { x, y }, lists of those along its
--- sides. It stands alone as a document, or inside a page (heed.viz.page), which brings the style
--- once for all of its drawings.

local width = require "heed.viz.width"

local svg = { FONT_SIZE = 12, TITLE_SIZE = 14 }

-- ---- colours ---------------------------------------------------------------------------------

---What has a colour, on light and on dark screens.
svg.PALETTES = {
    light = {
        ground = "#ffffff", ink = "#1c2128", faint = "#5b6570", line = "#d9dde2",
        weight = "#1d57b5",
        negative = "#b4530a", nan = "#8d959e", marked = "#ff00ff",
        series = { "#2463c4", "#c4560d", "#1f8050", "#a8338a", "#6d51c9", "#7a6500" },
    },
    dark = {
        ground = "#14171b", ink = "#e5e8ec", faint = "#98a2ad", line = "#333a42",
        weight = "#7fb8ff",
        negative = "#ffa65c", nan = "#6b747e", marked = "#ff00ff",
        series = { "#6cabff", "#ff9a56", "#58c88e", "#ee86d2", "#ab98ff", "#d3b93f" },
    },
}

svg.SERIES_COUNT = #svg.PALETTES.light.series

---What a class gives its elements: fill or stroke, in a colour of the palette.
svg.LOOKS = {
    { class = "heed-ground", fill = "ground" }, { class = "heed-ink", fill = "ink" },
    { class = "heed-faint", fill = "faint" }, { class = "heed-line", stroke = "line" },
    { class = "heed-axis", stroke = "faint" }, { class = "heed-weight", fill = "weight" },
    { class = "heed-negative", fill = "negative" }, { class = "heed-nan", fill = "nan" },
    { class = "heed-marked", fill = "marked" },
}

local function colours(palette)
    local rules = {}
    for i, look in ipairs(svg.LOOKS) do
        local property = look.fill and "fill" or "stroke"
        rules[i] = (".%s{%s:%s}"):format(look.class, property, palette[look[property]])
    end
    for i, colour in ipairs(palette.series) do
        rules[#rules + 1] = (".heed-stroke-%d{stroke:%s}.heed-fill-%d{fill:%s}"):format(i, colour,
            i, colour)
    end
    return table.concat(rules) .. (".heed{color:%s}"):format(palette.ink)
end

---The style sheet of every drawing.
svg.STYLE = table.concat({
    ".heed text{font:12px ui-sans-serif,system-ui,'DejaVu Sans','Noto Sans',sans-serif}",
    ".heed .heed-label,.heed .heed-label text{font-family:",
    "ui-monospace,'DejaVu Sans Mono','Noto Sans Mono',Menlo,Consolas,monospace}",
    ".heed .heed-title{font-size:14px;font-weight:600}.heed .heed-small{font-size:11px}",
    ".heed-line,.heed-axis{fill:none;stroke-width:1}",
    ".heed-dots{fill:none;stroke-width:4;stroke-opacity:.6;stroke-linecap:round}",
    ".heed-point{fill-opacity:.75}",
    ".heed-curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}",
    ".heed-cells :hover,.heed-bar:hover,.heed-point:hover{stroke:currentColor;stroke-width:1.5}",
    ".heed-spot{fill-opacity:0}.heed-spot:hover{fill-opacity:1}",
    colours(svg.PALETTES.light), "@media(prefers-color-scheme:dark){", colours(svg.PALETTES.dark),
    "}",
})

-- ---- elements ----------------------------------------------------------------------------------

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
    ["'"] = "&#39;" }

---A text as XML and HTML may hold it: no control characters, no bytes that are not UTF-8.
---@param text string
---@return string
function svg.escape(text)
    return (table.concat((width.characters(text))):gsub("[&<>\"']", ENTITIES))
end

---A number in as few digits as a picture needs.
---@param x number
---@return string
function svg.number(x)
    local digits = ("%.2f"):format(x):gsub("[^%d%-]", "."):gsub("%.?0+$", "") -- the locale's point
    return digits == "-0" and "0" or digits
end

---How wide a label is, about: monospaced letters are 0.6 of their size.
---@param text string
---@return number pixels
function svg.label_width(text) return width.of(text) * svg.FONT_SIZE * 0.61 end

local function value_of(value)
    if type(value) == "number" then return svg.number(value) end
    if type(value) ~= "table" then return svg.escape(value) end
    local lines = {}
    for i, line in ipairs(value) do lines[i] = svg.escape(line) end
    return table.concat(lines, "\n")
end

---An element, which heed.viz.svg writes and heed.viz.raster paints. Attributes in the order given,
---as name, value, name, value: a number, a text, or a list of lines.
---@param name string
---@param attributes table a list of names and values
---@param content? table|string an element, a list of elements, or a text
---@return table
function svg.element(name, attributes, content)
    return { name = name, attributes = attributes, content = content }
end

local write

local function content_of(content)
    if type(content) == "string" then return svg.escape(content) end
    if content.name then return write(content) end
    local parts = {}
    for i, element in ipairs(content) do parts[i] = write(element) end
    return table.concat(parts, "\n")
end

-- The text of an element.
function write(element)
    local parts, attributes = {}, element.attributes
    for i = 1, #attributes, 2 do
        parts[#parts + 1] = (' %s="%s"'):format(attributes[i], value_of(attributes[i + 1]))
    end
    local opening = ("<%s%s"):format(element.name, table.concat(parts))
    if not element.content then return opening .. "/>" end
    return ("%s>%s</%s>"):format(opening, content_of(element.content), element.name)
end

---A text at a point.
---@param x number
---@param y number of its base line
---@param text string
---@param class? string
---@param anchor? "start"|"middle"|"end"
---@param more? table|false further attributes
---@return string
function svg.text(x, y, text, class, anchor, more)
    local attributes = { "x", x, "y", y }
    if class then table.move({ "class", class }, 1, 2, 5, attributes) end
    if anchor and anchor ~= "start" then
        table.move({ "text-anchor", anchor }, 1, 2, #attributes + 1, attributes)
    end
    if more then table.move(more, 1, #more, #attributes + 1, attributes) end
    return svg.element("text", attributes, text)
end

---The <title> that a browser shows over an element.
---@param text string
---@return string
function svg.hint(text) return svg.element("title", {}, text) end

---A drawing as an element of its own.
---@param drawing table
---@param style? string for a document that stands alone
---@return string
function svg.render(drawing, style)
    local size = { "xmlns", "http://www.w3.org/2000/svg", "class", "heed", "width", drawing.width,
        "height", drawing.height,
        "viewBox", ("0 0 %s %s"):format(svg.number(drawing.width), svg.number(drawing.height)),
        "role",
        drawing.words and "group" or "img", "aria-label", drawing.title }
    if drawing.words then
        table.move({ "data-x", drawing.words.x, "data-y", drawing.words.y }, 1, 4, #size + 1, size)
    end
    local ground = svg.element("rect", { "class", "heed-ground", "width", drawing.width, "height",
        drawing.height })
    local opening = write(svg.element("svg", size, "")):gsub("</svg>$", "")
    local sheet = style and ("<style>%s</style>"):format(style) or ""
    return table.concat({ opening .. sheet, write(ground), content_of(drawing.body) }, "\n")
        .. "</svg>\n"
end

---A drawing as a document.
---@param drawing table
---@return string
function svg.document(drawing)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' .. svg.render(drawing, svg.STYLE)
end

return svg
