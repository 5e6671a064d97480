local check = require "heed.check"
local core = require "heed.core"
local csv_types = require "heed.data.csv_types"
local errors = require "heed.errors"
local no_list = require "heed.data.no_list"
local reader = require "heed.data.reader"
local record = require "heed.data.csv_record"
local stream = require "heed.data.stream"

local WHERE = "heed.data.csv"
local KNOWN = check.set("header", "types", "missing", "delimiter", "trim", "skip", "shuffle",
    "seed", "max_line")
local TYPES = { "integer", "number", "string" }
local GUESSED = 1000 -- records that types are guessed by

---The rows of a CSV file: a stream, and whole columns.
---@class heed.data.Rows: heed.data.Stream
---@field names (string|integer)[] of the columns, in order; their numbers without a header
---@field types table<string|integer, "integer"|"number"|"string"> by name
---@field private form table how a row is made of a record
local Rows = {}
for name, value in pairs(stream.Stream) do Rows[name] = value end
Rows.__index, Rows.__len = Rows, nil

-- ---- rows ---------------------------------------------------------------------------------------

-- The text of a field that is not of its column.
local function misfit(form, column, text)
    local name = form.names[column]
    local kind = form.types[name]
    local hint = form.guessed[name] and ("; by the first rows it is one: give types, "
        .. "{ [%q] = \"string\" } or \"number\""):format(name)
        or kind == "integer" and form.missing[text]
        and "; a column of type number takes it as NaN" or ""
    return ("column %s: expected %s, got %s%s"):format(name,
        kind == "integer" and "an integer" or "a number", check.describe(text), hint)
end

-- Of a record that has more fields or fewer.
local function record_hint(form, fields)
    for _, text in ipairs(form.trim and {} or fields) do
        if text:find '^[ \t]+"' then
            return "; a quote behind a blank is text, as in RFC 4180: trim = true passes over "
                .. "blanks"
        end
    end
    return ""
end

-- What is wrong with a record of the form; for record.
local function explainer(form)
    return function(source, start, problem, a, b)
        if problem == "column" then return misfit(form, a, b) end
        local fields = form.texts(source.block, start, true)
        return ("expected %d fields, got %d%s"):format(a, b, record_hint(form, fields))
    end
end

-- The types of the columns in their order; false for those that are not wanted.
local function kinds_of(form, wanted)
    local kinds = {}
    for i, name in ipairs(form.names) do
        kinds[i] = (not wanted or wanted[name]) and form.types[name] or false
    end
    return kinds
end

