--- Typing at the heed command on a terminal of its own (spec/support/terminal.c).
local command = require "spec.support.command"
local shell = require "spec.support.shell"

local typing = {}

--- A home that is gone when the variable is closed.
function typing.home()
    local path = shell.lines "mktemp -d"[1]
    return setmetatable({ path = path }, { __close = function() os.execute("rm -rf " .. path) end })
end

--- @param home { path: string }
--- @return string what the history file holds
function typing.remembered(home)
    local file = io.open(home.path .. "/.heed_history")
    if not file then return "" end
    local text = file:read "a"
    file:close()
    return text
end

--- The words of a shell that play these steps.
--- @param steps string[]
--- @param options? { home?: { path: string }, environment?: string, arguments?: string }
--- @return string words
--- @return string path of the steps
function typing.words(steps, options)
    options = options or {}
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(table.concat(steps, "\n"), "\n")
    file:close()
    return ("env HOME=%s TERM=xterm NO_COLOR=1 LC_ALL=C.UTF-8 env %s %s %s %s <%s"):format(
        options.home and options.home.path or "/nonexistent", options.environment or "",
        shell.quote(shell.build .. "/tests/terminal"), shell.quote(command.path),
            options.arguments or "", path), path
end

--- What a person sees who does these steps.
--- @param steps string[]
--- @param options? { home?: { path: string }, environment?: string, arguments?: string }
--- @return string output
--- @return integer status
function typing.at_terminal(steps, options)
    local words, path = typing.words(steps, options)
    local output, status = shell.run("exec " .. words .. " 2>&1")
    os.remove(path)
    return output, status
end

--- Can there be terminals here?
function typing.possible() return select(2, typing.at_terminal { "wait > ", "send \\d" }) ~= 125 end

--- Was the command built with libedit?
function typing.edits()
    return shell.run("readelf -dW " .. shell.quote(command.path)):find("libedit", 1, true) ~= nil
end

return typing
