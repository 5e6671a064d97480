local bleu_counts = require "heed.text.bleu_counts"
local check = require "heed.check"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"

local definition = { name = "bleu", class = "Bleu", value = bleu_counts.score }

function definition.start(where, options)
    check.options(where, options, {})
    return bleu_counts.new()
end

function definition.add(state, where, hypotheses, references)
    inputs.lines(where, "hypotheses", hypotheses, "references", references)
    for i, line in ipairs(hypotheses) do bleu_counts.add(state, line, references[i]) end
end

---BLEU of a corpus, from 0 to 100, as sacreBLEU computes it by default: heed.text.bleu.corpus.
---
---```lua
---local score = heed.metrics.bleu({ "the cat sat on the mat" }, { "the cat sat on a mat" })
---print(("%.2f"):format(score)) --> 53.73
---```
---@param hypotheses string[] one a segment
---@param references string[] as many
---@return number score from 0 to 100
---@return { precisions: number[], brevity_penalty: number, hypothesis_length: integer, reference_length: integer }
local function bleu(hypotheses, references)
    return metric.once(definition, hypotheses, references)
end

---bleu over batches: of the whole corpus, which is not the mean of the batches' scores.
---
---```lua
---local bleu = heed.metrics.Bleu()
---bleu:add({ "the cat sat on the mat" }, { "the cat sat on a mat" })
---print(("%.2f"):format(bleu:value())) --> 53.73
---```
---@return heed.metrics.Metric
local function Bleu() return metric.new(definition) end

return { bleu = bleu, Bleu = Bleu }
