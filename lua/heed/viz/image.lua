--- Images: tensors of pixels.

local captions = require "heed.viz.captions"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local matrices = require "heed.viz.matrices"
local Picture = require "heed.viz.picture"
local svg = require "heed.viz.svg"
local terminal = require "heed.viz.terminal"
local width = require "heed.viz.width"

local WHERE = "heed.viz.image"
local KNOWN = check.set("title", "caption", "panels", "min", "max", "width", "colour")

---What heed.viz.image gives: it prints, and goes out as SVG, HTML and PNG.
---@class heed.viz.Image: heed.viz.Picture
---@field private panels { pixels: heed.Tensor, title: string? }[] pixels [H, W, 1 or 3] of f64 from
---0 to 1
---@field private colour boolean
---@field private width integer
local Image = Picture.class(WHERE)

-- ---- what is drawn ------------------------------------------------------------------------------

local PAGE_WIDTH = 960

-- An image of at most so many pixels a side, each the mean of a square of them; what is left over
-- at the right and below is left out.
local function shrunk(pixels, most)
    local H, W, channels = pixels:size()
    local k = math.ceil(math.max(H, W) / most)
    if k <= 1 or math.min(H, W) < k then return pixels end
    local squares = pixels:narrow(1, 1, H // k * k):narrow(2, 1, W // k * k)
        :reshape(H // k, k, W // k, k, channels)
    return squares:mean { 2, 4 }
end

-- On white paper.
local function without_alpha(pixels)
    local channels = pixels:size(3)
    if channels % 2 == 1 then return pixels end
    local alpha = pixels:narrow(3, channels, 1)
    return pixels:narrow(3, 1, channels - 1) * alpha + (1 - alpha)
end

-- [H, W, 1 or 3] from 0 to 1; NaN stays what it is.
local function pixels_of(image, options)
    if type(image) == "table" then
        local ok, t = pcall(core.tensor, image, { dtype = "f64" })
        if not ok then
            errors.raise("%s: image: %s", WHERE, tostring(t):match "values: (.*)$" or tostring(t))
        end
        image = t
    end
    if not check.is_live(image) then
        errors.raise("%s: image: expected a tensor or a table of rows, got %s", WHERE,
            check.describe(image))
    end
    local dims = image:dim()
    local channels = dims == 2 and 1 or dims == 3 and image:size(3) or 0
    if channels < 1 or channels > 4 then
        local hint = dims == 3 and (image:size(1) == 1 or image:size(1) == 3)
            and "; channels come last: image:permute(2, 3, 1)" or ""
        errors.raise("%s: image: expected [H, W] or [H, W, C] of 1 to 4 channels, got %s%s", WHERE,
            tostring(image.shape), hint)
    end
    local low = options.min and check.number(WHERE, "min", options.min) or 0
    local high = options.max and check.number(WHERE, "max", options.max) or image.dtype == "u8"
        and 255 or 1
    if low >= high then
        errors.raise("%s: min: expected less than max (%g), got %g", WHERE, high, low)
    end
    local all = image:detach():reshape(image:size(1), image:size(2), channels)
    local pixels = (shrunk(all, PAGE_WIDTH):to "f64" - low) / (high - low)
    return without_alpha(pixels:clamp(0, 1))
end

-- One image, or a list of several.
local function panels_of(images, options)
    local is_list = type(images) == "table" and check.is_tensor(images[1])
    local list = {}
    for i, image in ipairs(is_list and images or { images }) do
        list[i] = { pixels = pixels_of(image, options), title = is_list and tostring(i) or nil }
    end
    if #list == 1 then list[1].title = nil end
    return list
end

---@class heed.viz.ImageOptions
---@field title? string above it
---@field caption? string below it
---@field panels? string[] titles of several, default their numbers
---@field min? number what is black, default 0
---@field max? number what is white, default 1, of u8 255
---@field width? integer columns of the terminal in all, default 80
---@field colour? boolean whether the terminal has colours, default whether standard output is one
---that has

---A picture of an image, or of several side by side: print it, or write it with `:save "it.svg"`,
---`"it.html"` or `"it.png"`. In a terminal without colours bright is dense. Pixels that are no
---numbers are marked. What heed.image.load gives can be shown as it is; alpha is put on white, and
---of an image larger than a page each pixel drawn is the mean of some.
---
---```lua
---local x = heed.linspace(0, 1, 24)
---print(heed.viz.image(x:view(1, 24):expand(8, 24), { title = "black to white", colour = false }))
---local digits = { heed.rand(8, 8), heed.rand(8, 8) }
---print(heed.viz.image(digits, { panels = { "a 3", "a 5, said to be 6" } }))
---```
---@param images heed.Tensor|number[][]|heed.Tensor[] [H, W] or [H, W, C] of 1 to 4 channels (gray,
---alpha; red, green, blue, alpha): u8 from 0 to 255, others from 0 to 1; or a list of such
---@param options? heed.viz.ImageOptions
---@return heed.viz.Image
local function image(images, options)
    options = check.options(WHERE, options, KNOWN)
    local title, caption = captions.of(WHERE, options)
    local list = panels_of(images, options)
    matrices.name_panels(WHERE, list, options.panels)
    return setmetatable({
        panels = list, title = title, caption = caption,
        width = check.integer(WHERE, "width", options.width or terminal.COLUMNS),
        colour = check.flag(WHERE, "colour", options.colour, terminal.wants_colour(1)),
    }, Image)
end

-- ---- in the terminal ----------------------------------------------------------------------------

local NAN_COLOUR = { 1, 0, 1 }
local SHADES = { [0] = " ", "░", "▒", "▓", "█" }

-- The mean of the pixels of [left, right) in a row, as red, green and blue from 0 to 1; NaN if one
-- of them is.
local function mean_of(row, left, right)
    local sums = { 0, 0, 0 }
    for j = left, right - 1 do
        local pixel = row[j]
        for c = 1, 3 do sums[c] = sums[c] + (pixel[c] or pixel[1]) end
    end
    for c = 1, 3 do sums[c] = sums[c] / (right - left) end
    return sums
end

-- The image in at most so many columns, two rows of it in a line of text: a grid of colours, and
-- its size.
local function reduced(panel, most)
    local pixels, H, W = panel.pixels, panel.pixels:size(1), panel.pixels:size(2)
    local columns = math.min(W, most)
    local lines = math.max(1, math.floor(H * columns / math.max(1, W) + 0.5))
    if W == 0 or H == 0 then return {}, 0, 0 end
    lines = math.min(lines, H)
    local grid = {}
    for i = 1, lines do
        grid[i] = {}
        local top = (i - 1) * H // lines + 1
        local row = pixels:narrow(1, top, math.max(1, i * H // lines + 1 - top)):mean(1):totable()
        for j = 1, columns do
            local left = (j - 1) * W // columns + 1
            grid[i][j] = mean_of(row, left, math.max(left + 1, j * W // columns + 1))
        end
    end
    return grid, lines, columns
end

local function byte(share) return math.floor(share * 255 + 0.5) end

local function is_nan(colour)
    return colour[1] ~= colour[1] or colour[2] ~= colour[2] or colour[3] ~= colour[3]
end

local function code(kind, colour)
    if is_nan(colour) then colour = NAN_COLOUR end
    return ("%d;2;%d;%d;%d"):format(kind, byte(colour[1]), byte(colour[2]), byte(colour[3]))
end

-- Two pixels, one above the other, in a cell.
local function coloured(upper, lower)
    if not lower then return ("\27[%sm▀"):format(code(38, upper)) end
    return ("\27[%s;%sm▀"):format(code(38, upper), code(48, lower))
end

local function shaded(upper, lower)
    lower = lower or upper
    if is_nan(upper) or is_nan(lower) then return "?" end
    local sum = 0
    for c = 1, 3 do sum = sum + upper[c] + lower[c] end
    return SHADES[math.floor(sum / 6 * 4 + 0.5)]
end

local function block(self, panel, most)
    local grid, lines, columns = reduced(panel, most)
    local texts = panel.title and { (width.cut(panel.title, math.max(columns, 12))) } or {}
    for i = 1, lines, 2 do
        local cells = {}
        for j = 1, columns do
            cells[j] = (self.colour and coloured or shaded)(grid[i][j],
                grid[i + 1] and grid[i + 1][j])
        end
        local text = table.concat(cells)
        texts[#texts + 1] = { self.colour and columns > 0 and text .. "\27[0m" or text, columns }
    end
    return texts
end

function Image:__tostring()
    local blocks = {}
    for p, panel in ipairs(self.panels) do blocks[p] = block(self, panel, self.width) end
    return captions.text(self, terminal.beside(blocks, self.width))
end

-- ---- as SVG -------------------------------------------------------------------------------------

-- pixels: of one pixel, of an image, between images, of all
local LARGEST, SMALLEST_SIDE, GAP = 16, 224, 20

-- Runs of one colour, a path for each colour.
local function draw_pixels(panel, x, y, scale)
    local paths, order = {}, {}
    for i, row in ipairs(panel.pixels:totable()) do
        local from = 1
        local colours = {}
        for j, pixel in ipairs(row) do
            local red, green, blue = pixel[1], pixel[2] or pixel[1], pixel[3] or pixel[1]
            colours[j] = is_nan { red, green, blue } and "nan"
                or ("#%02x%02x%02x"):format(byte(red), byte(green), byte(blue))
        end
        while from <= #colours do
            local to, colour = from, colours[from]
            while colours[to + 1] == colour do to = to + 1 end
            if not paths[colour] then
                paths[colour], order[#order + 1] = {}, colour
            end
            local size = (to - from + 1) * scale
            table.insert(paths[colour], ("M%s %sh%sv%sh-%sz"):format(svg.number((from - 1) * scale),
                svg.number((i - 1) * scale),
                svg.number(size), svg.number(scale), svg.number(size)))
            from = to + 1
        end
    end
    local body = {}
    for p, colour in ipairs(order) do
        local look = colour == "nan" and { "class", "heed-marked" } or { "fill", colour }
        body[p] = svg.element("path", { look[1], look[2], "d", table.concat(paths[colour]) })
    end
    local place = ("translate(%s %s)"):format(svg.number(x), svg.number(y))
    return svg.element("g", { "transform", place, "shape-rendering", "crispEdges" }, body)
end

-- Pixels of the drawing for one of the image.
local function scale_of(panel, count)
    local side = math.max(1, panel.pixels:size(1), panel.pixels:size(2))
    local room = count > 1 and SMALLEST_SIDE / 2 or SMALLEST_SIDE
    return side >= room and (side <= PAGE_WIDTH and 1 or PAGE_WIDTH / side)
        or math.min(LARGEST, room // side)
end

function Image:draw(titled)
    local body, MARGIN = {}, captions.MARGIN
    local top = captions.above(self, titled, body)
    local x, y, row_height, right = MARGIN, top, 0, 0
    for _, panel in ipairs(self.panels) do
        local scale = scale_of(panel, #self.panels)
        local wide, high = panel.pixels:size(2) * scale, panel.pixels:size(1) * scale
        local title = panel.title and 20 or 0
        local label = panel.title and svg.label_width(panel.title) or 0
        if x > MARGIN and x + math.max(wide, label) > PAGE_WIDTH then
            x, y, row_height = MARGIN, y + row_height + GAP, 0
        end
        if panel.title then
            body[#body + 1] = svg.text(x, y + svg.FONT_SIZE, panel.title, "heed-ink")
        end
        body[#body + 1] = svg.element("rect", { "class", "heed-line", "x", x - 0.5, "y",
            y + title - 0.5, "width", wide + 1,
            "height", high + 1 })
        body[#body + 1] = draw_pixels(panel, x, y + title, scale)
        x, row_height = x + math.max(wide, label) + GAP, math.max(row_height, high + title)
        right = math.max(right, x - GAP)
    end
    local size = captions.around(self, titled, body, right + MARGIN, y + row_height)
    return { width = size.width, height = size.height + MARGIN, title = self.title or "Image",
        body = body }
end

return image
