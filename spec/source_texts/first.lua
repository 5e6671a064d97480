--- The first source text's classes, written in heed in the text's own steps and names.

local heed = require "heed"
local nn = heed.nn

local SingleHeadAttention = nn.Module:extend "SingleHeadAttention"

function SingleHeadAttention:init(d_model)
    self.d_model = d_model
    self.W_q = nn.Linear(d_model, d_model)
    self.W_k = nn.Linear(d_model, d_model)
    self.W_v = nn.Linear(d_model, d_model)
end

-- x [B, L, E], mask of 0 and 1 -> output [B, L, E], attention weights [B, L, L]
function SingleHeadAttention:forward(x, mask)
    local Q = self.W_q(x)
    local K = self.W_k(x)
    local V = self.W_v(x)
    local scores = heed.matmul(Q, K:transpose(-2, -1))
    scores = scores / math.sqrt(self.d_model)
    if mask then scores = scores:masked_fill(mask:eq(0), -math.huge) end
    local attention_weights = heed.softmax(scores, -1)
    local output = heed.matmul(attention_weights, V)
    return output, attention_weights
end

local MultiHeadAttention = nn.Module:extend "MultiHeadAttention"

function MultiHeadAttention:init(d_model, num_heads)
    assert(d_model % num_heads == 0, "d_model must be divisible by num_heads")
    self.d_model = d_model
    self.num_heads = num_heads
    self.d_k = d_model // num_heads
    self.W_q = nn.Linear(d_model, d_model)
    self.W_k = nn.Linear(d_model, d_model)
    self.W_v = nn.Linear(d_model, d_model)
    self.W_o = nn.Linear(d_model, d_model)
end

-- Q, K, V [B, H, L, D]
function MultiHeadAttention:scaled_dot_product_attention(Q, K, V, mask)
    local scores = heed.matmul(Q, K:transpose(-2, -1)) / math.sqrt(self.d_k)
    if mask then scores = scores:masked_fill(mask:eq(0), -math.huge) end
    local attention_weights = heed.softmax(scores, -1)
    local output = heed.matmul(attention_weights, V)
    return output, attention_weights
end

-- x [B, L, E] -> output [B, L, E], weights [B, H, L, L]
function MultiHeadAttention:forward(x, mask)
    local batch_size, seq_len, d_model = x:size()
    local Q = self.W_q(x):view(batch_size, seq_len, self.num_heads, self.d_k):transpose(2, 3)
    local K = self.W_k(x):view(batch_size, seq_len, self.num_heads, self.d_k):transpose(2, 3)
    local V = self.W_v(x):view(batch_size, seq_len, self.num_heads, self.d_k):transpose(2, 3)
    local attn_output, weights = self:scaled_dot_product_attention(Q, K, V, mask)
    attn_output = attn_output:transpose(2, 3):contiguous():view(batch_size, seq_len, d_model)
    local output = self.W_o(attn_output)
    return output, weights
end

local TransformerEncoderLayer = nn.Module:extend "TransformerEncoderLayer"

function TransformerEncoderLayer:init(d_model, num_heads, d_ff, dropout)
    dropout = dropout or 0.1
    self.self_attn = MultiHeadAttention(d_model, num_heads)
    self.ffn = nn.Sequential(
        nn.Linear(d_model, d_ff),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(d_ff, d_model)
    )
    self.norm1 = nn.LayerNorm(d_model)
    self.norm2 = nn.LayerNorm(d_model)
    self.dropout = nn.Dropout(dropout)
end

function TransformerEncoderLayer:forward(x, mask)
    local attn_output = self.self_attn(x, mask)
    x = self.norm1(x + self.dropout(attn_output))
    local ffn_output = self.ffn(x)
    x = self.norm2(x + self.dropout(ffn_output))
    return x
end

return {
    SingleHeadAttention = SingleHeadAttention,
    MultiHeadAttention = MultiHeadAttention,
    TransformerEncoderLayer = TransformerEncoderLayer,
}
