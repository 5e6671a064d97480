-- heed and PyTorch on the same workloads in one run, as a Markdown table.
--
--     heed spec/bench/table.lua --limits FILE [--python FILE] [--minutes 9] [--rounds 2] [--only PATTERN] [--variants]
--                               [--set operations [--cpu]] [--output DIR]
--     heed spec/bench/table.lua --from DIR/results.tsv
--
-- Each workload runs in processes of its own, heed, PyTorch, heed, PyTorch (as many rounds as asked
-- for); what the processor could do is measured before and after (FILE is c/limits.c, compiled).
-- PyTorch runs in the environment that suits it best. A figure is the best of all rounds and the
-- median of theirs. DIR (default: the current one) gets results.tsv as they come, and table.md;
-- --from makes the table again. --only takes a Lua pattern of names; --variants adds PyTorch
-- compiled and in bf16, which takes some minutes more. Without Python, heed alone is measured.

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. package.path

local heed = require "heed"
local render = require "render"
local running = require "running"

local HEED = arg[-1]

local function options()
    local parser = require "argparse"("table.lua", "heed and PyTorch on the same workloads.")
    parser:option("--limits", "c/limits.c, compiled")
    parser:option("--python", "a Python that has torch"):default(os.getenv "HEED_BENCH_PYTHON")
    parser:option("--minutes", "about how long it may take"):convert(tonumber):default "9"
    parser:option("--rounds"):convert(math.tointeger):default "2"
    parser:option("--only", "a Lua pattern of names")
    parser:option("--set", "workloads or operations"):default "workloads"
    parser:flag("--cpu", "operations on one thread, by the processor's time: on a machine that "
        .. "has other work")
    parser:flag("--variants", "also PyTorch compiled, and in bf16")
    parser:option("--output", "a directory"):default "."
    parser:option("--from", "results to make the table of")
    return parser:parse()
end

-- ---- what is run --------------------------------------------------------------------------------

