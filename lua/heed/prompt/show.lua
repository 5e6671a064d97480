--- Values as the prompt prints them: bounded, aligned, and a table with what is in it.
---
--- On its own a string is printed as it is, so that pictures and pages come out right; inside a
--- table it is quoted. Whatever has a __tostring prints itself. Nothing else of the value's runs:
--- contents are read raw.

local calls = require "heed.nn.calls"
local inspect = require "heed.prompt.inspect"
local core = require "heed.core"
local width = require "heed.viz.width"

local type, next, rawget, rawlen, tostring, select = type, next, rawget, rawlen, tostring, select
local getinfo, getlocal, getmetatable = debug.getinfo, debug.getlocal, debug.getmetatable
local format, rep, sub, gsub, find, match, byte = string.format, string.rep, string.sub,
    string.gsub, string.find, string.match, string.byte
local concat, sort = table.concat, table.sort
local max, min = math.max, math.min

local LONGEST = 100000  -- bytes of a string on its own
local QUOTED = 200      -- bytes of a string in a table
local ENTRIES = 60      -- of one table
local NESTED = 12       -- of a table inside a table
local DEEPEST = 4       -- tables in tables
local BUDGET = 400      -- entries in all
local SCANNED = 10000   -- keys that are looked at
local NAMES = 400       -- of a module

local ELLIPSIS = "…"

---@class heed.prompt.Printer
---@field private style table
---@field private columns integer
---@field private inside table
local Printer = {}
Printer.__index = Printer

-- A piece of text knows how many columns it takes, colours apart, and whether it is more than one
-- line.
local function piece(plain, colour)
    return { text = colour and colour(plain) or plain, size = width.of(plain),
        lines = find(plain, "\n", 1, true) ~= nil }
end

-- ---- single values ------------------------------------------------------------------------------

local ESCAPES = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ['"'] = '\\"', ["\\"] = "\\\\" }

local function quoted(text)
    local cut = #text > QUOTED
    if cut then text = sub(text, 1, (utf8.offset(text, 0, QUOTED + 1) or QUOTED + 1) - 1) end
    text = gsub(text, '[\n\t\r"\\]', ESCAPES)
    text = gsub(text, "%c", function(c) return format("\\%03d", byte(c)) end)
    if not utf8.len(text) then
        text = gsub(text, "[\x80-\xff]", function(c) return format("\\x%02x", byte(c)) end)
    end
    return '"' .. text .. '"' .. (cut and ELLIPSIS or "")
end

