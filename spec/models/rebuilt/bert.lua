--- BERT (Devlin et al. 2019): an encoder that sees both ways, over the sum of words, positions and
--- segments. One head guesses the words that were masked, the other whether the second segment
--- follows the first.

local heed = require "heed"
local nn = heed.nn

local Bert = nn.Module:extend "Bert"

function Bert:init(c)
    local E, norm = c.hidden_size, { eps = c.layer_norm_eps }
    self.words = nn.Embedding(c.vocab_size, E)
    self.positions = nn.LearnedPositions(c.max_position_embeddings, E)
    self.types = nn.Embedding(c.type_vocab_size, E)
    self.norm = nn.LayerNorm(E, norm)
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.encoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size,
        { activation = c.hidden_act, eps = c.layer_norm_eps, dropout = c.hidden_dropout_prob,
          attention_dropout = c.attention_probs_dropout_prob })
    self.pooler = nn.Linear(E, E)
    self.relation = nn.Linear(E, 2)
    self.transform = nn.Sequential(nn.Linear(E, E), nn.GELU(), nn.LayerNorm(E, norm))
    self.bias = nn.parameter(heed.zeros(c.vocab_size))
end

-- tokens, types [B, L] -> logits [B, L, V], relation [B, 2]
function Bert:forward(tokens, types, lengths)
    local x = self.dropout(self.norm(self.positions(self.words(tokens) + self.types(types))))
    local hidden = self.encoder(x, { mask = heed.mask.padding(lengths) })
    local pooled = self.pooler(hidden:select(2, 1)):tanh()
    return heed.linear(self.transform(hidden), self.words.weight, self.bias), self.relation(pooled)
end

return Bert
