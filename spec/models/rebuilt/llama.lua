--- Llama (Touvron et al. 2023; Grattafiori et al. 2024): RMSNorm before each part, rotary
--- positions, fewer heads of keys than of queries, SwiGLU, no biases.

local heed = require "heed"
local nn = heed.nn

local Llama = nn.Module:extend "Llama"

-- Llama 3 slows the turns whose period is long beside the context that it was first trained on.
local function scaling_of(r)
    return r.rope_type == "llama3" and { type = "llama3", factor = r.factor,
        low_freq_factor = r.low_freq_factor,
        high_freq_factor = r.high_freq_factor,
            original_max_position_embeddings = r.original_max_position_embeddings } or nil
end

function Llama:init(c)
    local E, rope = c.hidden_size, c.rope_parameters
    self.words = nn.Embedding(c.vocab_size, E)
    self.decoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, {
        norm_first = true, norm = "rms", eps = c.rms_norm_eps, activation = "swiglu", bias = false,
            dropout = 0,
        num_kv_heads = c.num_key_value_heads, head_dim = c.head_dim,
            attention_dropout = c.attention_dropout,
        rotary = { base = rope.rope_theta, scaling = scaling_of(rope) },
    })
    self.output = nn.Linear(E, c.vocab_size, { bias = false })
    if c.tie_word_embeddings then self.output.weight = self.words.weight end
end

-- tokens [B, L] -> logits [B, L, V]
function Llama:forward(tokens, lengths)
    local mask = heed.mask.causal() & heed.mask.padding(lengths)
    return self.output(self.decoder(self.words(tokens), { mask = mask }))
end

return Llama
