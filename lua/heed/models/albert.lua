--- ALBERT (Lan et al. 2019).

local activations = require "heed.models.settings.activations"
local heads = require "heed.models.parts.heads"
local nn = require "heed.nn"
local padding = require("heed.mask").padding
local TextEncoder = require "heed.models.parts.text_encoder"
local unknown = require "heed.unknown"
local walk = require "heed.nn.walk"

---ALBERT: BERT with an embedding of fewer features than the layers have, and one layer's parameters
---in all layers of a group. Each layer is a module of its own, so that heed.capture tells them
---apart: `groups.1.1.layers.11.self_attn`.
---
---```lua
---local model = heed.models.Albert { vocab_size = 20, embedding_size = 4, hidden_size = 8,
---    num_hidden_layers = 3, num_attention_heads = 2, intermediate_size = 16,
---    max_position_embeddings = 10 }
---print(model(heed.ids { { 3, 5, 4 } }).shape, #model.groups[1][1].layers) --> [1, 3, 8] 3
---```
---@class heed.models.Albert: heed.models.TextEncoder
---@field words heed.nn.Embedding
---@field positions heed.nn.LearnedPositions
---@field types heed.nn.Embedding
---@field norm heed.nn.LayerNorm
---@field projection heed.nn.Linear from the embedding's features to the layers'
---@field groups heed.nn.TransformerEncoder[][] of each group its inner layers, each as often as it
---is repeated
local Albert = TextEncoder:extend "Albert"

-- All layers with the parameters of the first.
local function share_parameters(layers)
    local first = {}
    walk.each_tensor(layers[1], 1, function(_, tensor) first[#first + 1] = tensor end)
    for k = 2, #layers do
        local i = 0
        walk.each_tensor(layers[k], 1, function(_, _, owner, key)
            i = i + 1
            owner[key] = first[i]
        end)
    end
end

local function repeated(c, times, activation)
    local encoder = nn.TransformerEncoder(times, c.hidden_size, c.num_attention_heads,
        c.intermediate_size, { activation = activation, eps = c.layer_norm_eps,
            dropout = c.hidden_dropout_prob, attention_dropout = c.attention_probs_dropout_prob })
    share_parameters(encoder.layers)
    return encoder
end

---@param given table config.json
function Albert:init(given)
    local c = self:config_of(given)
    local D, activation = c.embedding_size, activations.of(c, "hidden_act")
    local norm = { eps = c.layer_norm_eps }
    self.words = nn.Embedding(c.vocab_size, D)
    self.positions = nn.LearnedPositions(c.max_position_embeddings, D)
    self.types = nn.Embedding(c.type_vocab_size, D)
    self.norm = nn.LayerNorm(D, norm)
    self.dropout = nn.Dropout(c.hidden_dropout_prob)
    self.projection = nn.Linear(D, c.hidden_size)
    if c.num_hidden_layers % c.num_hidden_groups ~= 0 then
        unknown.refuse("num_hidden_layers: expected a multiple of num_hidden_groups (%d), got %d",
            c.num_hidden_groups, c.num_hidden_layers)
    end
    self.groups = {}
    for g = 1, c.num_hidden_groups do
        self.groups[g] = {}
        for i = 1, c.inner_group_num do
            self.groups[g][i] = repeated(c, c.num_hidden_layers // c.num_hidden_groups, activation)
        end
    end
    self.head = heads.of(c, c.hidden_size, self.words,
        { activation = activation, eps = c.layer_norm_eps, pooled = "tanh" })
    self.max_tokens = c.max_position_embeddings
end

---Hidden states, without the head.
---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids, types?: heed.Ids } as of the model itself
---@return heed.Tensor [B, L, E]
function Albert:hidden(ids, options)
    options = self:checked_options(options)
    local lengths, types = options.lengths, options.types
    local of_types = types and self.types(types) or self.types.weight[1]
    local x = self.positions(self.words(ids)) + of_types
    x = self.projection(self.dropout(self.norm(x)))
    local seen = { mask = lengths and padding(lengths) }
    for _, group in ipairs(self.groups) do
        for k = 1, #group[1].layers do
            for _, inner in ipairs(group) do x = inner.layers[k](x, seen) end
        end
    end
    return x
end

Albert.needs = { "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size", "max_position_embeddings" }
Albert.config = { embedding_size = 128, num_hidden_groups = 1, inner_group_num = 1,
    hidden_act = "gelu_new", layer_norm_eps = 1e-12, hidden_dropout_prob = 0,
    attention_probs_dropout_prob = 0, type_vocab_size = 2 }

-- A layer of a group; the others that are repeated are the same one.
local OURS, THEIRS = "groups.#.#.layers.1.", "encoder.albert_layer_groups.#.albert_layers.#."

Albert.names = {
    { "words.weight", "embeddings.word_embeddings.weight" },
    { "positions.weight", "embeddings.position_embeddings.weight" },
    { "types.weight", "embeddings.token_type_embeddings.weight" },
    { "norm.*", "embeddings.LayerNorm.*" },
    { "projection.*", "encoder.embedding_hidden_mapping_in.*" },
    { OURS .. "self_attn.in_proj_*", THEIRS .. "attention.query.*", THEIRS .. "attention.key.*",
        THEIRS .. "attention.value.*" },
    { OURS .. "self_attn.out_proj.*", THEIRS .. "attention.dense.*" },
    { OURS .. "norm1.*", THEIRS .. "attention.LayerNorm.*" },
    { OURS .. "linear1.*", THEIRS .. "ffn.*" },
    { OURS .. "linear2.*", THEIRS .. "ffn_output.*" },
    { OURS .. "norm2.*", THEIRS .. "full_layer_layer_norm.*" },
    { "head.dense.*", "predictions.dense.*", outside = true },
    { "head.norm.*", "predictions.LayerNorm.*", outside = true },
    { "head.output.weight", "predictions.decoder.weight", outside = true },
    { "head.output.bias", "predictions.bias", outside = true },
    { "head.pooler.*", "pooler.*" },
    { "head.classifier.*", "classifier.*", outside = true },
    { "head.labels.*", "classifier.*", outside = true },
}
Albert.prefixes = { "", "albert." }
Albert.passed_over = { "position_ids$", "^pooler%.", "^albert%.pooler%.", "^predictions%.",
    "^sop_classifier%." }

return Albert
