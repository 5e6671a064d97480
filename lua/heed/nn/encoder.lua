local check = require "heed.check"
local EncoderLayer = require "heed.nn.encoder_layer"
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
---@param options? heed.nn.StackOptions the layers share one rotary
function Encoder:init(layer_count, d_model, num_heads, d_ff, options)
    sublayers.add_layers(self, WHERE, EncoderLayer, layer_count, d_model, num_heads, d_ff, options)
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor, cache?: heed.Cache } mask: who may be seen;
---cache: what came before x
---@return heed.Tensor # of the shape of x
function Encoder:forward(x, options)
    options = check.options(WHERE, options, CALL)
    local mask, cache = options.mask, options.cache
    local shared = (mask or cache) and { mask = program.once(WHERE .. ": mask", mask, x),
        cache = cache }
    for _, layer in ipairs(self.layers) do x = layer(x, shared) end
    return self.norm and self.norm(x) or x
end

return Encoder
