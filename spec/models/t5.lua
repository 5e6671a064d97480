--- T5 (Raffel et al. 2020): an encoder-decoder whose positions are a bias of the scores, learned
--- for each head and bucket of distances, with RMSNorm before each part, no biases elsewhere, and
--- no scaling of the scores.

local heed = require "heed"
local nn = heed.nn

-- ---- relative positions -------------------------------------------------------------------------

local RelativePositions = nn.Module:extend "RelativePositions"

function RelativePositions:init(c, both_ways)
    self.weight = nn.parameter(heed.randn(c.relative_attention_num_buckets, c.num_heads))
    self.max_distance, self.both_ways = c.relative_attention_max_distance, both_ways
end

-- Near distances have a bucket each, farther ones share wider and wider ones. Of two ways, the
-- second half looks ahead.
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

-- The bias [1, H, L, L] of L queries and keys, as a mask.
function RelativePositions:forward(L)
    local buckets = {}
    for i = 1, L do
        buckets[i] = {}
        for j = 1, L do buckets[i][j] = self:bucket(j - i) end
    end
    return heed.mask.bias(heed.embedding(self.weight, heed.ids(buckets)):permute(3, 1,
        2):unsqueeze(1))
end

-- ---- the model ----------------------------------------------------------------------------------

local T5 = nn.Module:extend "T5"

function T5:init(c)
    local E, layer = c.d_model, {
        norm_first = true, norm = "rms", eps = c.layer_norm_epsilon, bias = false,
            head_dim = c.d_kv, scale = 1,
        activation = c.feed_forward_proj == "gated-gelu" and "geglu_tanh" or "relu",
            dropout = c.dropout_rate,
    }
    self.words = nn.Embedding(c.vocab_size, E)
    self.dropout = nn.Dropout(c.dropout_rate)
    self.encoder_positions, self.decoder_positions = RelativePositions(c, true),
        RelativePositions(c, false)
    self.encoder = nn.TransformerEncoder(c.num_layers, E, c.num_heads, c.d_ff, layer)
    self.decoder = nn.TransformerDecoder(c.num_layers, E, c.num_heads, c.d_ff, layer)
    if not c.tie_word_embeddings then self.output = nn.Linear(E, c.vocab_size, { bias = false }) end
end

-- src [B, S], tgt [B, L] -> logits [B, L, V]
function T5:forward(src, src_lengths, tgt, tgt_lengths)
    local causal, padding = heed.mask.causal(), heed.mask.padding
    local memory = self.dropout(self.encoder(self.dropout(self.words(src)),
        { mask = padding(src_lengths) & self.encoder_positions(src:size(2)) }))
    local hidden = self.dropout(self.decoder(self.dropout(self.words(tgt)), memory,
        { mask = causal & padding(tgt_lengths) & self.decoder_positions(tgt:size(2)),
            memory_mask = padding(src_lengths) }))
    if self.output then return self.output(hidden) end
    return heed.linear(hidden * self.words.weight:size(2) ^ -0.5, self.words.weight)
end

return T5
