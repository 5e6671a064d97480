--- Whisper (Radford et al. 2022): speech as a spectrum in, text out.

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local nn = require "heed.nn"
local sinusoids = require "heed.models.parts.sinusoids"
local speech = require "heed.models.settings.speech"
local causal = require("heed.mask").causal

---Whisper: logits of the next token of what is said. heed.models.load makes it of files; of a
---config alone it has initial values. heed.audio.transcribe writes with it.
---
---```lua
---local model = heed.models.Whisper { vocab_size = 20, num_mel_bins = 8, d_model = 8,
---    encoder_layers = 1, decoder_layers = 1, encoder_attention_heads = 2,
---    decoder_attention_heads = 2, encoder_ffn_dim = 16, decoder_ffn_dim = 16,
---    max_source_positions = 10, max_target_positions = 12 }
---local spectrum = heed.randn(1, 8, 20) -- heed.audio.log_mel
---print(model:encode(spectrum).shape) --> [1, 10, 8]
---print(model(spectrum, heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 20]
---```
---@class heed.models.Whisper: heed.nn.Module
---@field conv1 heed.nn.Conv1d
---@field conv2 heed.nn.Conv1d of stride 2
---@field encoder_positions heed.nn.LearnedPositions
---@field encoder heed.nn.TransformerEncoder
---@field tokens heed.nn.Embedding
---@field positions heed.nn.LearnedPositions
---@field decoder heed.nn.TransformerDecoder
---@field output heed.nn.Linear
---@field speech heed.models.Speech what its files say of writing
local Whisper = nn.Module:extend "Whisper"

-- Positions that were sines and cosines before training.
local function learned_sinusoids(length, E)
    local positions = nn.LearnedPositions(length, E)
    positions.weight = nn.parameter(sinusoids(length, E).table)
    return positions
end

---@param given table config.json
function Whisper:init(given)
    local c = config.of(self, given)
    local E = c.d_model
    local options = { norm_first = true, activation = activations.of(c, "activation_function"),
        dropout = c.dropout, attention_dropout = c.attention_dropout }
    self.conv1 = nn.Conv1d(c.num_mel_bins, E, 3, { padding = 1 })
    self.conv2 = nn.Conv1d(E, E, 3, { stride = 2, padding = 1 })
    self.encoder_positions = learned_sinusoids(c.max_source_positions, E)
    self.encoder = nn.TransformerEncoder(c.encoder_layers, E, c.encoder_attention_heads,
        c.encoder_ffn_dim, options)
    self.tokens = nn.Embedding(c.vocab_size, E)
    self.positions = nn.LearnedPositions(c.max_target_positions, E)
    self.decoder = nn.TransformerDecoder(c.decoder_layers, E, c.decoder_attention_heads,
        c.decoder_ffn_dim, options)
    self.output = nn.Linear(E, c.vocab_size, { bias = false })
    if c.tie_word_embeddings then self.output.weight = self.tokens.weight end
    self.dropout = nn.Dropout(c.dropout)
    self.speech = speech.of(c)
end

---What the encoder makes of a sound: two convolutions, the second of stride 2, positions, layers.
---@param spectrum heed.Tensor [B, num_mel_bins, 2 S] of heed.audio.log_mel
---@return heed.Tensor memory [B, S, E]
function Whisper:encode(spectrum)
    local x = self.conv2(self.conv1(spectrum):gelu()):gelu():transpose(2, 3)
    return self.encoder(self.dropout(self.encoder_positions(x)))
end

local OPTIONS = check.set "cache"

---Hidden states of tokens, each from itself and those before it and from the sound.
---@param ids heed.Ids [B, L]
---@param memory heed.Tensor [B, S, E] of encode
---@param options? { cache?: heed.Cache }
---@return heed.Tensor hidden [B, L, E]: self.output makes logits of them
function Whisper:decode(ids, memory, options)
    local cache = check.options(self.class_name, options, OPTIONS).cache
    local x = self.dropout(self.positions(self.tokens(ids), { cache = cache }))
    return self.decoder(x, memory, { mask = causal(), cache = cache })
end

