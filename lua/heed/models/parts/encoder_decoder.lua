--- What encoder-decoders of others are called like: as nn.Transformer, by heed.generate too.

local check = require "heed.check"
local heed = require "heed.core"
local masks = require "heed.mask"
local nn = require "heed.nn"

local OPTIONS = check.set("src_lengths", "tgt_lengths", "cache")

---An encoder-decoder, whose families have `encode`, `decode` and `output`.
---
---```lua
---local model = heed.models.T5 { vocab_size = 20, d_model = 8, d_kv = 4, d_ff = 16, num_layers = 1,
---    num_heads = 2 }
---local src, tgt = heed.ids { { 3, 5, 4 }, { 7, 2, 1 } }, heed.ids { { 1, 6 }, { 1, 9 } }
---print(model(src, tgt, { src_lengths = { 3, 2 } }).shape) --> [2, 2, 20]
---local memory = model:encode(src, { src_lengths = { 3, 2 } })
---print(model:decode(tgt, memory, { src_lengths = { 3, 2 } }).shape) --> [2, 2, 8]
---```
---@class heed.models.EncoderDecoder: heed.nn.Module
---@field generation heed.models.Generation what heed.generate does where its options say nothing
---@field reads_end boolean a source has the token of an end
local EncoderDecoder = nn.Module:extend "EncoderDecoder"

-- A source ends with the token of an end.
EncoderDecoder.reads_end = true

---@param src heed.Ids [B, S] tokens
---@param tgt heed.Ids [B, L] tokens: the decoder's input, what it begins with first
---@param options? { src_lengths?: heed.Ids, tgt_lengths?: heed.Ids } [B], what stands after them is
---padding
---@return heed.Tensor logits [B, L, V]
function EncoderDecoder:forward(src, tgt, options)
    options = check.options(self.class_name, options, OPTIONS)
    local memory = self:encode(src, { src_lengths = options.src_lengths })
    return self:output(self:decode(tgt, memory, options))
end

---Tokens as a tensor [B, L].
---@param tokens heed.Ids
---@return heed.Tensor
function EncoderDecoder.ids(tokens)
    return type(tokens) == "table" and heed.tensor(tokens, { dtype = "i64" }) or tokens
end

---What the encoder may see.
---@param options? table of encode
---@return heed.Mask|nil
function EncoderDecoder.source_mask(options)
    local lengths = check.options("encode", options, OPTIONS).src_lengths
    return lengths and masks.padding(lengths)
end

---What the decoder may see, as options of its layers.
---@param options? table of decode
---@return { mask: heed.Mask, memory_mask: heed.Mask|nil, cache: heed.Cache|nil }
function EncoderDecoder.target_masks(options)
    options = check.options("decode", options, OPTIONS)
    local lengths, cache, mask = options.tgt_lengths, options.cache, masks.causal()
    if lengths then
        lengths = EncoderDecoder.ids(lengths)
        mask = mask & masks.padding(cache and cache:lengths() + lengths or lengths)
    end
    return { mask = mask, memory_mask = EncoderDecoder.source_mask(options), cache = cache }
end

return EncoderDecoder
