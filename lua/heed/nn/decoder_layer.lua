local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local FeedForward = require "heed.nn.feed_forward"
local module = require "heed.nn.module"
local program = require "heed.mask.program"
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.TransformerDecoderLayer"
local CALL = check.set("mask", "memory_mask", "cache")

---Self-attention, attention over the encoder's memory, and feed-forward, each with a residual
---connection and a norm (Vaswani et al. 2017, section 3.1).
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

-- The layer as the paper draws it: for parts of the user's own, and while somebody collects
-- attention weights.
local function composed(self, x, memory, own, across)
    x = sublayers.step(self, x, 1, function(y) return (self.self_attn(y, y, y, own)) end)
    x = sublayers.step(self, x, 2, function(y)
        return (self.multihead_attn(y, memory, memory, across))
    end)
    return sublayers.step(self, x, 3, function(y)
        return FeedForward.compose(self, y, self.hidden_dropout or self.dropout)
    end)
end

-- Are all parts the stock ones, so that C can run the whole?
function DecoderLayer:is_stock()
    return FeedForward.is_plain(self) and sublayers.is_stock_attention(self.self_attn)
        and sublayers.is_stock_attention(self.multihead_attn) and not self.multihead_attn.rotary
        and sublayers.has_stock_norms(self, 3)
end

-- With a cache: the steps of both attentions.
local function steps_of(self, x, memory, mask, memory_mask, cache)
    local own, across, where = self.self_attn, self.multihead_attn, WHERE .. ": memory_mask"
    cache = caches.check(WHERE, cache)
    local batch = sublayers.batched(x)
    local step = caches.step(cache, own, batch, caches.mask(WHERE .. ": mask", mask), "self_attn: ")
    local over = across:memory_step(cache, x, memory, memory)
    if memory_mask then
        over.mask = program.for_sizes(where, caches.mask(where, memory_mask), batch:size(1),
            across.num_heads, batch:size(2), over.length, x.dtype)
    end
    return step, over
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param memory heed.Tensor [B, S, E]: the encoder's output
---@param options? { mask?: heed.Mask|heed.Tensor, memory_mask?: heed.Mask|heed.Tensor, cache?: heed.Cache }
---mask: usually heed.mask.causal(); memory_mask: what of the memory may be seen; cache: what came
---before x
---@return heed.Tensor # of the shape of x
function DecoderLayer:forward(x, memory, options)
    if options then check.options(WHERE, options, CALL) end
    local mask, memory_mask = options and options.mask, options and options.memory_mask
    local cache = options and options.cache
    if capture.is_open() or not self:is_stock()
        or cache and not sublayers.are_sequences(self, x, memory) then
        return composed(self, x, memory, { mask = mask, cache = cache },
            { mask = memory_mask, cache = cache })
    end
    local own = self.self_attn
    local step, over, seen, memory_seen, cos, sin
    if cache then
        step, over = steps_of(self, x, memory, mask, memory_mask, cache)
        seen, memory_seen = step.mask, over.mask
    else
        seen = program.argument(WHERE .. ": mask", mask, x, x, own.num_heads)
        memory_seen = program.argument(WHERE .. ": memory_mask", memory_mask, x, memory,
            self.multihead_attn.num_heads)
    end
    if own.rotary then cos, sin = own:rotary_tables(x, x, step) end
    local out = core.decoder_layer(self, x, memory, seen, memory_seen, cos, sin, step, over)
    if step then caches.done(step) end
    return out
end

function DecoderLayer:extra() return self.norm_first and "norm_first" or "" end

return DecoderLayer
