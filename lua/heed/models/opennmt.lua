--- The Transformer (Vaswani et al. 2017) as OpenNMT trains it and CTranslate2 has it.

local check = require "heed.check"
local config = require "heed.models.settings.config"
local EncoderDecoder = require "heed.models.parts.encoder_decoder"
local nn = require "heed.nn"
local sinusoids = require "heed.models.parts.sinusoids"

---OpenNMT's Transformer. Called as nn.Transformer.
---
---```lua
---local model = heed.models.OpenNMT { source_vocab = 20, target_vocab = 30, d_model = 8,
---    num_heads = 2, encoder_layers = 1, decoder_layers = 1, d_ff = 16, pre_norm = true }
---print(model(heed.ids { { 3, 5, 4 } }, heed.ids { { 2, 4 } }).shape) --> [1, 2, 30]
---```
---@class heed.models.OpenNMT: heed.models.EncoderDecoder
---@field src_embedding heed.nn.Embedding
---@field tgt_embedding heed.nn.Embedding
---@field positions heed.nn.SinusoidalPositions
---@field encoder heed.nn.TransformerEncoder
---@field decoder heed.nn.TransformerDecoder
---@field linear heed.nn.Linear to logits
local OpenNMT = EncoderDecoder:extend "OpenNMT"

local LONGEST = 1024

---@param given table what heed.models.load finds in the file: sizes, and whether norms come first
function OpenNMT:init(given)
    local c = config.of(self, given)
    local E = check.integer("heed.models.OpenNMT", "config.d_model", c.d_model)
    local layer = { norm_first = c.pre_norm, activation = "relu", eps = 1e-5, dropout = 0 }
    self.src_embedding = nn.Embedding(c.source_vocab, E, { scale = math.sqrt(E) })
    self.tgt_embedding = nn.Embedding(c.target_vocab, E, { scale = math.sqrt(E) })
    self.positions = sinusoids(LONGEST, E, 1)
    self.encoder = nn.TransformerEncoder(c.encoder_layers, E, c.num_heads, c.d_ff, layer)
    self.decoder = nn.TransformerDecoder(c.decoder_layers, E, c.num_heads, c.d_ff, layer)
    self.linear = nn.Linear(E, c.target_vocab)
    self.generation = { prefix = { c.bos or 2 }, stop = { c.eos or 3 }, suppress = {} }
end

---The memory: what the decoder looks at.
---@param src heed.Ids [B, S]
---@param options? { src_lengths?: heed.Ids }
---@return heed.Tensor memory [B, S, E]
function OpenNMT:encode(src, options)
    return self.encoder(self.positions(self.src_embedding(src)),
        { mask = self.source_mask(options) })
end

---Hidden states of the target, which `output` makes logits of.
---@param tgt heed.Ids [B, L]
---@param memory heed.Tensor [B, S, E]
---@param options? { src_lengths?: heed.Ids, tgt_lengths?: heed.Ids, cache?: heed.Cache }
---@return heed.Tensor hidden [B, L, E]
function OpenNMT:decode(tgt, memory, options)
    local masks = self.target_masks(options)
    local x = self.positions(self.tgt_embedding(tgt), { cache = masks.cache })
    return self.decoder(x, memory, masks)
end

---What may follow each token.
---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, L, V]
function OpenNMT:output(hidden) return self.linear(hidden) end

OpenNMT.needs = { "source_vocab", "target_vocab", "d_model", "encoder_layers", "decoder_layers",
    "num_heads", "d_ff" }
OpenNMT.config = {}

OpenNMT.names = {
    { "src_embedding.weight", "encoder/embeddings/weight" },
    { "tgt_embedding.weight", "decoder/embeddings/weight" },
    { "linear.*", "decoder/projection/*" },
    { "encoder.layers.#.self_attn.in_proj_*", "encoder/layer_#/self_attention/linear_0/*" },
    { "encoder.layers.#.self_attn.out_proj.*", "encoder/layer_#/self_attention/linear_1/*" },
    { "encoder.layers.#.norm1.weight", "encoder/layer_#/self_attention/layer_norm/gamma" },
    { "encoder.layers.#.norm1.bias", "encoder/layer_#/self_attention/layer_norm/beta" },
    { "encoder.layers.#.linear1.*", "encoder/layer_#/ffn/linear_0/*" },
    { "encoder.layers.#.linear2.*", "encoder/layer_#/ffn/linear_1/*" },
    { "encoder.layers.#.norm2.weight", "encoder/layer_#/ffn/layer_norm/gamma" },
    { "encoder.layers.#.norm2.bias", "encoder/layer_#/ffn/layer_norm/beta" },
    { "encoder.norm.weight", "encoder/layer_norm/gamma" },
    { "encoder.norm.bias", "encoder/layer_norm/beta" },
    { "decoder.layers.#.self_attn.in_proj_*", "decoder/layer_#/self_attention/linear_0/*" },
    { "decoder.layers.#.self_attn.out_proj.*", "decoder/layer_#/self_attention/linear_1/*" },
    { "decoder.layers.#.norm1.weight", "decoder/layer_#/self_attention/layer_norm/gamma" },
    { "decoder.layers.#.norm1.bias", "decoder/layer_#/self_attention/layer_norm/beta" },
    { "decoder.layers.#.multihead_attn.in_proj_*", "decoder/layer_#/attention/linear_0/*",
        "decoder/layer_#/attention/linear_1/*" },
    { "decoder.layers.#.multihead_attn.out_proj.*", "decoder/layer_#/attention/linear_2/*" },
    { "decoder.layers.#.norm2.weight", "decoder/layer_#/attention/layer_norm/gamma" },
    { "decoder.layers.#.norm2.bias", "decoder/layer_#/attention/layer_norm/beta" },
    { "decoder.layers.#.linear1.*", "decoder/layer_#/ffn/linear_0/*" },
    { "decoder.layers.#.linear2.*", "decoder/layer_#/ffn/linear_1/*" },
    { "decoder.layers.#.norm3.weight", "decoder/layer_#/ffn/layer_norm/gamma" },
    { "decoder.layers.#.norm3.bias", "decoder/layer_#/ffn/layer_norm/beta" },
    { "decoder.norm.weight", "decoder/layer_norm/gamma" },
    { "decoder.norm.bias", "decoder/layer_norm/beta" },
}

return OpenNMT
