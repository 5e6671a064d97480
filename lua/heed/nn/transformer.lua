local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local Decoder = require "heed.nn.decoder"
local DecoderLayer = require "heed.nn.decoder_layer"
local Embedding = require "heed.nn.embedding"
local Encoder = require "heed.nn.encoder"
local EncoderLayer = require "heed.nn.encoder_layer"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local Linear = require "heed.nn.linear"
local masks = require "heed.mask"
local module = require "heed.nn.module"
local norm = require "heed.nn.norm"
local SinusoidalPositions = require("heed.nn.positions").SinusoidalPositions
local sublayers = require "heed.nn.sublayers"

local WHERE = "heed.nn.Transformer"
local KNOWN = check.set("src_vocab", "tgt_vocab", "d_model", "num_heads", "num_layers",
    "num_encoder_layers",
    "num_decoder_layers", "d_ff", "final_norm", "tie_weights", "max_len")
for name in pairs(sublayers.KNOWN) do KNOWN[name] = true end

---The encoder-decoder of "Attention Is All You Need" (Vaswani et al. 2017), from tokens to logits.
---
---```lua
---local model = nn.Transformer { src_vocab = 10, tgt_vocab = 12, d_model = 8, num_heads = 2,
---    num_layers = 1, d_ff = 16 }
---local logits = model({ { 1, 2, 3 }, { 4, 5, 1 } }, { { 1, 2 }, { 3, 4 } },
---    { src_lengths = { 3, 2 } })
---print(logits.shape) --> [2, 2, 12]
---```
---@class heed.nn.Transformer: heed.nn.Module
---@field src_embedding heed.nn.Embedding
---@field tgt_embedding heed.nn.Embedding
---@field positions heed.nn.Module
---@field encoder heed.nn.TransformerEncoder
---@field decoder heed.nn.TransformerDecoder
---@field output heed.nn.Linear from hidden states to logits
local Transformer = module.Module:extend "Transformer"

-- Matrices Xavier, embeddings N(0, 1/sqrt(E)); norms and biases keep what their layers gave them.
local function draw_initial_values(self, d_model)
    for _, p in ipairs(self:parameters()) do
        if p:dim() > 1 then initial.xavier_uniform_(p) end
    end
    for _, embedding in ipairs { self.src_embedding, self.tgt_embedding } do
        initial.normal_(embedding.weight, 0, d_model ^ -0.5)
    end
end

---What is left out is the paper's base model; and the options of a layer, heed.nn.LayerOptions, may
---be given too.
---@param options { src_vocab: integer, tgt_vocab: integer, d_model?: integer, num_heads?: integer, num_layers?: integer, num_encoder_layers?: integer, num_decoder_layers?: integer, d_ff?: integer, dropout?: number, norm_first?: boolean, final_norm?: boolean, tie_weights?: boolean|"target", max_len?: integer }
---src_vocab: V of the source; tgt_vocab: V of the target; d_model: E, default 512; num_heads: H,
---default 8; num_layers: of the encoder and of the decoder, default 6; num_encoder_layers: where it
---differs; num_decoder_layers: where it differs; d_ff: F, default 2048; dropout: default 0.1;
---norm_first: default false; final_norm: default norm_first; tie_weights: the target embedding is
---the output layer's matrix, and when src_vocab equals tgt_vocab the source embedding too ("target"
---leaves the source's alone); max_len: the longest sequence, default 1024
function Transformer:init(options)
    check.type(WHERE, "options", options, "table")
    options = check.options(WHERE, options, KNOWN)
    local d_model, num_heads = options.d_model or 512, options.num_heads or 8
    local src_vocab = check.integer(WHERE, "src_vocab", options.src_vocab)
    local tgt_vocab = check.integer(WHERE, "tgt_vocab", options.tgt_vocab)
    local layers = options.num_layers or 6
    local layer_options = sublayers.pick(options)
    self.dropout = check.number(WHERE, "dropout", check.default(options.dropout, 0.1), 0, 1)

    self.src_embedding = Embedding(src_vocab, d_model, { scale = math.sqrt(d_model) })
    self.tgt_embedding = Embedding(tgt_vocab, d_model, { scale = math.sqrt(d_model) })
    self.positions = SinusoidalPositions(options.max_len or 1024, d_model)
    self.encoder = Encoder(options.num_encoder_layers or layers, d_model, num_heads, options.d_ff,
        layer_options)
    self.decoder = Decoder(options.num_decoder_layers or layers, d_model, num_heads, options.d_ff,
        layer_options)
    self.output = Linear(d_model, tgt_vocab)

    if options.tie_weights ~= "target" then
        check.flag(WHERE, "tie_weights", options.tie_weights)
    end
    if options.tie_weights then
        self.output.weight = self.tgt_embedding.weight
        if src_vocab == tgt_vocab and options.tie_weights ~= "target" then
            self.src_embedding.weight = self.tgt_embedding.weight
        end
    end
    draw_initial_values(self, d_model)
