--- The lines of a file one after another, read in blocks, no line longer than a bound: what files
--- larger than memory are read by.

local check = require "heed.check"
local errors = require "heed.errors"

local find, sub = string.find, string.sub

---@class heed.data.Reader
---@field path string
---@field size integer bytes of the file; 0 when it cannot say
---@field number integer lines read so far
---@field message string|nil why nothing more comes, when it is not the end
---@field private file file*
---@field private max_line integer
local Reader = {}
Reader.__index = Reader

local reader = {}

local BLOCK = 1 << 16
local MAX_LINE = 1 << 20

---The bound that an option max_line gives, in bytes.
---@param where string for messages
---@param value? integer default 2^20
---@return integer
function reader.max_line(where, value)
    return check.integer(where, "max_line", value or MAX_LINE)
end

---@param path string
---@param max_line integer
---@return heed.data.Reader|nil
---@return string? message
function reader.open(path, max_line)
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    local size = file:seek "end" -- a pipe has none
    if size then
        file:seek "set"
        local _, why = file:read(0) -- a directory opens, and cannot be read
        if why then
            file:close()
            return nil, ("%s: %s"):format(path, why)
        end
    end
    return setmetatable({
        path = path, file = file, size = size or 0, max_line = max_line, block = "", at = 1,
            before = 0, number = 0,
    }, Reader)
end

---@param line string
---@return string
function reader.without_cr(line) return sub(line, -1) == "\r" and sub(line, 1, -2) or line end

local BYTE_ORDER_MARK = "\xEF\xBB\xBF" -- some editors write it before UTF-8; it is no text

---The next line is longer than max_line: the message, which stays.
---@return string
function Reader:too_long()
    self.message = ("%s:%d: a line of more than %d bytes (max_line): is this a file of text?")
        :format(self.path, self.number + 1, self.max_line)
    return self.message
end

-- So many bytes, or fewer at the end; nil when there is none, or reading failed: then there is a
-- message.
local function read_block(self, size)
    if io.type(self.file) ~= "file" then errors.raise("%s: the file was closed", self.path) end
    local block, message = self.file:read(size)
    if not block and message then self.message = ("%s: %s"):format(self.path, message) end
    return block
end

-- The next block; false at the end or when reading failed (then there is a message).
local function refill(self)
    local block = read_block(self, BLOCK)
    self.before, self.at = self.before + #self.block, 1
    self.block = block or ""
    if self.before == 0 and sub(self.block, 1, 3) == BYTE_ORDER_MARK then self.at = 4 end
    return block ~= nil
end

---More of the file behind what is left of the block. For what may be long, at least as much again:
---it is read few times over.
---@return boolean more false at the end, and when `message` is set
function Reader:extend()
    local left = sub(self.block, self.at)
    if left == "" then return refill(self) end
    local block = read_block(self, math.max(BLOCK, #left))
    if not block then return false end
    self.before, self.at, self.block = self.before + self.at - 1, 1, left .. block
    return true
end

local function finish(self, parts, last)
    self.number = self.number + 1
    if parts then
        parts[#parts + 1] = last
        last = table.concat(parts)
    end
    return reader.without_cr(last)
end

---The next line without its end (LF or CRLF); nil at the end of the file, and when `message` is
---set.
---@return string|nil line
---@return integer|nil offset bytes before it
function Reader:read()
    if self.message or self.block == "" and not refill(self) then return nil end
    local offset, length, parts = self:offset(), 0, nil
    while true do
        local stop = find(self.block, "\n", self.at, true)
        local piece = sub(self.block, self.at, stop and stop - 1)
        length = length + #piece
        -- The CR of a line's end does not count; of a line that goes on it may be one.
        local tail = piece == "" and parts and parts[#parts] or piece
        local may_be_cr = (not stop or sub(tail, -1) == "\r") and 1 or 0
        if length - may_be_cr > self.max_line then
            self:too_long()
            return nil
        elseif stop then
            self.at = stop + 1
            return finish(self, parts, piece), offset
        end
        parts = parts or {}
        parts[#parts + 1] = piece
        if not refill(self) then
            if self.message or length == 0 then return nil end
            return finish(self, parts, ""), offset
        end
    end
end

---Bytes before the next line.
---@return integer
function Reader:offset() return self.before + self.at - 1 end

---The next line is the one at that offset. What can be read only once (a pipe) says so in
---`message`, unless it is there already.
---@param offset integer
---@param number integer lines before it
function Reader:go(offset, number)
    self.number, self.message = number, nil
    if self.file:seek("set", offset) then
        self.before, self.block, self.at = offset, "", 1
    elseif self:offset() ~= offset then
        self.message = self.path .. ": it can be read only once (a pipe or the like)"
    end
end

---Can `go` lead back?
---@return boolean
function Reader:goes_back() return self.file:seek "cur" ~= nil end

function Reader:close() if io.type(self.file) == "file" then self.file:close() end end

return reader
