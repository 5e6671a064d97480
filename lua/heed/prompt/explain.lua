--- What went wrong, as the prompt says it: the message, the person's own lines that led to it, the
--- place, and a hint.

local hints = require "heed.prompt.hints"
local tokens = require "heed.prompt.tokens"
local width = require "heed.viz.width"

local type, tostring, tonumber, rawget = type, tostring, tonumber, rawget
local collectgarbage = collectgarbage
local getinfo, getmetatable = debug.getinfo, debug.getmetatable
local format, rep, sub, find, match, gsub, gmatch = string.format, string.rep, string.sub,
    string.find, string.match, string.gsub,
    string.gmatch
local concat = table.concat

local SHOWN = 8        -- lines
local LOOKED_AT = 300  -- frames
local LONGEST = 4000   -- bytes of a message

local explain = {}

-- ---- when it happens ----------------------------------------------------------------------------

-- The library's own chunks share what comes before this file's name: "@heed/" where they are inside
-- the command.
local own = match(getinfo(1, "S").source, "^(.-)prompt/explain[%w.]*$") or "@heed/"

local function is_own(source)
    return sub(source, 1, #own) == own or source == sub(own, 1, -2) .. ".lua"
end

---@class heed.prompt.Problem
---@field value any what error was given
---@field frames { source: string, short: string, line: integer, times: integer }[] the person's,
---the innermost first

local function own_frames()
    local frames = {}
    for level = 3, LOOKED_AT do
        local info = getinfo(level, "Sl")
        if not info then break end
        if info.currentline > 0 and not is_own(info.source) then
            local last = frames[#frames]
            if last and last.source == info.source and last.line == info.currentline then
                last.times = last.times + 1
            elseif #frames < SHOWN then
                frames[#frames + 1] = { source = info.source, short = info.short_src,
                    line = info.currentline, times = 1 }
            end
        end
    end
    return frames
end

---The message handler of an input. It only looks: what runs in a handler cannot be interrupted.
---Without the collector, which takes back the room that Lua gives to the handler of a stack
---overflow.
---@param value any
---@return heed.prompt.Problem
function explain.collect(value)
    local collecting = collectgarbage "isrunning"
    collectgarbage "stop"
    local problem = { value = value, frames = own_frames(), is_problem = true }
    if collecting then collectgarbage "restart" end
    return problem
end

-- ---- as text ------------------------------------------------------------------------------------

-- The error value: a string, or what its __tostring says, or what kind of value it is.
local function message_of(value)
    local meta = getmetatable(value)
    local text
    if type(value) == "string" or type(value) == "number"
        or (type(meta) == "table" and rawget(meta, "__tostring")) then
        text = tostring(value)
    else
        text = format("(error object is a %s value)", type(value))
    end
    if #text > LONGEST then text = sub(text, 1, LONGEST) .. "…" end
    return text
end

-- Variables of the session are upvalues to Lua, and locals to who typed them.
local function in_their_words(message)
    message = gsub(message, "%(upvalue '", "(local '")
    message = gsub(message, "(stack overflow)%f[^%w].*$", "%1: a function calls itself without end")
    return (gsub(message, "(module '[^']*' not found):\n.*$", "%1"))
end

---@param inputs table<string, string> their texts by the names of their chunks
local function line_of(inputs, name, number)
    local text = inputs[name]
    if not text then return nil end
    local at = 1
    for line in gmatch(text .. "\n", "(.-)\n") do
        if at == number then return line end
        at = at + 1
    end
    return nil
end

-- Where in its line the name that a message speaks of stands, when it is there once.
local function place_of(message, line)
    local quoted = match(message, "'([%a_][%w_]*)'%)") or match(message,
        "t%.([%a_][%w_]*): a tensor has no field")
        or match(message, "near '(.-)'$")
    if not quoted or quoted == "" then return nil end
    local first, last
    for _, token in ipairs(tokens.read(line)) do
        if token.text == quoted or (token.open and sub(token.text, 1, #quoted) == quoted) then
            if first then return nil end
            first, last = token.first, token.last
        end
    end
    if not first and #quoted > 1 then first, last = find(line, quoted, 1, true) end
    return first, last
end

---The line, and below it a mark where the message points.
---@param style heed.prompt.Style
---@param message string
---@param where string what stands before the line
---@param line string
---@return string
function explain.line(style, message, where, line)
    local indent = "  " .. where .. ": "
    local shown = style.dim(indent) .. line
    local first, last = place_of(message, line)
    if not first then return shown end
    local from = width.of(gsub(sub(line, 1, first - 1), "\t", "        "))
    return shown .. "\n" .. rep(" ", #indent + from)
        .. style.red(rep("^", width.of(sub(line, first, last))))
end

---@class heed.prompt.Told
---@field inputs table<string, string>
---@field style heed.prompt.Style
---@field scope heed.prompt.Scope

---@param problem any what the handler gave, or an error that it never saw
---@param told heed.prompt.Told
---@return string
function explain.runtime(problem, told)
    local known = type(problem) == "table" and problem.is_problem
    local frames = known and problem.frames or {}
    local value = problem
    if known then value = problem.value end
    local message = message_of(value)
    -- Our handler needs little; without room for that Lua says so instead.
    if not known and message == "error in error handling" then message = "stack overflow" end
    message = in_their_words(message)
    local style, parts, innermost = told.style, {}, nil
    parts[1] = style.red(message)
    for _, frame in ipairs(frames) do
        local line = line_of(told.inputs, frame.source, frame.line)
        local where = format("%s:%d", frame.short, frame.line)
        if line then
            if not innermost then innermost = line end
            local pointed = line == innermost and frame == frames[1] and message or ""
            parts[#parts + 1] = explain.line(style, pointed, where, line)
        else
            parts[#parts + 1] = style.dim("  " .. where)
        end
        if frame.times > 1 then
            local many = frame.times > LOOKED_AT // 2 and "many" or format("%d", frame.times)
            parts[#parts + 1] = style.dim(format("  ... %s times", many))
        end
    end
    local hint = hints.runtime(message, frames[1] and line_of(told.inputs, frames[1].source,
        frames[1].line), told.scope)
    if hint then parts[#parts + 1] = style.yellow("hint: ") .. hint end
    return concat(parts, "\n")
end

---@param message string of load
---@param name string of the chunk
---@param told heed.prompt.Told
---@return string
function explain.syntax(message, name, told)
    local style, parts = told.style, { told.style.red(message) }
    local short = sub(name, 2)
    local _, after = find(message, short .. ":", 1, true)
    local number = after and tonumber(match(message, "^%d+", after + 1))
    local line = number and line_of(told.inputs, name, number)
    if line then
        parts[#parts + 1] = explain.line(style, message, format("%s:%d", short, number), line)
    end
    local hint = hints.syntax(message, line or "", told.inputs[name] or "")
    if hint then parts[#parts + 1] = style.yellow("hint: ") .. hint end
    return concat(parts, "\n")
end

---Is this what Ctrl-C raised? (coroutine.wrap puts a position before it.)
---@return boolean
function explain.is_interrupt(problem)
    local value = type(problem) == "table" and problem.is_problem and problem.value or problem
    return type(value) == "string" and find(match(value, "^[^\n]*"), "interrupted$") ~= nil
end

return explain
