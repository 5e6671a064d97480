--- Sinusoidal positions whose rates fall from 1 to 1 / 10000, the last one itself: Vaswani et al.
--- (2017) stop just before it.

local nn = require "heed.nn"

---@param length integer
---@param E integer
---@param first_position? integer default as nn.SinusoidalPositions
---@return heed.nn.SinusoidalPositions
return function(length, E, first_position)
    local rates, half = {}, E // 2
    for i = 1, half do rates[i] = 10000 ^ (-(i - 1) / math.max(half - 1, 1)) end
    return nn.SinusoidalPositions(length, E,
        { layout = "halves", rates = rates, first_position = first_position })
end
