--- Images in another size: each pixel a weighted mean of those near its place, further ones the more
--- the image shrinks.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local WHERE = "heed.image.resize"

local LONGEST = 1 << 20 -- of a side

local function sinc(x) return x == 0 and 1 or math.sin(math.pi * x) / (math.pi * x) end

local A = -0.5 -- of Keys' cubic (1981)

-- How far each filter reaches, and its weight at a distance x in [0, reach].
local FILTERS = {
    bilinear = { 1, function(x) return 1 - x end },
    bicubic = { 2, function(x)
        if x < 1 then return ((A + 2) * x - (A + 3)) * x * x + 1 end
        return (((x - 5) * x + 8) * x - 4) * A
    end },
    lanczos = { 3, function(x) return sinc(x) * sinc(x / 3) end },
    box = { 0.5, function() return 1 end },
}
local NAMES = { "bicubic", "bilinear", "box", "lanczos" }

-- The weights of one pixel out of `size`: their first place, and a list.
local function weights_of(filter, scale, size, at)
    local reach, weight = FILTERS[filter][1], FILTERS[filter][2]
    local stretched = math.max(scale, 1)
    local centre = (at - 0.5) * scale
    local first = math.max(0, math.floor(centre - reach * stretched + 0.5))
    local last = math.min(size, math.floor(centre + reach * stretched + 0.5)) - 1
    local list, sum = {}, 0
    for i = first, last do
        local x = math.abs((i - centre + 0.5) / stretched)
        local w = x < reach and weight(x) or filter == "box" and x == reach and 1 or 0
        list[#list + 1], sum = w, sum + w
    end
    for i, w in ipairs(list) do list[i] = w / sum end
    return first, list
end

-- Some pixels of the result, `low` to `high`: the first and the last of those that they are made of,
-- and weights [those, these]. Whole pixels are weighted by multiples of 2^-22, as Pillow's are, so that
-- their sums are exact in f64.
local function matrix(filter, from, to, low, high, dtype)
    local firsts, lists, last = {}, {}, 0
    for at = low, high do
        local first, list = weights_of(filter, from / to, from, at)
        firsts[#firsts + 1], lists[#lists + 1] = first, list
        last = math.max(last, first + #list)
    end
    local begin, rows = math.min(table.unpack(firsts)), {}
    for k, list in ipairs(lists) do
        rows[k] = {}
        for i = 1, last - begin do rows[k][i] = list[i + begin - firsts[k]] or 0 end
    end
    local weights = core.tensor(rows, { dtype = dtype == "u8" and "f64" or dtype }):t()
    if dtype == "u8" then
        local steps = weights * (1 << 22)
        weights = (steps + steps:sign() * 0.5):trunc() / (1 << 22)
    end
    return begin + 1, last, weights
end

local TOGETHER = 16 -- neighbours in the result, which are made of nearly the same pixels

-- [N, C, from] -> [N, C, to]
local function along(x, filter, to)
    local from, whole, parts = x:size(3), x.dtype == "u8", {}
    if from == to then return x end
    for low = 1, to, TOGETHER do
        local first, last, weights = matrix(filter, from, to, low, math.min(low + TOGETHER - 1, to),
            x.dtype)
        local part = x:narrow(3, first, last - first + 1)
        if whole then
            part = (part:to "f64":matmul(weights) + 0.5):floor():clamp(0, 255):to "u8"
        else
            part = part:matmul(weights)
        end
        parts[#parts + 1] = part
    end
    return core.cat(parts, 3)
end

-- [H, W, C] of another width, or height.
local function to_width(x, filter, width)
    return along(x:permute(1, 3, 2), filter, width):permute(1, 3, 2)
end
local function to_height(x, filter, height)
    return along(x:permute(2, 3, 1), filter, height):permute(3, 1, 2)
end

---An image of another size. Of a smaller one all pixels have a part in the result, so nothing
---flickers (antialiasing). Pixels of u8 are those that the Python package Pillow gives, each channel by
---itself; images of floats keep their fractions.
---
---```lua
---local pixels = heed.range(0, 11):view(3, 4, 1):to "u8"
---print(heed.image.resize(pixels, 6, 2).shape) --> [6, 2, 1]
---print(heed.image.resize(pixels, 1, 2, { filter = "box" }):view(2)) --> [5, 7] u8 [2]
---```
---@param pixels heed.Tensor u8, f32 or f64 [H, W, C]
---@param height integer
---@param width integer
---@param options? { filter?: "bicubic"|"bilinear"|"box"|"lanczos" } default "bicubic"
---@return heed.Tensor # [height, width, C] of the same dtype
local function resize(pixels, height, width, options)
    local whole = check.is_live(pixels) and pixels.dtype == "u8"
    if not check.is_live(pixels) or pixels:dim() ~= 3 or pixels:numel() == 0
        or not whole and pixels.dtype ~= "f32" and pixels.dtype ~= "f64" then
        errors.raise("%s: pixels: expected u8, f32 or f64 [H, W, C], got %s", WHERE,
            check.describe(pixels))
    end
    check.integer(WHERE, "height", height, 1, LONGEST)
    check.integer(WHERE, "width", width, 1, LONGEST)
    options = check.options(WHERE, options, check.set("filter"))
    local filter = check.one_of(WHERE, "filter", options.filter or "bicubic", NAMES)
    -- Pillow's order (13.0): whole pixels are rounded between the two.
    local H, W = pixels:size()
    if height == H and width == W then return pixels:clone() end
    if height < H and H - height > 2 * (W - width) then
        return to_width(to_height(pixels, filter, height), filter, width):contiguous()
    end
    return to_height(to_width(pixels, filter, width), filter, height):contiguous()
end

return resize
