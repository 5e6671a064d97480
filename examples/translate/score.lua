--- Translating a set of pairs, and scoring it.

local heed = require "heed"

local score = {}

local TOKENS = 4096 -- source cells in a batch

--- @param model table
--- @param bpe heed.text.Bpe
--- @param examples table[] the first of each is the source
--- @param beams? integer how many beginnings are gone on with; default: the most probable token each time
--- @return string[] translations in the order of the examples
function score.translate(model, bpe, examples, beams)
    local sources = {}
    for i, pair in ipairs(examples) do sources[i] = bpe:encode(pair[1], { eos = true }) end
    local translations = {}
    for batch in heed.data.batches(sources, { tokens = TOKENS, value = bpe.pad }) do
        local limit = math.min(batch[1]:size(2) * 2 + 10, 511)
        local _, answers = heed.generate(model, batch[1],
            { lengths = batch.lengths[1], prefix = bpe.bos, stop = bpe.eos,
            decode = bpe, max_new_tokens = limit, beams = beams })
        for i, answer in ipairs(answers) do translations[batch.indices[i]] = answer.text end
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
