--- Llama (Touvron et al. 2023) and what followed it: Mistral, Qwen, SmolLM.

local check = require "heed.check"
local nn = require "heed.nn"
local causal = require("heed.mask").causal
local rope = require "heed.models.rope"

---Llama: logits of the next token. heed.models.load makes it of files; of a config alone it has
---initial values.
---
---```lua
---local model = heed.models.Llama { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, num_key_value_heads = 1, intermediate_size = 16,
---    rms_norm_eps = 1e-5, rope_theta = 10000, tie_word_embeddings = true }
---print(model(heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 20]
---print(#heed.generate(model, { 3, 5 }, { max_new_tokens = 4 })) --> 4
---```
---@class heed.models.Llama: heed.nn.Module
---@field tokens heed.nn.Embedding
---@field decoder heed.nn.TransformerEncoder layers, and a norm behind them
---@field output heed.nn.Linear
local Llama = nn.Module:extend "Llama"

---@param c table config.json
function Llama:init(c)
    local E = check.type("heed.models.Llama", "config", c, "table").hidden_size
    self.tokens = nn.Embedding(c.vocab_size, E)
    self.decoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, {
            norm_first = true, norm = "rms", eps = c.rms_norm_eps, activation = "swiglu",
            bias = false, dropout = 0, num_kv_heads = c.num_key_value_heads, head_dim = c.head_dim,
            rotary = rope(c),
        })
    self.output = nn.Linear(E, c.vocab_size, { bias = false })
    if c.tie_word_embeddings then self.output.weight = self.tokens.weight end
end

Llama.takes_cache = true

---@param ids heed.Ids [B, L]
---@param options? { cache?: heed.Cache }
---@return heed.Tensor logits [B, L, V]
function Llama:forward(ids, options)
    local x = self.decoder(self.tokens(ids), { mask = causal(), cache = options and options.cache })
    return self.output(x)
end

Llama.config = { rms_norm_eps = 1e-6, rope_theta = 10000.0, tie_word_embeddings = false }

Llama.names = {
    { "tokens.weight", "model.embed_tokens.weight" },
    { "decoder.norm.weight", "model.norm.weight" },
    { "decoder.layers.#.self_attn.in_proj_weight", "model.layers.#.self_attn.q_proj.weight",
        "model.layers.#.self_attn.k_proj.weight", "model.layers.#.self_attn.v_proj.weight" },
    { "decoder.layers.#.self_attn.out_proj.weight", "model.layers.#.self_attn.o_proj.weight" },
    { "decoder.layers.#.linear1.weight", "model.layers.#.mlp.gate_proj.weight" },
    { "decoder.layers.#.linear3.weight", "model.layers.#.mlp.up_proj.weight" },
    { "decoder.layers.#.linear2.weight", "model.layers.#.mlp.down_proj.weight" },
    { "decoder.layers.#.norm1.weight", "model.layers.#.input_layernorm.weight" },
    { "decoder.layers.#.norm2.weight", "model.layers.#.post_attention_layernorm.weight" },
    { "output.weight", "lm_head.weight" },
}
Llama.passed_over = { "rotary_emb%.inv_freq$", "^lm_head%.weight$" }

return Llama
