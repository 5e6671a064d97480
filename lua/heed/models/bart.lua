--- BART (Lewis et al. 2020), and the encoder-decoders that differ from it by where their norms and
--- positions are: mBART (Liu et al. 2020), M2M-100 and NLLB (Fan et al. 2021), and Marian's models
--- as Hugging Face has them (Junczys-Dowmunt et al. 2018).

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local EncoderDecoder = require "heed.models.parts.encoder_decoder"
local generation = require "heed.models.settings.generation"
local heed = require "heed.core"
local nn = require "heed.nn"
local sinusoids = require "heed.models.parts.sinusoids"
local unknown = require "heed.unknown"

---BART and its kin, by config.model_type: "bart", "mbart", "marian", "m2m_100". Called as
---nn.Transformer.
---
---```lua
---local model = heed.models.Bart { model_type = "marian", vocab_size = 20, d_model = 8,
---    encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 2,
---    decoder_attention_heads = 2, encoder_ffn_dim = 16, decoder_ffn_dim = 16, dropout = 0.1,
---    max_position_embeddings = 12, activation_function = "swish", decoder_start_token_id = 19,
---    eos_token_id = 0 }
---print(model(heed.ids { { 3, 5, 1 } }, heed.ids { { 20, 4 } }).shape) --> [1, 2, 20]
---print(#heed.generate(model:eval(), { 3, 5, 1 }, { max_new_tokens = 3, stop = {} })) --> 3
---```
---@class heed.models.Bart: heed.models.EncoderDecoder
---@field words heed.nn.Embedding of both sides, and the output's matrix
---@field positions heed.nn.ModuleDict of the encoder and of the decoder
---@field longest integer the most tokens of a text
---@field norms heed.nn.ModuleDict of their sums
---@field encoder heed.nn.TransformerEncoder
---@field decoder heed.nn.TransformerDecoder
local Bart = EncoderDecoder:extend "Bart"

-- Where their norms are, and whether the sums of words and positions have one too.
local KINDS = {
    bart = { norm_first = false, norm_embedding = true, bias = true },
    mbart = { norm_first = true, norm_embedding = true, bias = true },
    marian = { norm_first = false, sinusoidal = true, bias = true },
    m2m_100 = { norm_first = true, sinusoidal = true },
}

local TYPES = { "bart", "mbart", "marian", "m2m_100" }

-- Settings of which files have one value: another is another architecture.
local function refuse_others(c, kind)
    local fixed = { normalize_before = kind.norm_first, add_final_layer_norm = kind.norm_first,
        normalize_embedding = kind.norm_embedding or false,
        share_encoder_decoder_embeddings = true, tie_word_embeddings = true }
    for name, value in pairs(fixed) do
        if c[name] ~= nil and c[name] ~= value then
            unknown.kind(c.model_type .. ": " .. name, c[name])
        end
    end
end

-- Rows that learned positions have before the first.
local BEFORE = 2

local MOST_SINUSOIDS = 1 << 20

-- Positions of M2M-100 count from behind the padding token's id.
local function sinusoidal(c)
    local length, E = c.max_position_embeddings, c.d_model
    if length > MOST_SINUSOIDS then
        unknown.refuse("config.json: max_position_embeddings: expected at most %d, got %d",
            MOST_SINUSOIDS, length)
    end
    if c.model_type == "m2m_100" then return sinusoids(length, E, c.pad_token_id + 1) end
    return nn.SinusoidalPositions(length, E, { layout = "halves" })
end

local function add_side(self, side, kind, c, Stack)
    local E = c.d_model
    self.positions[side] = kind.sinusoidal and sinusoidal(c)
        or nn.LearnedPositions(c.max_position_embeddings + BEFORE, E)
    if kind.norm_embedding then self.norms[side] = nn.LayerNorm(E) end
    self[side] = Stack(c[side .. "_layers"], E, c[side .. "_attention_heads"],
        c[side .. "_ffn_dim"], {
        norm_first = kind.norm_first, activation = activations.of(c, "activation_function"),
        dropout = c.dropout, attention_dropout = c.attention_dropout,
    })
end

---@param given table config.json
function Bart:init(given)
    local c = config.of(self, given)
    local kind = KINDS[check.one_of("heed.models.Bart", "config.model_type", c.model_type, TYPES)]
    refuse_others(c, kind)
    check.integer("heed.models.Bart", "config.d_model", c.d_model)
    self.before = kind.sinusoidal and 0 or BEFORE
    self.words = nn.Embedding(c.vocab_size, c.d_model,
        { scale = c.scale_embedding and math.sqrt(c.d_model) or nil })
    self.positions, self.norms = nn.ModuleDict {}, nn.ModuleDict {}
    add_side(self, "encoder", kind, c, nn.TransformerEncoder)
    add_side(self, "decoder", kind, c, nn.TransformerDecoder)
    self.dropout = nn.Dropout(c.dropout)
    if kind.bias then self:buffer("final_logits_bias", heed.zeros(1, c.vocab_size)) end
    self.generation, self.longest = generation.of(c), c.max_position_embeddings
