-- What the drivers of benchmarks share: commands for the sides, results that are kept as they come.

local running = {}

---A word of a shell's command.
---@param s string
---@return string
function running.quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

---Its standard output, or nil when it failed; the comment that it leaves on standard error.
---@param command string
---@param errors_path string a file for its standard error
---@return string? output
---@return string? comment
function running.output_of(command, errors_path)
    local pipe = assert(io.popen(("exec %s 2>%s"):format(command, running.quoted(errors_path))))
    local output = pipe:read "a"
    local done = pipe:close()
    local errors = io.open(errors_path)
    local comment = errors and errors:read "a" or ""
    if errors then errors:close() end
    if not done then io.stderr:write(command, "\n", comment) end
    return done and output or nil, comment:match "#[^\n]*"
end

local function has_avx512()
    local file = io.open "/proc/cpuinfo"
    local text = file and file:read "a" or ""
    if file then file:close() end
    return text:find("avx512f", 1, true) ~= nil
end

---Python in the environment that suits its libraries best: an allocator that keeps its pages, all
---of the processor.
---@param path string
---@return string command
function running.python(path)
    return "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE MALLOC_MMAP_THRESHOLD_=4294967296 "
        .. "MALLOC_TRIM_THRESHOLD_=8589934592 "
        .. (has_avx512() and "ATEN_CPU_CAPABILITY=avx512 " or "") .. running.quoted(path)
end

---@param path string
---@return string[] lines that were recorded
---@return fun(...) record writes its arguments as a line
function running.recorder(path)
    local file = assert(io.open(path, "w"))
    local lines = {}
    return lines, function(...)
        local line = table.concat({ ... }, "\t")
        lines[#lines + 1] = line
        file:write(line, "\n")
        file:flush()
    end
end

---Records what the processor could do, on 1 to `most` threads.
---@param program? string c/limits.c, compiled
---@param most integer
---@param record fun(...)
---@param errors_path string
function running.limits(program, most, record, errors_path)
    if not program then return end
    for threads = 1, most do
        for line in (running.output_of(running.quoted(program) .. " " .. threads, errors_path)
            or ""):gmatch "[^\n]+" do
            record("limit", line)
        end
    end
end

---@param paths string[]
---@return string[] lines of all of them
function running.lines_of(paths)
    local lines = {}
    for _, path in ipairs(paths) do
        for line in io.lines(path) do lines[#lines + 1] = line end
    end
    return lines
end

---Writes a table to directory/table.md and to standard output.
function running.publish(directory, text)
    local file = assert(io.open(directory .. "/table.md", "w"))
    file:write(text)
    file:close()
    io.write(text)
end

return running
