local check = require "heed.check"
local DecoderLayer = require "heed.nn.decoder_layer"
local program = require "heed.mask.program"
local module = require "heed.nn.module"
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.TransformerDecoder"
local CALL = check.set("mask", "memory_mask", "cache")

---A stack of decoder layers, and a norm after the last one when asked for.
---
---```lua
---local decoder = nn.TransformerDecoder(2, 8, 2, 16)
---print(decoder(heed.randn(1, 3, 8), heed.randn(1, 5, 8), { mask = heed.mask.causal() }).shape) --> [1, 3, 8]
---```
---@class heed.nn.TransformerDecoder: heed.nn.Module
---@field layers heed.nn.TransformerDecoderLayer[]
---@field norm heed.nn.Module|nil
---@field num_heads integer
local Decoder = module.Module:extend "TransformerDecoder"

---@param layer_count integer
---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? heed.nn.StackOptions
function Decoder:init(layer_count, d_model, num_heads, d_ff, options)
    sublayers.add_layers(self, WHERE, DecoderLayer, layer_count, d_model, num_heads, d_ff, options)
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param memory heed.Tensor [B, S, E]: the encoder's output
---@param options? { mask?: heed.Mask|heed.Tensor, memory_mask?: heed.Mask|heed.Tensor, cache?: heed.Cache }
---mask: usually heed.mask.causal(); memory_mask: what of the memory may be seen; cache: what came
---before x
---@return heed.Tensor # of the shape of x
function Decoder:forward(x, memory, options)
    options = check.options(WHERE, options, CALL)
    local shared = {
        mask = program.once(WHERE .. ": mask", options.mask, x),
        memory_mask = program.once(WHERE .. ": memory_mask", options.memory_mask, x),
        cache = options.cache,
    }
    for _, layer in ipairs(self.layers) do x = layer(x, memory, shared) end
    return self.norm and self.norm(x) or x
end

return Decoder
