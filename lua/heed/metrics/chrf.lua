--- chrF (Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation") as sacreBLEU
--- computes it by default: n-grams of up to six characters without spaces, one reference a segment,
--- orders without n-grams left out of the means.

local characters = require "heed.text.characters"
local check = require "heed.check"
local inputs = require "heed.metrics.inputs"
local metric = require "heed.metrics.metric"
local ngrams = require "heed.text.ngrams"
local spaces = require "heed.text.spaces"

local definition = { name = "chrf", class = "Chrf" }

function definition.start(where, options)
    options = check.options(where, options, check.set("char_order", "word_order", "beta"))
    local state = {
        char_order = check.integer(where, "char_order", check.default(options.char_order, 6)),
        word_order = check.integer(where, "word_order", check.default(options.word_order, 0), 0),
        beta = check.number(where, "beta", check.default(options.beta, 2), 0),
        hypothesis = {}, reference = {}, shared = {},
    }
    for order = 1, state.char_order + state.word_order do
        state.hypothesis[order], state.reference[order], state.shared[order] = 0, 0, 0
    end
    return state
end

-- Without spaces.
local function characters_of(line)
    return characters((spaces.fold(line):gsub("%s+", "")))
end

-- Words, with a mark of ASCII at the end of one, or else at its beginning, apart.
local function words_of(line)
    local list = {}
    for _, word in ipairs(spaces.split(line)) do
        local mark = word:match "^..*(%p)$"
        if mark then
            list[#list + 1], list[#list + 2] = word:sub(1, -2), mark
        elseif word:find "^%p." then
            list[#list + 1], list[#list + 2] = word:sub(1, 1), word:sub(2)
        else
            list[#list + 1] = word
        end
    end
    return list
end

local function count(state, first, orders, hypothesis, reference, separator)
    for order = 1, orders do
        local at, wanted = first + order, math.max(0, #reference - order + 1)
        state.reference[at] = state.reference[at] + wanted
        -- n-grams that the reference is too short for are nobody's fault.
        if wanted > 0 then
            state.hypothesis[at] = state.hypothesis[at] + math.max(0, #hypothesis - order + 1)
        end
        state.shared[at] = state.shared[at] + ngrams.shared(hypothesis, reference, order, separator)
    end
end

function definition.add(state, where, hypotheses, references)
    inputs.lines(where, "hypotheses", hypotheses, "references", references)
    for i, line in ipairs(hypotheses) do
        count(state, 0, state.char_order, characters_of(line), characters_of(references[i]), "")
        if state.word_order > 0 then
            count(state, state.char_order, state.word_order, words_of(line),
                words_of(references[i]), " ")
        end
    end
end

-- F_β of the mean precision and the mean recall over the orders.
function definition.value(state)
    local precision, recall, orders, weight = 0.0, 0.0, 0, state.beta ^ 2
    for order, shared in ipairs(state.shared) do
        if state.hypothesis[order] > 0 and state.reference[order] > 0 then
            precision, recall = precision + shared / state.hypothesis[order],
                recall + shared / state.reference[order]
            orders = orders + 1
        end
    end
    if precision + recall == 0 then return 0.0 end
    precision, recall = precision / orders, recall / orders
    return 100 * (1 + weight) * precision * recall / (weight * precision + recall)
end

---chrF of a corpus, from 0 to 100, as sacreBLEU's: how many n-grams of characters hypotheses and
---references share. With word_order = 2 it is chrF++.
---
---```lua
---local score = heed.metrics.chrf({ "the cat sat on the mat" }, { "the cat sat on a mat" })
---print(("%.2f"):format(score)) --> 72.08
---```
---@param hypotheses string[] one a segment
---@param references string[] as many
---@param options? { char_order?: integer, word_order?: integer, beta?: number } char_order: the
---longest n-grams of characters, default 6; word_order: of words, default 0; beta: how much more
---recall counts than precision, default 2
---@return number score
local function chrf(hypotheses, references, options)
    return metric.once(definition, hypotheses, references, options)
end

---chrf over batches: of the whole corpus, which is not the mean of the batches' scores.
---
---```lua
---local chrf = heed.metrics.Chrf { word_order = 2 }
---chrf:add({ "the cat" }, { "the cat" }):add({ "sat" }, { "sat" })
---print(chrf:value()) --> 100.0
---```
---@param options? { char_order?: integer, word_order?: integer, beta?: number } those of chrf
---@return heed.metrics.Metric
local function Chrf(options) return metric.new(definition, options) end

return { chrf = chrf, Chrf = Chrf }
