--- One record of a CSV file (RFC 4180): its fields, of which those in quotes may hold delimiters,
--- quotes written twice, and line ends.

local byte, find, sub = string.byte, string.find, string.sub

local QUOTE = 34

-- Reads on until the quote that ends a field: its text, the line that it ends in, and where it goes
-- on there; nil and a message.
local function quoted(source, line, at, first)
    local parts, length = {}, 0
    while true do
        local stop = find(line, '"', at, true)
        local piece = sub(line, at, stop and stop - 1)
        parts[#parts + 1], length = piece, length + #piece + 1
        if length > source.max_line then
            return nil, ("%s:%d: a field of more than %d bytes (max_line): is a quote missing?")
                :format(source.path, first, source.max_line)
        elseif not stop then
            parts[#parts + 1], at = "\n", 1
            line = source:read_with_cr()
            if not line then
                return nil, source.message or ("%s:%d: a quoted field without an end"):format(
                    source.path, first)
            end
        elseif byte(line, stop + 1) == QUOTE then
            parts[#parts + 1], at = '"', stop + 2
        else
            return table.concat(parts), line, stop + 1
        end
    end
end

-- The rest of a line is its end.
local function is_end(line, at) return at > #line or at == #line and byte(line, at) == 13 end

-- The fields of the record that begins with this line.
local function fields_of(source, line, delimiter)
    local fields, n, at, first = {}, 0, 1, source.number
    while true do
        n = n + 1
        if byte(line, at) == QUOTE then
            local text, last, after = quoted(source, line, at + 1, first)
            if not text then return nil, last end
            fields[n], line, at = text, last, after
            if is_end(line, at) then return fields end
            if sub(line, at, at) ~= delimiter then
                return nil, ('%s:%d: field %d: expected a delimiter after the quote, got %q; a '
                    .. 'quote in a quoted field is written twice'):format(source.path, first, n,
                    sub(line, at, at))
            end
        else
            local stop = find(line, delimiter, at, true)
            if not stop then
                if byte(line, #line) == 13 then line = sub(line, 1, -2) end
                fields[n] = sub(line, at)
                return fields
            end
            fields[n], at = sub(line, at, stop - 1), stop
        end
        at = at + 1
    end
end

---The next record; empty lines are passed over.
---@param source heed.data.Reader
---@param delimiter string one byte
---@return string[]|nil fields nil at the end, and with a message
---@return integer|string|nil offset bytes before it; or the message
---@return integer|nil number its first line
local function record(source, delimiter)
    local line, offset
    repeat line, offset = source:read_with_cr() until line ~= "" and line ~= "\r"
    if not line then return nil, source.message end
    local number = source.number
    local fields, message = fields_of(source, line, delimiter)
    if not fields then return nil, message end
    return fields, offset, number
end

return record
