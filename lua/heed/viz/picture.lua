--- What every picture can do: print (tostring), and go out as SVG, HTML and PNG, as a text or into
--- a file.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local files = require "heed.files"
local page = require "heed.viz.page"
local raster = require "heed.viz.raster"
local svg = require "heed.viz.svg"

---@class heed.viz.Picture
---@field private name string
---@field private draw fun(self: heed.viz.Picture, titled: boolean, live?: boolean): table
---@field private sections fun(self: heed.viz.Picture): string, table[]
local Picture = {}

-- The text itself without a path, else whether it could be written.
local function deliver(where, path, text)
    if path == nil then return text end
    return files.write(check.type(where, "path", path, "string"), text)
end

-- The title of a page and what is on it: the drawing alone, where a class has no other sections.
local function one_section(self)
    local drawing = self:draw(false, true)
    return drawing.title, { { drawing = drawing } }
end

-- A class of pictures: give it `name` as it is called in messages, `__tostring`, and `draw(self,
-- titled, live)`, which makes a drawing of heed.viz.svg, with its title inside or without it, for a
-- page with a script or to stand alone; `sections(self)`, if its page has several.
function Picture.class(name)
    local class = { name = name, svg = Picture.svg, html = Picture.html, png = Picture.png,
        save = Picture.save,
        sections = one_section }
    class.__index = class
    return class
end

---As one SVG document, colours for light and dark screens inside; numbers show under the pointer.
---@param path? string replaced whole or not at all; without it the text is returned
---@return string|true|nil # text or true; nil when the file could not be written
---@return string? message
function Picture:svg(path)
    return deliver(self.name .. ":svg", path, svg.document(self:draw(true)))
end

---As one HTML page that needs no other file.
---@param path? string replaced whole or not at all; without it the text is returned
---@return string|true|nil # text or true; nil when the file could not be written
---@return string? message
function Picture:html(path)
    return deliver(self.name .. ":html", path, page(self:sections()))
end

local PNG = check.set("dark", "scale")
local MOST_PIXELS, LONGEST = 1 << 24, 32767

---As a PNG file. Its letters are drawn here, those of Latin scripts; others are boxes, for which
---`:svg` is the way.
---@param path? string replaced whole or not at all; without it the bytes are returned
---@param options? { dark?: boolean, scale?: number } dark: for a dark screen, default false; scale:
---pixels for one of the SVG's, default 2
---@return string|true|nil # bytes or true; nil when the file could not be written, or heed was
---built without libpng
---@return string? message
function Picture:png(path, options)
    local where = self.name .. ":png"
    if type(path) == "table" and options == nil then path, options = nil, path end
    if path ~= nil then check.type(where, "path", path, "string") end
    options = check.options(where, options, PNG)
    local scale = check.number(where, "scale", check.default(options.scale, 2), 0.1, 10)
    local drawing, dark = self:draw(true), check.flag(where, "dark", options.dark, false)
    local wide, high = math.ceil(drawing.width * scale), math.ceil(drawing.height * scale)
    if wide * high > MOST_PIXELS or wide > LONGEST or high > LONGEST then
        return nil, ("%s: %d x %d pixels are more than it makes; ask for a smaller scale, or for "
            .. "SVG")
            :format(where, wide, high)
    end
    local bytes, message = core.png_encode(raster.pixels(drawing, scale, dark))
    if not bytes then return nil, message end
    return deliver(where, path, bytes)
end

local SAVED = { "svg", "html", "png" }

---Writes it as what the path ends in: ".svg", ".html" or ".png".
---@param path string replaced whole or not at all
---@return true|nil # nil when the file could not be written
---@return string? message
function Picture:save(path)
    local where = self.name .. ":save"
    local ending = check.type(where, "path", path, "string"):match "%.(%w+)$"
    for _, format in ipairs(SAVED) do
        if ending and ending:lower() == format then return self[format](self, path) end
    end
    return errors.raise("%s: path: expected one that ends in .svg, .html or .png, got %q", where,
        path)
end

return Picture
