--- Files read and written whole, with the world's failures as nil and a message.

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

---Replaces a file whole or not at all: written beside, then renamed.
---@param path string
---@param bytes string
---@return true|nil ok nil when it could not be written; the old file is untouched
---@return string? message
function files.write(path, bytes)
    local beside = path .. ".part"
    local file, message = io.open(beside, "wb")
    if not file then return nil, message end
    local written, write_message = file:write(bytes)
    local closed, close_message = file:close()
    if not (written and closed) then
        os.remove(beside)
        return nil, ("%s: %s"):format(path, write_message or close_message or "cannot be written")
    end
    local renamed, rename_message = os.rename(beside, path)
    if not renamed then
        os.remove(beside)
        return nil, rename_message
    end
    return true
end

return files