---@param spectrum heed.Tensor [B, num_mel_bins, 2 S]
---@param ids heed.Ids [B, L]
---@return heed.Tensor logits [B, L, V]
function Whisper:forward(spectrum, ids)
    return self.output(self:decode(ids, self:encode(spectrum)))
end

Whisper.needs = { "vocab_size", "d_model", "encoder_layers", "decoder_layers",
    "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim",
    "num_mel_bins", "max_source_positions", "max_target_positions" }
Whisper.config = { activation_function = "gelu", dropout = 0.0, attention_dropout = 0.0,
    tie_word_embeddings = true }

-- Keys have no bias there: softmax does not see one.
Whisper.names = {
    { "conv1.*", "model.encoder.conv1.*" },
    { "conv2.*", "model.encoder.conv2.*" },
    { "encoder_positions.weight", "model.encoder.embed_positions.weight" },
    { "encoder.layers.#.self_attn.in_proj_weight", "model.encoder.layers.#.self_attn.q_proj.weight",
        "model.encoder.layers.#.self_attn.k_proj.weight",
        "model.encoder.layers.#.self_attn.v_proj.weight" },
    { "encoder.layers.#.self_attn.in_proj_bias", "model.encoder.layers.#.self_attn.q_proj.bias",
        false, "model.encoder.layers.#.self_attn.v_proj.bias" },
    { "encoder.layers.#.self_attn.out_proj.*", "model.encoder.layers.#.self_attn.out_proj.*" },
    { "encoder.layers.#.linear1.*", "model.encoder.layers.#.fc1.*" },
    { "encoder.layers.#.linear2.*", "model.encoder.layers.#.fc2.*" },
    { "encoder.layers.#.norm1.*", "model.encoder.layers.#.self_attn_layer_norm.*" },
    { "encoder.layers.#.norm2.*", "model.encoder.layers.#.final_layer_norm.*" },
    { "encoder.norm.*", "model.encoder.layer_norm.*" },
    { "tokens.weight", "model.decoder.embed_tokens.weight" },
    { "positions.weight", "model.decoder.embed_positions.weight" },
    { "decoder.layers.#.self_attn.in_proj_weight", "model.decoder.layers.#.self_attn.q_proj.weight",
        "model.decoder.layers.#.self_attn.k_proj.weight",
        "model.decoder.layers.#.self_attn.v_proj.weight" },
    { "decoder.layers.#.self_attn.in_proj_bias", "model.decoder.layers.#.self_attn.q_proj.bias",
        false, "model.decoder.layers.#.self_attn.v_proj.bias" },
    { "decoder.layers.#.self_attn.out_proj.*", "model.decoder.layers.#.self_attn.out_proj.*" },
    { "decoder.layers.#.multihead_attn.in_proj_weight",
        "model.decoder.layers.#.encoder_attn.q_proj.weight",
        "model.decoder.layers.#.encoder_attn.k_proj.weight",
        "model.decoder.layers.#.encoder_attn.v_proj.weight" },
    { "decoder.layers.#.multihead_attn.in_proj_bias",
        "model.decoder.layers.#.encoder_attn.q_proj.bias", false,
        "model.decoder.layers.#.encoder_attn.v_proj.bias" },
    { "decoder.layers.#.multihead_attn.out_proj.*",
        "model.decoder.layers.#.encoder_attn.out_proj.*" },
    { "decoder.layers.#.linear1.*", "model.decoder.layers.#.fc1.*" },
    { "decoder.layers.#.linear2.*", "model.decoder.layers.#.fc2.*" },
    { "decoder.layers.#.norm1.*", "model.decoder.layers.#.self_attn_layer_norm.*" },
    { "decoder.layers.#.norm2.*", "model.decoder.layers.#.encoder_attn_layer_norm.*" },
    { "decoder.layers.#.norm3.*", "model.decoder.layers.#.final_layer_norm.*" },
    { "decoder.norm.*", "model.decoder.layer_norm.*" },
    { "output.weight", "proj_out.weight" },
}
Whisper.passed_over = { "^proj_out%.weight$" }

return Whisper
