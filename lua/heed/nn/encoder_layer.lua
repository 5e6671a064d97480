local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local FeedForward = require "heed.nn.feed_forward"
local module = require "heed.nn.module"
local program = require "heed.mask.program"
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.TransformerEncoderLayer"
local CALL = check.set("mask", "cache")

---Self-attention and feed-forward, each with a residual connection and a norm (Vaswani et al. 2017,
---section 3.1).
---
---```lua
---local layer = nn.TransformerEncoderLayer(8, 2, 16)
---print(layer(heed.randn(1, 3, 8), { mask = heed.mask.causal() }).shape) --> [1, 3, 8]
---print(nn.TransformerEncoderLayer(8, 2, 16, { norm_first = true, norm = "rms",
---    activation = "swiglu", rotary = true, bias = false }))
---```
---@class heed.nn.TransformerEncoderLayer: heed.nn.Module
---@field dropout number
---@field hidden_dropout number|nil
---@field norm_first boolean
---@field activation heed.Activation
---@field self_attn heed.nn.MultiHeadAttention
---@field linear1 heed.nn.Linear
---@field linear2 heed.nn.Linear
---@field linear3 heed.nn.Linear|nil of a gated activation: see heed.nn.FeedForward
---@field norm1 heed.nn.LayerNorm|heed.nn.RMSNorm
---@field norm2 heed.nn.LayerNorm|heed.nn.RMSNorm
---@field post_norm1 heed.nn.LayerNorm|heed.nn.RMSNorm|nil of a sandwich_norm
---@field post_norm2 heed.nn.LayerNorm|heed.nn.RMSNorm|nil
local EncoderLayer = module.Module:extend "TransformerEncoderLayer"

---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? heed.nn.LayerOptions
function EncoderLayer:init(d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    sublayers.add_parts(self, WHERE, false, d_model, num_heads, d_ff, options)
end

-- The layer as the paper draws it: for parts of the user's own, and while somebody collects
-- attention weights.
local function composed(self, x, options)
    x = sublayers.step(self, x, 1, function(y)
        return (self.self_attn(y, y, y, options))
    end)
    return sublayers.step(self, x, 2, function(y)
        return FeedForward.compose(self, y, self.hidden_dropout or self.dropout)
    end)
end

-- Are all parts the stock ones, so that C can run the whole?
function EncoderLayer:is_stock()
    return FeedForward.is_plain(self) and sublayers.is_stock_attention(self.self_attn)
        and sublayers.has_stock_norms(self, 2)
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor, cache?: heed.Cache } mask: who may be seen;
---cache: what came before x
---@return heed.Tensor # of the shape of x
function EncoderLayer:forward(x, options)
    if options then check.options(WHERE, options, CALL) end
    local mask, cache = options and options.mask, options and options.cache
    if capture.is_open() or not self:is_stock()
        or cache and not sublayers.are_sequences(self, x) then
        return composed(self, x, { mask = mask, cache = cache })
    end
    local attention = self.self_attn
    local step, seen, cos, sin
    if cache then
        step = caches.step(caches.check(WHERE, cache), attention, sublayers.batched(x),
            caches.mask(WHERE .. ": mask", mask), "self_attn: ")
        seen = step.mask
    else
        seen = program.argument(WHERE .. ": mask", mask, x, x, attention.num_heads)
    end
    if attention.rotary then cos, sin = attention:rotary_tables(x, x, step) end
    local out = core.encoder_layer(self, x, seen, cos, sin, step)
    if step then caches.done(step) end
    return out
end

function EncoderLayer:extra() return self.norm_first and "norm_first" or "" end

return EncoderLayer
