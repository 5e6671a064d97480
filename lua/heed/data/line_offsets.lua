--- Where the lines of a file begin, six bytes a line: what an index holds instead of the text.

local errors = require "heed.errors"
local reader = require "heed.data.reader"

---@class heed.data.Offsets
---@field path string
---@field size integer bytes of the file
---@field count integer lines
---@field private file file*
---@field private max_line integer
local Offsets = {}
Offsets.__index = Offsets

local WIDTH, FORMAT = 6, "<I6"
local AT_ONCE = 4096 -- lines in a piece

---Reads a file once.
---@param path string
---@param max_line integer
---@param keep fun(line: string, number: integer): boolean|nil, string? is it to be in the index;
---nil and a message: give up
---@return heed.data.Offsets|nil
---@return string? message
local function offsets(path, max_line, keep)
    local source, message = reader.open(path, max_line)
    if not source then return nil, message end
    if not source.file:seek "end" then
        source:close()
        return nil, path .. ": expected a file that can be read anywhere, got a pipe or the like"
    end
    source:go(0, 0)
    local self = setmetatable({ path = path, file = source.file, size = source.size,
        max_line = max_line, count = 0, pieces = {} },
        Offsets)
    local piece = {}
    local function seal()
        self.pieces[#self.pieces + 1] = table.concat(piece)
        piece = {}
    end
    for line, offset in source.read, source do
        if offset >= self.size then break end -- of a file that grows, what was there
        local wanted, why = keep(line, source.number)
        if wanted == nil then
            source.message = why
            break
        end
        if wanted then
            self.count = self.count + 1
            piece[#piece + 1] = string.pack(FORMAT, offset)
            if #piece == AT_ONCE then seal() end
        end
    end
    if source.message then
        source:close()
        return nil, source.message
    end
    seal()
    return self
end

local function offset_of(self, i)
    if i > self.count then return self.size end
    local piece, place = (i - 1) // AT_ONCE, (i - 1) % AT_ONCE
    return (string.unpack(FORMAT, self.pieces[piece + 1], place * WIDTH + 1))
end

---Line i, read from the file.
---@param i integer 1 to count
---@return string
function Offsets:line(i)
    local first = offset_of(self, i)
    local room = math.min(offset_of(self, i + 1) - first, self.max_line + 2)
    if io.type(self.file) ~= "file" then errors.raise("%s: the index was closed", self.path) end
    self.file:seek("set", first)
    local text = room > 0 and self.file:read(room) or ""
    local stop = text:find("\n", 1, true)
    if #text < room or (not stop and first + room < self.size) then
        errors.raise("%s: it is no longer the file that was indexed", self.path)
    end
    return reader.without_cr(stop and text:sub(1, stop - 1) or text)
end

function Offsets:close() if io.type(self.file) == "file" then self.file:close() end end

return offsets
