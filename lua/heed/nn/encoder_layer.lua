local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local FeedForward = require "heed.nn.feed_forward"
local program = require "heed.mask.program"
local module = require "heed.nn.module"
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.TransformerEncoderLayer"
local CALL = check.set("mask", "cache")

---Self-attention and feed-forward, each with a residual connection and a norm (Vaswani et al. 2017, section 3.1).
---
---```lua
---local layer = nn.TransformerEncoderLayer(8, 2, 16)
---print(layer(heed.randn(1, 3, 8), { mask = heed.mask.causal() }).shape) --> [1, 3, 8]
---print(nn.TransformerEncoderLayer(8, 2, 16, { norm_first = true, norm = "rms", activation = "swiglu", rotary = true, bias = false }))
---```
---@class heed.nn.TransformerEncoderLayer: heed.nn.Module
---@field dropout number
---@field norm_first boolean
---@field activation heed.Activation
---@field self_attn heed.nn.MultiHeadAttention
---@field linear1 heed.nn.Linear
---@field linear2 heed.nn.Linear
---@field linear3 heed.nn.Linear|nil of a gated activation: see heed.nn.FeedForward
---@field norm1 heed.nn.LayerNorm|heed.nn.RMSNorm
---@field norm2 heed.nn.LayerNorm|heed.nn.RMSNorm
local EncoderLayer = module.Module:extend "TransformerEncoderLayer"

---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? heed.nn.LayerOptions
function EncoderLayer:init(d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    sublayers.add_parts(self, WHERE, false, d_model, num_heads, d_ff, options)
end

-- The layer as the paper draws it: for parts that are not the paper's, and while somebody collects attention weights.
local function composed(self, x, options)
    x = sublayers.step(self, x, self.norm1, function(y) return (self.self_attn(y, y, y, options)) end)
    return sublayers.step(self, x, self.norm2, function(y) return FeedForward.compose(self, y, self.dropout) end)
end

-- Are all parts the stock ones, so that C can run the whole?
function EncoderLayer:is_stock()
    return FeedForward.is_plain(self) and sublayers.is_stock_attention(self, self.self_attn)
        and sublayers.are_stock_norms(self.norm1, self.norm2)
end

-- With a cache: turn is of its self_attn.
local function cached(self, x, mask, cache)
    local attention = self.self_attn
    local turn = caches.step(caches.check(WHERE, cache), attention, x, caches.mask(WHERE .. ": mask", mask), "self_attn: ")
    local out_proj, linear1, linear2, norm1, norm2 = attention.out_proj, self.linear1, self.linear2, self.norm1, self.norm2
    local out = core.encoder_layer(x, turn.mask, self.training, self.dropout, attention.dropout,
        attention.num_heads, self.activation, self.norm_first, norm1.eps,
        attention.in_proj_weight, attention.in_proj_bias, out_proj.weight, out_proj.bias,
        linear1.weight, linear1.bias, linear2.weight, linear2.bias, norm1.weight, norm1.bias, norm2.weight, norm2.bias,
        turn.k, turn.v, turn.places, turn.before, turn.length)
    caches.done(turn)
    return out
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor, cache?: heed.Cache } mask: who may be seen; cache: what came before x
---@return heed.Tensor # of the shape of x
function EncoderLayer:forward(x, options)
    if options then check.options(WHERE, options, CALL) end
    local mask, cache = options and options.mask, options and options.cache
    local stock = not capture.is_open() and self:is_stock()
    if cache and stock and sublayers.are_batches(self, x) then return cached(self, x, mask, cache) end
    if cache or not stock then return composed(self, x, { mask = mask, cache = cache }) end
    local attention = self.self_attn
    local seen = program.argument(WHERE .. ": mask", mask, x, x, attention.num_heads)
    local out_proj, linear1, linear2, norm1, norm2 = attention.out_proj, self.linear1, self.linear2, self.norm1, self.norm2
    return core.encoder_layer(x, seen, self.training, self.dropout, attention.dropout,
        attention.num_heads, self.activation, self.norm_first, norm1.eps,
        attention.in_proj_weight, attention.in_proj_bias, out_proj.weight, out_proj.bias,
        linear1.weight, linear1.bias, linear2.weight, linear2.bias, norm1.weight, norm1.bias, norm2.weight, norm2.bias)
end

function EncoderLayer:extra() return self.norm_first and "norm_first" or "" end

return EncoderLayer
