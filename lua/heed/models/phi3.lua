--- Phi-3 (Abdin et al. 2024): Llama's layers, in whose files what reads the same is one matrix.

local Llama = require "heed.models.llama"

---Phi-3: logits of the next token. heed.models.load makes it of files; of a config alone it has
---initial values.
---
---```lua
---local model = heed.models.Phi3 { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, intermediate_size = 16, partial_rotary_factor = 0.5 }
---print(model(heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 20]
---```
---@class heed.models.Phi3: heed.models.Llama
local Phi3 = Llama:extend "Phi3"

Phi3.config = { rms_norm_eps = 1e-5, rope_theta = 10000.0, tie_word_embeddings = false,
    hidden_act = "silu", mlp_bias = false, attention_bias = false, attention_dropout = 0,
    resid_pdrop = 0, max_position_embeddings = 4096, original_max_position_embeddings = 4096 }
Phi3.types = {}

Phi3.names = {
    { "tokens.weight", "model.embed_tokens.weight" },
    { "decoder.norm.weight", "model.norm.weight" },
    { "decoder.layers.#.self_attn.in_proj_weight", "model.layers.#.self_attn.qkv_proj.weight" },
    { "decoder.layers.#.self_attn.out_proj.weight", "model.layers.#.self_attn.o_proj.weight" },
    { "decoder.layers.#.linear1.weight", "model.layers.#.mlp.gate_up_proj.weight", part = 1,
        of = 2 },
    { "decoder.layers.#.linear3.weight", "model.layers.#.mlp.gate_up_proj.weight", part = 2,
        of = 2 },
    { "decoder.layers.#.linear2.weight", "model.layers.#.mlp.down_proj.weight" },
    { "decoder.layers.#.norm1.weight", "model.layers.#.input_layernorm.weight" },
    { "decoder.layers.#.norm2.weight", "model.layers.#.post_attention_layernorm.weight" },
    { "output.weight", "lm_head.weight" },
}

return Phi3
