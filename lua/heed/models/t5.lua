--- T5 (Raffel et al. 2020) and mT5: an encoder-decoder whose positions are a bias of the scores,
--- with RMSNorm before each part, no biases elsewhere, and no scaling of the scores.

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local EncoderDecoder = require "heed.models.parts.encoder_decoder"
local generation = require "heed.models.settings.generation"
local heed = require "heed.core"
local nn = require "heed.nn"

---T5. Called as nn.Transformer.
---
---```lua
---local model = heed.models.T5 { vocab_size = 20, d_model = 8, d_kv = 4, d_ff = 16, num_layers = 1,
---    num_heads = 2, feed_forward_proj = "gated-gelu", decoder_start_token_id = 0 }
---print(model(heed.ids { { 3, 5, 1 } }, heed.ids { { 1, 4 } }).shape) --> [1, 2, 20]
---print(#heed.generate(model:eval(), { 3, 5, 1 }, { max_new_tokens = 3, stop = {} })) --> 3
---```
---@class heed.models.T5: heed.models.EncoderDecoder
---@field words heed.nn.Embedding of both sides
---@field positions heed.nn.ModuleDict nn.RelativePositionBias of the encoder and of the decoder
---@field encoder heed.nn.TransformerEncoder
---@field decoder heed.nn.TransformerDecoder
---@field linear heed.nn.Linear|nil to logits, where that is not the words' matrix
local T5 = EncoderDecoder:extend "T5"

-- "gated-gelu" is gelu_new.
local function activation_of(c)
    local gated = (c.feed_forward_proj or "relu"):match "^gated%-(.*)$"
    if not gated then return activations.of(c, "feed_forward_proj", "relu") end
    return activations.gated({ feed_forward_proj = gated == "gelu" and "gelu_new" or gated },
        "feed_forward_proj")
end

---@param given table config.json
function T5:init(given)
    local c = config.of(self, given)
    local E = check.integer("heed.models.T5", "config.d_model", c.d_model)
    local layer = { norm_first = true, norm = "rms", eps = c.layer_norm_epsilon,
        bias = false, head_dim = c.d_kv, scale = 1, dropout = c.dropout_rate,
        activation = activation_of(c) }
    local function positions(both_ways)
        return nn.RelativePositionBias(c.num_heads, {
            buckets = c.relative_attention_num_buckets, bidirectional = both_ways,
            max_distance = c.relative_attention_max_distance })
    end
    self.words = nn.Embedding(c.vocab_size, E)
    self.dropout = nn.Dropout(c.dropout_rate)
    self.positions = nn.ModuleDict { encoder = positions(true), decoder = positions(false) }
    self.encoder = nn.TransformerEncoder(c.num_layers, E, c.num_heads, c.d_ff, layer)
    self.decoder = nn.TransformerDecoder(c.num_decoder_layers or c.num_layers, E, c.num_heads,
        c.d_ff, layer)
    if c.tie_word_embeddings == false or c.scale_decoder_outputs == false then
        self.linear = nn.Linear(E, c.vocab_size, { bias = false })
    end
    self.generation = generation.of(c)
end

local function embed(self, tokens) return self.dropout(self.words(tokens)) end

---The memory: what the decoder looks at.
---@param src heed.Ids [B, S]
---@param options? { src_lengths?: heed.Ids }
---@return heed.Tensor memory [B, S, E]
function T5:encode(src, options)
    src = self.ids(src)
    local mask, seen = self.positions.encoder(src:size(2)), self.source_mask(options)
    return self.dropout(self.encoder(embed(self, src), { mask = seen and seen & mask or mask }))
end

---Hidden states of the target, which `output` makes logits of.
---@param tgt heed.Ids [B, L]
---@param memory heed.Tensor [B, S, E]
---@param options? { src_lengths?: heed.Ids, tgt_lengths?: heed.Ids, cache?: heed.Cache }
---@return heed.Tensor hidden [B, L, E]
function T5:decode(tgt, memory, options)
    tgt = self.ids(tgt)
    local masks = self.target_masks(options)
    local offset = masks.cache and masks.cache:offset() or 0
    masks.mask = masks.mask & self.positions.decoder(tgt:size(2), { offset = offset })
    return self.dropout(self.decoder(embed(self, tgt), memory, masks))
