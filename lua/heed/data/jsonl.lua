local check = require "heed.check"
local errors = require "heed.errors"
local json = require "heed.json"
local reader = require "heed.data.reader"
local stream = require "heed.data.stream"

local WHERE = "heed.data.jsonl"
local KNOWN = check.set("shuffle", "seed", "max_line")

local function next_value(sources)
    local source = sources[1]
    local line, offset
    repeat line, offset = source:read() until not line or line:find "[^ \t\r]"
    if source.message then errors.raise("%s", source.message) end
    if not line then return nil end
    local value, message = json.decode(line)
    if message then
        errors.raise("%s:%d: %s", source.path, source.number, (message:gsub("^line 1, ", "")))
    end
    return value, offset
end

---The values of a file of JSON lines, a value a line, one pass after another: a stream as
---heed.data.line_stream is, and examples for heed.data.batches. It holds no more than the buffer.
---
---Lines of blanks are passed over. What a value becomes is said at heed.json.decode; of a line that
---is not JSON the error names file, line and column.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write '{"tokens": [5, 6], "label": 1}\n{"tokens": [7], "label": 2}\n'
---file:flush()
---local rows <close> = assert(heed.data.jsonl(path))
---for row in rows do print(row.label, #row.tokens) end
---for batch in heed.data.batches(rows, { size = 2, value = 0 }) do
---    print(batch.tokens, batch.label) --> [[5, 6], [7, 0]] i64 [2, 2] [1, 2] i64 [2]
---end
---os.remove(path)
---```
---@param path string
---@param options? { shuffle?: integer, seed?: integer, max_line?: integer } shuffle: values in the
---buffer of which the next is drawn, default 0: in the file's order; seed: of the draws, default 1;
---max_line: bytes of the longest line there may be, default 2^20
---@return heed.data.Stream|nil
---@return string? message
local function jsonl(path, options)
    check.type(WHERE, "path", path, "string")
    options = check.options(WHERE, options, KNOWN)
    local source, message = reader.open(path, reader.max_line(WHERE, options.max_line))
    if not source then return nil, message end
    return stream.of(WHERE, { source }, next_value, options)
end

return jsonl
