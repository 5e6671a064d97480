--- BERT (Devlin et al. 2018), and encoders of sentences made of it (Reimers and Gurevych 2019).

local activations = require "heed.models.settings.activations"
local heads = require "heed.models.parts.heads"
local nn = require "heed.nn"
local padding = require("heed.mask").padding
local TextEncoder = require "heed.models.parts.text_encoder"

---BERT: hidden states of tokens, or with a head what its task asks for, and a vector of each text.
---heed.models.load makes it of files; of a config alone it has initial values.
---
---```lua
---local model = heed.models.Bert { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, intermediate_size = 16, max_position_embeddings = 10 }
---local ids = heed.ids { { 3, 5, 4 }, { 3, 4, 1 } }
---print(model(ids, { lengths = { 3, 2 } }).shape, model:embed(ids, { 3, 2 }).shape) --> [2, 3, 8] [2, 8]
---```
---@class heed.models.Bert: heed.models.TextEncoder
---@field words heed.nn.Embedding
---@field positions heed.nn.LearnedPositions
---@field types heed.nn.Embedding which of two texts a token is of
---@field norm heed.nn.LayerNorm
---@field encoder heed.nn.TransformerEncoder
local Bert = TextEncoder:extend "Bert"

---@param given table config.json
function Bert:init(given)
    local c = self:config_of(given)
    local E, activation = c.hidden_size, activations.of(c, "hidden_act")
    self.words = nn.Embedding(c.vocab_size, E)
    self.positions = nn.LearnedPositions(c.max_position_embeddings, E)
    self.types = nn.Embedding(c.type_vocab_size, E)
    self.norm = nn.LayerNorm(E, { eps = c.layer_norm_eps })
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.encoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, { activation = activation, eps = c.layer_norm_eps,
            dropout = c.hidden_dropout_prob, attention_dropout = c.attention_probs_dropout_prob })
    self.head = heads.of(c, E, self.words,
        { activation = activation, eps = c.layer_norm_eps, pooled = "tanh" })
    self.max_tokens = c.max_position_embeddings
end

---Hidden states, without the head.
---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids, types?: heed.Ids } as of the model itself
---@return heed.Tensor [B, L, E]
function Bert:hidden(ids, options)
    options = self:checked_options(options)
    local lengths, types = options.lengths, options.types
    local of_types = types and self.types(types) or self.types.weight[1]
    local x = self.positions(self.words(ids)) + of_types
    return self.encoder(self.dropout(self.norm(x)), { mask = lengths and padding(lengths) })
end

Bert.needs = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size", "max_position_embeddings" }
Bert.config = { hidden_act = "gelu", layer_norm_eps = 1e-12, hidden_dropout_prob = 0.1,
    attention_probs_dropout_prob = 0.1, type_vocab_size = 2 }

Bert.names = {
    { "words.weight", "embeddings.word_embeddings.weight" },
    { "positions.weight", "embeddings.position_embeddings.weight" },
    { "types.weight", "embeddings.token_type_embeddings.weight" },
    { "norm.*", "embeddings.LayerNorm.*" },
    { "encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.self.query.*",
        "encoder.layer.#.attention.self.key.*", "encoder.layer.#.attention.self.value.*" },
    { "encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.output.dense.*" },
    { "encoder.layers.#.norm1.*", "encoder.layer.#.attention.output.LayerNorm.*" },
    { "encoder.layers.#.linear1.*", "encoder.layer.#.intermediate.dense.*" },
    { "encoder.layers.#.linear2.*", "encoder.layer.#.output.dense.*" },
    { "encoder.layers.#.norm2.*", "encoder.layer.#.output.LayerNorm.*" },
    { "head.dense.*", "cls.predictions.transform.dense.*", outside = true },
    { "head.norm.*", "cls.predictions.transform.LayerNorm.*", outside = true },
    { "head.output.weight", "cls.predictions.decoder.weight", outside = true },
    { "head.output.bias", "cls.predictions.bias", outside = true },
    { "head.pooler.*", "pooler.dense.*" },
    { "head.classifier.*", "classifier.*", outside = true },
    { "head.labels.*", "classifier.*", outside = true },
}
Bert.prefixes = { "", "bert." }
Bert.passed_over = { "position_ids$", "^pooler%.", "^bert%.pooler%.", "^cls%." }

return Bert