end

local function embed(self, side, tokens, cache)
    local x = self.positions[side](self.words(tokens),
        { offset = self.before + (cache and cache:offset() or 0) })
    return self.dropout(self.norms[side] and self.norms[side](x) or x)
end

---The memory: what the decoder looks at.
---@param src heed.Ids [B, S]
---@param options? { src_lengths?: heed.Ids }
---@return heed.Tensor memory [B, S, E]
function Bart:encode(src, options)
    return self.encoder(embed(self, "encoder", self.ids(src)), { mask = self.source_mask(options) })
end

---Hidden states of the target, which `output` makes logits of.
---@param tgt heed.Ids [B, L]
---@param memory heed.Tensor [B, S, E]
---@param options? { src_lengths?: heed.Ids, tgt_lengths?: heed.Ids, cache?: heed.Cache }
---@return heed.Tensor hidden [B, L, E]
function Bart:decode(tgt, memory, options)
    local x = embed(self, "decoder", self.ids(tgt), options and options.cache)
    return self.decoder(x, memory, self.target_masks(options))
end

---What may follow each token.
---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, L, V]
function Bart:output(hidden)
    local logits = heed.linear(hidden, self.words.weight)
    return self.final_logits_bias and logits + self.final_logits_bias or logits
end

Bart.needs = { "vocab_size", "d_model", "encoder_layers", "decoder_layers",
    "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim",
    "max_position_embeddings" }
Bart.config = { activation_function = "gelu", dropout = 0.1, attention_dropout = 0.0,
    scale_embedding = false, pad_token_id = 1 }

Bart.names = {
    { "words.weight", "model.shared.weight" },
    { "final_logits_bias", "final_logits_bias" },
    { "positions.encoder.weight", "model.encoder.embed_positions.weight" },
    { "positions.decoder.weight", "model.decoder.embed_positions.weight" },
    { "norms.encoder.*", "model.encoder.layernorm_embedding.*" },
    { "norms.decoder.*", "model.decoder.layernorm_embedding.*" },
    { "encoder.layers.#.self_attn.in_proj_*", "model.encoder.layers.#.self_attn.q_proj.*",
        "model.encoder.layers.#.self_attn.k_proj.*", "model.encoder.layers.#.self_attn.v_proj.*" },
    { "encoder.layers.#.self_attn.out_proj.*", "model.encoder.layers.#.self_attn.out_proj.*" },
    { "encoder.layers.#.linear1.*", "model.encoder.layers.#.fc1.*" },
    { "encoder.layers.#.linear2.*", "model.encoder.layers.#.fc2.*" },
    { "encoder.layers.#.norm1.*", "model.encoder.layers.#.self_attn_layer_norm.*" },
    { "encoder.layers.#.norm2.*", "model.encoder.layers.#.final_layer_norm.*" },
    { "encoder.norm.*", "model.encoder.layer_norm.*" },
    { "decoder.layers.#.self_attn.in_proj_*", "model.decoder.layers.#.self_attn.q_proj.*",
        "model.decoder.layers.#.self_attn.k_proj.*", "model.decoder.layers.#.self_attn.v_proj.*" },
    { "decoder.layers.#.self_attn.out_proj.*", "model.decoder.layers.#.self_attn.out_proj.*" },
    { "decoder.layers.#.multihead_attn.in_proj_*", "model.decoder.layers.#.encoder_attn.q_proj.*",
        "model.decoder.layers.#.encoder_attn.k_proj.*",
        "model.decoder.layers.#.encoder_attn.v_proj.*" },
    { "decoder.layers.#.multihead_attn.out_proj.*",
        "model.decoder.layers.#.encoder_attn.out_proj.*" },
    { "decoder.layers.#.linear1.*", "model.decoder.layers.#.fc1.*" },
    { "decoder.layers.#.linear2.*", "model.decoder.layers.#.fc2.*" },
    { "decoder.layers.#.norm1.*", "model.decoder.layers.#.self_attn_layer_norm.*" },
    { "decoder.layers.#.norm2.*", "model.decoder.layers.#.encoder_attn_layer_norm.*" },
    { "decoder.layers.#.norm3.*", "model.decoder.layers.#.final_layer_norm.*" },
    { "decoder.norm.*", "model.decoder.layer_norm.*" },
}
-- The words again, and what sinusoids are.
Bart.passed_over = { "embed_tokens%.weight$", "^lm_head%.weight$", "embed_positions%.weights?$" }

return Bart
