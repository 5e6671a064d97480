-- Translation with the encoder-decoder of "Attention Is All You Need" (Vaswani et al. 2017).
--
--     heed examples/translate.lua                learns to read dates:
--                                                "the 3rd of March, 1987" is 1987-03-03
--     heed examples/translate.lua --train TRAIN.tsv --valid VALID.tsv --test TEST.tsv --save FILE
--                                                learns from lines of source<TAB>target
--     heed examples/translate.lua --load FILE    translates the lines of standard input
--     heed examples/translate.lua --load FILE --attention PAGE.html
--                                                translates one line and draws its attention

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. package.path

local heed = require "heed"
local nn = heed.nn

-- ---- the model ----------------------------------------------------------------------------------

local Translator = nn.Module:extend "Translator"

function Translator:init(o)
    local scale = math.sqrt(o.d_model)
    local layer = { dropout = o.dropout, norm_first = true }
    self.tgt_embedding = nn.Embedding(o.tgt_vocab, o.d_model, { scale = scale })
    self.src_embedding = o.shared_vocab and self.tgt_embedding or nn.Embedding(o.src_vocab,
        o.d_model, { scale = scale })
    self.positions = nn.SinusoidalPositions(o.max_len, o.d_model)
    self.dropout = nn.Dropout(o.dropout)
    self.encoder = nn.TransformerEncoder(o.layers, o.d_model, o.heads, o.d_ff, layer)
    self.decoder = nn.TransformerDecoder(o.layers, o.d_model, o.heads, o.d_ff, layer)
    for _, embedding in ipairs { self.src_embedding, self.tgt_embedding } do
        nn.init.normal_(embedding.weight, 0, 1 / scale)
    end
end

-- tokens [B, L] -> [B, L, E]; with lengths, the sequences one after the other without padding, [N,
-- E]
function Translator:embed(embedding, tokens, lengths, cache)
    local x = self.positions(embedding(tokens), { cache = cache })
    return self.dropout(lengths and heed.pack_sequences(x, lengths) or x)
end

local function padding(lengths) return lengths and heed.mask.padding(lengths) end

-- heed.generate calls encode, decode and output.

-- src [B, S] tokens -> memory [B, S, E]
function Translator:encode(src, o)
    return self.encoder(self:embed(self.src_embedding, src), { mask = padding(o.src_lengths) })
end

-- tgt [B, L] tokens -> hidden [B, L, E]; with a cache they continue those that it holds
function Translator:decode(tgt, memory, o)
    return self.decoder(self:embed(self.tgt_embedding, tgt, nil, o.cache), memory,
        { mask = heed.mask.causal(), memory_mask = padding(o.src_lengths), cache = o.cache })
end

-- The output layer is the target embedding, transposed: hidden [..., E] -> logits [..., V]
function Translator:output(hidden) return heed.linear(hidden, self.tgt_embedding.weight) end

-- src [B, S], tgt [B, L] tokens -> logits without padding, one sequence after the other: [N, V]
function Translator:forward(src, src_lengths, tgt, tgt_lengths)
    local packed = heed.mask.packed
    local memory = self.encoder(self:embed(self.src_embedding, src, src_lengths),
        { mask = packed(src_lengths) })
    return self:output(self.decoder(self:embed(self.tgt_embedding, tgt, tgt_lengths), memory,
        { mask = heed.mask.causal() & packed(tgt_lengths), memory_mask = packed(tgt_lengths,
            src_lengths) }))
end

-- ---- the two jobs -------------------------------------------------------------------------------

local options = require "translate.options" (arg)

if options.attention then
    require "translate.look" (Translator, options)
elseif options.load then
    require "translate.lines" (Translator, options)
elseif options.train then
    require "translate.corpus" (Translator, options)
else
    require "translate.calendar" (Translator, options)
end