end

---What may follow each token.
---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, L, V]
function T5:output(hidden)
    if self.linear then return self.linear(hidden) end
    return heed.linear(hidden * self.words.weight:size(2) ^ -0.5, self.words.weight)
end

T5.needs = { "vocab_size", "d_model", "d_kv", "num_layers", "num_heads", "d_ff" }
T5.config = { feed_forward_proj = "relu", relative_attention_num_buckets = 32,
    relative_attention_max_distance = 128, dropout_rate = 0.1, layer_norm_epsilon = 1e-6,
    tie_word_embeddings = true }

local FIRST = "%s.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
local ENCODER, DECODER = "encoder.block.#.layer.", "decoder.block.#.layer."

local NAMES = {
    { "words.weight", "shared.weight" },
    { "linear.weight", "lm_head.weight" },
    { "positions.encoder.weight", FIRST:format "encoder" },
    { "positions.decoder.weight", FIRST:format "decoder" },
    { "encoder.layers.#.self_attn.in_proj_weight", ENCODER .. "0.SelfAttention.q.weight",
        ENCODER .. "0.SelfAttention.k.weight", ENCODER .. "0.SelfAttention.v.weight" },
    { "encoder.layers.#.self_attn.out_proj.weight", ENCODER .. "0.SelfAttention.o.weight" },
    { "encoder.layers.#.norm1.weight", ENCODER .. "0.layer_norm.weight" },
    { "encoder.layers.#.linear2.weight", ENCODER .. "1.DenseReluDense.wo.weight" },
    { "encoder.layers.#.norm2.weight", ENCODER .. "1.layer_norm.weight" },
    { "encoder.norm.weight", "encoder.final_layer_norm.weight" },
    { "decoder.layers.#.self_attn.in_proj_weight", DECODER .. "0.SelfAttention.q.weight",
        DECODER .. "0.SelfAttention.k.weight", DECODER .. "0.SelfAttention.v.weight" },
    { "decoder.layers.#.self_attn.out_proj.weight", DECODER .. "0.SelfAttention.o.weight" },
    { "decoder.layers.#.norm1.weight", DECODER .. "0.layer_norm.weight" },
    { "decoder.layers.#.multihead_attn.in_proj_weight", DECODER .. "1.EncDecAttention.q.weight",
        DECODER .. "1.EncDecAttention.k.weight", DECODER .. "1.EncDecAttention.v.weight" },
    { "decoder.layers.#.multihead_attn.out_proj.weight", DECODER .. "1.EncDecAttention.o.weight" },
    { "decoder.layers.#.norm2.weight", DECODER .. "1.layer_norm.weight" },
    { "decoder.layers.#.linear2.weight", DECODER .. "2.DenseReluDense.wo.weight" },
    { "decoder.layers.#.norm3.weight", DECODER .. "2.layer_norm.weight" },
    { "decoder.norm.weight", "decoder.final_layer_norm.weight" },
}

---The maps of the feed-forward part are called by whether it is gated.
---@param c table config.json
---@return string[][]
function T5.names_of(c)
    local list = table.move(NAMES, 1, #NAMES, 1, {})
    local gated = c.feed_forward_proj:find "^gated" ~= nil
    for _, side in ipairs { { "encoder", ENCODER .. "1" }, { "decoder", DECODER .. "2" } } do
        local ours, theirs = side[1] .. ".layers.#.linear", side[2] .. ".DenseReluDense.wi"
        list[#list + 1] = { ours .. "1.weight", theirs .. (gated and "_0" or "") .. ".weight" }
        list[#list + 1] = { ours .. "3.weight", theirs .. "_1.weight" }
    end
    return list
end

-- The words again; and what version 1.0 has and does not use.
T5.passed_over = { "embed_tokens%.weight$", "^lm_head%.weight$",
    "EncDecAttention%.relative_attention_bias%.weight$" }

return T5
