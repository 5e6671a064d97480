--- Llama (Touvron et al. 2023) and those that differ by options: Mistral (Jiang et al. 2023), whose
--- layers see a window, Qwen 2 (Yang et al. 2024) with biases of queries, keys and values, Qwen 3
--- (Yang et al. 2025) with norms of queries and keys; SmolLM.

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local generation = require "heed.models.settings.generation"
local layer_kinds = require "heed.models.settings.layer_kinds"
local nn = require "heed.nn"
local rope = require "heed.models.settings.rope"

---Llama: logits of the next token. heed.models.load makes it of files; of a config alone it has
---initial values.
---
---```lua
---local model = heed.models.Llama { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, num_key_value_heads = 1, intermediate_size = 16 }
---print(model(heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 20]
---print(#heed.generate(model, { 3, 5 }, { max_new_tokens = 4 })) --> 4
---```
---@class heed.models.Llama: heed.nn.Module
---@field tokens heed.nn.Embedding
---@field decoder heed.nn.TransformerEncoder layers, and a norm behind them
---@field output heed.nn.Linear
---@field masks heed.Mask|heed.Mask[] of the layers
---@field generation heed.models.Generation
local Llama = nn.Module:extend "Llama"

-- Does layer i see a window alone? Of Qwen those behind the first max_window_layers do, when asked
-- for; files of Llama may name a window, which it has not.
local function slides(c, i)
    if c.model_type == "llama" or not c.sliding_window then return false end
    return c.use_sliding_window == nil or c.use_sliding_window and i > c.max_window_layers
end

---@param given table config.json
function Llama:init(given)
    local c = config.of(self, given)
    local E, V = c.hidden_size, c.vocab_size
    local rotary = rope(c)
    self.tokens = nn.Embedding(V, E)
    self.decoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, {
            norm_first = true, norm = "rms", eps = c.rms_norm_eps,
            activation = activations.gated(c, "hidden_act"), bias = c.mlp_bias,
            attention_bias = c.attention_bias, qkv_bias = c.qkv_bias, qk_norm = c.qk_norm,
            num_kv_heads = c.num_key_value_heads, head_dim = c.head_dim, rotary = rotary,
            dropout = c.resid_pdrop, attention_dropout = c.attention_dropout, hidden_dropout = 0,
        })
    self.output = nn.Linear(E, V, { bias = false })
    if c.tie_word_embeddings then self.output.weight = self.tokens.weight end
    self.masks = layer_kinds.masks(c, layer_kinds.of(c, function(i) return slides(c, i) end))
    self.generation = generation.of(c)
    local scaling = rotary.scaling
    if scaling and scaling.type == "longrope" then
        self.generation.changes_at = scaling.original_max_position_embeddings
    end
end

Llama.takes_cache, Llama.takes_last = true, true

local OPTIONS = check.set("cache", "last")

---@param ids heed.Ids [B, L]
---@param options? { cache?: heed.Cache, last?: fun(hidden: heed.Tensor): heed.Tensor } last: which
---of the hidden states [B, L, E] get logits; default: all
---@return heed.Tensor logits [B, L, V]
function Llama:forward(ids, options)
    options = check.options(self.class_name, options, OPTIONS)
    local cache, last = options.cache, options.last
    local x = self.decoder(self.tokens(ids), { mask = self.masks, cache = cache })
    return self.output(last and last(x) or x)
end

Llama.needs = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size" }
Llama.config = { rms_norm_eps = 1e-6, rope_theta = 10000.0, tie_word_embeddings = false,
    hidden_act = "silu", mlp_bias = false, attention_bias = false, attention_dropout = 0,
    resid_pdrop = 0 }

Llama.types = {
    mistral = { sliding_window = 4096 },
    qwen2 = { qkv_bias = true, use_sliding_window = false, sliding_window = 4096,
        max_window_layers = 28 },
    qwen3 = { qk_norm = true, head_dim = 128, use_sliding_window = false, sliding_window = 4096,
        max_window_layers = 28 },
}

Llama.names = {
    { "tokens.weight", "model.embed_tokens.weight" },
    { "decoder.norm.weight", "model.norm.weight" },
    { "decoder.layers.#.self_attn.in_proj_*", "model.layers.#.self_attn.q_proj.*",
        "model.layers.#.self_attn.k_proj.*", "model.layers.#.self_attn.v_proj.*" },
    { "decoder.layers.#.self_attn.out_proj.*", "model.layers.#.self_attn.o_proj.*" },
    { "decoder.layers.#.self_attn.q_norm.weight", "model.layers.#.self_attn.q_norm.weight" },
    { "decoder.layers.#.self_attn.k_norm.weight", "model.layers.#.self_attn.k_norm.weight" },
    { "decoder.layers.#.linear1.*", "model.layers.#.mlp.gate_proj.*" },
    { "decoder.layers.#.linear3.*", "model.layers.#.mlp.up_proj.*" },
    { "decoder.layers.#.linear2.*", "model.layers.#.mlp.down_proj.*" },
    { "decoder.layers.#.norm1.weight", "model.layers.#.input_layernorm.weight" },
    { "decoder.layers.#.norm2.weight", "model.layers.#.post_attention_layernorm.weight" },
    { "output.weight", "lm_head.weight" },
}
Llama.passed_over = { "rotary_emb%.inv_freq$", "^lm_head%.weight$" }

return Llama
