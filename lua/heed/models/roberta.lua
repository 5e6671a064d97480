--- RoBERTa (Liu et al. 2019), and XLM-RoBERTa (Conneau et al. 2019).

local activations = require "heed.models.settings.activations"
local heads = require "heed.models.parts.heads"
local heed = require "heed.core"
local nn = require "heed.nn"
local padding = require("heed.mask").padding
local TextEncoder = require "heed.models.parts.text_encoder"

---RoBERTa: BERT, whose positions begin behind the padding token's id. Tokens of padding have no
---position and are not counted.
---
---```lua
---local model = heed.models.Roberta { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, intermediate_size = 16, max_position_embeddings = 10 }
---local ids = heed.ids { { 1, 5, 3 }, { 1, 3, 2 } } -- 2 is the padding's 1 in the file
---print(model(ids, { lengths = { 3, 2 } }).shape, model.max_tokens) --> [2, 3, 8] 8
---```
---@class heed.models.Roberta: heed.models.TextEncoder
---@field words heed.nn.Embedding
---@field positions heed.nn.Embedding
---@field types heed.nn.Embedding
---@field norm heed.nn.LayerNorm
---@field encoder heed.nn.TransformerEncoder
local Roberta = TextEncoder:extend "Roberta"

---@param given table config.json
function Roberta:init(given)
    local c = self:config_of(given)
    local E, activation = c.hidden_size, activations.of(c, "hidden_act")
    local pad = c.pad_token_id + 1
    self:check_positions(c, pad)
    self.words = nn.Embedding(c.vocab_size, E, { padding_idx = pad })
    self.positions = nn.Embedding(c.max_position_embeddings, E, { padding_idx = pad })
    self.types = nn.Embedding(c.type_vocab_size, E)
    self.norm = nn.LayerNorm(E, { eps = c.layer_norm_eps })
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.encoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, { activation = activation, eps = c.layer_norm_eps,
            dropout = c.hidden_dropout_prob, attention_dropout = c.attention_probs_dropout_prob })
    self.head = heads.of(c, E, self.words,
        { activation = "gelu", eps = c.layer_norm_eps, pooled = "tanh" })
    self.pad, self.max_tokens = pad, c.max_position_embeddings - pad
end

-- Positions of tokens, [B, L]: of the n-th that is no padding pad + n, of padding pad.
function Roberta.positions_of(ids, pad)
    local real = heed.tensor(ids, { dtype = "i64" }):ne(pad):to "i64"
    return real:cumsum(2) * real + pad
end

---Hidden states, without the head.
---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids, types?: heed.Ids } as of the model itself
---@return heed.Tensor [B, L, E]
function Roberta:hidden(ids, options)
    options = self:checked_options(options)
    local lengths, types = options.lengths, options.types
    local of_types = types and self.types(types) or self.types.weight[1]
    local x = self.words(ids) + self.positions(Roberta.positions_of(ids, self.pad)) + of_types
    return self.encoder(self.dropout(self.norm(x)), { mask = lengths and padding(lengths) })
end

Roberta.needs = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size", "max_position_embeddings", "pad_token_id" }
Roberta.config = { hidden_act = "gelu", layer_norm_eps = 1e-12, hidden_dropout_prob = 0.1,
    attention_probs_dropout_prob = 0.1, type_vocab_size = 2, pad_token_id = 1 }

Roberta.names = {
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
    { "head.dense.*", "lm_head.dense.*", outside = true },
    { "head.norm.*", "lm_head.layer_norm.*", outside = true },
    { "head.output.weight", "lm_head.decoder.weight", outside = true },
    { "head.output.bias", "lm_head.bias", outside = true },
    { "head.pooler.*", "classifier.dense.*", outside = true },
    { "head.classifier.*", "classifier.out_proj.*", outside = true },
    { "head.labels.*", "classifier.*", outside = true },
}
Roberta.prefixes = { "", "roberta." }
Roberta.passed_over = { "position_ids$", "^pooler%.", "^roberta%.pooler%.", "^lm_head%." }

return Roberta
