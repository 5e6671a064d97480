--- Images in PNG and JPEG files as tensors of pixels, [height, width, channels].

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local image = { resize = require "heed.image.resize" }

local LOAD = check.set("channels", "max_pixels", "upright")
local SAVE = check.set("quality")
local MAX_PIXELS = 1 << 27

-- What brings an image of each EXIF orientation upright.
local function mirrored(t) return t:flip(2) end
local function upside_down(t) return t:flip(1) end
local function transposed(t) return t:transpose(1, 2) end
local UPRIGHT = {
    [2] = mirrored,
    [3] = function(t) return upside_down(mirrored(t)) end,
    [4] = upside_down,
    [5] = transposed,
    [6] = function(t) return mirrored(transposed(t)) end,
    [7] = function(t) return mirrored(upside_down(transposed(t))) end,
    [8] = function(t) return upside_down(transposed(t)) end,
}

---The pixels of a PNG or JPEG file, whatever its name ends in.
---
---Channels are 1 (gray), 2 (gray, alpha), 3 (red, green, blue) or 4 (and alpha), as the file has
---them, or as `channels` says: gray is the luma 0.299 R + 0.587 G + 0.114 B, alpha is left out, or
---255 where the file has none. Palettes are looked up, 16 bits become 8, CMYK (in Adobe's form)
---becomes RGB; no colour profile and no gamma is applied. JPEG photographs are turned as their EXIF
---orientation says.
---
---A file that is damaged or ends early gives nil and a message. An image of more than `max_pixels`
---is refused before memory is allocated; what it takes counts in heed.memory_limit.
---
---As input of a model: `x = pixels:to "f32" / 255`, and channels first where that is wanted,
---`x:permute(3, 1, 2)`.
---
---```lua
---local path = os.tmpname() .. ".png"
---assert(heed.image.save(path, heed.range(0, 5):view(2, 3, 1):to "u8"))
---local pixels = assert(heed.image.load(path))
---print(pixels.shape, pixels[2][3]) --> [2, 3, 1] [5] u8 [1]
---print((pixels:to "f32" / 255):permute(3, 1, 2).shape) --> [1, 2, 3]
---print(heed.image.load(path, { channels = 3 }).shape) --> [2, 3, 3]
---os.remove(path)
---```
---@param path string
---@param options? { channels?: integer, max_pixels?: integer, upright?: boolean } channels: 1 to 4,
---default as the file has them; max_pixels: default 2^27; upright: turn by EXIF, default true
---@return heed.Tensor|nil pixels u8 [H, W, C]; nil when the file cannot be read, or heed was built
---without the library for it (heed.info() says)
---@return string? message
function image.load(path, options)
    check.type("heed.image.load", "path", path, "string")
    options = check.options("heed.image.load", options, LOAD)
    local upright = check.flag("heed.image.load", "upright", options.upright, true)
    local channels = options.channels
    if channels ~= nil then check.integer("heed.image.load", "channels", channels) end
    local pixels, orientation = core.image_load(path, channels or 0,
        check.integer("heed.image.load", "max_pixels", options.max_pixels or MAX_PIXELS))
    if not pixels then return nil, orientation end
    local turn = upright and UPRIGHT[orientation]
    return turn and turn(pixels):contiguous() or pixels
end

local FORMATS = { png = "png", jpg = "jpeg", jpeg = "jpeg" }

-- [H, W, C] of u8, or an error that says how to get there.
local function checked(pixels, format)
    if not check.is_live(pixels) then
        errors.raise("heed.image.save: pixels: expected a tensor, got %s", check.describe(pixels))
    end
    if pixels.dtype ~= "u8" then
        errors.raise("heed.image.save: pixels: expected u8, got %s; of values from 0 to 1: "
            .. '(x * 255):round():to "u8"', check.describe(pixels))
    end
    local dims = pixels:dim()
    if dims == 2 then return pixels:unsqueeze(3) end
    local channels = dims == 3 and pixels:size(3) or 0
    local fits = channels == 1 or channels == 3 or format == "png"
        and (channels == 2 or channels == 4)
    if not fits then
        local first = dims == 3 and pixels:size(1) or 0
        errors.raise("heed.image.save: pixels: expected [H, W] or [H, W, C] of %s channels, "
            .. "got %s%s", format == "png" and "1 to 4" or "1 or 3", tostring(pixels.shape),
            (first == 1 or first == 3) and "; channels come last: pixels:permute(2, 3, 1)" or "")
    end
    return pixels
end

---Writes pixels to a PNG (".png") or JPEG file (".jpg", ".jpeg"), whole or not at all.
---
---```lua
---local path = os.tmpname() .. ".jpg"
---local pixels = heed.full({ 8, 8, 3 }, 200, { dtype = "u8" })
---print(heed.image.save(path, pixels, { quality = 95 })) --> true
---print(heed.image.load(path).shape) --> [8, 8, 3]
---os.remove(path)
---```
---@param path string
---@param pixels heed.Tensor u8 [H, W], or [H, W, C] of 1 to 4 channels; JPEG has 1 or 3
---@param options? { quality?: integer } quality: of JPEG, 1 to 100, default 90
---@return true|nil ok nil when it could not be written, or heed was built without the library for
---it
---@return string? message
function image.save(path, pixels, options)
    check.type("heed.image.save", "path", path, "string")
    options = check.options("heed.image.save", options, SAVE)
    local quality = check.integer("heed.image.save", "quality", options.quality or 90)
    local ending = path:match "%.(%w+)$"
    local format = FORMATS[ending and ending:lower()]
    if not format then
        errors.raise("heed.image.save: path: expected one that ends in .png, .jpg or .jpeg, got %q",
            path)
    end
    return core.image_save(path, checked(pixels, format), format, quality)
end

return image
