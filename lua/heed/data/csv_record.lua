--- The next record of a CSV file, in the blocks that a reader has, and what is wrong with it.

local PROBLEMS = {
    long_field = function(source)
        return ("a field of more than %d bytes (max_line): is a quote missing?"):format(
            source.max_line)
    end,
    no_end = function() return "a quoted field without an end" end,
    after_quote = function(_, n, got)
        return ("field %d: expected a delimiter after the quote, got %q; %s"):format(n, got,
            got:find "[ \t]" and "trim = true passes over blanks"
            or "a quote in a quoted field is written twice")
    end,
}

-- What is wrong, of the problem and its details that `read` gave. The reader stands behind it.
local function failure(source, number, explain, start, problem, a, b)
    if problem == "end" then return nil end
    if problem == "long_line" then return source:too_long() end
    local text = PROBLEMS[problem] and PROBLEMS[problem](source, a, b)
        or explain(source, start, problem, a, b)
    return ("%s:%d: %s"):format(source.path, number, text)
end

-- As record, of the block that is at hand or, after the first try, of as much more as is needed.
local function take(source, read, explain, is_last)
    local value, at, lines, start, first, problem, a, b = read(source.block, source.at, is_last)
    local number = source.number
    source.at, source.number = at, number + lines
    if value then return value, source.before + start - 1 end
    if problem ~= "more" then
        return nil, failure(source, number + first, explain, start, problem, a, b)
    end
    local more = source:extend()
    if source.message then return nil, source.message end
    return take(source, read, explain, not more)
end

---The next record; empty lines are passed over.
---@param source heed.data.Reader
---@param read function one that heed.core makes: csv_texts, csv_rows, csv_columns
---@param explain? fun(source: heed.data.Reader, start: integer, problem: string, ...): string what
---is wrong with a record in the block, of too many or too few fields ("count", expected, got) or
---with one that is not of its column ("column", which, its text)
---@return any value what read makes of the record; nil at the end, and with a message
---@return integer|string|nil offset bytes before it; or the message
local function record(source, read, explain)
    if source.message then return nil, source.message end
    return take(source, read, explain, false)
end

return record
