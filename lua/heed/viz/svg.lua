--- The drawing of pictures as SVG, in colours that follow the reader's light or dark screen.
---
--- A drawing is { width, height, title, body }: a size in pixels and a list of elements; for a page with heed.viz.pointer also
--- words = { x, y }, lists of those along its sides. It stands alone as a document, or
--- inside a page (heed.viz.page), which brings the style once for all of its drawings.

local width = require "heed.viz.width"

local svg = { FONT_SIZE = 12, TITLE_SIZE = 14 }

local SERIES = { light = { "#2463c4", "#c4560d", "#1f8050", "#a8338a", "#6d51c9", "#7a6500" },
    dark = { "#6cabff", "#ff9a56", "#58c88e", "#ee86d2", "#ab98ff", "#d3b93f" } }

svg.SERIES_COUNT = #SERIES.light

local function colours(ground, ink, faint, line, weight, series)
    local rules = {
        (".heed-ground{fill:%s}.heed-ink{fill:%s}.heed-faint{fill:%s}.heed-line{stroke:%s}"):format(ground, ink, faint, line),
        (".heed-weight{fill:%s}.heed-nan{fill:%s}"):format(weight, series[2]),
    }
    for i, colour in ipairs(series) do
        rules[#rules + 1] = (".heed-stroke-%d{stroke:%s}.heed-fill-%d{fill:%s}"):format(i, colour, i, colour)
    end
    return table.concat(rules)
end

---The style sheet of every drawing.
svg.STYLE = table.concat({
    ".heed text{font:12px ui-sans-serif,system-ui,'DejaVu Sans','Noto Sans',sans-serif}",
    ".heed .heed-label,.heed .heed-label text{font-family:ui-monospace,'DejaVu Sans Mono','Noto Sans Mono',Menlo,Consolas,monospace}",
    ".heed .heed-title{font-size:14px;font-weight:600}.heed .heed-small{font-size:11px}",
    ".heed-line{fill:none;stroke-width:1}.heed-curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}",
    ".heed-cells :hover{stroke:currentColor;stroke-width:1.5}.heed-spot{fill-opacity:0}.heed-spot:hover{fill-opacity:1}",
    colours("#ffffff", "#1c2128", "#5b6570", "#d9dde2", "#1d57b5", SERIES.light),
    ".heed{color:#1c2128}",
    "@media(prefers-color-scheme:dark){", colours("#14171b", "#e5e8ec", "#98a2ad", "#333a42", "#7fb8ff", SERIES.dark),
    ".heed{color:#e5e8ec}}",
})

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

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
    local digits = ("%.2f"):format(x):gsub("%.?0+$", "")
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

---An element; attributes in the order given, as name, value, name, value: a number, a text, or a list of lines.
---@param name string
---@param attributes table a list of names and values
---@param content? string already escaped
---@return string
function svg.element(name, attributes, content)
    local parts = {}
    for i = 1, #attributes, 2 do
        parts[#parts + 1] = (' %s="%s"'):format(attributes[i], value_of(attributes[i + 1]))
    end
    if not content then return ("<%s%s/>"):format(name, table.concat(parts)) end
    return ("<%s%s>%s</%s>"):format(name, table.concat(parts), content, name)
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
    if anchor and anchor ~= "start" then table.move({ "text-anchor", anchor }, 1, 2, #attributes + 1, attributes) end
    if more then table.move(more, 1, #more, #attributes + 1, attributes) end
    return svg.element("text", attributes, svg.escape(text))
end

---The <title> that a browser shows over an element.
---@param text string
---@return string
function svg.hint(text) return svg.element("title", {}, svg.escape(text)) end

---A drawing as an element of its own.
---@param drawing table
---@param style? string for a document that stands alone
---@return string
function svg.render(drawing, style)
    local size = { "xmlns", "http://www.w3.org/2000/svg", "class", "heed", "width", drawing.width, "height", drawing.height,
        "viewBox", ("0 0 %s %s"):format(svg.number(drawing.width), svg.number(drawing.height)), "role",
        drawing.words and "group" or "img", "aria-label", drawing.title }
    if drawing.words then table.move({ "data-x", drawing.words.x, "data-y", drawing.words.y }, 1, 4, #size + 1, size) end
    local ground = svg.element("rect", { "class", "heed-ground", "width", drawing.width, "height", drawing.height })
    local lines = { style and svg.element("style", {}, style) or "", ground }
    table.move(drawing.body, 1, #drawing.body, #lines + 1, lines)
    return svg.element("svg", size, table.concat(lines, "\n")) .. "\n"
end

---A drawing as a document.
---@param drawing table
---@return string
function svg.document(drawing)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' .. svg.render(drawing, svg.STYLE)
end

return svg
