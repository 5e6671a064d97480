-- The models of the benchmarks, as pytorch/reference.py has them.

local heed = require "heed"
local nn = heed.nn

local models = {}

---A decoder-only model: norm first, gelu, learned positions, biases, an output layer of its own, no
---dropout.
local GPT = nn.Module:extend "GPT"

function GPT:init(layers, dim, heads, ff, context, vocab)
    self.tokens = nn.Embedding(vocab, dim)
    self.positions = nn.LearnedPositions(context, dim)
    self.blocks = nn.TransformerEncoder(layers, dim, heads, ff,
        { norm_first = true, activation = "gelu", dropout = 0 })
    self.head = nn.Linear(dim, vocab)
end

GPT.takes_cache = true

function GPT:forward(x, options)
    local cache = options and options.cache
    x = self.positions(self.tokens(x), cache and { cache = cache })
    return self.head(self.blocks(x, { mask = heed.mask.causal(), cache = cache }))
end

models.GPT = GPT

---An encoder-decoder: norm first, one tied vocabulary, no bias at the output.
function models.encoder_decoder(layers, dim, heads, ff, vocab)
    local model = nn.Transformer {
        src_vocab = vocab, tgt_vocab = vocab, d_model = dim, num_heads = heads, num_layers = layers,
            d_ff = ff,
        dropout = 0.1, norm_first = true, tie_weights = true,
    }
    model.output.bias = nil
    return model
end

return models
