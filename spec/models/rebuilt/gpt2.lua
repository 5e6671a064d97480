--- GPT-2 (Radford et al. 2019, "Language models are unsupervised multitask learners").

local heed = require "heed"
local nn = heed.nn

local GPT2 = nn.Module:extend "GPT2"

function GPT2:init(c)
    local E = c.n_embd
    self.words = nn.Embedding(c.vocab_size, E)
    self.positions = nn.LearnedPositions(c.n_positions, E)
    self.dropout = nn.Dropout(c.embd_pdrop)
    self.decoder = nn.TransformerEncoder(c.n_layer, E, c.n_head, 4 * E,
        { norm_first = true, activation = "gelu_tanh", eps = c.layer_norm_epsilon,
            dropout = c.resid_pdrop,
          attention_dropout = c.attn_pdrop })
end

-- tokens [B, L] -> logits [B, L, V]
function GPT2:forward(tokens, lengths)
    local x = self.dropout(self.positions(self.words(tokens)))
    local hidden = self.decoder(x, { mask = heed.mask.causal() & heed.mask.padding(lengths) })
    return heed.linear(hidden, self.words.weight)
end

return GPT2
