--- One record of a CSV file (RFC 4180): its fields, of which those in quotes may hold delimiters,
--- quotes written twice, and line ends.

local byte, find, match, sub = string.byte, string.find, string.match, string.sub

local QUOTE = 34

local record = {}

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

-- Without the blanks behind a text, if they do not count.
local function trimmed(text, blanks)
    return blanks and match(text, "^(.-)[ \t]*$") or text
end

-- The rest of a line is its end.
local function is_end(line, at) return at > #line or at == #line and byte(line, at) == 13 end

-- What stands behind a quote that ends a field, and is neither a delimiter nor an end.
local function behind_quote(source, first, n, line, at)
    local got = sub(line, at, at)
    return ("%s:%d: field %d: expected a delimiter after the quote, got %q; %s"):format(source.path,
        first, n, got, find(got, "[ \t]") and "trim = true passes over blanks"
        or "a quote in a quoted field is written twice")
end

-- The fields of the record that begins with this line.
local function fields_of(source, line, delimiter, blanks)
    local fields, n, at, first = {}, 0, 1, source.number
    while true do
        n = n + 1
        if blanks then at = match(line, blanks, at) end
        if byte(line, at) == QUOTE then
            local text, last, after = quoted(source, line, at + 1, first)
            if not text then return nil, last end
            fields[n], line, at = text, last, after
            if blanks then at = match(line, blanks, at) end
            if is_end(line, at) then return fields end
            if sub(line, at, at) ~= delimiter then
                return nil, behind_quote(source, first, n, line, at)
            end
        else
            local stop = find(line, delimiter, at, true)
            if not stop then
                if byte(line, #line) == 13 then line = sub(line, 1, -2) end
                fields[n] = trimmed(sub(line, at), blanks)
                return fields
            end
            fields[n], at = trimmed(sub(line, at, stop - 1), blanks), stop
        end
        at = at + 1
    end
end

---A pattern of the blanks around fields, and the place behind them.
---@param delimiter string which is none of them
---@return string
function record.blanks(delimiter)
    return ({ [" "] = "^\t*()", ["\t"] = "^ *()" })[delimiter] or "^[ \t]*()"
end

---The next record; empty lines are passed over.
---@param source heed.data.Reader
---@param delimiter string one byte
---@param blanks? string as record.blanks gave it: they do not count
---@return string[]|nil fields nil at the end, and with a message
---@return integer|string|nil offset bytes before it; or the message
---@return integer|nil number its first line
function record.read(source, delimiter, blanks)
    local line, offset
    repeat line, offset = source:read_with_cr() until line ~= "" and line ~= "\r"
    if not line then return nil, source.message end
    local number = source.number
    local fields, message = fields_of(source, line, delimiter, blanks)
    if not fields then return nil, message end
    return fields, offset, number
end

return record