end

-- Of a packed batch ([N, E]) when lengths are given.
local function embed(self, embedding, tokens, lengths, cache)
    local x = self.positions(embedding(tokens), cache and { cache = cache })
    if lengths then x = core.pack_sequences(x, lengths) end
    if self.training and self.dropout > 0 then x = core.dropout(x, self.dropout) end
    return x
end

local function ids(tokens, name)
    if type(tokens) == "table" then tokens = core.tensor(tokens, { dtype = "i64" }) end
    if not check.is_live(tokens) then
        errors.raise("%s: expected a tensor of tokens, got %s", name, check.describe(tokens))
    end
    return tokens
end

local function lengths_of(lengths, name)
    if lengths == nil or check.is_tensor(lengths) then return lengths end
    if type(lengths) ~= "table" then
        errors.raise("%s: expected a list or a tensor of lengths, got %s", name,
            check.describe(lengths))
    end
    return core.tensor(lengths, { dtype = "i64" })
end

-- Zeros where a row is past its length.
local function without_padding(x, lengths)
    if not lengths then return x end
    local past = core.range(1, x:size(2), { dtype = "i64" }):view(1, -1):gt(lengths:view(-1, 1))
    return core.masked_fill(x, past:unsqueeze(-1), 0)
end

-- ---- batches without their padding --------------------------------------------------------------

local function all_stock(stack, kind, layer_kind)
    if stack.forward ~= kind.forward then return false end
    for _, layer in ipairs(stack.layers) do
        local stock = layer.forward == layer_kind.forward and layer:is_stock()
        if not stock or layer.self_attn.rotary then return false end
    end
    return not stack.norm or norm.is_stock(stack.norm)
end

-- Sequences of different lengths are computed one behind the other, without what pads them: stock
-- layers are indifferent to it but for rotary, which counts positions over all of them. A user's
-- own may not be, and whoever collects weights wants them by batch.
local function may_pack(self)
    return not capture.is_open() and all_stock(self.encoder, Encoder, EncoderLayer)
        and all_stock(self.decoder, Decoder, DecoderLayer) and self.output.forward == Linear.forward
end

local function full_length(tokens)
    return core.full({ tokens:size(1) }, tokens:size(2), { dtype = "i64" })
end

local function encode_packed(self, src, lengths)
    return self.encoder(embed(self, self.src_embedding, src, lengths),
        { mask = masks.packed(lengths) })
end

local function decode_packed(self, tgt, memory, tgt_lengths, src_lengths)
    return self.decoder(embed(self, self.tgt_embedding, tgt, tgt_lengths), memory,
        { mask = masks.causal() & masks.packed(tgt_lengths), memory_mask = masks.packed(tgt_lengths,
            src_lengths) })
end

-- ---- from tokens to logits ----------------------------------------------------------------------

local ENCODE = check.set("src_lengths")
local DECODE = check.set("src_lengths", "tgt_lengths", "cache")
local FORWARD = check.set("src_lengths", "tgt_lengths")

