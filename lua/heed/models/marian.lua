--- The fast translators of marian-nmt (Kim et al. 2019, "From Research to Production and Back"):
--- the Transformer, with a simple recurrence where its decoder has self-attention.

local activations = require "heed.models.settings.activations"
local config = require "heed.models.settings.config"
local EncoderDecoder = require "heed.models.parts.encoder_decoder"
local heed = require "heed.core"
local check = require "heed.check"
local nn = require "heed.nn"
local sinusoids = require "heed.models.parts.sinusoids"
local unknown = require "heed.unknown"

-- ---- a layer of the decoder ---------------------------------------------------------------------

local Layer = nn.Module:extend "MarianDecoderLayer"

function Layer:init(E, heads, d_ff, activation)
    self.ssru = nn.SSRU(E)
    self.multihead_attn = nn.MultiHeadAttention(E, heads)
    self.feed_forward = nn.FeedForward(E, d_ff, { activation = activation })
    for i = 1, 3 do self["norm" .. i] = nn.LayerNorm(E, { eps = 1e-6 }) end
end

function Layer:forward(x, memory, options)
    local across = { mask = options.memory_mask, cache = options.cache }
    x = self.norm1(x + self.ssru(x, { mask = options.mask, cache = options.cache }))
    x = self.norm2(x + self.multihead_attn(x, memory, memory, across))
    return self.norm3(x + self.feed_forward(x))
end

-- ---- the model ----------------------------------------------------------------------------------

---A translator of marian-nmt whose decoder has SSRU layers; its config are marian's settings.
---Called as nn.Transformer. A target begins with </s>, token 1, which stands for nothing there.
---
---```lua
---local model = heed.models.Marian { ["dim-emb"] = 8, ["dim-vocabs"] = { 20, 20 },
---    ["enc-depth"] = 1, ["dec-depth"] = 1, ["transformer-heads"] = 2,
---    ["transformer-dim-ffn"] = 16, ["dec-cell"] = "ssru" }
---print(model(heed.ids { { 3, 5, 1 } }, heed.ids { { 1, 4 } }).shape) --> [1, 2, 20]
---print(#heed.generate(model:eval(), { 3, 5, 1 }, { max_new_tokens = 3, stop = {} })) --> 3
---```
---@class heed.models.Marian: heed.models.EncoderDecoder
---@field words heed.nn.Embedding of both sides, and the output's matrix
---@field positions heed.nn.SinusoidalPositions
---@field encoder heed.nn.TransformerEncoder
---@field layers heed.nn.Module[] of the decoder
---@field bias heed.Tensor [V] of the logits
---@field longest integer the most tokens of a text
---@field alignment { layer: string, head: integer } of all attention that which shows best where
---words came from
local Marian = EncoderDecoder:extend "Marian"

local WHERE = "heed.models.Marian"
local EOS, LONGEST = 1, 1024

-- Settings that have one value here: with another the architecture is another.
local FIXED = { type = "transformer", ["dec-cell"] = "ssru", ulr = false,
    ["transformer-decoder-autoreg"] = "rnn",
    ["tied-embeddings-all"] = true, ["transformer-preprocess"] = "",
    ["transformer-postprocess"] = "dan", ["transformer-postprocess-emb"] = "d",
    ["transformer-postprocess-top"] = "", ["transformer-ffn-depth"] = 2,
    ["transformer-no-projection"] = false, ["transformer-train-position-embeddings"] = false,
    ["transformer-pool"] = false, ["transformer-dim-ffn-dec"] = 0, ["lemma-dim-emb"] = 0,
    ["output-omit-bias"] = false, ["right-left"] = false }

local function refuse_others(c)
    for name, value in pairs(FIXED) do
        if c[name] ~= nil and c[name] ~= value then unknown.kind(name, c[name]) end
    end
    if type(c["transformer-tied-layers"]) == "table" and #c["transformer-tied-layers"] > 0 then
        unknown.kind("transformer-tied-layers", #c["transformer-tied-layers"])
    end
end

-- The first head of this layer was trained to align, where training was guided.
local function alignment_of(c)
    local layer = c["transformer-guided-alignment-layer"] or "last"
    layer = math.tointeger(layer) or c["dec-depth"]
    return { layer = ("layers.%d.multihead_attn"):format(layer), head = 1 }
end

---@param given table the settings in a model's file
function Marian:init(given)
    local c = config.of(self, given)
    refuse_others(c)
    local E = check.integer(WHERE, "config.dim-emb", c["dim-emb"])
    local depth = check.integer(WHERE, "config.dec-depth", c["dec-depth"])
    local heads, d_ff = c["transformer-heads"] or 8, c["transformer-dim-ffn"]
    local activation = activations.of(c, "transformer-ffn-activation", "relu")
    local V = check.type(WHERE, "config.dim-vocabs", c["dim-vocabs"], "table")[1]
    V = check.integer(WHERE, "config.dim-vocabs[1]", V)
    self.words = nn.Embedding(V, E, { scale = math.sqrt(E) })
    self.positions = sinusoids(LONGEST, E)
    self.encoder = nn.TransformerEncoder(c["enc-depth"], E, heads, d_ff,
        { activation = activation, eps = 1e-6, dropout = 0 })
    self.layers = {}
    for i = 1, depth do self.layers[i] = Layer(E, heads, d_ff, activation) end
    self.bias = nn.parameter(heed.zeros(V))
    self.generation = { prefix = { EOS }, stop = { EOS }, suppress = {} }
    self.alignment, self.longest = alignment_of(c), LONGEST
end

---The memory: what the decoder looks at.
---@param src heed.Ids [B, S]
---@param options? { src_lengths?: heed.Ids }
---@return heed.Tensor memory [B, S, E]
function Marian:encode(src, options)
    return self.encoder(self.positions(self.words(self.ids(src))),
        { mask = self.source_mask(options) })
end

---Hidden states of the target, which `output` makes logits of.
---@param tgt heed.Ids [B, L]
---@param memory heed.Tensor [B, S, E]
---@param options? { src_lengths?: heed.Ids, tgt_lengths?: heed.Ids, cache?: heed.Cache }
---@return heed.Tensor hidden [B, L, E]
function Marian:decode(tgt, memory, options)
    tgt = self.ids(tgt)
    local masks = self.target_masks(options)
    local words = self.words(tgt):masked_fill(tgt:eq(EOS):unsqueeze(3), 0)
    local x = self.positions(words, { cache = masks.cache })
    for _, layer in ipairs(self.layers) do x = layer(x, memory, masks) end
    return x
end

---What may follow each token.
---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, L, V]
function Marian:output(hidden) return heed.linear(hidden, self.words.weight, self.bias) end

