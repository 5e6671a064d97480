--- Runs of so many tokens, and how many of them two texts share.

local ngrams = {}

---How often each occurs.
---@param tokens string[]
---@param order integer tokens in one
---@param separator string between them
---@return table<string, integer>
function ngrams.count(tokens, order, separator)
    local counts = {}
    for i = 1, #tokens - order + 1 do
        local gram = table.concat(tokens, separator, i, i + order - 1)
        counts[gram] = (counts[gram] or 0) + 1
    end
    return counts
end

---How many of one list stand in the other too, each at most as often as there.
---@param hypothesis string[]
---@param reference string[]
---@param order integer
---@param separator string
---@return integer
function ngrams.shared(hypothesis, reference, order, separator)
    local wanted, matches = ngrams.count(reference, order, separator), 0
    for gram, count in pairs(ngrams.count(hypothesis, order, separator)) do
        matches = matches + math.min(count, wanted[gram] or 0)
    end
    return matches
end

return ngrams