-- Families of single operations: a process each.
local function plan_operations(o)
    local list = {}
    for _, names in ipairs(require("operations").families) do
        local wanted = {}
        for name in names:gmatch "%S+" do
            if not o.only or name:find(o.only) then wanted[#wanted + 1] = name end
        end
        local threads = o.cpu and 1 or 2
        local entry = { name = table.concat(wanted, " "), threads = threads, reps = 10, set = o.set,
            cpu = o.cpu }
        if #wanted > 0 then list[#list + 1] = entry end
    end
    return list
end

-- The long ones first: what they leave of the time is shared by the rest. reps: at least so many
-- calls a process.
local function plan(o)
    local list = {}
    if o.set == "operations" then return plan_operations(o) end
    local function add(threads, reps, names, variant)
        for name in names:gmatch "%S+" do
            if not o.only or name:find(o.only) then
                list[#list + 1] = { name = name, threads = threads, reps = reps, variant = variant }
            end
        end
    end
    add(2, 10, "char_gpt encdec attention_forward_backward_L2048 "
        .. "attention_forward_backward_L2048_causal")
    add(2, 10, "attention_forward_L4096 attention_forward_L4096_causal")
    add(2, 1, "memory_import memory_char_gpt memory_encdec")
    add(2, 5, "startup")
    add(1, 10, "encdec encoder_layer_1x512 attention_forward_backward_L1024")
    add(2, 20, "adamw_124m sgemm_512 sgemm_1024 sgemm_2048")
    add(2, 20, "linear_1x768x3072 linear_8x768x3072 linear_32x768x3072 linear_512x768x3072")
    for _, way in ipairs { "forward", "forward_backward" } do
        for _, length in ipairs { 128, 512, 1024 } do
            add(2, 20, ("attention_%s_L%d attention_%s_L%d_causal"):format(way, length, way,
                length))
        end
    end
    add(2, 20, "attention_forward_L2048 attention_forward_L2048_causal")
    add(2, 20, "encoder_layer_8x128 encoder_layer_1x512 small_32x32 small_1x32 small_1x8")
    add(1, 20, "gru_forward_32x128x256 gru_forward_1x128x256 lstm_forward_32x128x256 "
        .. "lstm_forward_1x128x256 gru_forward_backward_32x128x256 gru_forward_backward_1x128x256 "
        .. "lstm_forward_backward_32x128x256 lstm_forward_backward_1x128x256")
    add(2, 3, "decode_gpt_1 decode_gpt_32 decode_encdec_1 decode_encdec_32")
    add(1, 3, "decode_gpt_1 decode_gpt_32 decode_encdec_1 decode_encdec_32")
    add(1, 20, "sgemm_1024 linear_1x768x3072 linear_32x768x3072 attention_forward_L1024 "
        .. "small_32x32 small_1x8")
    if o.variants then
        add(2, 5, "char_gpt encdec small_32x32 small_1x8", "compile")
        add(2, 5, "char_gpt encdec", "bf16")
    end
    return list
end

-- ---- running ------------------------------------------------------------------------------------

local quoted = running.quoted

local function commands(o)
    return {
        { side = "heed", command = quoted(HEED) .. " " .. quoted(here .. "heed.lua") },
        o.python and { side = "pytorch", command = running.python(o.python) .. " "
            .. quoted(here .. "pytorch/reference.py") },
    }
end

-- One process, of one workload or several; returns what it printed about itself.
local function measure_side(side, entry, seconds, record, errors_path)
    local variant = side.side == "pytorch" and entry.variant
    local command = ("%s %s --threads %d --reps %d --seconds %.2f --warmup %d%s%s%s"):format(
        side.command, entry.name,
        entry.threads, entry.reps, seconds, entry.reps < 20 and 2 or 3, variant and " --" .. variant
            or "",
        entry.set and " --set " .. entry.set or "", entry.cpu and " --cpu" or "")
    local output, comment = running.output_of(command, errors_path)
    local times = {}
    for name, best, median in (output or ""):gmatch "([^\t\n]+)\t%d+\t([%d.]+)\t([%d.]+)" do
        times[name] = { best, median }
    end
    for name in entry.name:gmatch "%S+" do
        local marked = entry.variant and name .. "+" .. entry.variant or name
        local best, median = table.unpack(times[marked] or times[name] or { "failed", "failed" })
        record(side.side, marked, entry.threads, best, median)
        io.stderr:write(("%-8s %-44s %d  %s\n"):format(side.side, marked, entry.threads, best))
    end
    return comment
end

-- A process of PyTorch's takes so long before it begins.
local IMPORT_SECONDS = 2.5

local function measure(o)
    local errors_path = o.output .. "/errors.txt"
    local lines, record = running.recorder(o.output .. "/results.tsv")
    local sides, entries, said = commands(o), plan(o), {}
    local began = heed.clock()
    record("run", os.date "%Y-%m-%d", heed.info().cpu, o.rounds, o.set)
    running.limits(o.limits, 2, record, errors_path)
    for i, entry in ipairs(entries) do
        local left = o.minutes * 60 - (heed.clock() - began)
        local share = left / (#entries - i + 1) / o.rounds - (o.python and IMPORT_SECONDS or 0)
        for _ = 1, o.rounds do
            for _, side in ipairs(sides) do
                local seconds = math.max(0.2, math.min(2, share / #sides))
                local comment = measure_side(side, entry, seconds, record, errors_path)
                if comment and not said[side.side] then
                    said[side.side] = true
                    record("about", side.side, (comment:gsub("^#%s*", "")))
                end
            end
        end
    end
    running.limits(o.limits, 2, record, errors_path)
    os.remove(errors_path)
    return lines
end

local function main()
    local o = options()
    if o.from then return io.write(render(running.lines_of { o.from })) end
    local text = render(measure(o))
    running.publish(o.output, text)
end

main()
