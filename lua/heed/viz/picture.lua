--- What every picture can do: print (tostring), and go out as SVG and HTML, as a text or into a file.

local check = require "heed.check"
local files = require "heed.files"
local page = require "heed.viz.page"
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

-- A class of pictures: give it `name` as it is called in messages, `__tostring`, and `draw(self, titled, live)`, which makes
-- a drawing of heed.viz.svg, with its title inside or without it, for a page with a script or to stand alone; `sections(self)`, if
-- its page has several.
function Picture.class(name)
    local class = { name = name, svg = Picture.svg, html = Picture.html, sections = one_section }
    class.__index = class
    return class
end

---As one SVG document, colours for light and dark screens inside; numbers show under the pointer.
---@param path? string replaced whole or not at all; without it the text is returned
---@return string|true|nil # text or true; nil when the file could not be written
---@return string? message
function Picture:svg(path) return deliver(self.name .. ":svg", path, svg.document(self:draw(true))) end

---As one HTML page that needs no other file.
---@param path? string replaced whole or not at all; without it the text is returned
---@return string|true|nil # text or true; nil when the file could not be written
---@return string? message
function Picture:html(path)
    return deliver(self.name .. ":html", path, page(self:sections()))
end

return Picture
