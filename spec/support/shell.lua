--- Files of the tree and commands of the system, for the specs that look at the project from
--- outside.
local shell = {}

--- @param text string
--- @return string the text as one word of a shell's command line
function shell.quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

--- Standard output, and standard error after it where the command says 2>&1.
--- @param command string
--- @return string output
--- @return integer status exit status; 128 + the number of a signal
function shell.run(command)
    local pipe = assert(io.popen(command, "r"))
    local output = pipe:read "a"
    local _, how, code = pipe:close()
    return output, how == "signal" and 128 + code or code
end

--- @param command string
--- @return string[] its lines; an error when it fails
function shell.lines(command)
    local output, status = shell.run(command)
    assert(status == 0, command .. ": exit status " .. status)
    local list = {}
    for line in output:gmatch "[^\n]+" do list[#list + 1] = line end
    return list
end

--- @param path string
--- @return string
function shell.read(path)
    local file <close> = assert(io.open(path, "rb"))
    return file:read "a"
end

--- The files under some folders whose names match a shell pattern, sorted.
--- @param folders string
--- @param pattern string
--- @return string[]
function shell.files(folders, pattern)
    return shell.lines("find " .. folders .. " -type f -name " .. shell.quote(pattern)
        .. " | LC_ALL=C sort")
end

--- Where the build under test is: CMake's tests say it.
shell.build = os.getenv "HEED_BUILD" or "build"

return shell
