-- How a function is timed.

local timing = {}

---@param times number[] sorted in place
---@return number best
---@return number median
function timing.best_and_median(times)
    table.sort(times)
    local n = #times
    return times[1], (times[(n + 1) // 2] + times[n // 2 + 1]) / 2
end

---At least o.reps calls after o.warmup, and more until o.seconds are over.
---@param clock fun(): number
---@param step function
---@param o { warmup: integer, reps: integer, seconds: number }
---@return number best
---@return number median
function timing.measure(clock, step, o)
    for _ = 1, o.warmup do step() end
    local times, began = {}, clock()
    while #times < o.reps or (clock() - began < o.seconds and #times < 2000) do
        local t = clock()
        step()
        times[#times + 1] = clock() - t
    end
    return timing.best_and_median(times)
end

return timing
