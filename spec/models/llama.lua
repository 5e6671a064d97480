--- Llama (Touvron et al. 2023; Grattafiori et al. 2024): RMSNorm before each part, rotary positions, fewer heads of keys than of
--- queries, SwiGLU, no biases.

local heed = require "heed"
local nn = heed.nn

local none = { bias = false }

-- ---- rotary positions (Su et al. 2021) -----------------------------------------------------------------------------

-- Llama 3 slows the turns whose period is long beside the context that it was first trained on.
local function slowed(rate, r)
    local turns = r.original_max_position_embeddings * rate / (2 * math.pi)
    local kept = math.max(0, math.min(1, (turns - r.low_freq_factor) / (r.high_freq_factor - r.low_freq_factor)))
    return rate * (kept + (1 - kept) / r.factor)
end

local Rotary = nn.Module:extend "Rotary"

function Rotary:init(head_dim, max_len, r)
    local rates = {}
    for i = 1, head_dim // 2 do
        local rate = r.rope_theta ^ (-2 * (i - 1) / head_dim)
        rates[i] = r.rope_type == "llama3" and slowed(rate, r) or rate
    end
    local angles = heed.range(0, max_len - 1):unsqueeze(2) * heed.tensor(rates)
    self:buffer("cos", angles:cos(), { persistent = false })
    self:buffer("sin", angles:sin(), { persistent = false })
end

-- x [B, H, L, D]: feature i turns with feature i + D/2
function Rotary:forward(x)
    local L, half = x:size(3), x:size(4) // 2
    local a, b = x:narrow(4, 1, half), x:narrow(4, half + 1, half)
    local cos, sin = self.cos:narrow(1, 1, L), self.sin:narrow(1, 1, L)
    return heed.cat({ a * cos - b * sin, b * cos + a * sin }, 4)
end

-- ---- parts -------------------------------------------------------------------------------------------------------

local Attention = nn.Module:extend "Attention"

function Attention:init(c)
    local E, H, Hk = c.hidden_size, c.num_attention_heads, c.num_key_value_heads
    self.head_dim = c.head_dim or E // H
    self.q, self.k = nn.Linear(E, H * self.head_dim, none), nn.Linear(E, Hk * self.head_dim, none)
    self.v, self.o = nn.Linear(E, Hk * self.head_dim, none), nn.Linear(H * self.head_dim, E, none)
    self.rotary = Rotary(self.head_dim, c.max_position_embeddings, c.rope_parameters)
end

function Attention:forward(x, mask)
    local function heads(y) return y:view(y:size(1), y:size(2), -1, self.head_dim):transpose(2, 3) end
    local y = heed.attention(self.rotary(heads(self.q(x))), self.rotary(heads(self.k(x))), heads(self.v(x)), { mask = mask })
    return self.o(y:transpose(2, 3):flatten(3))
end

local FeedForward = nn.Module:extend "FeedForward"

function FeedForward:init(c)
    self.gate, self.up = nn.Linear(c.hidden_size, c.intermediate_size, none), nn.Linear(c.hidden_size, c.intermediate_size, none)
    self.down = nn.Linear(c.intermediate_size, c.hidden_size, none)
end

function FeedForward:forward(x) return self.down(self.gate(x):silu() * self.up(x)) end

local Layer = nn.Module:extend "Layer"

function Layer:init(c)
    self.norm1, self.self_attn = nn.RMSNorm(c.hidden_size, { eps = c.rms_norm_eps }), Attention(c)
    self.norm2, self.feed_forward = nn.RMSNorm(c.hidden_size, { eps = c.rms_norm_eps }), FeedForward(c)
end

function Layer:forward(x, mask)
    x = x + self.self_attn(self.norm1(x), mask)
    return x + self.feed_forward(self.norm2(x))
end

-- ---- the model ---------------------------------------------------------------------------------------------------

local Llama = nn.Module:extend "Llama"

function Llama:init(c)
    self.words = nn.Embedding(c.vocab_size, c.hidden_size)
    self.layers = {}
    for i = 1, c.num_hidden_layers do self.layers[i] = Layer(c) end
    self.norm = nn.RMSNorm(c.hidden_size, { eps = c.rms_norm_eps })
    self.output = nn.Linear(c.hidden_size, c.vocab_size, none)
    if c.tie_word_embeddings then self.output.weight = self.words.weight end
end

-- tokens [B, L] -> logits [B, L, V]
function Llama:forward(tokens, lengths)
    local mask = heed.mask.causal() & heed.mask.padding(lengths)
    local x = self.words(tokens)
    for _, layer in ipairs(self.layers) do x = layer(x, mask) end
    return self.output(self.norm(x))
end

return Llama