Marian.needs = { "dim-emb", "dim-vocabs", "enc-depth", "dec-depth", "transformer-dim-ffn" }
Marian.config = {}

-- Vectors multiply matrices from the left.
Marian.names = {
    { "words.weight", "Wemb" },
    { "bias", "decoder_ff_logit_out_b" },
    { "encoder.layers.#.self_attn.in_proj_weight", "encoder_l@_self_Wq", "encoder_l@_self_Wk",
        "encoder_l@_self_Wv", transposed = true },
    { "encoder.layers.#.self_attn.in_proj_bias", "encoder_l@_self_bq", "encoder_l@_self_bk",
        "encoder_l@_self_bv" },
    { "encoder.layers.#.self_attn.out_proj.weight", "encoder_l@_self_Wo", transposed = true },
    { "encoder.layers.#.self_attn.out_proj.bias", "encoder_l@_self_bo" },
    { "encoder.layers.#.norm1.weight", "encoder_l@_self_Wo_ln_scale" },
    { "encoder.layers.#.norm1.bias", "encoder_l@_self_Wo_ln_bias" },
    { "encoder.layers.#.linear1.weight", "encoder_l@_ffn_W1", transposed = true },
    { "encoder.layers.#.linear1.bias", "encoder_l@_ffn_b1" },
    { "encoder.layers.#.linear2.weight", "encoder_l@_ffn_W2", transposed = true },
    { "encoder.layers.#.linear2.bias", "encoder_l@_ffn_b2" },
    { "encoder.layers.#.norm2.weight", "encoder_l@_ffn_ffn_ln_scale" },
    { "encoder.layers.#.norm2.bias", "encoder_l@_ffn_ffn_ln_bias" },
    { "layers.#.ssru.linear.weight", "decoder_l@_rnn_W", transposed = true },
    { "layers.#.ssru.forget.weight", "decoder_l@_rnn_Wf", transposed = true },
    { "layers.#.ssru.forget.bias", "decoder_l@_rnn_bf" },
    { "layers.#.norm1.weight", "decoder_l@_rnn_ffn_ln_scale" },
    { "layers.#.norm1.bias", "decoder_l@_rnn_ffn_ln_bias" },
    { "layers.#.multihead_attn.in_proj_weight", "decoder_l@_context_Wq", "decoder_l@_context_Wk",
        "decoder_l@_context_Wv", transposed = true },
    { "layers.#.multihead_attn.in_proj_bias", "decoder_l@_context_bq", "decoder_l@_context_bk",
        "decoder_l@_context_bv" },
    { "layers.#.multihead_attn.out_proj.weight", "decoder_l@_context_Wo", transposed = true },
    { "layers.#.multihead_attn.out_proj.bias", "decoder_l@_context_bo" },
    { "layers.#.norm2.weight", "decoder_l@_context_Wo_ln_scale" },
    { "layers.#.norm2.bias", "decoder_l@_context_Wo_ln_bias" },
    { "layers.#.feed_forward.linear1.weight", "decoder_l@_ffn_W1", transposed = true },
    { "layers.#.feed_forward.linear1.bias", "decoder_l@_ffn_b1" },
    { "layers.#.feed_forward.linear2.weight", "decoder_l@_ffn_W2", transposed = true },
    { "layers.#.feed_forward.linear2.bias", "decoder_l@_ffn_b2" },
    { "layers.#.norm3.weight", "decoder_l@_ffn_ffn_ln_scale" },
    { "layers.#.norm3.bias", "decoder_l@_ffn_ffn_ln_bias" },
}
-- Multipliers of activations, for arithmetic in int8; settings.
Marian.passed_over = { "_QuantMultA$", "^special:" }

return Marian
