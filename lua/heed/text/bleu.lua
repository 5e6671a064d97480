--- BLEU of a corpus (Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation") as sacreBLEU
--- computes it by default (Post 2018): tokenizer 13a, mixed case, n-grams up to 4, one reference a segment, exponential
--- smoothing of precisions that are zero.

local check = require "heed.check"
local errors = require "heed.errors"

local bleu = {}

local MAX_ORDER = 4

-- White space beyond ASCII, as UTF-8.
local SPACES = { "\u{85}", "\u{A0}", "\u{1680}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}", "\u{3000}" }
for code = 0x2000, 0x200A do SPACES[#SPACES + 1] = utf8.char(code) end

local function fold_spaces(line)
    if line:find("[\xC2\xE1\xE2\xE3]") then
        for _, space in ipairs(SPACES) do line = line:gsub(space, " ") end
    end
    return (line:gsub("[\x1C-\x1F]", " "))
end

--- The tokenizer "13a" of the mteval script: punctuation stands alone, but for periods and commas between digits.
---
---```lua
---print(table.concat(heed.text.bleu.tokenize "Well, it cost 3.50!", " ")) --> Well , it cost 3.50 !
---```
--- @param line string
--- @return string[] tokens
function bleu.tokenize(line)
    check.type("heed.text.bleu.tokenize", "line", line, "string")
    line = line:gsub("<skipped>", ""):gsub("%-\n", ""):gsub("\n", " ")
    line = line:gsub("&quot;", '"'):gsub("&amp;", "&"):gsub("&lt;", "<"):gsub("&gt;", ">")
    line = " " .. line .. " "
    line = line:gsub("[{-~[-` -&(-+:-@/]", " %0 ")
    line = line:gsub("([^0-9])([.,])", "%1 %2 ")
    line = line:gsub("([.,])([^0-9])", " %1 %2")
    line = line:gsub("([0-9])(%-)", "%1 %2 ")
    local tokens = {}
    for token in fold_spaces(line):gmatch("%S+") do tokens[#tokens + 1] = token end
    return tokens
end

local function count_ngrams(tokens, order)
    local counts = {}
    for i = 1, #tokens - order + 1 do
        local gram = table.concat(tokens, " ", i, i + order - 1)
        counts[gram] = (counts[gram] or 0) + 1
    end
    return counts
end

local function clipped_matches(hypothesis, reference, order)
    local wanted, matches = count_ngrams(reference, order), 0
    for gram, count in pairs(count_ngrams(hypothesis, order)) do
        matches = matches + math.min(count, wanted[gram] or 0)
    end
    return matches
end

-- log of the geometric mean of the precisions; a precision of zero counts as 1/2, 1/4, ... of one match.
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

local function check_lines(name, lines)
    for i, line in ipairs(check.type("heed.text.bleu.corpus", name, lines, "table")) do
        if type(line) ~= "string" then
            errors.raise("heed.text.bleu.corpus: %s: expected strings, got %s at %d", name, check.describe(line), i)
        end
    end
end

---BLEU of a corpus, from 0 to 100: 100 · brevity penalty · the geometric mean of the precisions of 1- to 4-grams. The precisions come
---with it, in percent.
---
---```lua
---local score, how = heed.text.bleu.corpus({ "the cat sat on the mat" }, { "the cat sat on a mat" })
---print(("%.2f"):format(score), how.brevity_penalty) --> 53.73 1
---```
--- @param hypotheses string[] one a segment
--- @param references string[] as many
--- @return number score from 0 to 100
--- @return { precisions: number[], brevity_penalty: number, hypothesis_length: integer, reference_length: integer }
function bleu.corpus(hypotheses, references)
    check_lines("hypotheses", hypotheses)
    check_lines("references", references)
    if #hypotheses ~= #references then
        errors.raise("heed.text.bleu.corpus: references: expected as many as hypotheses (%d), got %d", #hypotheses, #references)
    end
    local matches, totals = { 0, 0, 0, 0 }, { 0, 0, 0, 0 }
    local hypothesis_length, reference_length = 0, 0
    for i, line in ipairs(hypotheses) do
        local hypothesis, reference = bleu.tokenize(line), bleu.tokenize(references[i])
        hypothesis_length, reference_length = hypothesis_length + #hypothesis, reference_length + #reference
        for order = 1, MAX_ORDER do
            matches[order] = matches[order] + clipped_matches(hypothesis, reference, order)
            totals[order] = totals[order] + math.max(#hypothesis - order + 1, 0)
        end
    end
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
    return score, { precisions = precisions, brevity_penalty = penalty, hypothesis_length = hypothesis_length,
        reference_length = reference_length }
end

return bleu
