--- What somebody who gets this error most likely wanted. Every hint is a guess from the message and
--- the line; without a good one there is none.

local core = require "heed.core"
local inspect = require "heed.prompt.inspect"
local nearest = require "heed.nearest"
local suggest = require "heed.suggest"
local tokens = require "heed.prompt.tokens"
local unread = require "heed.prompt.unread"

local find, match, format, lower = string.find, string.match, string.format, string.lower
local concat = table.concat

local hints = {}

-- ---- names --------------------------------------------------------------------------------------

local function did_you_mean(list, before)
    if #list == 0 then return nil end
    for i, name in ipairs(list) do list[i] = (before or "") .. name end
    return format("did you mean %s?", concat(list, " or "))
end

-- What other languages call it.
local ELSEWHERE = {
    len = "the length of t is #t",
    null = "no value is called nil", None = "no value is called nil",
        NULL = "no value is called nil",
    True = "it is written true", False = "it is written false",
    str = "tostring(x) makes a string", int = "math.floor(x), or tonumber(s)",
        float = "tonumber(s) makes a number",
    range = "for i = 1, 10 do ... end counts; heed.range(1, 10) is a tensor",
    enumerate = "for i, x in ipairs(t) do ... end", import = 'local nn = require "heed.nn"',
    torch = "the table is called heed: heed.ones(2, 3)",
        np = "the table is called heed: heed.ones(2, 3)",
    numpy = "the table is called heed: heed.ones(2, 3)", console = "print(x) prints",
        printf = "print((\"%d\"):format(x)) prints",
    echo = "print(x) prints", puts = "print(x) prints", this = "the object of a method is self",
    unpack = "it is table.unpack", loadstring = "it is load", setfenv = "load takes an environment",
    dir = "the Tab key shows what is in a table: heed.<Tab>",
        vars = "the Tab key shows what there is",
}

local function global_hint(name, scope)
    if ELSEWHERE[name] then return ELSEWHERE[name] end
    local heed = package.loaded.heed
    local near = nearest(name, scope.names())
    if #name < 3 and not (type(heed) == "table" and type(heed[name]) == "table") then
        return did_you_mean(near)
    end
    if type(heed) == "table" and heed[name] ~= nil then
        return format("did you mean heed.%s?", name)
    end
    if type(heed) == "table" and type(heed.nn) == "table" and inspect.get(heed.nn, name) ~= nil then
        return format("did you mean heed.nn.%s?", name)
    end
    if #near > 0 then return did_you_mean(near) end
    if type(heed) == "table" then
        return did_you_mean(nearest(name, inspect.names(heed), 1), "heed.")
    end
    return nil
end

-- The value whose field the line names, as far as looking tells; and how the field is reached.
---@return any owner
---@return string|nil before what the line says before the name
local function owner_of(name, line, scope)
    local list = tokens.code(line)
    for i = 3, #list do
        local dot = list[i - 1].text
        if list[i].text == name and (dot == "." or dot == ":") then
            local value = inspect.chain(list, i - 2, scope.get)
            if value ~= nil then
                return value, (match(line, "([%a_][%w_.]*[.:])" .. name) or dot)
            end
        end
    end
    return nil
end

-- Of a name that one of heed's tables lacks.
local function table_hint(value, name, before, heed)
    if value ~= heed and value ~= heed.nn and value ~= heed.optim and value ~= heed.loss then
        return nil
    end
    if inspect.get(value, name .. "_loss") ~= nil then
        return did_you_mean({ name .. "_loss" }, before)
    end
    return suggest.elsewhere(name)
end

-- Of a layer that nothing here is like.
local function layer_hint(value, name, heed)
    if value ~= heed.nn or not find(name, "^%u") then return nil end
    return format("heed.nn has no %s; help(heed.nn) lists its layers, nn.Module:extend makes "
        .. "one's own", name)
end

local function field_hint(name, line, scope)
    local value, before = owner_of(name, line, scope)
    if value == nil then return nil end
    local heed = package.loaded.heed
    local near = did_you_mean(nearest(name, inspect.names(value)), before)
    if type(heed) ~= "table" then return near end
    local model = type(value) == "table" and rawget(value, "_buffers") ~= nil
        and suggest.of_models(name)
    return model or table_hint(value, name, before, heed) or near or layer_hint(value, name, heed)
end

