local check = require "heed.check"
local files = require "heed.files"

---The lines of a text file, without their line ends (LF or CRLF).
---@param path string
---@return string[]|nil
---@return string? message
local function lines(path)
    check.type("lines", "path", path, "string")
    local text, message = files.read(path)
    if not text then return nil, message end
    if text:find "[^\n]$" then text = text .. "\n" end -- a last line without an end
    local list = {}
    for line in text:gmatch "([^\n]*)\n" do list[#list + 1] = line:sub(-1) == "\r" and line:sub(1, -2) or line end
    return list
end

return lines
