--- The second source text's functions and class, written in heed in the text's own steps and names.
--- What its code forgets (the module of sqrt, the base class, batch and seq_len) is filled in as
--- spec/fixtures/record_source_texts.py does.

local heed = require "heed"
local nn = heed.nn

-- query [B, L, D], key [B, S, D], value [B, S, Dv], mask of 0 and 1 [B, L, S]
local function scaled_dot_product_attention(query, key, value, mask)
    local d_k = query.shape[#query.shape]
    local scores = heed.matmul(query, key:transpose(-2, -1)) / math.sqrt(d_k)
    if mask then scores = scores:masked_fill(mask:eq(0), -math.huge) end
    local attention_weights = heed.softmax(scores, -1)
    local output = heed.matmul(attention_weights, value)
    return output, attention_weights
end

-- The same as the text writes it for JAX: the mask is of booleans, and hides by a large negative
-- number.
local function scaled_dot_product_attention_jax(query, key, value, mask)
    local d_k = query.shape[#query.shape]
    local scores = heed.matmul(query, key:permute(1, 3, 2)) / math.sqrt(d_k)
    if mask then scores = heed.where(mask, scores, -1e9) end
    local attention_weights = heed.softmax(scores, -1)
    local output = heed.matmul(attention_weights, value)
    return output, attention_weights
end

local MultiHeadAttention = nn.Module:extend "MultiHeadAttention"

function MultiHeadAttention:init(d_model, num_heads)
    self.d_model = d_model
    self.num_heads = num_heads
    self.d_k = d_model // num_heads
    self.W_q = nn.Linear(d_model, d_model)
    self.W_k = nn.Linear(d_model, d_model)
    self.W_v = nn.Linear(d_model, d_model)
    self.W_o = nn.Linear(d_model, d_model)
end

-- query [B, L, E], key and value [B, S, E] -> [B, L, E]
function MultiHeadAttention:forward(query, key, value, mask)
    local batch, L = query:size()
    local S = key:size(2)
    local Q = self.W_q(query):view(batch, L, self.num_heads, self.d_k):transpose(2, 3)
    local K = self.W_k(key):view(batch, S, self.num_heads, self.d_k):transpose(2, 3)
    local V = self.W_v(value):view(batch, S, self.num_heads, self.d_k):transpose(2, 3)
    local attn_output = scaled_dot_product_attention(Q, K, V, mask)
    local output = attn_output:transpose(2, 3):contiguous():view(batch, L, self.d_model)
    return self.W_o(output)
end

return {
    scaled_dot_product_attention = scaled_dot_product_attention,
    scaled_dot_product_attention_jax = scaled_dot_product_attention_jax,
    MultiHeadAttention = MultiHeadAttention,
}
