--- Hints about nil and a message that nobody read: of the calls of a text, which gave what is
--- missing now.

local inspect = require "heed.prompt.inspect"
local tokens = require "heed.prompt.tokens"

local find, format, gmatch, gsub, match, sub = string.find, string.format, string.gmatch,
    string.gsub, string.match, string.sub
local ipairs, pcall, require, type = ipairs, pcall, require, type

local unread = {}

-- Of Lua's own functions.
local OF_LUA = { [io.open] = true, [io.popen] = true, [load] = true, [loadfile] = true }

-- What is written about the functions of heed; there may be no help.
local function index()
    local there, found = pcall(require, "heed.help.index")
    return there and found or nil
end

local function says_message(entry)
    local second = entry and entry.returns and entry.returns[2]
    return second ~= nil and find(second.text, "%f[%a]message%f[%A]") ~= nil
end

---@class heed.prompt.Call
---@field name string as the text has it: heed.data.csv(...):columns
---@field doc heed.help.Doc|nil
---@field fails boolean whether it gives nil and a message where the world fails
---@field used boolean whether the text goes on with what it gives

-- A call by the name of its function, which may be out of sight.
---@return heed.prompt.Call
local function call_of(name, scope)
    local value = inspect.path(gsub(name, ":", "."), scope.get)
    local known = index()
    local doc = known and known.lookup(type(value) == "function" and value or name) or nil
    local fails = value ~= nil and OF_LUA[value] or says_message(doc and doc.entry)
        or value == nil and (name == "io.open" or find(name, "[.:_]load$") ~= nil)
    return { name = name, doc = doc, fails = fails or false }
end

-- The call of a method of what a call gave.
---@return heed.prompt.Call
local function method_call(before, name)
    local call = { name = before.name .. "(...):" .. name, fails = false }
    for _, class in ipairs(before.doc and before.doc.entry and index().made_by(before.doc) or {}) do
        for _, entry in ipairs(class.methods or {}) do
            if entry.key == name then
                call.fails = says_message(entry)
                call.doc = { kind = "function", entry = entry }
            end
        end
    end
    return call
end

-- Patterns of arguments, whose last capture is the place behind them.
local ARGUMENTS = { "^%s*%b()()", "^%s*%b{}()", "^%s*(['\"]).-%1()", "^%s*%[(=*)%[.-%]%1%]()" }

-- Behind the arguments that begin at a place of the text.
local function behind_arguments(text, at)
    for _, pattern in ipairs(ARGUMENTS) do
        local first, second = match(text, pattern, at)
        if first then return second or first end
    end
    return nil
end

local chain

-- assert gives what the call in it gave, which then was not nil.
local function asserted(text, at, scope)
    local name, inner = match(text, "^%s*%(%s*([%a_][%w_.:]*)()%s*[({\"']", at)
    local calls = name and chain(text, inner, name, scope) or {}
    return { name = "assert", doc = #calls > 0 and calls[#calls].doc or nil, fails = false }
end

-- The calls of a chain, one on what the other gave, of which the first has its arguments at a
-- place of the text.
---@return heed.prompt.Call[]
function chain(text, at, name, scope)
    local list = { name == "assert" and asserted(text, at, scope) or call_of(name, scope) }
    local behind = behind_arguments(text, at)
    while behind do
        local last = list[#list]
        last.used = find(text, "^%s*[.:%[]", behind) ~= nil and not find(text, "^%s*%.%.", behind)
        local method, arguments = match(text, "^%s*:%s*([%a_][%w_]*)()", behind)
        behind = method and behind_arguments(text, arguments)
        if behind then list[#list + 1] = method_call(last, method) end
    end
    return list
end

-- What a call gave that the text assigns to the name whose last letter is before this place; more
-- names may stand behind it.
local function assigned(text, at, scope)
    local more, name, behind = match(text, "^([%w_%s,<>]-)=%s*([%a_][%w_.:]*)()%s*[({%[\"']", at)
    if not name or find("x" .. more, "[%w_>]%s+[%w_]") then return nil end
    local calls = chain(text, behind, name, scope)
    return calls[#calls]
end

-- Of a variable of the line that has no value, to which the text assigns what a call gave.
local function of_variable(line, scope)
    local text = scope.text()
    for _, token in ipairs(tokens.code(line)) do
        if token.kind == "name" and scope.get(token.text) == nil then
            for at in gmatch(text, "%f[%w_]" .. token.text .. "%f[^%w_]()") do
                local call = assigned(text, at, scope)
                if call and call.fails and not call.used then
                    return format("%s gave nil and a message; %s = assert(%s(...)) raises it",
                        call.name, token.text, call.name)
                end
            end
        end
    end
    return nil
end

-- Whether what a call gives is an argument, what a loop goes through, or has its length asked.
local function is_needed(lead)
    return find(lead, "[(,{#]%s*$") ~= nil or find(lead, "%f[%w_]in%s+$") ~= nil
end

-- Of a call whose result the line itself goes on with; not of the one that the message is of.
local function of_line(line, scope, message)
    for before, name, at in gmatch(line, "()%f[%w_]([%a_][%w_.:]*)()%s*[({%[\"']") do
        local lead = sub(line, 1, before - 1)
        if not find(lead, "assert%s*%(%s*$") and not find(message, name .. ": ", 1, true) then
            for _, call in ipairs(chain(line, at, name, scope)) do
                if call.fails and (call.used or is_needed(lead)) then
                    return format("%s gave nil and a message; assert(%s(...)) raises it",
                        call.name, call.name)
                end
            end
        end
    end
    return nil
end

---@param message string
---@param line string of the person's
---@param scope heed.prompt.Scope
---@return string|nil
function unread.hint(message, line, scope)
    if not find(message, "nil", 1, true) then return nil end
    local first = match(message, "^[^\n]*")
    if find(first, "a nil value$") then -- Lua names what is a variable
        return of_line(line, scope, first)
    end
    local hint = scope.text and of_variable(line, scope)
    if hint then return hint end
    if find(first, "for iterator", 1, true) or find(first, "got nil", 1, true) then
        return of_line(line, scope, first)
    end
    return nil
end

return unread
