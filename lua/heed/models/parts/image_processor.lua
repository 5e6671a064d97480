--- From images to what a model of images reads, as preprocessor_config.json says.

local check = require "heed.check"
local errors = require "heed.errors"
local heed = require "heed.core"
local huggingface = require "heed.models.files.huggingface"
local image = require "heed.image"
local nn = require "heed.nn"
local unknown = require "heed.unknown"

local WHERE = "heed.models.ImageProcessor"

---Images as one tensor of a size: resized, cut in the middle, and normalised.
---
---```lua
---local processor = heed.models.ImageProcessor { size = { height = 4, width = 4 },
---    image_mean = { 0.5, 0.5, 0.5 }, image_std = { 0.5, 0.5, 0.5 } }
---local white = heed.full({ 6, 8, 3 }, 255, { dtype = "u8" })
---local pixels = processor(white)
---print(pixels.shape, pixels:min():item()) --> [1, 3, 4, 4] 1.0
---```
---@class heed.models.ImageProcessor: heed.nn.Module
---@field settings table preprocessor_config.json
local ImageProcessor = nn.Module:extend "ImageProcessor"

local FILTERS = { [1] = "lanczos", [2] = "bilinear", [3] = "bicubic", [4] = "box" }

local LONGEST = 1 << 16

local function side(name, given)
    local pixels = type(given) == "number" and math.tointeger(given)
    if not pixels or pixels < 1 or pixels > LONGEST then
        unknown.refuse("%s: expected an integer from 1 to %d, got %s", name, LONGEST,
            check.describe(given))
    end
    return pixels
end

-- { height, width }, { shortest }, or nothing.
local function size_of(name, given, square)
    if type(given) == "number" then
        local pixels = side(name, given)
        return square and { height = pixels, width = pixels } or { shortest = pixels }
    end
    unknown.check(given, "table", name)
    if given.height and given.width then
        return { height = side(name .. ".height", given.height),
            width = side(name .. ".width", given.width) }
    end
    if given.shortest_edge and not given.longest_edge then
        return { shortest = side(name .. ".shortest_edge", given.shortest_edge) }
    end
    return unknown.kind(name, "neither height and width nor shortest_edge")
end

local function number(name, given)
    if type(given) ~= "number" or given ~= given or math.abs(given) > 1e30 then
        unknown.refuse("%s: expected a number, got %s", name, check.describe(given))
    end
    return given
end

-- One number of each of three channels, or one of all.
local function per_channel(name, given)
    local list = unknown.check(given, "table", name)
    if #list ~= 3 and #list ~= 1 then
        unknown.refuse("%s: expected 3 numbers, got %s", name, check.describe(given))
    end
    for i, value in ipairs(list) do number(("%s[%d]"):format(name, i), value) end
    return heed.tensor(list, { dtype = "f32" }):view(-1, 1, 1)
end

local function filter_of(resample)
    if unknown.absent(resample) then return FILTERS[2] end
    return FILTERS[resample] or unknown.kind("resample", check.describe(resample))
end

---@param c table preprocessor_config.json: do_resize, size, resample; do_center_crop, crop_size;
---do_rescale, rescale_factor; do_normalize, image_mean, image_std
function ImageProcessor:init(c)
    check.type(WHERE, "config", c, "table")
    self.settings = c
    if unknown.flag(c.do_resize, true) then
        -- Old files have one number: CLIP's of the shorter side.
        local kind = tostring(c.image_processor_type or c.feature_extractor_type)
        self.size = size_of("size", c.size, not kind:find "^CLIP")
        self.filter = filter_of(c.resample)
    end
    if unknown.flag(c.do_center_crop, false) then
        self.crop = size_of("crop_size", c.crop_size, true)
        if self.crop.shortest then unknown.kind("crop_size", "shortest_edge") end
    end
    local factor = unknown.absent(c.rescale_factor) and 1 / 255 or c.rescale_factor
    self.factor = unknown.flag(c.do_rescale, true) and number("rescale_factor", factor) or 1
    if unknown.flag(c.do_normalize, true) then
        self.mean = per_channel("image_mean", c.image_mean)
        self.std = per_channel("image_std", c.image_std)
        if self.std:eq(0):any() then
            unknown.refuse "image_std: expected numbers that are not 0"
        end
    end
end

-- Of a file or a tensor u8 [H, W, C], in three colours.
local function pixels_of(given)
    if type(given) == "string" then
        local pixels, message = image.load(given, { channels = 3 })
        return pixels or errors.raise("%s: images: %s", WHERE, message)
    end
    local channels = check.is_live(given) and given.dtype == "u8" and given:dim() == 3
        and given:size(3)
    if not channels or channels < 1 or channels > 4 then
        errors.raise("%s: images: expected paths or tensors u8 [H, W, C], got %s", WHERE,
            check.describe(given))
    end
    if channels < 3 then return given:narrow(3, 1, 1):expand(given:size(1), given:size(2), 3) end
    return given:narrow(3, 1, 3)
end

-- The shorter side as long as it is to be, the other in proportion.
local function resized(self, pixels)
    if not self.size then return pixels end
    local H, W = pixels:size()
    local height, width, short = self.size.height, self.size.width, self.size.shortest
    if short then
        height = H <= W and short or short * H // W
        width = H <= W and short * W // H or short
    end
    return image.resize(pixels, height, width, { filter = self.filter })
end

local function cropped(self, pixels)
    if not self.crop then return pixels end
    local H, W = pixels:size()
    local height, width = self.crop.height, self.crop.width
    if H < height or W < width then
        errors.raise("%s: images: expected at least %d x %d to cut from, got %d x %d", WHERE,
            height, width, H, W)
    end
    return pixels:narrow(1, (H - height) // 2 + 1, height):narrow(2, (W - width) // 2 + 1, width)
end

---@param images string|heed.Tensor|(string|heed.Tensor)[] paths of PNG and JPEG files, or tensors
---u8 [H, W, C]
---@return heed.Tensor pixels f32 [B, 3, H, W]
function ImageProcessor:forward(images)
    local list = {}
    if images == nil or type(images) == "table" and images[1] == nil then
        errors.raise("%s: images: expected at least one, got none", WHERE)
    end
    for i, given in ipairs(type(images) == "table" and images or { images }) do
        local pixels = cropped(self, resized(self, pixels_of(given)))
        local x = pixels:permute(3, 1, 2):to "f32" * self.factor
        list[i] = self.mean and (x - self.mean) / self.std or x
    end
    return heed.stack(list, 1)
end

local KINDS = check.set("ViTImageProcessor", "ViTImageProcessorFast", "ViTFeatureExtractor",
    "CLIPImageProcessor", "CLIPImageProcessorFast", "CLIPFeatureExtractor")

-- What a directory says of images; nil when it says nothing.
function ImageProcessor.of_directory(directory)
    local c = huggingface.object_if_there(directory .. "/preprocessor_config.json")
        or huggingface.object_if_there(directory .. "/processor_config.json")
    if not c then return nil end
    c = c.image_processor or c
    local kind = c.image_processor_type or c.feature_extractor_type
    if not KINDS[kind] then unknown.kind("preprocessor_config.json: image_processor_type", kind) end
    return unknown.of_file("preprocessor_config.json", ImageProcessor, c)
end

return ImageProcessor
