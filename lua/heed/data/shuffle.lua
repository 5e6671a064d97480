--- In which order examples come: functions of seed and epoch alone, the same on every machine.

local shuffle = {}

-- SplitMix64 (Steele et al. 2014).
local GAMMA = 0x9E3779B97F4A7C15

---Integers from 0 below n, apart from the streams of the model.
---@param seed integer
---@param epoch integer
---@param drawn? integer how many were drawn already
---@return fun(n: integer): integer
function shuffle.random(seed, epoch, drawn)
    local state = seed * GAMMA + epoch * 0xD1B54A32D192ED03 + (drawn or 0) * GAMMA
    return function(n)
        state = state + GAMMA
        local z = state
        z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ~ (z >> 27)) * 0x94D049BB133111EB
        z = z ~ (z >> 31)
        return (z >> 11) % n
    end
end

---In place (Fisher and Yates).
function shuffle.shuffle(list, random)
    for i = #list, 2, -1 do
        local j = random(i) + 1
        list[i], list[j] = list[j], list[i]
    end
end

---Sorts each pool of neighbours by length; among equals the order stays.
---@param list integer[] indices of examples
---@param lengths integer[] of each example
---@param pool integer
---@return integer[]
function shuffle.bucket(list, lengths, pool)
    local sorted = {}
    for first = 1, #list, pool do
        local part = table.move(list, first, math.min(first + pool - 1, #list), 1, {})
        local rank = {}
        for i, index in ipairs(part) do rank[index] = i end
        table.sort(part, function(a, b)
            local la, lb = lengths[a], lengths[b]
            if la ~= lb then return la < lb end
            return rank[a] < rank[b]
        end)
        table.move(part, 1, #part, #sorted + 1, sorted)
    end
    return sorted
end

---Cuts into batches of at most `size` examples, or of at most `tokens` cells once padded.
---@param list integer[]
---@param lengths integer[]
---@param size integer|nil
---@param tokens integer|nil
---@return integer[][]
function shuffle.cut(list, lengths, size, tokens)
    local batches, current, longest = {}, {}, 0
    for _, index in ipairs(list) do
        local with = math.max(longest, lengths[index])
        local full
        if tokens then full = with * (#current + 1) > tokens else full = #current == size end
        if full and #current > 0 then
            batches[#batches + 1] = current
            current, with = {}, lengths[index]
        end
        current[#current + 1], longest = index, with
    end
    if #current > 0 then batches[#batches + 1] = current end
    return batches
end

return shuffle
