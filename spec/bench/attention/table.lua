-- Attention on all kinds of shapes, heed beside PyTorch and ONNX Runtime in one run, as a Markdown
-- table.
--
--     heed spec/bench/attention/table.lua --limits FILE [--python FILE] [--minutes 12] [--rounds 2] [--only PATTERN] [--part 1/8]
--                                         [--threads N] [--case NAME]... [--sides "heed pytorch onnxruntime"] [--cpu] [--output DIR]
--     heed spec/bench/attention/table.lua --from results.tsv...
--
-- cases.lua has the cases. Each side is one server process (heed.lua, pytorch.py, onnx_runtime.py)
-- that makes a case when it is told to, says whether its results are heed's, and times it when its
-- turn comes: heed, PyTorch, ONNX Runtime, heed, ... The rivals try several ways and take their
-- fastest. What the processor could do is measured before and after (FILE is ../c/limits.c,
-- compiled). DIR (default: the current one) gets results.tsv as results come, and table.md. --only
-- takes a Lua pattern of names; --part k/n each n-th case from the k-th on; --case any case by its
-- name, on --threads (1); --from makes one table of several parts.

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. here .. "../?.lua;" .. package.path

local heed = require "heed"
local cases = require "cases"
local render = require "render"
local running = require "running"
local server = require "server"

local function options()
    local parser = require "argparse"("table.lua", "heed, PyTorch and ONNX Runtime on attention.")
    parser:option("--limits", "c/limits.c, compiled")
    parser:option("--python", "a Python that has torch, onnx and onnxruntime"):default(
        os.getenv "HEED_BENCH_PYTHON")
    parser:option("--minutes", "about how long it may take"):convert(tonumber):default "12"
    parser:option("--rounds"):convert(math.tointeger):default "2"
    parser:option("--only", "a Lua pattern of names")
    parser:option("--part", "k/n: each n-th case from the k-th on"):default "1/1"
    parser:option("--threads", "the cases that are run on so many threads"):convert(math.tointeger)
    parser:option("--case", "this case instead of those in cases.lua"):count "*"
    parser:option("--sides", "who is timed"):default "heed pytorch onnxruntime"
    parser:flag("--cpu", "the processor's time instead of the wall's: of one thread, on a "
        .. "machine that has other work")
    parser:option("--output", "a directory"):default "."
    parser:option("--from", "results to make the table of"):args "+"
    return parser:parse()
end

local function named(o)
    local list = {}
    for _, name in ipairs(o.case) do
        assert(cases.parse(name))
        list[#list + 1] = { name = name, threads = o.threads or 1 }
    end
    return list
end

local function plan(o)
    if #o.case > 0 then return named(o) end
    local part, parts = o.part:match "^(%d+)/(%d+)$"
    local wanted, list = {}, {}
    for _, case in ipairs(cases.list) do
        local here_too = not o.threads or case.threads == o.threads
        if here_too and (not o.only or case.name:find(o.only)) then wanted[#wanted + 1] = case end
    end
    for i = tonumber(part), #wanted, tonumber(parts) do list[#list + 1] = wanted[i] end
    return list
end

local SCRIPTS = { pytorch = "pytorch.py", onnxruntime = "onnx_runtime.py" }

local function start_servers(o)
    local sides = {}
    for name in o.sides:gmatch "%S+" do
        local command = name == "heed" and ("%s %s"):format(running.quoted(arg[-1]),
            running.quoted(here .. "heed.lua"))
            or o.python and running.python(o.python) .. " " .. running.quoted(here .. SCRIPTS[name])
        if command then
            sides[#sides + 1] = server.new(name, command .. " " .. running.quoted(o.output),
                o.output)
        end
    end
    return sides
end

-- The case on every side: those that are ready to time it.
local function prepare(sides, case, record)
    local ready = {}
    for _, side in ipairs(sides) do
        local answer = side:ask(("case %d %s"):format(case.threads, case.name))
        local way = answer:match "^ready%s*(.*)"
        if way then
            ready[#ready + 1] = side
            if way ~= "" then record("way", case.name, case.threads, side.name, way) end
        else
            record(side.name, case.name, case.threads, "failed", answer)
        end
        if not way and side.name == "heed" then break end -- the others read its inputs
    end
    return ready
end

-- Calls that take long are few, and 20 between them all when they are short.
local LEAST_CALLS, ROUND_SECONDS = 3, 1.5

local function time(side, case, o, seconds, record)
    local answer = side:ask(("time %d %.3f %s"):format(LEAST_CALLS, seconds,
        o.cpu and "cpu" or "wall"))
    local best, median = answer:match "^time (%S+) (%S+)"
    if best then
        record(side.name, case.name, case.threads, best, median)
    else
        record(side.name, case.name, case.threads, "failed", answer)
    end
    return best or "failed"
end

local function run_case(sides, case, o, seconds, record)
    local ready, said = prepare(sides, case, record), {}
    for _ = 1, o.rounds do
        for _, side in ipairs(ready) do said[side.name] = time(side, case, o, seconds, record) end
    end
    local words = {}
    for _, side in ipairs(ready) do words[#words + 1] = side.name .. " " .. said[side.name] end
    io.stderr:write(("%-52s %d  %s\n"):format(case.name, case.threads, table.concat(words, "  ")))
end

local function remove_files(directory)
    for _, name in ipairs { "q", "k", "v", "g", "out", "dq", "dk", "dv" } do
        os.remove(("%s/%s.npy"):format(directory, name))
    end
end

local function measure(o)
    local errors_path = o.output .. "/errors.txt"
    local lines, record = running.recorder(o.output .. "/results.tsv")
    local list, began = plan(o), heed.clock()
    record("run", os.date "%Y-%m-%d", heed.info().cpu, o.rounds, "attention")
    running.limits(o.limits, o.threads or 2, record, errors_path)
    local sides = start_servers(o)
    for i, case in ipairs(list) do
        -- Half of the time is for making cases and choosing ways.
        local left = o.minutes * 60 - (heed.clock() - began)
        local seconds = left / (#list - i + 1) / 2 / o.rounds / #sides
        run_case(sides, case, o, math.max(0.05, math.min(ROUND_SECONDS, seconds)), record)
    end
    for _, side in ipairs(sides) do
        if side.about then record("about", side.name, side.about) end
        side:stop()
    end
    running.limits(o.limits, o.threads or 2, record, errors_path)
    remove_files(o.output)
    os.remove(errors_path)
    return lines
end

local function main()
    local o = options()
    if o.from then return io.write(render(running.lines_of(o.from))) end
    running.publish(o.output, render(measure(o)))
end

main()