local function missing_list(form)
    local list = {}
    for text in pairs(form.missing) do list[#list + 1] = text end
    return list
end

-- ---- the form of a file -------------------------------------------------------------------------

-- The names of the columns, of the header or of the first record, where the rows begin.
local function names_of(source, form, header)
    if type(header) == "table" then return header end
    local offset, number = source:offset(), source.number
    local fields, message = record(source, form.texts)
    if not fields then
        return nil, message or source.path .. ": expected a header, the file is empty"
    end
    local names, seen = {}, {}
    for i, text in ipairs(fields) do
        local name = header and (text == "" and "column_" .. i or text) or i
        if seen[name] then
            return nil, ("%s:%d: two columns are called %q; skip = 1 and header = { names } name "
                .. "them"):format(source.path, number + 1, name)
        end
        names[i], seen[name] = name, true
    end
    if not header then
        if not source:goes_back() then
            return nil, source.path .. ": a pipe is read once: give header = { names }"
        end
        source:go(offset, number)
    end
    return names
end

-- The types that were not given, by the first records.
local function guess_types(source, form)
    local open = {}
    for _, name in ipairs(form.names) do
        if not form.types[name] then open[name] = {} end
    end
    if next(open) == nil then return true end
    if not source:goes_back() then
        return nil, source.path .. ": a pipe is read once, not to guess by: give types of all "
            .. "columns"
    end
    local all = {}
    for i in ipairs(form.names) do all[i] = "string" end
    local read = core.csv_rows(form.delimiter, source.max_line, form.trim, form.names, all, {})
    for _ = 1, GUESSED do
        local fields, message = record(source, read, explainer(form))
        if not fields then
            if message then return nil, message end
            break
        end
        for name, texts in pairs(open) do texts[#texts + 1] = fields[name] end
    end
    for name, texts in pairs(open) do
        form.types[name], form.guessed[name] = csv_types.guess(texts, form.missing), true
    end
    return true
end

local function check_types(types, names)
    if types == nil then return {} end
    local given = {}
    if type(types) == "string" then
        check.one_of(WHERE, "types", types, TYPES)
        for _, name in ipairs(names) do given[name] = types end
        return given
    end
    check.type(WHERE, "types", types, "table")
    local known = {}
    for _, name in ipairs(names) do known[name] = true end
    for name, kind in pairs(types) do
        if not known[name] then
            errors.raise("%s: types: there is no column %s", WHERE, check.describe(name))
        end
        given[name] = check.one_of(WHERE, ("types.%s"):format(name), kind, TYPES)
    end
    return given
end

local function check_header(header)
    header = check.default(header, true)
    if type(header) == "boolean" then return header end
    check.type(WHERE, "header", header, "table")
    local seen = {}
    for i, name in ipairs(header) do
        check.type(WHERE, ("header[%d]"):format(i), name, "string")
        if seen[name] then errors.raise("%s: header: %q is given twice", WHERE, name) end
        seen[name] = true
    end
    return header
end

local function check_delimiter(delimiter)
    delimiter = check.type(WHERE, "delimiter", delimiter or ",", "string")
    if #delimiter ~= 1 or delimiter:find '["\r\n]' then
        errors.raise('%s: delimiter: expected one character, as "," or "\\t", got %q', WHERE,
            delimiter)
    end
    return delimiter
end

-- Names, types and where the rows begin; nil and a message.
local function form_of(source, options)
    local form = { delimiter = check_delimiter(options.delimiter), guessed = {},
        missing = csv_types.missing(WHERE, options.missing),
        trim = check.flag(WHERE, "trim", options.trim, false) }
    form.texts = core.csv_texts(form.delimiter, source.max_line, form.trim)
    local header = check_header(options.header)
    for _ = 1, check.integer(WHERE, "skip", options.skip or 0, 0) do source:read() end
    local message
    form.names, message = names_of(source, form, header)
    if not form.names then return nil, message end
    form.types = check_types(options.types, form.names)
    form.first = { offset = source:offset(), number = source.number }
    local ok
    ok, message = guess_types(source, form)
    if not ok then return nil, message end
    form.rows = core.csv_rows(form.delimiter, source.max_line, form.trim, form.names,
        kinds_of(form), missing_list(form))
    return form
end

-- ---- columns ------------------------------------------------------------------------------------

local DTYPES = { integer = "i64", number = "f64" }

-- These columns of all rows, read from the file by itself.
local function read_columns(self, names)
    local source, message = reader.open(self.sources[1].path, self.sources[1].max_line)
    if not source then return nil, message end
    local form, wanted = self.form, {}
    for _, name in ipairs(names) do wanted[name] = true end
    local read, take = core.csv_columns(form.delimiter, source.max_line, form.trim,
        kinds_of(form, wanted), missing_list(form))
    source:go(form.first.offset, form.first.number)
    local _
    _, message = record(source, read, explainer(form))
    source:close()
    if message then return nil, message end
    local columns = {}
    for i, name in ipairs(form.names) do
        if wanted[name] then
            local values, count = take(i)
            local dtype = DTYPES[form.types[name]]
            columns[name] = dtype and core.frombytes(values, dtype, { count }) or values
        end
    end
    return columns
end

local FLOATS = { "f32", "f64" }

local function dtype_of(where, options)
    options = check.options(where, options, { dtype = true })
    return check.one_of(where, "dtype", options.dtype or "f32", FLOATS)
end

---All rows by columns: of integers a tensor i64 [N], of numbers a tensor f32 [N], of text a list.
---It reads the whole file; where the stream stands does not change.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "name,age,weight\nAda,36,54.5\nAlan,41,\n"
---file:flush()
---local columns = assert(heed.data.csv(path)):columns()
---print(columns.name[2], columns.age) --> Alan [36, 41] i64 [2]
---print(columns.weight) --> [54.5000, nan] f32 [2]
---os.remove(path)
---```
---@param options? { dtype?: "f32"|"f64" } of numbers, default "f32"
---@return table<string|integer, heed.Tensor|string[]>|nil columns
---@return string? message names the first line that does not fit
function Rows:columns(options)
    local dtype = dtype_of("heed.data.Rows:columns", options)
    local columns, message = read_columns(self, self.names)
    if not columns then return nil, message end
    for name, kind in pairs(self.types) do
        if kind == "number" then columns[name] = columns[name]:to(dtype) end
    end
    return columns
end

---Columns of numbers beside each other, [N, columns]: the features of a model.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "name,age,weight\nAda,36,54\nAlan,41,70\n"
---file:flush()
---local rows = assert(heed.data.csv(path))
---print(rows:tensor { "age", "weight" }) --> [[36., 54.], [41., 70.]] f32 [2, 2]
---os.remove(path)
---```
---@param names? (string|integer)[] which, in which order; default all that are numbers
---@param options? { dtype?: "f32"|"f64" } default "f32"
---@return heed.Tensor|nil
---@return string? message names the first line that does not fit
function Rows:tensor(names, options)
    local where = "heed.data.Rows:tensor"
    local dtype = dtype_of(where, options)
    if names == nil then
        names = {}
        for _, name in ipairs(self.names) do
            if self.types[name] ~= "string" then names[#names + 1] = name end
        end
    end
    check.type(where, "names", names, "table")
    for _, name in ipairs(names) do
        if not DTYPES[self.types[name]] then
            errors.raise("%s: names: expected columns of numbers, got %s, %s", where,
                check.describe(name), self.types[name] and "a column of text"
                or "which is no column")
        end
    end
    if #names == 0 then errors.raise("%s: names: there is no column of numbers", where) end
    local columns, message = read_columns(self, names)
    if not columns then return nil, message end
    local list = {}
    for i, name in ipairs(names) do list[i] = columns[name]:to(dtype) end
    return core.stack(list, 2)
end

no_list(Rows, "heed.data.Rows", "for row in rows do print(row.label) end",
    "rows:columns() has all rows, by column", true)

-- ---- public -------------------------------------------------------------------------------------

---@class heed.data.CsvOptions
---@field header? boolean|string[] true (the default): the first line has the names of the columns;
---false: it is a row, and columns are called 1, 2, ...; or the names, of a file that has none
---@field types? string|table<string|integer, string> "integer", "number" or "string" for each
---column by name, or one for all; of the others the type is guessed by the first 1000 rows
---@field missing? string[] what stands for no number, default "", "NA", "N/A", "NaN", "nan", "null"
---@field delimiter? string default ","
---@field trim? boolean blanks and tabs at either end of a field are passed over, before and behind
---quotes too, default false: they are text
---@field skip? integer lines before the header, default 0
---@field shuffle? integer rows in the buffer of which the next is drawn, default 0: in the file's
---order
---@field seed? integer of the draws, default 1
---@field max_line? integer bytes of the longest line and field there may be, default 2^20

---The rows of a CSV file as tables { name = value }, one pass after another: a stream as
---heed.data.line_stream is, and examples for heed.data.batches. It holds no more than the buffer;
---`:columns()` and `:tensor()` read all rows at once.
---
---Fields are as in RFC 4180: in quotes they may hold delimiters, line ends, and quotes written
---twice; elsewhere a quote is a quote. Lines end with LF or CRLF; a byte order mark and empty lines
---are passed over. A row of more or fewer fields than the header is an error that names its line,
---and so is text in a column of numbers.
---
---Types are guessed, unless they are given: a column is of integers, of numbers (floats), or of
---text. What is missing in a column of numbers is NaN; text stays as it is. 007 is text.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write 'label,text\nspam,"Win, now!"\nham,See you\n'
---file:flush()
---local rows <close> = assert(heed.data.csv(path))
---for row in rows do print(row.label, row.text) end
---print(rows.names[1], rows.types.text) --> label string
---os.remove(path)
---```
---@param path string
---@param options? heed.data.CsvOptions
---@return heed.data.Rows|nil
---@return string? message
local function csv(path, options)
    check.type(WHERE, "path", path, "string")
    options = check.options(WHERE, options, KNOWN)
    local source, message = reader.open(path, reader.max_line(WHERE, options.max_line))
    if not source then return nil, message end
    local form
    form, message = form_of(source, options)
    if not form then
        source:close()
        return nil, message
    end
    local read, explain = form.rows, explainer(form)
    local function next_example(sources)
        local row, offset = record(sources[1], read, explain)
        if row then return row, offset end
        if offset then errors.raise("%s", offset) end
    end
    local self = stream.of(WHERE, { source }, next_example, options, form.first)
    self.form, self.names, self.types = form, form.names, form.types
    return setmetatable(self, Rows)
end

return csv
