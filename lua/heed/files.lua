--- Files read and written whole, with the world's failures as nil and a message.

local core = require "heed.core"

local files = {}

---The bytes of a file.
---@param path string
---@return string|nil bytes nil when it cannot be read
---@return string? message
function files.read(path)
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    local bytes, read_message = file:read("a")
    file:close()
    if not bytes then return nil, ("%s: %s"):format(path, read_message or "cannot be read") end
    return bytes
end

---Can it be opened?
---@param path string
---@return boolean
function files.exists(path)
    local file = io.open(path, "rb")
    if file then file:close() end
    return file ~= nil
end

---The first bytes of a file, fewer where it has not so many.
---@param path string
---@param count integer
---@return string|nil bytes nil when it cannot be read
---@return string? message
---@return integer? code of the system's error
function files.beginning(path, count)
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    local bytes, problem, code = file:read(count)
    file:close()
    if bytes or not problem then return bytes or "" end
    return nil, ("%s: %s"):format(path, problem), code
end

---Replaces a file whole or not at all: written beside, synced, renamed.
---@param path string
---@param bytes string
---@return true|nil ok nil when it could not be written; the old file is untouched
---@return string? message
files.write = core.replace_file

return files
