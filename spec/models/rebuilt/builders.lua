--- Models of other people by their configs: families of heed.models, and those that are made of
--- heed.nn here.

local heed = require "heed"

local builders = {}

for _, name in ipairs { "bert", "gpt2", "llama" } do
    builders[name] = function(config) return require("spec.models.rebuilt." .. name)(config) end
end

builders.t5 = heed.models.T5

function builders.marian(config)
    config.model_type = "marian"
    return heed.models.Bart(config)
end

---torch.nn.Transformer between embeddings.
function builders.transformer(c)
    return heed.nn.Transformer { src_vocab = c.vocab_size, tgt_vocab = c.vocab_size,
        d_model = c.d_model, num_heads = c.num_heads, num_layers = c.num_layers, d_ff = c.d_ff,
        dropout = 0, activation = c.activation, norm_first = c.norm_first, final_norm = true,
        max_len = 64 }
end

return builders
