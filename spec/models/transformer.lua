--- "Attention Is All You Need" (Vaswani et al. 2017), figure 1.

local heed = require "heed"
local nn = heed.nn

local Transformer = nn.Module:extend "Transformer"

function Transformer:init(c)
    local E, layer = c.d_model, { dropout = 0, activation = c.activation, norm_first = c.norm_first,
        final_norm = true }
    self.src_embedding = nn.Embedding(c.vocab_size, E, { scale = math.sqrt(E) })
    self.tgt_embedding = nn.Embedding(c.vocab_size, E, { scale = math.sqrt(E) })
    self.positions = nn.SinusoidalPositions(64, E)
    self.encoder = nn.TransformerEncoder(c.num_layers, E, c.num_heads, c.d_ff, layer)
    self.decoder = nn.TransformerDecoder(c.num_layers, E, c.num_heads, c.d_ff, layer)
    self.output = nn.Linear(E, c.vocab_size)
end

-- src [B, S], tgt [B, L] -> logits [B, L, V]
function Transformer:forward(src, src_lengths, tgt, tgt_lengths)
    local causal, padding = heed.mask.causal(), heed.mask.padding
    local memory = self.encoder(self.positions(self.src_embedding(src)),
        { mask = padding(src_lengths) })
    local hidden = self.decoder(self.positions(self.tgt_embedding(tgt)), memory,
        { mask = causal & padding(tgt_lengths), memory_mask = padding(src_lengths) })
    return self.output(hidden)
end

return Transformer
