--- Variables that outlive the input that declared them.
---
--- Every input is a function of its own, so a `local` at its outermost level would be gone on the
--- next line. Here its name becomes a variable of the session instead: the input is compiled inside
--- a function that declares it, and all inputs that name it share one upvalue. It is as fast as any
--- local, is not seen by other files, and closures keep it. What differs from one long chunk: a
--- second `local x` assigns the same x, and <const> is checked within its input only. A statement
--- with <close> is left alone: its variables end, closed, with their input.

local tokens = require "heed.prompt.tokens"

local load, rawget = load, rawget
local upvaluejoin, getupvalue = debug.upvaluejoin, debug.getupvalue
local sub, gsub, format = string.sub, string.gsub, string.format
local concat, sort = table.concat, table.sort

local MOST = 150 -- of the 200 locals that a function can have

-- Blanks of the same length, so that nothing that follows moves.
local function blank(text) return (gsub(text, "[^\n]", " ")) end

-- The names of `local a <const>, b`, which begins at list[at], the keyword; the place after them;
-- whether one is closed.
local function attributed_names(list, at)
    local names, closed = {}, false
    repeat
        local name = list[at + 1]
        if not name or name.kind ~= "name" then return nil end
        names[#names + 1] = name.text
        closed = closed or name.text == "_ENV" -- the rest of its input means that one
        at = at + 2
        if list[at] and list[at].text == "<" and list[at + 1] then
            closed = closed or list[at + 1].text == "close"
            at = at + 3
        end
    until not (list[at] and list[at].text == ",")
    return names, at, closed
end

-- `local a <const>, b = 1` into `      a        , b = 1`; `local a` into `      a = nil;`.
local function plain_assignment(text, list, from, to)
    local parts, last = {}, list[from].first - 1
    local in_attribute = false
    for i = from, to - 1 do
        local token = list[i]
        parts[#parts + 1] = sub(text, last + 1, token.first - 1)
        if token.text == "<" then in_attribute = true end
        parts[#parts + 1] = (i == from or in_attribute) and blank(token.text) or token.text
        if token.text == ">" then in_attribute = false end
        last = token.last
    end
    local follows = list[to] and list[to].text == "="
    if not follows then parts[#parts + 1] = " = nil;" end
    return concat(parts), last
end

---The input with its outermost locals turned into assignments, and their names. Lines keep their
---numbers.
---@param text string an input that compiles
---@return string text
---@return string[] # names in the order of their declaration
local function without_locals(text)
    local list, names, parts, copied, depth = tokens.code(text), {}, {}, 0, 0
    for i, token in ipairs(list) do
        depth = depth + tokens.nesting(token)
        if depth == 0 and token.kind == "keyword" and token.text == "local" and list[i + 1] then
            parts[#parts + 1] = sub(text, copied + 1, token.first - 1)
            copied = token.first - 1
            if list[i + 1].text == "function" and list[i + 2] then
                names[#names + 1] = list[i + 2].text
                parts[#parts + 1] = blank(token.text)
                copied = token.last
            else
                local declared, after, closed = attributed_names(list, i)
                if declared and not closed then
                    for _, name in ipairs(declared) do names[#names + 1] = name end
                    parts[#parts + 1], copied = plain_assignment(text, list, i, after)
                end
            end
        end
    end
    parts[#parts + 1] = sub(text, copied + 1)
    return concat(parts), names
end

---@class heed.prompt.Variables
---@field private cells table
local Variables = {}
Variables.__index = Variables

---@return heed.prompt.Variables
local function new() return setmetatable({ cells = {} }, Variables) end

local function new_cell(value)
    return {
        first = value,
        get = function() return value end,
        set = function(v) value = v end,
    }
end

-- Those of the session's variables that the text names, and the new ones.
local function named_in(self, text, declared)
    local seen, list = {}, {}
    local function add(name)
        if not seen[name] and #list < MOST then
            seen[name] = true
            list[#list + 1] = name
        end
    end
    for _, name in ipairs(declared) do add(name) end
    for _, token in ipairs(tokens.code(text)) do
        if token.kind == "name" and self.cells[token.text] then add(token.text) end
    end
    return list
end

local function join(f, cells)
    for i = 1, 255 do
        local name = getupvalue(f, i)
        if not name then return end
        if cells[name] then upvaluejoin(f, i, cells[name].get, 1) end
    end
end

---Compiles an input that is known to compile by itself.
---@param text string
---@param before string what stands before the text inside its function: "", or what makes a
---statement of an expression
---@param name string of the chunk
---@param globals table where a variable that is not there yet begins from, as in `local print =
---print`
---@return function|nil
---@return string|string[] declared the names that are new with it, or the error
function Variables:compile(text, before, name, globals)
    local body, declared = text, {}
    if before == "" then body, declared = without_locals(text) end
    local names = named_in(self, text, declared)
    if #names == 0 then return load(before .. text, name, "t"), {} end
    local outer, message = load(format("local %s return function(...) %s%s\nend",
        concat(names, ","), before, body), name, "t")
    if not outer then return nil, message end
    local fresh = {}
    for _, variable in ipairs(names) do
        if not self.cells[variable] then
            self.cells[variable] = new_cell(rawget(globals, variable))
            fresh[#fresh + 1] = variable
        end
    end
    local f = outer()
    join(f, self.cells)
    return f, fresh
end

---Takes back those of the names that were never assigned, because their input failed before.
---@param names string[]
function Variables:forget_unassigned(names)
    for _, name in ipairs(names) do
        local cell = self.cells[name]
        if cell and rawequal(cell.get(), cell.first) then self.cells[name] = nil end
    end
end

---Makes a variable of a value that came from elsewhere.
---@param name string
---@param value any
function Variables:set(name, value) self.cells[name] = new_cell(value) end

---@return boolean known
---@return any value
function Variables:get(name)
    local cell = self.cells[name]
    if not cell then return false end
    return true, cell.get()
end

---@return string[] sorted
function Variables:names()
    local list = {}
    for name in next, self.cells do list[#list + 1] = name end
    sort(list)
    return list
end

return { new = new, without_locals = without_locals }
