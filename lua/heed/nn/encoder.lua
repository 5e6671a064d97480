local check = require "heed.check"
local EncoderLayer = require "heed.nn.encoder_layer"
local LayerNorm = require("heed.nn.norm").LayerNorm
local masks = require "heed.mask"
local module = require "heed.nn.module"

local WHERE = "nn.TransformerEncoder"
local CALL = check.set("mask")

---A stack of encoder layers, and a norm after the last one when asked for.
---@class heed.nn.TransformerEncoder: heed.nn.Module
---@field layers heed.nn.TransformerEncoderLayer[]
---@field norm heed.nn.LayerNorm|nil
local Encoder = module.Module:extend "TransformerEncoder"

---The options of a stack: its layers', and final_norm (default: norm_first).
---@param where string for messages
---@param options? table
---@return table layer_options
---@return boolean final_norm
function Encoder.split_options(where, options)
    local layer_options = {}
    for name, value in pairs(check.type(where, "options", options or {}, "table")) do
        if name ~= "final_norm" then layer_options[name] = value end
    end
    return layer_options, check.flag(where, "final_norm", options and options.final_norm, layer_options.norm_first or false)
end

---@param layer_count integer
---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? table those of TransformerEncoderLayer, and final_norm (default: norm_first)
function Encoder:init(layer_count, d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    check.integer(WHERE, "layer_count", layer_count)
    local layer_options, final_norm = Encoder.split_options(WHERE, options)
    self.layers = {}
    for i = 1, layer_count do self.layers[i] = EncoderLayer(d_model, num_heads, d_ff, layer_options) end
    if final_norm then self.norm = LayerNorm(d_model, { eps = layer_options.eps }) end
    self.num_heads = num_heads
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor }
---@return heed.Tensor of the shape of x
function Encoder:forward(x, options)
    local mask = check.options(WHERE, options, CALL).mask
    local shared = mask and { mask = masks.settle(WHERE, mask, x, x, self.num_heads) }
    for _, layer in ipairs(self.layers) do x = layer(x, shared) end
    return self.norm and self.norm(x) or x
end

return Encoder