local function parameters(f)
    f = calls.original(f)
    local info, names = getinfo(f, "u"), {}
    for i = 1, info.nparams do names[i] = getlocal(f, i) end
    if info.isvararg then names[#names + 1] = "..." end
    return concat(names, ", ")
end

-- `function string.rep`, `function f(a, b)  input 3:1`.
local function function_text(f)
    local info, name = getinfo(calls.original(f), "S"), inspect.name_of(f)
    if info.what == "C" then return "function " .. (name or match(tostring(f), "0x%x+") or "") end
    local where = name and find(name, "%f[%w]heed%f[^%w]") and "" or format("  %s:%d",
        info.short_src, info.linedefined)
    return format("function %s(%s)%s", name or "", parameters(f), where)
end

local function first_line(text)
    local line = match(text, "^[^\n]*")
    return #line < #text and gsub(line, "%s+$", "") .. " " .. ELLIPSIS or line
end

local function has_text(value)
    local meta = getmetatable(value)
    return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

local function class_text(value)
    if type(value) ~= "table" or not rawget(value, "is_heed_module")
        or type(rawget(value, "class_name")) ~= "string" then
        return nil
    end
    return "class " .. (inspect.name_of(value) or rawget(value, "class_name"))
end

-- How a value reads inside a table; nil for a table whose contents are to be shown.
function Printer:scalar(value)
    local kind, style = type(value), self.style
    if kind == "string" then return piece(quoted(value), style.green) end
    if kind == "function" then return piece(function_text(value), style.cyan) end
    if core.is_tensor(value) then
        local text = tostring(value)
        return piece("tensor " .. (match(text, "([^\n]*)$")), style.cyan)
    end
    if class_text(value) then return piece(class_text(value), style.cyan) end
    if kind == "table" and not has_text(value) then
        local module = inspect.module_name(value)
        return module and piece("module " .. module, style.cyan) or nil
    end
    if kind == "number" or kind == "boolean" or kind == "nil" then return piece(tostring(value)) end
    return piece(first_line(tostring(value)), style.cyan)
end

-- ---- tables -------------------------------------------------------------------------------------

local ORDER = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
    local kind_a, kind_b = type(a), type(b)
    if kind_a ~= kind_b then return (ORDER[kind_a] or 9) < (ORDER[kind_b] or 9) end
    if kind_a == "number" or kind_a == "string" then return a < b end
    return false
end

-- The keys beyond the first `length`, sorted; how many more there are than were looked at is said
-- by `nil`.
local function other_keys(t, length)
    local keys, scanned, complete = {}, 0, true
    for key in next, t do
        if not (math.type(key) == "integer" and key >= 1 and key <= length) then
            scanned = scanned + 1
            if scanned > SCANNED then
                complete = false
                break
            end
            keys[#keys + 1] = key
        end
    end
    sort(keys, before)
    return keys, complete
end

local function list_length(t)
    local length = rawlen(t)
    if length > 0 and rawget(t, 1) ~= nil then return length end
    return 0
end

function Printer:key(key)
    if type(key) == "string" and find(key, "^[%a_][%w_]*$") then return piece(key .. " = ") end
    local inner = self:scalar(key) or piece(first_line(tostring(key)))
    return { text = "[" .. inner.text .. "] = ", size = inner.size + 5, lines = false }
end

-- The entries of a table as pieces; whether it is a list of single values.
function Printer:entries(t, depth, columns)
    local length = list_length(t)
    local keys, complete = other_keys(t, length)
    local most = depth == 1 and ENTRIES or NESTED
    local list, flat = {}, #keys == 0
    local function add(key, value)
        self.left = self.left - 1
        local before_it = key ~= nil and self:key(key)
        local item = self:value(value, depth, columns - 2 - (before_it and before_it.size or 0))
        flat = flat and type(value) ~= "table"
        list[#list + 1] = before_it and { text = before_it.text .. item.text,
            size = before_it.size + item.size, lines = item.lines }
            or item
    end
    local shown = 0
    for i = 1, length do
        if shown >= most or self.left <= 0 then break end
        shown = shown + 1
        add(nil, rawget(t, i))
    end
    for _, key in ipairs(keys) do
        if shown >= most or self.left <= 0 then break end
        shown = shown + 1
        add(key, rawget(t, key))
    end
    local more = length + #keys - shown
    if more > 0 or not complete then
        list[#list + 1] = piece(format("%s %d%s more", ELLIPSIS, more, complete and "" or "+"),
            self.style.dim)
    end
    return list, flat
end

local function on_one_line(list, columns)
    local size, parts = 2, {}
    for i, item in ipairs(list) do
        if item.lines then return nil end
        size = size + item.size + (i > 1 and 2 or 0)
        parts[i] = item.text
    end
    if size > columns then return nil end
    return { text = "{" .. concat(parts, ", ") .. "}", size = size, lines = false }
end

-- A list of single values: columns of one width, as many as fit.
local function in_columns(list, columns)
    local widest = 0
    for _, item in ipairs(list) do
        if item.lines then return nil end
        widest = max(widest, item.size)
    end
    local per_line = (columns - 2) // (widest + 2)
    if per_line < 2 then return nil end
    local lines, line = {}, {}
    for i, item in ipairs(list) do
        local last = i == #list
        line[#line + 1] = rep(" ", last and 0 or widest - item.size) .. item.text
            .. (last and "" or ",")
        if #line == per_line or last then
            lines[#lines + 1] = "  " .. concat(line, " ")
            line = {}
        end
    end
    return "{\n" .. concat(lines, "\n") .. "\n}"
end

local function below_each_other(list)
    local lines = {}
    for i, item in ipairs(list) do
        lines[i] = "  " .. gsub(item.text, "\n", "\n  ") .. (i < #list and "," or "")
    end
    return "{\n" .. concat(lines, "\n") .. "\n}"
end

function Printer:table(t, depth, columns)
    if self.inside[t] then return piece("{" .. ELLIPSIS .. " itself}", self.style.dim) end
    if next(t) == nil then return piece "{}" end
    if depth > DEEPEST or self.left <= 0 then
        return piece("{" .. ELLIPSIS .. "}", self.style.dim)
    end
    self.inside[t] = true
    local list, flat = self:entries(t, depth, columns)
    self.inside[t] = nil
    local line = on_one_line(list, columns)
    if line then return line end
    return { text = flat and in_columns(list, columns) or below_each_other(list), size = columns,
        lines = true }
end

---@param depth integer of the table that the value is in
function Printer:value(value, depth, columns)
    return self:scalar(value) or self:table(value, depth + 1, max(columns, 20))
end

-- ---- what stands alone --------------------------------------------------------------------------

---Names in columns, downwards, as a shell lists files.
---@param names string[]
---@param columns integer
---@return string
local function name_columns(names, columns)
    local widest = 0
    for _, name in ipairs(names) do widest = max(widest, width.of(name)) end
    local across = max(1, (columns + 2) // (widest + 2))
    local down = -(-#names // across)
    local lines = {}
    for row = 1, down do
        local line = {}
        for i = row, #names, down do line[#line + 1] = width.fit(names[i], widest) end
        lines[row] = gsub(concat(line, "  "), "%s+$", "")
    end
    return concat(lines, "\n")
end

function Printer:module(t, name)
    local names = inspect.names(t, function(field) return sub(field, 1, 1) ~= "_" end)
    local total = #names
    for i = total, NAMES + 1, -1 do names[i] = nil end
    for i, field in ipairs(names) do
        if type(rawget(t, field)) == "table" then names[i] = field .. "." end
    end
    local listed = name_columns(names, self.columns)
    local more = total > #names and format("\n%s %d more", ELLIPSIS, total - #names) or ""
    return self.style.cyan("module " .. name) .. (total > 0 and "\n" or "") .. listed .. more
end

-- The last line of a tensor says what it is.
local function tensor_text(t, style)
    local text = tostring(t)
    local values, description = match(text, "^(.*\n)([^\n]*)$")
    if not values then return text end
    return values .. style.dim(description)
end

---@param value any
---@return string
function Printer:alone(value)
    if type(value) == "string" then
        if #value <= LONGEST then return value end
        return sub(value, 1, LONGEST) .. format("%s (%d bytes; print shows all)", ELLIPSIS, #value)
    end
    if core.is_tensor(value) then return tensor_text(value, self.style) end
    if class_text(value) then return self.style.cyan(class_text(value)) end
    if type(value) == "table" and not has_text(value) then
        local module = inspect.module_name(value)
        if module then return self:module(value, module) end
    elseif has_text(value) then
        return tostring(value)
    end
    return self:value(value, 0, self.columns).text
end

---@param style heed.prompt.Style
---@param columns integer
---@return heed.prompt.Printer
local function new(style, columns)
    return setmetatable({ style = style, columns = columns, inside = {}, left = BUDGET }, Printer)
end

local show = { name_columns = name_columns }

---@param value any
---@param style heed.prompt.Style
---@param columns integer
---@return string
function show.value(value, style, columns) return new(style, columns):alone(value) end

---The values of an expression: side by side where each is one line and there is room, else below
---each other.
---@param style heed.prompt.Style
---@param columns integer
---@return string
function show.values(style, columns, ...)
    local list, count, several = {}, min(select("#", ...), 1000), false
    for i = 1, count do
        list[i] = show.value((select(i, ...)), style, columns)
        several = several or find(list[i], "\n", 1, true) ~= nil
    end
    if select("#", ...) > count then
        list[count + 1] = format("%s %d more values", ELLIPSIS, select("#", ...) - count)
    end
    return concat(list, several and "\n" or "\t")
end

return show
