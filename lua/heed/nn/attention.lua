local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local Linear = require "heed.nn.linear"
local masks = require "heed.mask"
local module = require "heed.nn.module"

local WHERE = "nn.MultiHeadAttention"
local CALL = check.set("mask", "weights")
local KNOWN = check.set("dropout", "bias", "num_kv_heads", "head_dim", "softcap")

---Several attentions side by side, each in a part of the features (Vaswani et al. 2017, section 3.2.2):
---MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W^O, head_h = Attention(Q W_h^Q, K W_h^K, V W_h^V).
---@class heed.nn.MultiHeadAttention: heed.nn.Module
---@field in_proj_weight heed.Tensor [3E, E]: the rows of W^Q, W^K and W^V
---@field in_proj_bias heed.Tensor|nil [3E]
---@field out_proj heed.nn.Linear W^O
local MultiHeadAttention = module.Module:extend "MultiHeadAttention"

MultiHeadAttention.gives_attention = true

---@param d_model integer E
---@param num_heads integer H
---@param options? { dropout?: number, bias?: boolean, num_kv_heads?: integer, head_dim?: integer, softcap?: number }
---dropout: of the weights, in training; num_kv_heads: heads of keys and values, a divisor of num_heads (then in_proj_weight is
---[(H + 2 Hk) D, E]); head_dim: D, default E / H
---Initial values as PyTorch's: Xavier over in_proj_weight, zero biases.
function MultiHeadAttention:init(d_model, num_heads, options)
    check.integer(WHERE, "d_model", d_model)
    check.integer(WHERE, "num_heads", num_heads)
    options = check.options(WHERE, options, KNOWN)
    local kv_heads = check.integer(WHERE, "num_kv_heads", options.num_kv_heads or num_heads)
    if not options.head_dim and d_model % num_heads ~= 0 then
        errors.raise("%s: d_model: expected a multiple of num_heads (%d), got %d", WHERE, num_heads, d_model)
    end
    if num_heads % kv_heads ~= 0 then
        errors.raise("%s: num_kv_heads: expected a divisor of num_heads (%d), got %d", WHERE, num_heads, kv_heads)
    end
    self.d_model, self.num_heads, self.num_kv_heads = d_model, num_heads, kv_heads
    self.head_dim = check.integer(WHERE, "head_dim", options.head_dim or d_model // num_heads)
    self.dropout = check.number(WHERE, "dropout", check.default(options.dropout, 0), 0, 1)
    self.softcap = options.softcap and check.number(WHERE, "softcap", options.softcap, 0)
    -- What C runs as one: the paper's own form.
    self.is_plain = kv_heads == num_heads and self.head_dim * num_heads == d_model and not self.softcap

    local width, rows = num_heads * self.head_dim, (num_heads + 2 * kv_heads) * self.head_dim
    self.in_proj_weight = module.parameter(initial.xavier_uniform_(core.empty(rows, d_model)))
    if check.flag(WHERE, "bias", options.bias, true) then self.in_proj_bias = module.parameter(core.zeros(rows)) end
    self.out_proj = Linear(width, d_model, { bias = options.bias })
    if self.out_proj.bias then initial.zeros_(self.out_proj.bias) end
end

-- x W^T of `count` heads whose rows begin after `before` heads, as [B, count, length, D].
local function project(self, x, before, count)
    local D = self.head_dim
    local weight, bias = self.in_proj_weight:narrow(1, before * D + 1, count * D), self.in_proj_bias
    local y = core.linear(x, weight, bias and bias:narrow(1, before * D + 1, count * D))
    return y:view(x:size(1), x:size(2), count, D):transpose(2, 3)
end

-- The formula in its parts: for a replaced out_proj, fewer key heads, or another head_dim.
local function composed(self, query, key, value, causal, lengths, mask, bias, want_weights)
    local H, Hk = self.num_heads, self.num_kv_heads
    local single = query:dim() == 2
    if single then query, key, value = query:unsqueeze(1), key:unsqueeze(1), value:unsqueeze(1) end
    local q, k, v = project(self, query, 0, H), project(self, key, H, Hk), project(self, value, H + Hk, Hk)
    local dropout = self.training and self.dropout or 0
    local heads, weights = core.attention(q, k, v, nil, self.softcap, dropout, causal, lengths, mask, bias, want_weights)
    local B, L = query:size(1), query:size(2)
    local out = self.out_proj(heads:transpose(2, 3):reshape(B, L, H * self.head_dim))
    if single then out, weights = out:squeeze(1), weights and weights:squeeze(1) end
    return out, weights
end

---Can C run the whole of it?
---@return boolean
function MultiHeadAttention:is_stock()
    return self.is_plain and self.forward == MultiHeadAttention.forward and self.out_proj.forward == Linear.forward
end

---@param query heed.Tensor [B, L, E] or [L, E]
---@param key? heed.Tensor [B, S, E]; default query
---@param value? heed.Tensor [B, S, E]; default key
---@param options? { mask?: heed.Mask|heed.Tensor, weights?: boolean }
---@return heed.Tensor out [B, L, E]
---@return heed.Tensor|nil weights [B, H, L, S] when asked for, before dropout
function MultiHeadAttention:forward(query, key, value, options)
    if type(key) == "table" then key, options = nil, key end
    if type(value) == "table" then value, options = nil, value end
    options = check.options(WHERE, options, CALL)
    local listening = capture.is_open() and capture.wants(self)
    local want_weights = options.weights or listening or false
    local causal, lengths, mask, bias = masks.split(WHERE, options.mask, query, key or query, self.num_heads)
    local out, weights
    local out_proj = self.out_proj
    if self.is_plain and out_proj.forward == Linear.forward then
        out, weights = core.multi_head_attention(self.in_proj_weight, self.in_proj_bias, out_proj.weight, out_proj.bias,
            self.num_heads, self.dropout, self.training, query, key, value, causal, lengths, mask, bias, want_weights)
    else
        key = key or query
        out, weights = composed(self, query, key, value or key, causal, lengths, mask, bias, want_weights)
    end
    if listening then capture.give(self, weights) end
    if options.weights then return out, weights end
    return out
end

function MultiHeadAttention:extra()
    return ("%d, %d heads of %d"):format(self.d_model, self.num_heads, self.head_dim)
        .. (self.num_kv_heads ~= self.num_heads and (", %d of keys"):format(self.num_kv_heads) or "")
end

return MultiHeadAttention
