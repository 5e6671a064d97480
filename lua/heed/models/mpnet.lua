--- MPNet (Song et al. 2020).

local activations = require "heed.models.settings.activations"
local heads = require "heed.models.parts.heads"
local nn = require "heed.nn"
local padding = require("heed.mask").padding
local Roberta = require "heed.models.roberta"
local TextEncoder = require "heed.models.parts.text_encoder"

local PAD = 2 -- 1 in the files, whatever config.json says

---MPNet: RoBERTa's positions, and T5's bias of the scores by distance, which all layers share.
---
---```lua
---local model = heed.models.MpNet { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, intermediate_size = 16, max_position_embeddings = 10 }
---print(model(heed.ids { { 1, 5, 3 } }).shape) --> [1, 3, 8]
---```
---@class heed.models.MpNet: heed.models.TextEncoder
---@field words heed.nn.Embedding
---@field positions heed.nn.Embedding
---@field distances heed.nn.RelativePositionBias
---@field norm heed.nn.LayerNorm
---@field encoder heed.nn.TransformerEncoder
local MpNet = TextEncoder:extend "MpNet"

---@param given table config.json
function MpNet:init(given)
    local c = self:config_of(given)
    local E, activation = c.hidden_size, activations.of(c, "hidden_act")
    self:check_positions(c, PAD)
    self.words = nn.Embedding(c.vocab_size, E, { padding_idx = PAD })
    self.positions = nn.Embedding(c.max_position_embeddings, E, { padding_idx = PAD })
    self.distances = nn.RelativePositionBias(c.num_attention_heads,
        { buckets = c.relative_attention_num_buckets })
    self.norm = nn.LayerNorm(E, { eps = c.layer_norm_eps })
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.encoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, { activation = activation, eps = c.layer_norm_eps,
            dropout = c.hidden_dropout_prob, attention_dropout = c.attention_probs_dropout_prob })
    self.head = heads.of(c, E, self.words,
        { activation = "gelu", eps = c.layer_norm_eps, pooled = "tanh" })
    self.max_tokens = c.max_position_embeddings - PAD
end

---Hidden states, without the head.
---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids } as of the model itself
---@return heed.Tensor [B, L, E]
function MpNet:hidden(ids, options)
    local lengths = self:checked_options(options).lengths
    local x = self.words(ids) + self.positions(Roberta.positions_of(ids, PAD))
    local near = self.distances(x:size(2))
    return self.encoder(self.dropout(self.norm(x)),
        { mask = lengths and padding(lengths) & near or near })
end

MpNet.needs = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size", "max_position_embeddings" }
MpNet.config = { hidden_act = "gelu", layer_norm_eps = 1e-12, hidden_dropout_prob = 0.1,
    attention_probs_dropout_prob = 0.1, relative_attention_num_buckets = 32 }

MpNet.names = {
    { "words.weight", "embeddings.word_embeddings.weight" },
    { "positions.weight", "embeddings.position_embeddings.weight" },
    { "distances.weight", "encoder.relative_attention_bias.weight" },
    { "norm.*", "embeddings.LayerNorm.*" },
    { "encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.attn.q.*",
        "encoder.layer.#.attention.attn.k.*", "encoder.layer.#.attention.attn.v.*" },
    { "encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.attn.o.*" },
    { "encoder.layers.#.norm1.*", "encoder.layer.#.attention.LayerNorm.*" },
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
MpNet.prefixes = { "", "mpnet." }
MpNet.passed_over = { "position_ids$", "^pooler%.", "^mpnet%.pooler%.", "^lm_head%." }

return MpNet
