--- BERT (Devlin et al. 2018), and encoders of sentences made of it (Reimers and Gurevych 2019).

local check = require "heed.check"
local heed = require "heed.core"
local nn = require "heed.nn"
local padding = require("heed.mask").padding

---BERT: hidden states of tokens, and a vector of each text. heed.models.load makes it of files; of a
---config alone it has initial values.
---
---```lua
---local model = heed.models.Bert { vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, intermediate_size = 16, max_position_embeddings = 10,
---    type_vocab_size = 2, hidden_act = "gelu", layer_norm_eps = 1e-12, hidden_dropout_prob = 0.1,
---    attention_probs_dropout_prob = 0.1 }
---local ids = heed.ids { { 3, 5, 4 }, { 3, 4, 1 } }
---print(model(ids, { lengths = { 3, 2 } }).shape, model:embed(ids, { 3, 2 }).shape) --> [2, 3, 8] [2, 8]
---```
---@class heed.models.Bert: heed.nn.Module
---@field words heed.nn.Embedding
---@field positions heed.nn.LearnedPositions
---@field types heed.nn.Embedding which of two texts a token is of
---@field norm heed.nn.LayerNorm
---@field encoder heed.nn.TransformerEncoder
local Bert = nn.Module:extend "Bert"

---@param c table config.json
function Bert:init(c)
    local E = check.type("heed.models.Bert", "config", c, "table").hidden_size
    self.words = nn.Embedding(c.vocab_size, E)
    self.positions = nn.LearnedPositions(c.max_position_embeddings, E)
    self.types = nn.Embedding(c.type_vocab_size, E)
    self.norm = nn.LayerNorm(E, { eps = c.layer_norm_eps })
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.encoder = nn.TransformerEncoder(c.num_hidden_layers, E, c.num_attention_heads,
        c.intermediate_size, { activation = c.hidden_act, eps = c.layer_norm_eps,
            dropout = c.hidden_dropout_prob, attention_dropout = c.attention_probs_dropout_prob })
end

---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids, types?: heed.Ids } lengths: of the texts, what is behind
---them is not seen; types: [B, L], 1 of the first text (default) and 2 of the second
---@return heed.Tensor hidden [B, L, E]
function Bert:forward(ids, options)
    local lengths, types = options and options.lengths, options and options.types
    local of_types = types and self.types(types) or self.types.weight[1]
    local x = self.positions(self.words(ids)) + of_types
    return self.encoder(self.dropout(self.norm(x)), { mask = lengths and padding(lengths) })
end

---A vector of each text: the mean over its tokens, of length 1, as the model's files say.
---@param ids heed.Ids [B, L]
---@param lengths? heed.Ids of the texts; default: all L
---@return heed.Tensor [B, E]
function Bert:embed(ids, lengths)
    local x = self(ids, { lengths = lengths })
    local B, L = x:size()
    lengths = lengths and heed.tensor(lengths) or heed.full({ B }, L)
    local seen = heed.range(1, L):view(1, L):le(lengths:view(B, 1)):to(x.dtype)
    local mean = heed.einsum("ble,bl->be", x, seen) / lengths:to(x.dtype):view(B, 1)
    return mean / mean:norm { dim = 2, keepdim = true }
end

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
}
Bert.prefixes = { "", "bert." }
Bert.passed_over = { "position_ids$", "^pooler%.", "^bert%.pooler%.", "^cls%." }

return Bert
