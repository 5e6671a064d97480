-- heed's side of table.lua: a server that makes and times the case it is told.
--
--     heed spec/bench/attention/heed.lua DIRECTORY
--
-- It says "about ..." first, and then answers each line of its standard input with one:
--     case THREADS NAME            makes inputs, runs once, leaves both in DIRECTORY for the rivals: "ready"
--     time REPS SECONDS CLOCK      of the case; CLOCK is wall or cpu: "time BEST MEDIAN", in milliseconds
-- or with "failed MESSAGE". "quit" ends it.

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. here .. "../?.lua;" .. package.path

local heed = require "heed"
local cases = require "cases"
local timing = require "timing"

local DIRECTORY = arg[1] or "."

local function mask_of(case)
    local mask
    if case.window then
        mask = heed.mask.window(cases.WINDOW - 1)
    elseif case.causal then
        mask = heed.mask.causal()
    end
    if case.padded then
        local lengths = {}
        for b = 1, case.B do lengths[b] = cases.length(case, b) end
        local padding = heed.mask.padding(lengths)
        mask = mask and mask & padding or padding
    end
    return mask and { mask = mask }
end

-- [B, length, heads, D], as a projection leaves them.
local function input(case, length, heads) return heed.randn(case.B, length, heads, case.D) end

local function save(name, t)
    assert(heed.npy.save(("%s/%s.npy"):format(DIRECTORY, name), t:contiguous()))
end

-- Each makes the function to time and leaves files of inputs and results behind.

local function forward(q, k, v, options)
    local function step()
        local _ <close> = heed.no_grad()
        return heed.attention(q:transpose(2, 3), k:transpose(2, 3), v:transpose(2, 3), options)
    end
    save("out", step():transpose(2, 3))
    return step
end

local function backward(q, k, v, options)
    local g = heed.randn(q.shape)
    save("g", g)
    local inputs = { q = q:requires_grad_(true), k = k:requires_grad_(true),
        v = v:requires_grad_(true) }
    local function step()
        q.grad, k.grad, v.grad = nil, nil, nil
        local out = heed.attention(q:transpose(2, 3), k:transpose(2, 3), v:transpose(2, 3),
            options):transpose(2, 3)
        out:backward(g)
        return out
    end
    save("out", step():detach())
    for name, t in pairs(inputs) do save("d" .. name, t.grad) end
    return step
end

local function make(threads, name)
    local case = assert(cases.parse(name))
    heed.set_num_threads(threads)
    heed.manual_seed(1)
    local q, k, v = input(case, case.L, case.H), input(case, case.S, case.Hk),
        input(case, case.S, case.Hk)
    for file, t in pairs { q = q, k = k, v = v } do save(file, t) end
    return (case.backward and backward or forward)(q, k, v, mask_of(case))
end

local step

local commands = {}

function commands.case(threads, name)
    step = nil
    collectgarbage()
    step = make(math.tointeger(threads), name)
    return "ready"
end

function commands.time(reps, rest)
    local seconds, clock = rest:match "(%S+) (%S+)"
    local best, median = timing.measure(clock == "cpu" and os.clock or heed.clock, step,
        { warmup = 1, reps = math.tointeger(reps), seconds = tonumber(seconds) })
    return ("time %.5f %.5f"):format(best * 1e3, median * 1e3)
end

local function answer(line)
    local command, first, rest = line:match "^(%S+) (%S+) (.+)$"
    local done, result = pcall(commands[command], first, rest)
    return done and result or "failed " .. tostring(result):gsub("%s+", " ")
end

local function main()
    local info = heed.info()
    io.stdout:setvbuf "line"
    print(("about %s, kernels %s, cpu %s"):format(info.version, info.isa, info.cpu))
    for line in io.lines() do
        if line == "quit" then break end
        print(answer(line))
    end
end

main()
