local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local FeedForward = require "heed.nn.feed_forward"
local program = require "heed.mask.program"
local module = require "heed.nn.module"
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.TransformerDecoderLayer"
local CALL = check.set("mask", "memory_mask", "cache")

---Self-attention, attention over the encoder's memory, and feed-forward, each with a residual connection and a norm
---(Vaswani et al. 2017, section 3.1).
---
---```lua
---local layer = nn.TransformerDecoderLayer(8, 2, 16)
---local x, memory = heed.randn(1, 3, 8), heed.randn(1, 5, 8)
---print(layer(x, memory, { mask = heed.mask.causal(), memory_mask = heed.mask.padding { 4 } }).shape) --> [1, 3, 8]
---```
---@class heed.nn.TransformerDecoderLayer: heed.nn.Module
---@field dropout number
---@field norm_first boolean
---@field activation heed.Activation
---@field self_attn heed.nn.MultiHeadAttention
---@field multihead_attn heed.nn.MultiHeadAttention over the memory
---@field linear1 heed.nn.Linear
---@field linear2 heed.nn.Linear
---@field linear3 heed.nn.Linear|nil of a gated activation: see heed.nn.FeedForward
---@field norm1 heed.nn.LayerNorm|heed.nn.RMSNorm
---@field norm2 heed.nn.LayerNorm|heed.nn.RMSNorm
---@field norm3 heed.nn.LayerNorm|heed.nn.RMSNorm
local DecoderLayer = module.Module:extend "TransformerDecoderLayer"

---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? heed.nn.LayerOptions
function DecoderLayer:init(d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    sublayers.add_parts(self, WHERE, true, d_model, num_heads, d_ff, options)
end

-- The layer as the paper draws it: for parts that are not the paper's, and while somebody collects attention weights.
local function composed(self, x, memory, own, across)
    x = sublayers.step(self, x, self.norm1, function(y) return (self.self_attn(y, y, y, own)) end)
    x = sublayers.step(self, x, self.norm2, function(y) return (self.multihead_attn(y, memory, memory, across)) end)
    return sublayers.step(self, x, self.norm3, function(y) return FeedForward.compose(self, y, self.dropout) end)
end

-- Are all parts the stock ones, so that C can run the whole?
function DecoderLayer:is_stock()
    local own, across = self.self_attn, self.multihead_attn
    return FeedForward.is_plain(self) and sublayers.is_stock_attention(self, own)
        and sublayers.is_stock_attention(self, across) and own.num_heads == across.num_heads and own.dropout == across.dropout
        and sublayers.are_stock_norms(self.norm1, self.norm2, self.norm3)
end

-- With a cache.
local function cached(self, x, memory, mask, memory_mask, cache)
    local own, across = self.self_attn, self.multihead_attn
    cache = caches.check(WHERE, cache)
    local turn = caches.step(cache, own, x, caches.mask(WHERE .. ": mask", mask), "self_attn: ")
    local over = across:memory_turn(cache, x, memory, memory)
    local seen
    if memory_mask then
        local given = caches.mask(WHERE .. ": memory_mask", memory_mask)
        seen = program.for_sizes(WHERE .. ": memory_mask", given, x:size(1), across.num_heads,
            x:size(2), over.length, x.dtype)
    end
    local norm1, norm2, norm3 = self.norm1, self.norm2, self.norm3
    local linear1, linear2 = self.linear1, self.linear2
    local out = core.decoder_layer(x, memory, turn.mask, seen, self.training, self.dropout, own.dropout,
        own.num_heads, self.activation, self.norm_first, norm1.eps,
        own.in_proj_weight, own.in_proj_bias, own.out_proj.weight, own.out_proj.bias,
        across.in_proj_weight, across.in_proj_bias, across.out_proj.weight, across.out_proj.bias,
        linear1.weight, linear1.bias, linear2.weight, linear2.bias,
        norm1.weight, norm1.bias, norm2.weight, norm2.bias, norm3.weight, norm3.bias,
        turn.k, turn.v, turn.places, turn.before, turn.length, over.k, over.v)
    caches.done(turn)
    return out
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param memory heed.Tensor [B, S, E]: the encoder's output
---@param options? { mask?: heed.Mask|heed.Tensor, memory_mask?: heed.Mask|heed.Tensor, cache?: heed.Cache } mask: usually
---heed.mask.causal(); memory_mask: what of the memory may be seen; cache: what came before x
---@return heed.Tensor # of the shape of x
function DecoderLayer:forward(x, memory, options)
    if options then check.options(WHERE, options, CALL) end
    local mask, memory_mask = options and options.mask, options and options.memory_mask
    local cache = options and options.cache
    local stock = not capture.is_open() and self:is_stock()
    if cache and stock and sublayers.are_batches(self, x, memory) then
        return cached(self, x, memory, mask, memory_mask, cache)
    end
    if cache or not stock then
        return composed(self, x, memory, { mask = mask, cache = cache }, { mask = memory_mask, cache = cache })
    end
    local own, across = self.self_attn, self.multihead_attn
    local seen = program.argument(WHERE .. ": mask", mask, x, x, own.num_heads)
    local memory_seen = program.argument(WHERE .. ": memory_mask", memory_mask, x, memory,
        own.num_heads)
    local norm1, norm2, norm3 = self.norm1, self.norm2, self.norm3
    local linear1, linear2 = self.linear1, self.linear2
    return core.decoder_layer(x, memory, seen, memory_seen, self.training, self.dropout, own.dropout,
        own.num_heads, self.activation, self.norm_first, norm1.eps,
        own.in_proj_weight, own.in_proj_bias, own.out_proj.weight, own.out_proj.bias,
        across.in_proj_weight, across.in_proj_bias, across.out_proj.weight, across.out_proj.bias,
        linear1.weight, linear1.bias, linear2.weight, linear2.bias,
        norm1.weight, norm1.bias, norm2.weight, norm2.bias, norm3.weight, norm3.bias)
end

function DecoderLayer:extra() return self.norm_first and "norm_first" or "" end

return DecoderLayer
