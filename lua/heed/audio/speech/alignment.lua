--- When each word is said: some heads of the attention over the sound look at the place of the
--- token that they write (the authors' program calls them alignment heads). Their weights make a
--- matrix of tokens and times, through which dynamic time warping finds the cheapest way.

local capture = require "heed.capture"
local core = require "heed.core"

local alignment = {}

local FILTER = 7 -- times that the median filter sees
local SECONDS = 0.02 -- of a place of the memory

-- Weights of the heads [heads, L, times] for all tokens, and log probabilities of each next one.
local function heads_of(model, memory, tokens, times)
    local layers, seen = {}, {}
    for _, pair in ipairs(model.speech.heads) do
        local path = ("decoder.layers.%d.multihead_attn"):format(pair[1])
        if not seen[path] then layers[#layers + 1], seen[path] = path, true end
    end
    local captured <close> = capture.new(model, { layers = layers })
    local hidden = model:decode(core.tensor({ tokens }, { dtype = "i64" }), memory)
    local list = {}
    for i, pair in ipairs(model.speech.heads) do
        local weights = captured[("decoder.layers.%d.multihead_attn"):format(pair[1])]
        list[i] = weights:select(1, 1):select(1, pair[2]):narrow(2, 1, times)
    end
    return core.stack(list, 1):to "f32", hidden
end

-- What of them tells a token from the others, smoothed, as a mean over the heads: [L, times].
local function matrix_of(weights)
    weights = weights / weights:sum(3, { keepdim = true })
    local mean = weights:mean(2, { keepdim = true })
    local std = weights:std(2, { keepdim = true, correction = 0 })
    local z, around = (weights - mean) / std, FILTER // 2
    if z:size(3) > around then
        z = z:pad(around, around, { mode = "reflect" }):unfold(3, FILTER, 1):median(4)
    end
    return z:mean(1)
end

-- Which way each cell of the cheapest path came: 0 from both before, 1 from the token before, 2
-- from the time before.
local function warp(cost)
    local before, trace = { [0] = 0 }, {}
    for j = 1, #cost[1] do before[j] = math.huge end
    for i, row in ipairs(cost) do
        local now, came = { [0] = math.huge }, {}
        for j = 1, #row do
            local both, token, time = before[j - 1], before[j], now[j - 1]
            if both < token and both < time then
                now[j], came[j] = row[j] + both, 0
            elseif token < both and token < time then
                now[j], came[j] = row[j] + token, 1
            else
                now[j], came[j] = row[j] + time, 2
            end
        end
        before, trace[i] = now, came
    end
    return trace
end

---The first time of each row on the cheapest path through a matrix of costs (Sakoe and Chiba 1978).
---@param cost number[][] [tokens][times]
---@return integer[] times from 1
function alignment.path(cost)
    local trace, first = warp(cost), {}
    local i, j = #cost, #cost[1]
    while i > 0 and j > 0 do
        first[i] = j
        local came = trace[i][j]
        if came ~= 2 then i = i - 1 end
        if came ~= 1 then j = j - 1 end
    end
    return first
end

---When each token begins, in seconds from the window's beginning, and how probable it was.
---@param model heed.models.Whisper
---@param memory heed.Tensor [1, S, E]
---@param prompt integer[] start, language, task
---@param tokens integer[] the words'
---@param s heed.audio.Specials
---@param times integer places of the memory that sound was at
---@return number[] starts one for each token and one behind the last
---@return number[] probabilities
function alignment.of(model, memory, prompt, tokens, s, times)
    local _ <close> = core.scope()
    local all = table.move(prompt, 1, #prompt, 1, {})
    all[#all + 1] = s.no_times
    table.move(tokens, 1, #tokens, #all + 1, all)
    all[#all + 1] = s.stop
    local weights, hidden = heads_of(model, memory, all, math.min(times, memory:size(2)))
    local matrix = matrix_of(weights):narrow(1, #prompt + 1, #tokens + 1)
    local starts = {}
    for i, time in ipairs(alignment.path((-matrix):totable())) do
        starts[i] = (time - 1) * SECONDS
    end
    local words = model.output(hidden:narrow(2, #prompt + 1, #tokens)):select(1, 1)
        :narrow(2, 1, s.stop - 1)
    local index = core.tensor(tokens, { dtype = "i64" }):view(-1, 1)
    return starts, words:softmax(2):gather(2, index):view(-1):totable()
end

return alignment
