--- Images as sequences: patches side by side, each one a token (Dosovitskiy et al. 2020).

local errors = require "heed.errors"
local heed = require "heed.core"

local patches = {}

---How many tokens an image gives, the class token counted.
---@param c table config.json: image_size, patch_size
---@return integer
function patches.count(c)
    local side = c.image_size // c.patch_size
    return side * side + 1
end

---@param pixels heed.Tensor [B, C, H, W]
---@param conv heed.nn.Conv2d of patches
---@param class_token heed.Tensor E numbers: what stands before the patches
---@param size integer of images that the model has positions for
---@return heed.Tensor [B, 1 + patches, E]
function patches.tokens(pixels, conv, class_token, size)
    if pixels:dim() ~= 4 or pixels:size(3) ~= size or pixels:size(4) ~= size then
        errors.raise("pixels: expected [B, C, %d, %d], got %s", size, size, tostring(pixels.shape))
    end
    local x = conv(pixels):flatten(3):transpose(2, 3)
    return heed.cat({ class_token:view(1, 1, -1):expand(x:size(1), 1, -1), x }, 2)
end

return patches
