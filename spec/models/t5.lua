--- T5 (Raffel et al. 2020): an encoder-decoder whose positions are a bias of the scores, learned for each head and bucket of
--- distances, with RMSNorm before each part, no biases, and no scaling of the scores.

local heed = require "heed"
local nn = heed.nn

-- ---- relative positions ------------------------------------------------------------------------------------------

local RelativePositions = nn.Module:extend "RelativePositions"

function RelativePositions:init(c, both_ways)
    self.weight = nn.parameter(heed.randn(c.relative_attention_num_buckets, c.num_heads))
    self.max_distance, self.both_ways = c.relative_attention_max_distance, both_ways
end

-- Near distances have a bucket each, farther ones share wider and wider ones. Of two ways, the second half looks ahead.
function RelativePositions:bucket(distance)
    local buckets, first = self.weight:size(1), 1
    if self.both_ways then
        buckets = buckets // 2
        if distance > 0 then first = buckets + 1 end
    end
    local d, exact = self.both_ways and math.abs(distance) or math.max(-distance, 0), buckets // 2
    if d < exact then return first + d end
    local far = math.log(d / exact) / math.log(self.max_distance / exact) * (buckets - exact)
    return first + math.min(exact + math.floor(far), buckets - 1)
end

-- [1, H, L, L]
function RelativePositions:forward(L)
    local buckets = {}
    for i = 1, L do
        buckets[i] = {}
        for j = 1, L do buckets[i][j] = self:bucket(j - i) end
    end
    return heed.mask.bias(heed.embedding(self.weight, heed.ids(buckets)):permute(3, 1, 2):unsqueeze(1))
end

-- ---- parts -------------------------------------------------------------------------------------------------------

local Attention = nn.Module:extend "Attention"

function Attention:init(c)
    local E, width, none = c.d_model, c.num_heads * c.d_kv, { bias = false }
    self.q, self.k, self.v = nn.Linear(E, width, none), nn.Linear(E, width, none), nn.Linear(E, width, none)
    self.o = nn.Linear(width, E, none)
    self.num_heads = c.num_heads
end

function Attention:forward(x, memory, mask)
    local function heads(y) return y:view(y:size(1), y:size(2), self.num_heads, -1):transpose(2, 3) end
    local y = heed.attention(heads(self.q(x)), heads(self.k(memory)), heads(self.v(memory)), { scale = 1, mask = mask })
    return self.o(y:transpose(2, 3):flatten(3))
end

local FeedForward = nn.Module:extend "FeedForward"

function FeedForward:init(c)
    local none = { bias = false }
    self.gated = c.feed_forward_proj == "gated-gelu"
    self.wi = nn.Linear(c.d_model, c.d_ff, none)
    if self.gated then self.wi_1 = nn.Linear(c.d_model, c.d_ff, none) end
    self.wo = nn.Linear(c.d_ff, c.d_model, none)
    self.gelu = nn.GELU { approximate = "tanh" }
end

function FeedForward:forward(x)
    if self.gated then return self.wo(self.gelu(self.wi(x)) * self.wi_1(x)) end
    return self.wo(self.wi(x):relu())
end

local Layer = nn.Module:extend "Layer"

function Layer:init(c, has_memory)
    local function norm() return nn.RMSNorm(c.d_model, { eps = c.layer_norm_epsilon }) end
    self.norm1, self.self_attn = norm(), Attention(c)
    if has_memory then self.norm2, self.memory_attn = norm(), Attention(c) end
    self.norm3, self.feed_forward = norm(), FeedForward(c)
    self.dropout = nn.Dropout(c.dropout_rate)
end

function Layer:forward(x, mask, memory, memory_mask)
    local y = self.norm1(x)
    x = x + self.dropout(self.self_attn(y, y, mask))
    if memory then x = x + self.dropout(self.memory_attn(self.norm2(x), memory, memory_mask)) end
    return x + self.dropout(self.feed_forward(self.norm3(x)))
end

local Stack = nn.Module:extend "Stack"

function Stack:init(c, is_decoder)
    self.positions = RelativePositions(c, not is_decoder)
    self.layers = {}
    for i = 1, c.num_layers do self.layers[i] = Layer(c, is_decoder) end
    self.norm = nn.RMSNorm(c.d_model, { eps = c.layer_norm_epsilon })
end

function Stack:forward(x, mask, memory, memory_mask)
    mask = mask & self.positions(x:size(2))
    for _, layer in ipairs(self.layers) do x = layer(x, mask, memory, memory_mask) end
    return self.norm(x)
end

-- ---- the model ---------------------------------------------------------------------------------------------------

local T5 = nn.Module:extend "T5"

function T5:init(c)
    self.words = nn.Embedding(c.vocab_size, c.d_model)
    self.encoder, self.decoder = Stack(c, false), Stack(c, true)
    if not c.tie_word_embeddings then self.output = nn.Linear(c.d_model, c.vocab_size, { bias = false }) end
    self.dropout = nn.Dropout(c.dropout_rate)
end

-- src [B, S], tgt [B, L] -> logits [B, L, V]
function T5:forward(src, src_lengths, tgt, tgt_lengths)
    local causal, padding = heed.mask.causal(), heed.mask.padding
    local memory = self.dropout(self.encoder(self.dropout(self.words(src)), padding(src_lengths)))
    local hidden = self.decoder(self.dropout(self.words(tgt)), causal & padding(tgt_lengths), memory, padding(src_lengths))
    hidden = self.dropout(hidden)
    if self.output then return self.output(hidden) end
    return heed.linear(hidden * self.words.weight:size(2) ^ -0.5, self.words.weight)
end

return T5