local function module_hint(name)
    local list = {}
    for _, known in ipairs(inspect.modules()) do
        if not find(known, "^heed%.core") then list[#list + 1] = known end
    end
    local near = did_you_mean(nearest(name, list))
    return near or "files are looked for along package.path"
end

local RANGE = "t[{ 1, 2 }] is row 1, column 2; t[{ {1, 2} }] is from 1 to 2, t[heed.ids { 1, 2 "
    .. "}] are 1 and 2"

-- Of a number whose methods are asked for, as those of a tensor.
local function number_hint(variable, line)
    local element = match(line, "([%a_][%w_.%[%]%+%-#]*%])%s*:%s*item%f[^%w_]")
    local name = element or match(variable, "'([%a_][%w_]*)'")
    if element or find(line, ":%s*item%f[^%w_]") then
        return format("%s is a number already, without :item()", name or "it")
    end
    local owner, method = match(line, "([%a_][%w_.%[%]%+%-#]*%])%s*[:.]%s*([%a_][%w_]*)")
    if owner and core.methods[method] ~= nil then
        return format("%s is a number; t:select(1, i) gives a tensor without dimensions", owner)
    end
    return "numbers have no fields"
end

-- ---- errors of what runs ------------------------------------------------------------------------

-- Each: a pattern of the message, and the hint, or a function of its captures, the line and the
-- scope.
local RUNTIME = {
    { "attempt to %a+ a nil value %((%a+) '([^']*)'%)", function(where, name, line, scope)
        if where == "global" then
            return global_hint(name, scope) or format("nothing is called %s yet", name)
        elseif where == "field" or where == "method" then
            return field_hint(name, line, scope)
        end
        return nil
    end },
    { "attempt to perform arithmetic on a nil value %(global '([^']*)'%)", function(name, _, scope)
        return global_hint(name, scope) or format("nothing is called %s yet", name)
    end },
    { "to 'for iterator' %(table expected, got nil%)",
        "pairs and ipairs want a table; what they were given has no value" },
    { "a nil value %(for iterator", "what stands behind in has no value" },
    { "for iterator 'for iterator'",
        "for i, x in ipairs(t) do ... end goes through a list, pairs(t) through any table" },
    { "attempt to compare two (%a+) values", function(kind)
        return kind == "table" and "tables have no order; compare fields of them" or nil
    end },
    { "attempt to compare number with nil", "one of the two has no value" },
    { "attempt to compare number with string", "tonumber(s) makes a number of a string" },
    { "attempt to compare string with number", "tonumber(s) makes a number of a string" },
    { "attempt to add a 'string'", "strings are joined by .." },
    { "attempt to add a '%a+' with a 'string'", "strings are joined by .." },
    { "attempt to perform arithmetic on a string value", "strings are joined by .." },
    { "attempt to concatenate a (%a+) value", function(kind)
        return (kind == "nil" or kind == "table" or kind == "boolean")
            and "tostring(x) makes a string of anything" or nil
    end },
    { "attempt to call a (%a+) value", function(kind)
        return (kind == "number" or kind == "string")
            and "what stands before ( is called; an operator may be missing" or nil
    end },
    { "attempt to index a number value%s*(.*)", number_hint },
    { "attempt to index a function value %(%a+ '([^']*)'%)", function(name)
        return format("it is a function: call it, %s(...)", name)
    end },
    { "^.-module '([^']*)' not found", function(name) return module_hint(name) end },
    { "number has no integer representation", "math.floor(x), or x // 1 | 0, makes an integer" },
    { "expected entries for at most %d+ dimensions", RANGE },
    { "not enough memory", "heed.memory() tells what tensors hold" },
}

---For an input that went well: what it means, where something else may have been meant.
---@param text string
---@param scope heed.prompt.Scope
---@return string|nil
function hints.meaning(text, scope)
    local path = match(text, "^%s*([%a_][%w_.]*)%s*%[%s*{%s*%d+%s*,%s*%d+%s*}%s*%]%s*;?%s*$")
    local value = path and inspect.path(path, scope.get)
    return value ~= nil and core.is_tensor(value) and RANGE or nil
end

---What nothing is called, and what may have been meant.
---@param name string
---@param scope heed.prompt.Scope
---@return string|nil
function hints.name(name, scope) return global_hint(name, scope) end

---For an input that went well and yet gave nothing: a name or a dotted name that has no value, a
---variable that is closed.
---@param text string
---@param scope heed.prompt.Scope
---@return string|nil
function hints.nothing(text, scope)
    local closed = match(text, "^%s*local%s+([%a_][%w_]*)%s*<%s*close%s*>[^;\n]*$")
    if closed then
        return format("%s is closed already, with its input; do ... end holds it open for what "
            .. "is inside", closed)
    end
    local path, name = match(text, "^%s*([%a_][%w_.]*)%.([%a_][%w_]*)%s*$")
    if path then
        local owner = inspect.path(path, scope.get)
        if owner == nil or inspect.get(owner, name) ~= nil then return nil end
        return did_you_mean(nearest(name, inspect.names(owner)), path .. ".")
    end
    name = match(text, "^%s*([%a_][%w_]*)%s*$")
    if not name or tokens.keywords[name] or scope.get(name) ~= nil then return nil end
    return global_hint(name, scope)
end

---@param message string
---@param line string|nil the innermost line of the person's
---@param scope heed.prompt.Scope
---@return string|nil
function hints.runtime(message, line, scope)
    line = line or ""
    local missing = unread.hint(message, line, scope)
    if missing then return missing end
    for _, rule in ipairs(RUNTIME) do
        local a, b = match(message, rule[1])
        if a then
            if type(rule[2]) ~= "function" then return rule[2] end
            if b then return rule[2](a, b, line, scope) end
            return rule[2](a, line, scope)
        end
    end
    return nil
end

-- ---- errors of what does not parse --------------------------------------------------------------

local function outside_strings(line)
    local parts = {}
    for _, token in ipairs(tokens.read(line)) do
        if token.kind ~= "string" and token.kind ~= "comment" then
            parts[#parts + 1] = token.text
        end
    end
    return " " .. concat(parts, " ") .. " "
end

-- Patterns of the words of a line, a blank between two.
local SYNTAX = {
    { " for %( ", "loops are written for i = 1, 10 do ... end" },
    { " ! = ", "not equal is ~= here" },
    { " [%w_]+ ([-+*/]) = ", function(operator)
        return format("there is no %s=; write x = x %s ...", operator, operator)
    end },
    { " %+ %+ ", "there is no ++; write x = x + 1" },
    { " & & ", "and is written and" }, { " | | ", "or is written or" },
        { " ! ", "not is written not" },
    { " %* %* ", "powers are written x ^ 2" },
    { " [%w_%])] %[ [^%]{]*, ", "indices stand in a list, x[{ 1, 2 }]; so do slices, x[{ {1, 2}, "
        .. "{} }]" },
    { " @ ", "the product of matrices is a:matmul(b), or heed.matmul(a, b)" },
    { " if [^=]+ = ", "equality is ==; = assigns" },
        { " while [^=]+ = ", "equality is ==; = assigns" },
    { " import ", 'modules come by local nn = require "heed.nn"; heed is there already' },
    { " from [%w_]+ import ",
        'modules come by local nn = require "heed.nn"; heed is there already' },
    { " def ", "functions are written function f(x) ... end" },
    { " fn ", "functions are written function f(x) ... end" },
    { " lambda ", "functions without a name are written function(x) return x end" },
    { " elif ", "it is elseif ... then" }, { " else if ", "it is elseif ... then" },
    { " continue ", "there is no continue; goto the end of the loop, or turn the condition round" },
    { " for [%w_, ]+ in [^d]*:", "loops are written for i, x in ipairs(t) do ... end" },
    { "^ help [%a_]", "it is help(heed.softmax), or ?heed.softmax" },
        { " %? $", "help is asked by ?heed.softmax, the ? first" },
    { " %? ", "a choice is written c and a or b" },
    { " [%w_%]]+ %[ [^%]]*: ", "slices are written t[{ {1, 2}, {} }]; both ends are included" },
    { " [(=] %[ ", "lists are written {1, 2}" },
    { " [{,] [%w_]+ : ", "fields are written { name = value }" },
    { " function [%w_]* %( [^)]*%) {", "a function ends with end, and has no braces" },
    { "^ let ", "variables are written local x = 1" },
        { "^ var ", "variables are written local x = 1" },
    { "^ const ", "variables are written local x = 1" },
    { " # [%a]", "a comment begins with --" },
        { " // ", "a comment begins with --; // divides and rounds down" },
    { "^ %$ ", "type what stands after the $" },
}

---@param message string
---@param line string of the input, where the error is
---@param text string the whole input
---@return string|nil
function hints.syntax(message, line, text)
    if find(message, "unfinished string", 1, true) then
        return "a string ends on its line; [[ ... ]] may be longer"
    end
    if find(message, "malformed number", 1, true) then
        return "a name does not begin with a digit"
    end
    local words = outside_strings(line ~= "" and line or text)
    for _, rule in ipairs(SYNTAX) do
        local capture = match(words, rule[1])
        if capture and rule[2] then
            return type(rule[2]) == "string" and rule[2] or rule[2](capture)
        end
    end
    if find(message, "near <eof>", 1, true) then return nil end
    local keyword = lower(match(message, "near '(%a+)'$") or "")
    if keyword == "end" then return "there is one end too many, or a then or do is missing" end
    return nil
end

return hints
