-- A process that answers each line that it is sent with one line. It is started when it is first
-- asked, and again after it died.

local running = require "running"

local Server = {}
Server.__index = Server

local server = {}

---@param name string
---@param command string reads its standard input, says "about ..." first
---@param directory string for a named pipe and what it writes to standard error
function server.new(name, command, directory)
    local place = directory .. "/" .. name
    return setmetatable({ name = name, command = command, pipe = place .. ".pipe",
        errors = place .. ".err" }, Server)
end

function Server:start()
    os.remove(self.pipe)
    assert(os.execute("mkfifo " .. running.quoted(self.pipe)))
    self.output = assert(io.popen(("exec %s <%s 2>>%s"):format(self.command,
        running.quoted(self.pipe), running.quoted(self.errors))))
    self.input = assert(io.open(self.pipe, "w")) -- waits for the shell to open its end
    local line = self.output:read "l"
    self.about = line and line:match "^about (.*)" or self.about
    if not line then self:forget() end
    return line
end

---@param question string
---@return string answer "failed ..." when the process is dead
function Server:ask(question)
    if not self.output and not self:start() then
        return "failed it does not start; see " .. self.errors
    end
    self.input:write(question, "\n")
    self.input:flush()
    local answer = self.output:read "l"
    if answer then return answer end
    self:forget()
    return "failed it ended; see " .. self.errors
end

-- It is told to end: to close the pipe is not enough, because processes started later have it open
-- too.
function Server:stop()
    if not self.output then return end
    self.input:write "quit\n"
    self:forget()
end

function Server:forget()
    self.input:close()
    self.output:close()
    self.input, self.output = nil, nil
    os.remove(self.pipe)
    local errors = io.open(self.errors)
    local silent = errors and errors:seek "end" == 0
    if errors then errors:close() end
    if silent then os.remove(self.errors) end
end

return server
