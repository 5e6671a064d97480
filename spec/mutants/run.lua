-- Builds every fault of spec/mutants/attention.lua on its own and shows what notices it:
-- attention_test, the fuzz spec.
--
--     heed spec/mutants/run.lua --output DIR --cmake FILE --busted FILE [--generator NAME] [--only PATTERN]
--
-- Run from the root of the tree. The sources are copied to DIR (absolute), which keeps what was
-- built for the next time. Fails when a fault survives, when a text to be replaced does not stand
-- in its file once, and when the sources without a fault do not pass.

local shell = require "spec.support.shell"
local quote = shell.quote

local FAULTS = require "spec.mutants.attention"
local SOURCES = ".busted CMakeLists.txt csrc lua spec"

local function options()
    local parser = require "argparse"("run.lua", "What notices deliberate faults in attention.")
    parser:option("--output", "a directory of its own, absolute")
    parser:option("--cmake"):default "cmake"
    parser:option("--busted"):default "busted"
    parser:option("--generator", "CMake's"):default "Ninja"
    parser:option("--only", "a Lua pattern of faults"):default ""
    return parser:parse()
end

local o = options()
local source, build, log = o.output .. "/source", o.output .. "/build", o.output .. "/log"

-- ---- commands -----------------------------------------------------------------------------------

-- Whether it passes; what it said is in the log.
local function passes(command)
    local _, status = shell.run(("{ %s; } >%s 2>&1"):format(command, quote(log)))
    return status == 0
end

local function must(command)
    if not passes(command) then error(("%s\nfailed: see %s"):format(command, log), 0) end
end

local function make()
    return passes(("%s --build %s --target attention_test heed_core -j2"):format(quote(o.cmake),
        quote(build)))
end

local function busted(spec)
    return ("cd %s && LUA_PATH='lua/?.lua;lua/?/init.lua;?.lua;;' LUA_CPATH=%s HEED_BUILD=%s "
        .. "timeout 600 %s %s"):format(
        quote(source), quote(build .. "/lua/?.so;;"), quote(build), quote(o.busted), spec)
end

local TESTS = {
    { "attention_test", ("timeout 600 %s"):format(quote(build .. "/tests/attention_test")) },
    { "attention_fuzz_spec", busted "spec/fuzz/attention_fuzz_spec.lua" },
}

-- The tests that fail.
local function caught_by()
    local names = {}
    for _, test in ipairs(TESTS) do
        if not passes(test[2]) then names[#names + 1] = test[1] end
    end
    return names
end

-- ---- faults -------------------------------------------------------------------------------------

local function write(path, text)
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
end

local function with(fault)
    local text = shell.read(fault[2])
    local first, last = text:find(fault[3], 1, true)
    if not first or text:find(fault[3], last + 1, true) then
        error(("%s: expected the text once in %s: %s"):format(fault[1], fault[2], fault[3]), 0)
    end
    return text:sub(1, first - 1) .. fault[4] .. text:sub(last + 1)
end

local function restore(fault) write(source .. "/" .. fault[2], shell.read(fault[2])) end

local function try(fault)
    write(source .. "/" .. fault[2], with(fault))
    if not make() then error(("%s: does not compile: see %s"):format(fault[1], log), 0) end
    local names = caught_by()
    restore(fault)
    return names
end

local function files_of(root)
    local list = {}
    for _, path in ipairs(shell.lines(("cd %s && find %s -type f"):format(quote(root), SOURCES))) do
        list[path] = true
    end
    return list
end

-- Writes what is not the same already, so that only what changed is built again.
local function copy_sources()
    shell.run("mkdir -p " .. quote(o.output)) -- the log lies there
    must(("mkdir -p %s && find %s -type d | (cd %s && xargs mkdir -p) && touch %s/.busted "
        .. "%s/CMakeLists.txt"):format(
        quote(source), SOURCES, quote(source), quote(source), quote(source)))
    local here, there = files_of ".", files_of(source)
    for path in pairs(here) do
        local text, to = shell.read(path), source .. "/" .. path
        if not there[path] or shell.read(to) ~= text then write(to, text) end
    end
    for path in pairs(there) do
        if not here[path] then assert(os.remove(source .. "/" .. path)) end
    end
end

local function prepare()
    for _, fault in ipairs(FAULTS) do with(fault) end
    copy_sources()
    must(("%s -S %s -B %s -G %s -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1"):format(
        quote(o.cmake), quote(source), quote(build), quote(o.generator)))
    if not make() then error("the sources do not compile: see " .. log, 0) end
    local names = caught_by()
    if #names > 0 then
        error(("without any fault %s fails: see %s"):format(table.concat(names, ", "), log), 0)
    end
end

local function main()
    local survived = 0
    prepare()
    print(("%-40s %s"):format("fault", "caught by"))
    for _, fault in ipairs(FAULTS) do
        if fault[1]:find(o.only) then
            local names = try(fault)
            if #names == 0 then survived = survived + 1 end
            print(("%-40s %s"):format(fault[1], #names > 0 and table.concat(names, ", ")
                or "SURVIVED"))
            io.stdout:flush()
        end
    end
    if survived > 0 then error(("%d of %d faults survived"):format(survived, #FAULTS), 0) end
end

main()
