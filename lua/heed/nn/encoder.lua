local check = require "heed.check"
local EncoderLayer = require "heed.nn.encoder_layer"
local errors = require "heed.errors"
local program = require "heed.mask.program"
local module = require "heed.nn.module"
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.TransformerEncoder"
local CALL = check.set("mask", "cache")

---A stack of encoder layers, and a norm after the last one when asked for.
---
---```lua
---local encoder = nn.TransformerEncoder(2, 8, 2, 16, { norm_first = true, rotary = true })
---print(encoder(heed.randn(1, 3, 8), { mask = heed.mask.padding { 2 } }).shape) --> [1, 3, 8]
---local causal = heed.mask.causal()
---local near = causal & heed.mask.window(1) -- layers that see near, and far
---print(encoder(heed.randn(1, 3, 8), { mask = { near, causal } }).shape) --> [1, 3, 8]
---```
---@class heed.nn.TransformerEncoder: heed.nn.Module
---@field layers heed.nn.TransformerEncoderLayer[]
---@field norm heed.nn.Module|nil
---@field num_heads integer
local Encoder = module.Module:extend "TransformerEncoder"

---@param layer_count integer
---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? heed.nn.StackOptions
function Encoder:init(layer_count, d_model, num_heads, d_ff, options)
    sublayers.add_layers(self, WHERE, EncoderLayer, layer_count, d_model, num_heads, d_ff, options)
end

local function call_of(mask, cache, x)
    return { mask = program.once(WHERE .. ": mask", mask, x), cache = cache }
end

-- What each layer is called with, of a list of masks.
local function calls_of(self, list, cache, x)
    if #list ~= #self.layers then
        errors.raise("%s: mask: expected one, or %d in a list, got %d", WHERE, #self.layers, #list)
    end
    local calls, by_mask = {}, {}
    for i, mask in ipairs(list) do
        by_mask[mask] = by_mask[mask] or call_of(mask, cache, x)
        calls[i] = by_mask[mask]
    end
    return calls
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor|heed.Mask[], cache?: heed.Cache } mask: who may be
---seen, or a list of masks, one for each layer; cache: what came before x
---@return heed.Tensor # of the shape of x
function Encoder:forward(x, options)
    options = check.options(WHERE, options, CALL)
    local mask, cache, shared, own = options.mask, options.cache, nil, nil
    if type(mask) == "table" and getmetatable(mask) == nil then
        own = calls_of(self, mask, cache, x)
    else
        shared = (mask or cache) and call_of(mask, cache, x)
    end
    for i, layer in ipairs(self.layers) do x = layer(x, own and own[i] or shared) end
    return self.norm and self.norm(x) or x
end

return Encoder
