--- DistilBERT (Sanh et al. 2019).

local activations = require "heed.models.settings.activations"
local heads = require "heed.models.parts.heads"
local nn = require "heed.nn"
local padding = require("heed.mask").padding
local TextEncoder = require "heed.models.parts.text_encoder"

local EPS = 1e-12 -- of the norms; config.json does not say it

---DistilBERT: BERT with half the layers, and without types.
---
---```lua
---local model = heed.models.DistilBert { vocab_size = 20, dim = 8, n_layers = 1, n_heads = 2,
---    hidden_dim = 16, max_position_embeddings = 10 }
---print(model(heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 8]
---```
---@class heed.models.DistilBert: heed.models.TextEncoder
---@field words heed.nn.Embedding
---@field positions heed.nn.LearnedPositions
---@field norm heed.nn.LayerNorm
---@field encoder heed.nn.TransformerEncoder
local DistilBert = TextEncoder:extend "DistilBert"

---@param given table config.json
function DistilBert:init(given)
    local c = self:config_of(given)
    local E, activation = c.dim, activations.of(c, "activation")
    self.words = nn.Embedding(c.vocab_size, E)
    self.positions = nn.LearnedPositions(c.max_position_embeddings, E)
    self.norm = nn.LayerNorm(E, { eps = EPS })
    self.dropout = nn.Dropout(c.dropout)
    self.encoder = nn.TransformerEncoder(c.n_layers, E, c.n_heads, c.hidden_dim, {
        activation = activation, eps = EPS, dropout = c.dropout,
        attention_dropout = c.attention_dropout })
    self.head = heads.of(c, E, self.words, { activation = activation, eps = EPS, pooled = "relu" })
    self.max_tokens = c.max_position_embeddings
end

---Hidden states, without the head.
---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids } as of the model itself
---@return heed.Tensor [B, L, E]
function DistilBert:hidden(ids, options)
    local lengths = self:checked_options(options).lengths
    local x = self.dropout(self.norm(self.positions(self.words(ids))))
    return self.encoder(x, { mask = lengths and padding(lengths) })
end

DistilBert.needs = { "vocab_size", "dim", "n_layers", "n_heads", "hidden_dim",
    "max_position_embeddings" }
DistilBert.config = { activation = "gelu", dropout = 0.1, attention_dropout = 0.1 }

DistilBert.names = {
    { "words.weight", "embeddings.word_embeddings.weight" },
    { "positions.weight", "embeddings.position_embeddings.weight" },
    { "norm.*", "embeddings.LayerNorm.*" },
    { "encoder.layers.#.self_attn.in_proj_*", "transformer.layer.#.attention.q_lin.*",
        "transformer.layer.#.attention.k_lin.*", "transformer.layer.#.attention.v_lin.*" },
    { "encoder.layers.#.self_attn.out_proj.*", "transformer.layer.#.attention.out_lin.*" },
    { "encoder.layers.#.norm1.*", "transformer.layer.#.sa_layer_norm.*" },
    { "encoder.layers.#.linear1.*", "transformer.layer.#.ffn.lin1.*" },
    { "encoder.layers.#.linear2.*", "transformer.layer.#.ffn.lin2.*" },
    { "encoder.layers.#.norm2.*", "transformer.layer.#.output_layer_norm.*" },
    { "head.dense.*", "vocab_transform.*", outside = true },
    { "head.norm.*", "vocab_layer_norm.*", outside = true },
    { "head.output.*", "vocab_projector.*", outside = true },
    { "head.pooler.*", "pre_classifier.*", outside = true },
    { "head.classifier.*", "classifier.*", outside = true },
    { "head.labels.*", "classifier.*", outside = true },
}
DistilBert.prefixes = { "", "distilbert." }
DistilBert.passed_over = { "position_ids$", "^vocab_" }

return DistilBert
