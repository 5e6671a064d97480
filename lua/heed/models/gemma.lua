--- Gemma 2 and 3 (Gemma Team 2024, 2025): norms before and behind each part, layers that see a
--- window between those that see all, which turn by other angles in Gemma 3.

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local generation = require "heed.models.settings.generation"
local layer_kinds = require "heed.models.settings.layer_kinds"
local nn = require "heed.nn"
local unknown = require "heed.unknown"

---Gemma 2, and the text model of Gemma 3: logits of the next token. heed.models.load makes it of
---files; of a config alone it has initial values.
---
---```lua
---local model = heed.models.Gemma { model_type = "gemma2", vocab_size = 20, hidden_size = 8,
---    num_hidden_layers = 2, num_attention_heads = 2, num_key_value_heads = 1, head_dim = 4,
---    intermediate_size = 16, sliding_window = 8 }
---print(model(heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 20]
---```
---@class heed.models.Gemma: heed.nn.Module
---@field tokens heed.nn.Embedding
---@field decoder heed.nn.TransformerEncoder layers, and a norm behind them
---@field output heed.nn.Linear
---@field masks heed.Mask|heed.Mask[] of the layers
---@field softcap number|false of the logits
---@field generation heed.models.Generation
local Gemma = nn.Module:extend "Gemma"

---@param given table config.json
function Gemma:init(given)
    local c = config.of(self, given)
    local E, V = c.hidden_size, c.vocab_size
    if c.use_bidirectional_attention then
        unknown.kind("config.json: attention", "use_bidirectional_attention")
    end
    -- Every so many-th layer sees all.
    local kinds = layer_kinds.of(c, function(i) return i % c.sliding_window_pattern ~= 0 end)
    self.tokens = nn.Embedding(V, E, { scale = math.sqrt(E) })
    self.decoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, {
            norm_first = true, sandwich_norm = true, norm = "rms", unit_offset = true,
            eps = c.rms_norm_eps, qk_norm = c.qk_norm,
            activation = activations.gated(c, "hidden_activation"),
            bias = false, attention_bias = c.attention_bias, dropout = 0,
            attention_dropout = c.attention_dropout, num_kv_heads = c.num_key_value_heads,
            head_dim = c.head_dim, scale = c.query_pre_attn_scalar ^ -0.5,
            softcap = c.attn_logit_softcapping, rotary = layer_kinds.rotaries(c, kinds),
        })
    self.output = nn.Linear(E, V, { bias = false })
    if c.tie_word_embeddings then self.output.weight = self.tokens.weight end
    self.masks, self.softcap = layer_kinds.masks(c, kinds), c.final_logit_softcapping
    self.generation = generation.of(c)
end

Gemma.takes_cache, Gemma.takes_last = true, true

local OPTIONS = check.set("cache", "last")

---@param ids heed.Ids [B, L]
---@param options? { cache?: heed.Cache, last?: fun(hidden: heed.Tensor): heed.Tensor } last: which
---of the hidden states [B, L, E] get logits; default: all
---@return heed.Tensor logits [B, L, V]
function Gemma:forward(ids, options)
    options = check.options(self.class_name, options, OPTIONS)
    local cache, last = options.cache, options.last
    local x = self.decoder(self.tokens(ids), { mask = self.masks, cache = cache })
    local logits = self.output(last and last(x) or x)
    return self.softcap and (logits / self.softcap):tanh() * self.softcap or logits
end

Gemma.needs = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size" }
Gemma.config = { rms_norm_eps = 1e-6, rope_theta = 10000.0, tie_word_embeddings = true,
    hidden_activation = "gelu_pytorch_tanh", attention_bias = false, attention_dropout = 0,
    head_dim = 256, query_pre_attn_scalar = 256, sliding_window = 4096,
    sliding_window_pattern = 2 }

Gemma.types = {
    gemma2 = { attn_logit_softcapping = 50.0, final_logit_softcapping = 30.0 },
    gemma3_text = { qk_norm = true, rope_theta = 1000000.0, rope_local_base_freq = 10000.0,
        sliding_window_pattern = 6 },
}

Gemma.names = {
    { "tokens.weight", "model.embed_tokens.weight" },
    { "decoder.norm.weight", "model.norm.weight" },
    { "decoder.layers.#.self_attn.in_proj_*", "model.layers.#.self_attn.q_proj.*",
        "model.layers.#.self_attn.k_proj.*", "model.layers.#.self_attn.v_proj.*" },
    { "decoder.layers.#.self_attn.out_proj.*", "model.layers.#.self_attn.o_proj.*" },
    { "decoder.layers.#.self_attn.q_norm.weight", "model.layers.#.self_attn.q_norm.weight" },
    { "decoder.layers.#.self_attn.k_norm.weight", "model.layers.#.self_attn.k_norm.weight" },
    { "decoder.layers.#.linear1.weight", "model.layers.#.mlp.gate_proj.weight" },
    { "decoder.layers.#.linear3.weight", "model.layers.#.mlp.up_proj.weight" },
    { "decoder.layers.#.linear2.weight", "model.layers.#.mlp.down_proj.weight" },
    { "decoder.layers.#.norm1.weight", "model.layers.#.input_layernorm.weight" },
    { "decoder.layers.#.post_norm1.weight", "model.layers.#.post_attention_layernorm.weight" },
    { "decoder.layers.#.norm2.weight", "model.layers.#.pre_feedforward_layernorm.weight" },
    { "decoder.layers.#.post_norm2.weight", "model.layers.#.post_feedforward_layernorm.weight" },
    { "output.weight", "lm_head.weight" },
}
Gemma.passed_over = { "rotary_emb%.inv_freq$", "^lm_head%.weight$" }

return Gemma
