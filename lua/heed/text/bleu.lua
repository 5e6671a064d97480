--- BLEU of a corpus (Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine
--- translation") as sacreBLEU computes it by default (Post 2018): tokenizer 13a, mixed case,
--- n-grams up to 4, one reference a segment, exponential smoothing of precisions that are zero.

local bleu_counts = require "heed.text.bleu_counts"
local check = require "heed.check"
local errors = require "heed.errors"

local bleu = {}

--- The tokenizer "13a" of the mteval script: punctuation stands alone, but for periods and commas
--- between digits.
---
---```lua
---print(table.concat(heed.text.bleu.tokenize "Well, it cost 3.50!", " ")) --> Well , it cost 3.50 !
---```
--- @param line string
--- @return string[] tokens
function bleu.tokenize(line)
    check.type("heed.text.bleu.tokenize", "line", line, "string")
    return bleu_counts.tokenize(line)
end

local function check_lines(name, lines)
    for i, line in ipairs(check.type("heed.text.bleu.corpus", name, lines, "table")) do
        if type(line) ~= "string" then
            errors.raise("heed.text.bleu.corpus: %s: expected strings, got %s at %d", name,
                check.describe(line), i)
        end
    end
end

---BLEU of a corpus, from 0 to 100: 100 · brevity penalty · the geometric mean of the precisions of
---1- to 4-grams. The precisions come with it, in percent.
---
---```lua
---local hypotheses, references = { "the cat sat on the mat" }, { "the cat sat on a mat" }
---local score, how = heed.text.bleu.corpus(hypotheses, references)
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
        errors.raise("heed.text.bleu.corpus: references: expected as many as hypotheses (%d), "
            .. "got %d",
            #hypotheses, #references)
    end
    local counts = bleu_counts.new()
    for i, line in ipairs(hypotheses) do bleu_counts.add(counts, line, references[i]) end
    return bleu_counts.score(counts)
end

return bleu
