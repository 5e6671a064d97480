-- Times heed on the workloads of workloads.lua, as pytorch/reference.py times PyTorch.
--
--     heed spec/bench/heed.lua WORKLOAD... [--threads N] [--reps 20] [--seconds 0.3] [--warmup 3] [--seed 1]
--     heed spec/bench/heed.lua --list
--
-- --set operations takes those of operations.lua instead.
--
-- A WORKLOAD may be a prefix followed by *, quoted. Prints
-- name<TAB>threads<TAB>best_ms<TAB>median_ms a line, and on standard error which kernels are at
-- work. The rows memory_* hold MB (the process's VmHWM) in both columns; they run in processes of
-- their own, as does the row startup.

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. package.path

local timing = require "timing"

local HEED = arg[-1]
local START = { startup = [[local a = heed.ones(4, 4); print((a:matmul(a)):sum():item())]] }
local MEMORY = { memory_import = "", memory_char_gpt = "char_gpt", memory_encdec = "encdec" }
local PROCESSES = { "startup", "memory_import", "memory_char_gpt", "memory_encdec" }

local function options()
    local parser = require "argparse"("heed.lua", "Times heed.")
    parser:argument("workloads"):args "*"
    parser:flag "--list"
    parser:option("--set", "workloads or operations"):default "workloads"
    parser:option("--threads"):convert(math.tointeger):default "2"
    parser:option("--reps", "at least this many"):convert(math.tointeger):default "20"
    parser:option("--seconds", "and at least so long, for the short ones"):convert(
        tonumber):default "0.3"
    parser:option("--warmup"):convert(math.tointeger):default "3"
    parser:flag("--cpu", "the processor's time instead of the wall's: of one thread, on a "
        .. "machine that has other work")
    parser:option("--seed"):convert(math.tointeger):default "1"
    parser:option("--peak-of", "prints the VmHWM of three calls of a workload"):hidden(true)
    return parser:parse()
end

local function prepare(o)
    local heed = require "heed"
    heed.set_num_threads(o.threads)
    heed.manual_seed(o.seed)
    return heed
end

local function output_of(command)
    local pipe = assert(io.popen("exec " .. command))
    local output = pipe:read "a"
    assert(pipe:close(), command)
    return output
end

local function startup(name, o)
    local clock = require("heed").clock
    local command = ("env OMP_NUM_THREADS=%d '%s' -e '%s'"):format(o.threads, HEED, START[name])
    return timing.measure(clock, function() output_of(command) end, o)
end

local function memory(name, o)
    return tonumber(output_of(("'%s' '%s' --peak-of '%s' --threads %d --seed %d"):format(HEED,
        arg[0], MEMORY[name],
        o.threads, o.seed)))
end

local function peak_of(name, o)
    prepare(o)
    if name ~= "" then
        local step = require("workloads")[name].make()
        for _ = 1, 3 do step() end
    end
    for line in io.lines "/proc/self/status" do
        local kilobytes = line:match "^VmHWM:%s*(%d+)"
        if kilobytes then print(kilobytes / 1024) end
    end
end

local function known(o)
    local set = require(o.set)
    local names = table.move(set.names, 1, #set.names, 1, {})
    if o.set ~= "workloads" then return names end
    return table.move(PROCESSES, 1, #PROCESSES, #names + 1, names)
end

local function chosen(wanted, o)
    local list = {}
    for _, name in ipairs(known(o)) do
        local prefix = wanted:match "^(.*)%*$"
        if name == wanted or (prefix and name:sub(1, #prefix) == prefix) then
            list[#list + 1] = name
        end
    end
    if #list == 0 then error("no workload " .. wanted .. "; see --list", 0) end
    return list
end

local function run(name, o)
    local best, median
    if MEMORY[name] then
        best = memory(name, o)
        median = best
    else
        local seconds, seconds_median
        if START[name] then
            seconds, seconds_median = startup(name, o)
        else
            local clock = o.cpu and os.clock or prepare(o).clock
            prepare(o)
            seconds, seconds_median = timing.measure(clock, require(o.set)[name].make(), o)
        end
        best, median = seconds * 1e3, seconds_median * 1e3
    end
    print(("%s\t%d\t%.4f\t%.4f"):format(name, o.threads, best, median))
    io.stdout:flush()
end

local function main()
    local o = options()
    if o.list then return print(table.concat(known(o), "\n")) end
    if o.peak_of then return peak_of(o.peak_of, o) end
    local names = {}
    for _, wanted in ipairs(o.workloads) do
        for _, name in ipairs(chosen(wanted, o)) do names[#names + 1] = name end
    end
    if #names == 0 then error("name a workload, or --list", 0) end

    local info = prepare(o).info()
    io.stderr:write(("# heed %s, kernels %s, products %s, blis %s, cpu %s\n"):format(info.version,
        info.isa, info.gemm,
        info.blis, info.cpu))
    for _, name in ipairs(names) do
        run(name, o)
        collectgarbage()
    end
end

main()