---What the decoder looks at: the encoder's output. With lengths no padding is computed.
---@param src heed.Tensor|integer[][] i64 [B, S] tokens
---@param options? { src_lengths?: heed.Tensor|integer[] } src_lengths: [B], what stands after them
---is padding
---@return heed.Tensor memory [B, S, E]; zeros at padding
function Transformer:encode(src, options)
    options = check.options("Transformer:encode", options, ENCODE)
    src = ids(src, "src")
    local lengths = lengths_of(options.src_lengths, "src_lengths")
    if lengths and may_pack(self) then
        return core.unpack_sequences(encode_packed(self, src, lengths), lengths, src:size(2))
    end
    local memory = self.encoder(embed(self, self.src_embedding, src),
        lengths and { mask = masks.padding(lengths) })
    return without_padding(memory, lengths)
end

---The decoder's hidden states, which `model.output` makes logits of: for generating token after
---token.
---@param tgt heed.Tensor|integer[][] i64 [B, L] tokens: the decoder's input; each position sees
---itself and those before
---@param memory heed.Tensor [B, S, E]
---@param options? { src_lengths?: heed.Tensor|integer[], tgt_lengths?: heed.Tensor|integer[], cache?: heed.Cache }
---src_lengths, tgt_lengths: [B], what stands after them is padding; cache: what came before tgt
---@return heed.Tensor hidden [B, L, E]; zeros at padding
function Transformer:decode(tgt, memory, options)
    options = check.options("Transformer:decode", options, DECODE)
    tgt = ids(tgt, "tgt")
    local src_lengths = lengths_of(options.src_lengths, "src_lengths")
    local tgt_lengths = lengths_of(options.tgt_lengths, "tgt_lengths")
    local cache = caches.check("Transformer:decode", options.cache)
    if tgt_lengths and not cache and may_pack(self) then
        src_lengths = src_lengths or full_length(memory)
        local hidden = decode_packed(self, tgt, core.pack_sequences(memory, src_lengths),
            tgt_lengths, src_lengths)
        return core.unpack_sequences(hidden, tgt_lengths, tgt:size(2))
    end
    local mask = masks.causal()
    if tgt_lengths then
        mask = mask & masks.padding(cache and cache:lengths() + tgt_lengths or tgt_lengths)
    end
    local hidden = self.decoder(embed(self, self.tgt_embedding, tgt, nil, cache), memory,
        { mask = mask, memory_mask = src_lengths and masks.padding(src_lengths), cache = cache })
    return without_padding(hidden, tgt_lengths)
end

---@param src heed.Tensor|integer[][] i64 [B, S] tokens
---@param tgt heed.Tensor|integer[][] i64 [B, L] tokens: the decoder's input
---@param options? { src_lengths?: heed.Tensor|integer[], tgt_lengths?: heed.Tensor|integer[] }
---src_lengths, tgt_lengths: [B], what stands after them is padding
---@return heed.Tensor logits [B, L, V]; zeros at the target's padding
function Transformer:forward(src, tgt, options)
    options = check.options(WHERE, options, FORWARD)
    src, tgt = ids(src, "src"), ids(tgt, "tgt")
    local src_lengths = lengths_of(options.src_lengths, "src_lengths")
    local tgt_lengths = lengths_of(options.tgt_lengths, "tgt_lengths")
    if (src_lengths or tgt_lengths) and may_pack(self) then
        src_lengths, tgt_lengths = src_lengths or full_length(src), tgt_lengths or full_length(tgt)
        local memory = encode_packed(self, src, src_lengths)
        local logits = self.output(decode_packed(self, tgt, memory, tgt_lengths, src_lengths))
        return core.unpack_sequences(logits, tgt_lengths, tgt:size(2))
    end
    local memory = self:encode(src, { src_lengths = src_lengths })
    local hidden = self:decode(tgt, memory,
        { src_lengths = src_lengths, tgt_lengths = tgt_lengths })
    return without_padding(self.output(hidden), tgt_lengths)
end

return Transformer
