local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local FeedForward = require "heed.nn.feed_forward"
local LayerNorm = require("heed.nn.norm").LayerNorm
local Linear = require "heed.nn.linear"
local masks = require "heed.mask"
local module = require "heed.nn.module"
local MultiHeadAttention = require "heed.nn.attention"

local WHERE = "nn.TransformerEncoderLayer"
local CALL = check.set("mask")
local KNOWN = check.set("dropout", "attention_dropout", "activation", "norm_first", "eps")

---Self-attention and feed-forward, each with a residual connection and a layer norm (Vaswani et al. 2017, section 3.1).
---@class heed.nn.TransformerEncoderLayer: heed.nn.Module
---@field self_attn heed.nn.MultiHeadAttention
---@field linear1 heed.nn.Linear
---@field linear2 heed.nn.Linear
---@field norm1 heed.nn.LayerNorm
---@field norm2 heed.nn.LayerNorm
local EncoderLayer = module.Module:extend "TransformerEncoderLayer"

---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? { dropout?: number, attention_dropout?: number, activation?: "relu"|"gelu"|"silu"|function, norm_first?: boolean, eps?: number }
---dropout: default 0.1; attention_dropout: of the weights, default dropout; activation: default "relu"; norm_first: norms before
---the parts instead of after the residuals (default false); eps: of the norms, default 1e-5
function EncoderLayer:init(d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    check.integer(WHERE, "d_ff", d_ff or 2048)
    options = check.options(WHERE, options, KNOWN)
    self.dropout = check.number(WHERE, "dropout", check.default(options.dropout, 0.1), 0, 1)
    self.activation = FeedForward.check_activation(WHERE, options.activation)
    self.norm_first = check.flag(WHERE, "norm_first", options.norm_first, false)
    self.self_attn = MultiHeadAttention(d_model, num_heads, { dropout = check.default(options.attention_dropout, self.dropout) })
    self.linear1 = Linear(d_model, d_ff or 2048)
    self.linear2 = Linear(d_ff or 2048, d_model)
    self.norm1 = LayerNorm(d_model, { eps = options.eps })
    self.norm2 = LayerNorm(d_model, { eps = options.eps })
end

-- x + dropout(y).
local function residual(self, x, y)
    return core.dropout_add(x, y, self.training and self.dropout or 0)
end

-- The layer as the paper draws it: for parts that were replaced, and while somebody collects attention weights.
local function composed(self, x, options)
    local function attend(y) return (self.self_attn(y, y, y, options)) end
    local function feed_forward(y) return FeedForward.compose(self, y, self.dropout) end

    if self.norm_first then
        x = residual(self, x, attend(self.norm1(x)))
        return residual(self, x, feed_forward(self.norm2(x)))
    end
    x = self.norm1(residual(self, x, attend(x)))
    return self.norm2(residual(self, x, feed_forward(x)))
end

---Are all parts the stock ones, so that C can run the whole?
---@return boolean
function EncoderLayer:is_stock()
    local norm1, norm2 = self.norm1, self.norm2
    return FeedForward.knows(self.activation) and self.self_attn.is_stock and self.self_attn:is_stock()
        and self.self_attn.training == self.training
        and self.linear1.forward == Linear.forward and self.linear2.forward == Linear.forward
        and norm1.forward == LayerNorm.forward and norm2.forward == LayerNorm.forward and norm1.eps == norm2.eps
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { mask?: heed.Mask|heed.Tensor }
---@return heed.Tensor of the shape of x
function EncoderLayer:forward(x, options)
    local mask = options and check.options(WHERE, options, CALL).mask
    if capture.is_open() or not self:is_stock() then return composed(self, x, mask and { mask = mask }) end
    local attention = self.self_attn
    local causal, lengths, seen, bias = masks.split(WHERE, mask, x, x, attention.num_heads)
    local out_proj, linear1, linear2, norm1, norm2 = attention.out_proj, self.linear1, self.linear2, self.norm1, self.norm2
    return core.encoder_layer(x, causal, lengths, seen, bias, self.training, self.dropout, attention.dropout,
        attention.num_heads, self.activation, self.norm_first, norm1.eps,
        attention.in_proj_weight, attention.in_proj_bias, out_proj.weight, out_proj.bias,
        linear1.weight, linear1.bias, linear2.weight, linear2.bias, norm1.weight, norm1.bias, norm2.weight, norm2.bias)
end

function EncoderLayer:extra() return self.norm_first and "norm_first" or "" end

return EncoderLayer
