local check = require "heed.check"
local reader = require "heed.data.reader"

---The lines of a text file, without their line ends (LF or CRLF), as a list in memory.
---
---A byte order mark before the first line is passed over. A named pipe is waited for until somebody
---writes into it. Files larger than memory: heed.data.line_index, heed.data.line_stream.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "one\ntwo\n"
---file:flush()
---print(#heed.data.lines(path), heed.data.lines(path)[2]) --> 2 two
---print(heed.data.lines "nowhere.txt") --> nil nowhere.txt: No such file or directory
---os.remove(path)
---```
---@param path string
---@param options? { max_line?: integer } bytes of the longest line there may be (default 2^20):
---what is no text ends early
---@return string[]|nil
---@return string? message
local function lines(path, options)
    check.type("heed.data.lines", "path", path, "string")
    options = check.options("heed.data.lines", options, { max_line = true })
    local source, message = reader.open(path, reader.max_line("heed.data.lines", options.max_line))
    if not source then return nil, message end
    local list = {}
    for line in source.read, source do list[#list + 1] = line end
    source:close()
    if source.message then return nil, source.message end
    return list
end

return lines
