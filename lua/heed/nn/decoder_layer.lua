local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local FeedForward = require "heed.nn.feed_forward"
local LayerNorm = require("heed.nn.norm").LayerNorm
local Linear = require "heed.nn.linear"
local masks = require "heed.mask"
local module = require "heed.nn.module"
local MultiHeadAttention = require "heed.nn.attention"

local WHERE = "nn.TransformerDecoderLayer"
local CALL = check.set("mask", "memory_mask")
local KNOWN = check.set("dropout", "attention_dropout", "activation", "norm_first", "eps")

---Self-attention, attention over the encoder's memory, and feed-forward, each with a residual connection and a layer norm
---(Vaswani et al. 2017, section 3.1).
---@class heed.nn.TransformerDecoderLayer: heed.nn.Module
---@field self_attn heed.nn.MultiHeadAttention
---@field multihead_attn heed.nn.MultiHeadAttention over the memory
---@field linear1 heed.nn.Linear
---@field linear2 heed.nn.Linear
---@field norm1 heed.nn.LayerNorm
---@field norm2 heed.nn.LayerNorm
---@field norm3 heed.nn.LayerNorm
local DecoderLayer = module.Module:extend "TransformerDecoderLayer"

---@param d_model integer E
---@param num_heads integer H
---@param d_ff? integer F, default 2048
---@param options? { dropout?: number, attention_dropout?: number, activation?: "relu"|"gelu"|"silu"|function, norm_first?: boolean, eps?: number }
---as of the encoder layer
function DecoderLayer:init(d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    check.integer(WHERE, "d_ff", d_ff or 2048)
    options = check.options(WHERE, options, KNOWN)
    self.dropout = check.number(WHERE, "dropout", check.default(options.dropout, 0.1), 0, 1)
    self.activation = FeedForward.check_activation(WHERE, options.activation)
    self.norm_first = check.flag(WHERE, "norm_first", options.norm_first, false)
    local attention = { dropout = check.default(options.attention_dropout, self.dropout) }
    self.self_attn = MultiHeadAttention(d_model, num_heads, attention)
    self.multihead_attn = MultiHeadAttention(d_model, num_heads, attention)
    self.linear1 = Linear(d_model, d_ff or 2048)
    self.linear2 = Linear(d_ff or 2048, d_model)
    self.norm1 = LayerNorm(d_model, { eps = options.eps })
    self.norm2 = LayerNorm(d_model, { eps = options.eps })
    self.norm3 = LayerNorm(d_model, { eps = options.eps })
end

-- x + dropout(y).
local function residual(self, x, y)
    return core.dropout_add(x, y, self.training and self.dropout or 0)
end

-- The layer as the paper draws it: for parts that were replaced, and while somebody collects attention weights.
local function composed(self, x, memory, own, across)
    local function attend(y) return (self.self_attn(y, y, y, own)) end
    local function attend_memory(y) return (self.multihead_attn(y, memory, memory, across)) end
    local function feed_forward(y) return FeedForward.compose(self, y, self.dropout) end

    if self.norm_first then
        x = residual(self, x, attend(self.norm1(x)))
        x = residual(self, x, attend_memory(self.norm2(x)))
        return residual(self, x, feed_forward(self.norm3(x)))
    end
    x = self.norm1(residual(self, x, attend(x)))
    x = self.norm2(residual(self, x, attend_memory(x)))
    return self.norm3(residual(self, x, feed_forward(x)))
end

---Are all parts the stock ones, so that C can run the whole?
---@return boolean
function DecoderLayer:is_stock()
    local own, across, norm1, norm2, norm3 = self.self_attn, self.multihead_attn, self.norm1, self.norm2, self.norm3
    return FeedForward.knows(self.activation)
        and own.is_stock and own:is_stock() and across.is_stock and across:is_stock()
        and own.training == self.training and across.training == self.training
        and own.num_heads == across.num_heads and own.dropout == across.dropout
        and self.linear1.forward == Linear.forward and self.linear2.forward == Linear.forward
        and norm1.forward == LayerNorm.forward and norm2.forward == LayerNorm.forward and norm3.forward == LayerNorm.forward
        and norm1.eps == norm2.eps and norm1.eps == norm3.eps
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param memory heed.Tensor [B, S, E]: the encoder's output
---@param options? { mask?: heed.Mask|heed.Tensor, memory_mask?: heed.Mask|heed.Tensor } mask: usually heed.mask.causal()
---@return heed.Tensor of the shape of x
function DecoderLayer:forward(x, memory, options)
    if options then check.options(WHERE, options, CALL) end
    local mask, memory_mask = options and options.mask, options and options.memory_mask
    if capture.is_open() or not self:is_stock() then
        return composed(self, x, memory, mask and { mask = mask }, memory_mask and { mask = memory_mask })
    end
    local own, across = self.self_attn, self.multihead_attn
    local causal, lengths, seen, bias = masks.split(WHERE, mask, x, x, own.num_heads)
    local m_causal, m_lengths, m_seen, m_bias = masks.split(WHERE, memory_mask, x, memory, own.num_heads)
    local norm1, norm2, norm3 = self.norm1, self.norm2, self.norm3
    local linear1, linear2 = self.linear1, self.linear2
    return core.decoder_layer(x, memory, causal, lengths, seen, bias, m_causal, m_lengths, m_seen, m_bias,
        self.training, self.dropout, own.dropout, own.num_heads, self.activation, self.norm_first, norm1.eps,
        own.in_proj_weight, own.in_proj_bias, own.out_proj.weight, own.out_proj.bias,
        across.in_proj_weight, across.in_proj_bias, across.out_proj.weight, across.out_proj.bias,
        linear1.weight, linear1.bias, linear2.weight, linear2.bias,
        norm1.weight, norm1.bias, norm2.weight, norm2.bias, norm3.weight, norm3.bias)
end

function DecoderLayer:extra() return self.norm_first and "norm_first" or "" end

return DecoderLayer
