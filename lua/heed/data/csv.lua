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

-- Of a record that has more fields or fewer.
local function record_hint(form, fields)
    for _, text in ipairs(form.blanks and {} or fields) do
        if text:find '^[ \t]+"' then
            return "; a quote behind a blank is text, as in RFC 4180: trim = true passes over "
                .. "blanks"
        end
    end
    return ""
end

-- The next record, of as many fields as there are columns, the offset before it and its line; nil
-- at the end, and with a message.
local function next_record(form, source)
    local fields, offset, number = record.read(source, form.delimiter, form.blanks)
    if not fields or #fields == #form.names then return fields, offset, number end
    return nil, ("%s:%d: expected %d fields, got %d%s"):format(source.path, number, #form.names,
        #fields, record_hint(form, fields))
end

local function misfit(form, text, name, path, number)
    local kind = form.types[name]
    local hint = form.guessed[name] and ("; by the first rows it is one: give types, "
        .. "{ [%q] = \"string\" } or \"number\""):format(name)
        or kind == "integer" and form.missing[text]
        and "; a column of type number takes it as NaN" or ""
    return ("%s:%d: column %s: expected %s, got %s%s"):format(path, number, name,
        kind == "integer" and "an integer" or "a number", check.describe(text), hint)
end

-- The next row, { name = value }, and the offset of its record; nil at the end, and with a message.
local function next_row(form, source)
    local fields, offset, number = next_record(form, source)
    if not fields then return nil, offset end
    local row, names, read = {}, form.names, form.read
    for i = 1, #names do
        local value = read[i](fields[i])
        if value == nil then
            return nil, misfit(form, fields[i], names[i], source.path, number)
        end
        row[names[i]] = value
    end
    return row, offset
end

-- ---- the form of a file -------------------------------------------------------------------------

-- The names of the columns, of the header or of the first record, where the rows begin.
local function names_of(source, form, header)
    if type(header) == "table" then return header end
    local offset, number = source:offset(), source.number
    local fields, message = record.read(source, form.delimiter, form.blanks)
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
    for _ = 1, GUESSED do
        local fields, message = next_record(form, source)
        if not fields then
            if message then return nil, message end
            break
        end
        for i, name in ipairs(form.names) do
            if open[name] then table.insert(open[name], fields[i]) end
        end
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
        missing = csv_types.missing(WHERE, options.missing) }
    if check.flag(WHERE, "trim", options.trim, false) then
        form.blanks = record.blanks(form.delimiter)
    end
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
    local readers = csv_types.readers(form.missing)
    form.read = {}
    for i, name in ipairs(form.names) do form.read[i] = readers[form.types[name]] end
    return form
end

-- ---- columns ------------------------------------------------------------------------------------

local PACKED = { integer = "<i8", number = "<d" }
local DTYPES = { integer = "i64", number = "f64" }
local AT_ONCE = 4096 -- rows in a piece

-- One after another, the values of a column: a list of texts, or numbers as bytes.
local function collector(kind)
    local list, pieces = {}, {}
    if kind == "string" then
        return function(value) list[#list + 1] = value end, function() return list end
    end
    local function seal()
        pieces[#pieces + 1] = table.concat(list)
        list = {}
    end
    local format, pack, count = PACKED[kind], string.pack, 0
    return function(value)
        count = count + 1
        list[#list + 1] = pack(format, value)
        if #list == AT_ONCE then seal() end
    end, function()
        seal()
        return core.frombytes(table.concat(pieces), DTYPES[kind], { count })
    end
end

-- Gives the values of each record to put[column] of the columns that have one; a message when one
-- does not fit.
local function each_field(form, source, put)
    local read = form.read
    while true do
        local fields, offset, number = next_record(form, source)
        if not fields then return offset end
        for i = 1, #read do
            local use = put[i]
            if use then
                local value = read[i](fields[i])
                if value == nil then
                    return misfit(form, fields[i], form.names[i], source.path, number)
                end
                use(value)
            end
        end
    end
end

-- These columns of all rows, read from the file by itself.
local function read_columns(self, names)
    local source, message = reader.open(self.sources[1].path, self.sources[1].max_line)
    if not source then return nil, message end
    local put, take, wanted = {}, {}, {}
    for _, name in ipairs(names) do wanted[name] = true end
    for i, name in ipairs(self.names) do
        if wanted[name] then put[i], take[name] = collector(self.types[name]) end
    end
    source:go(self.form.first.offset, self.form.first.number)
    message = source.message or each_field(self.form, source, put)
    source:close()
    if message then return nil, message end
    local columns = {}
    for _, name in ipairs(names) do columns[name] = take[name]() end
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
    local function next_example(sources)
        local row, offset = next_row(form, sources[1])
        if row then return row, { offset } end
        if offset then errors.raise("%s", offset) end
    end
    local self = stream.of(WHERE, { source }, next_example, options, form.first)
    self.form, self.names, self.types = form, form.names, form.types
    return setmetatable(self, Rows)
end

return csv
