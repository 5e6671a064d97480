--- What BLEU counts of segments, and the score of such counts.

local ngrams = require "heed.text.ngrams"
local spaces = require "heed.text.spaces"

local bleu_counts = {}

local MAX_ORDER = 4

---The tokenizer "13a" of the mteval script.
---@param line string
---@return string[]
function bleu_counts.tokenize(line)
    line = line:gsub("<skipped>", ""):gsub("%-\n", ""):gsub("\n", " ")
    line = line:gsub("&quot;", '"'):gsub("&amp;", "&"):gsub("&lt;", "<"):gsub("&gt;", ">")
    line = " " .. line .. " "
    line = line:gsub("[{-~[-` -&(-+:-@/]", " %0 ")
    line = line:gsub("([^0-9])([.,])", "%1 %2 ")
    line = line:gsub("([.,])([^0-9])", " %1 %2")
    line = line:gsub("([0-9])(%-)", "%1 %2 ")
    return spaces.split(line)
end

---Of no segments.
---@return table counts
function bleu_counts.new()
    return { matches = { 0, 0, 0, 0 }, totals = { 0, 0, 0, 0 }, hypothesis_length = 0,
        reference_length = 0 }
end

---Counts one segment.
---@param counts table
---@param hypothesis string
---@param reference string
function bleu_counts.add(counts, hypothesis, reference)
    local tokens, wanted = bleu_counts.tokenize(hypothesis), bleu_counts.tokenize(reference)
    counts.hypothesis_length = counts.hypothesis_length + #tokens
    counts.reference_length = counts.reference_length + #wanted
    for order = 1, MAX_ORDER do
        counts.matches[order] = counts.matches[order] + ngrams.shared(tokens, wanted, order, " ")
        counts.totals[order] = counts.totals[order] + math.max(#tokens - order + 1, 0)
    end
end

-- log of the geometric mean of the precisions; a precision of zero counts as 1/2, 1/4, ... of one
-- match.
local function mean_log_precision(matches, totals)
    local sum, smooth = 0, 1
    for order = 1, MAX_ORDER do
        if totals[order] == 0 then return -math.huge end
        local precision = matches[order] / totals[order]
        if matches[order] == 0 then
            smooth = smooth * 2
            precision = 1 / (smooth * totals[order])
        end
        sum = sum + math.log(precision)
    end
    return sum / MAX_ORDER
end

---The score from 0 to 100, and what it is made of.
---@param counts table
---@return number score
---@return { precisions: number[], brevity_penalty: number, hypothesis_length: integer, reference_length: integer }
function bleu_counts.score(counts)
    local matches, totals = counts.matches, counts.totals
    local hypothesis_length, reference_length = counts.hypothesis_length, counts.reference_length
    local penalty = 1
    if hypothesis_length < reference_length then
        penalty = hypothesis_length > 0 and math.exp(1 - reference_length / hypothesis_length) or 0
    end
    local any = matches[1] + matches[2] + matches[3] + matches[4] > 0
    local score = any and 100 * penalty * math.exp(mean_log_precision(matches, totals)) or 0
    local precisions = {}
    for order = 1, MAX_ORDER do
        precisions[order] = totals[order] > 0 and 100 * matches[order] / totals[order] or 0
    end
    return score, { precisions = precisions, brevity_penalty = penalty,
        hypothesis_length = hypothesis_length,
        reference_length = reference_length }
end

return bleu_counts
