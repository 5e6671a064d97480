--- The `heed` command of the build under test, run from specs.
local shell = require "spec.support.shell"

local command = { path = shell.build .. "/heed" }

--- Runs it with arguments and standard input. Nothing of the environment but what is named gets
--- through.
--- @param arguments string as a shell reads them
--- @param input string?
--- @param environment string? NAME=value words for a shell
--- @return string output
--- @return string errors
--- @return integer status
function command.run(arguments, input, environment)
    local input_path, errors_path = os.tmpname(), os.tmpname()
    local file = assert(io.open(input_path, "wb"))
    file:write(input or "")
    file:close()
    local sanitizer = ""
    for _, name in ipairs { "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS" } do
        local value = os.getenv(name)
        if value then sanitizer = sanitizer .. " " .. name .. "=" .. shell.quote(value) end
    end
    local output, status = shell.run(table.concat({
        "exec env -i --default-signal=INT PATH=/usr/bin:/bin", sanitizer, environment or "",
            shell.quote(command.path),
        arguments, "<", input_path, "2>", errors_path,
    }, " "))
    local errors = shell.read(errors_path)
    os.remove(input_path)
    os.remove(errors_path)
    return output, errors, status
end

--- Runs a script of this text.
--- @param text string
--- @param arguments string?
--- @param input string?
function command.script(text, arguments, input)
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    local output, errors, status = command.run(path .. " " .. (arguments or ""), input)
    os.remove(path)
    return output, errors, status, path
end

return command
