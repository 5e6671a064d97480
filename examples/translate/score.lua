--- Translating a set of pairs, and scoring it.

local heed = require "heed"
local greedy = require "translate.greedy"

local score = {}

local TOKENS = 4096 -- source cells in a batch

-- The tokens of a row as far as its eos, without bos.
local function decode(bpe, row)
    local ids = {}
    for i = 2, #row do
        if row[i] == bpe.eos then break end
        ids[#ids + 1] = row[i]
    end
    return bpe:decode(ids)
end

--- @param model table
--- @param bpe heed.text.Bpe
--- @param examples table[] the first of each is the source
--- @return string[] translations in the order of the examples
function score.translate(model, bpe, examples)
    local sources = {}
    for i, pair in ipairs(examples) do sources[i] = bpe:encode(pair[1], { eos = true }) end
    local translations = {}
    for batch in heed.data.batches(sources, { tokens = TOKENS, value = bpe.pad }) do
        local limit = math.min(batch[1]:size(2) * 2 + 10, 511)
        local tokens = greedy(model, batch[1], batch.lengths[1], bpe, limit)
        for i, row in ipairs(tokens:totable()) do translations[batch.indices[i]] = decode(bpe, row) end
    end
    return translations
end

--- @param translations string[]
--- @param examples table[] the second of each is the reference
--- @return number BLEU
function score.bleu(translations, examples)
    local references = {}
    for i, pair in ipairs(examples) do references[i] = pair[2] end
    return (heed.text.bleu.corpus(translations, references))
end

return score
