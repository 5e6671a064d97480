local check = require "heed.check"
local DecoderLayer = require "heed.nn.decoder_layer"
local Encoder = require "heed.nn.encoder"
local LayerNorm = require("heed.nn.norm").LayerNorm
local masks = require "heed.mask"
local module = require "heed.nn.module"

local WHERE = "nn.TransformerDecoder"
local CALL = check.set("mask", "memory_mask")

---A stack of decoder layers, and a norm after the last one when asked for.
---@class heed.nn.TransformerDecoder: heed.nn.Module
---@field layers heed.nn.TransformerDecoderLayer[]
---@field norm heed.nn.LayerNorm|nil
local Decoder = module.Module:extend "TransformerDecoder"

---@param layer_count integer
---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? table those of TransformerDecoderLayer, and final_norm (default: norm_first)
function Decoder:init(layer_count, d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    check.integer(WHERE, "layer_count", layer_count)
    local layer_options, final_norm = Encoder.split_options(WHERE, options)
    self.layers = {}
    for i = 1, layer_count do self.layers[i] = DecoderLayer(d_model, num_heads, d_ff, layer_options) end
    if final_norm then self.norm = LayerNorm(d_model, { eps = layer_options.eps }) end
    self.num_heads = num_heads
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param memory heed.Tensor [B, S, E]: the encoder's output
---@param options? { mask?: heed.Mask|heed.Tensor, memory_mask?: heed.Mask|heed.Tensor } mask: usually heed.mask.causal()
---@return heed.Tensor of the shape of x
function Decoder:forward(x, memory, options)
    options = check.options(WHERE, options, CALL)
    local shared = {
        mask = masks.settle(WHERE, options.mask, x, x, self.num_heads),
        memory_mask = masks.settle(WHERE, options.memory_mask, x, memory, self.num_heads),
    }
    for _, layer in ipairs(self.layers) do x = layer(x, memory, shared) end
    return self.norm and self.norm(x) or x
end

return Decoder
