--- Marian (Junczys-Dowmunt et al. 2018), as the OPUS-MT translators have it: the paper's
--- Transformer with swish, one embedding for both sides and the output, and positions whose sines
--- come first.

local heed = require "heed"
local nn = heed.nn

local Marian = nn.Module:extend "Marian"

function Marian:init(c)
    local E, layer = c.d_model, { activation = "silu", dropout = c.dropout,
        attention_dropout = c.attention_dropout }
    self.words = nn.Embedding(c.vocab_size, E, { scale = math.sqrt(E) })
    self.positions = nn.SinusoidalPositions(c.max_position_embeddings, E, { layout = "halves" })
    self.encoder = nn.TransformerEncoder(c.encoder_layers, E, c.encoder_attention_heads,
        c.encoder_ffn_dim, layer)
    self.decoder = nn.TransformerDecoder(c.decoder_layers, E, c.decoder_attention_heads,
        c.decoder_ffn_dim, layer)
    self.dropout = nn.Dropout(c.dropout)
    self:buffer("final_logits_bias", heed.zeros(1, c.vocab_size))
end

function Marian:embed(tokens) return self.dropout(self.positions(self.words(tokens))) end

-- src [B, S], tgt [B, L] -> logits [B, L, V]
function Marian:forward(src, src_lengths, tgt, tgt_lengths)
    local causal, padding = heed.mask.causal(), heed.mask.padding
    local memory = self.encoder(self:embed(src), { mask = padding(src_lengths) })
    local hidden = self.decoder(self:embed(tgt), memory,
        { mask = causal & padding(tgt_lengths), memory_mask = padding(src_lengths) })
    return heed.linear(hidden, self.words.weight) + self.final_logits_bias
end

return Marian
