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

-- What each layer is called with; nil when there is nothing.
local function calls_of(self, x, options)
    local mask, cache = options.mask, options.cache
    if not mask and not cache then return {} end
    local is_list = type(mask) == "table" and getmetatable(mask) == nil
    if is_list and #mask ~= #self.layers then
        errors.raise("%s: mask: expected one, or %d in a list, got %d", WHERE, #self.layers, #mask)
    end
    local calls, made = {}, {}
    for i = 1, #self.layers do
        local own = mask
        if is_list then own = mask[i] end
        local key = own or "none"
        made[key] = made[key] or { mask = program.once(WHERE .. ": mask", own, x), cache = cache }
        calls[i] = made[key]
    end
    return calls
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor|heed.Mask[], cache?: heed.Cache } mask: who may be
---seen, or a list of masks, one for each layer; cache: what came before x
---@return heed.Tensor # of the shape of x
function Encoder:forward(x, options)
    local calls = calls_of(self, x, check.options(WHERE, options, CALL))
    for i, layer in ipairs(self.layers) do x = layer(x, calls[i]) end
    return self.norm and self.norm(x) or x
end

return Encoder
