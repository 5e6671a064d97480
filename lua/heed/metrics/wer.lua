local characters = require "heed.text.characters"
local check = require "heed.check"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"
local spaces = require "heed.text.spaces"

local definition = { name = "wer", class = "Wer" }

function definition.start(where, options)
    options = check.options(where, options, check.set "unit")
    return { unit = check.one_of(where, "unit", check.default(options.unit, "word"),
        { "word", "character" }), edits = 0, length = 0 }
end

-- The fewest insertions, deletions and substitutions that make one list the other (Levenshtein's
-- distance).
local function distance(from, to)
    local row = {}
    for j = 0, #to do row[j] = j end
    for i = 1, #from do
        local diagonal = row[0]
        row[0] = i
        for j = 1, #to do
            local above = row[j]
            row[j] = math.min(above + 1, row[j - 1] + 1, diagonal + (from[i] == to[j] and 0 or 1))
            diagonal = above
        end
    end
    return row[#to]
end

local function units_of(state, line)
    return state.unit == "word" and spaces.split(line) or characters(line)
end

function definition.add(state, where, hypotheses, references)
    inputs.lines(where, "hypotheses", hypotheses, "references", references)
    for i, line in ipairs(hypotheses) do
        local reference = units_of(state, references[i])
        state.edits = state.edits + distance(units_of(state, line), reference)
        state.length = state.length + #reference
    end
end

function definition.value(state)
    return state.edits / state.length, { edits = state.edits, length = state.length }
end

---The word error rate of a corpus: words to insert, delete or replace until hypotheses are
---references, by the words of the references. It may be above 1; of no words at all it is NaN, and
---infinite where there should have been none.
---
---```lua
---local rate, counts = heed.metrics.wer({ "the cat sit on mat" }, { "the cat sat on the mat" })
---print(rate, counts.edits, counts.length) --> 0.33333333333333 2 6
---print((heed.metrics.wer({ "cat" }, { "cart" }, { unit = "character" }))) --> 0.25
---```
---@param hypotheses string[] one a segment
---@param references string[] as many
---@param options? { unit?: "word"|"character" } unit: what is counted, default words; "character"
---gives the character error rate
---@return number rate
---@return { edits: integer, length: integer } counts length: units of the references
local function wer(hypotheses, references, options)
    return metric.once(definition, hypotheses, references, options)
end

---wer over batches.
---
---```lua
---local wer = heed.metrics.Wer()
---wer:add({ "a b" }, { "a b" }):add({ "c" }, { "c d" })
---print((wer:value())) --> 0.25
---```
---@param options? { unit?: "word"|"character" } those of wer
---@return heed.metrics.Metric
local function Wer(options) return metric.new(definition, options) end

return { wer = wer, Wer = Wer }
