--- The prompt: reads inputs, runs them, prints their values, explains their errors. The command
--- gives it a line editor and a call that Ctrl-C can stop; everything else is here. docs/prompt.md
--- says what it is like to use.

local complete = require "heed.prompt.complete"
local explain = require "heed.prompt.explain"
local hints = require "heed.prompt.hints"
local inspect = require "heed.prompt.inspect"
local script = require "heed.prompt.script"
local show = require "heed.prompt.show"
local style = require "heed.prompt.style"
local variables = require "heed.prompt.variables"

local load, pcall, rawget, rawset, type, select = load, pcall, rawget, rawset, type, select
local setmetatable, getmetatable = setmetatable, debug.getmetatable
local find, match, sub, format, gsub, rep, lower = string.find, string.match, string.sub,
    string.format, string.gsub, string.rep,
    string.lower
local concat, pack, unpack = table.concat, table.pack, table.unpack

local KEPT = 1000 -- inputs whose lines an error can show

---@class heed.prompt.Host
---@field read fun(prompt: string): string|nil|false a line; nil at the end, false after Ctrl-C
---@field remember fun(input: string) into the history
---@field run fun(f: function, handler: function): boolean, ... a call that Ctrl-C stops, of the
---person's code
---@field guard fun(f: function, ...: any): boolean, any ... the same of ours
---@field columns fun(): integer
---@field output { write: function, flush: function }
---@field errors { write: function, flush: function }
---@field colors? boolean on both; without it as style.wanted says
---@field terminal boolean somebody types
---@field edits boolean with a line editor: what takes no room in a prompt is to be between two \1

---@class heed.prompt.Session
---@field host heed.prompt.Host
---@field pending string the lines of the input that is not complete
---@field private error_style table
---@field private style table
---@field private globals table
---@field private help table
---@field private inputs table<string, string>
---@field private prompts string[]
---@field private scope table
---@field private variables heed.prompt.Variables
---@field private number integer
---@field private said_meaning boolean? once is enough
local Session = {}
Session.__index = Session

-- with a variable to close it is no tail call: its line stays known
local EXPRESSION = "local heed_prompt <close> = nil return "

-- ---- help ---------------------------------------------------------------------------------------

local SHORT_HELP = [[
An expression prints its value; a statement runs. Lines go on until they are complete.
  help(heed.softmax)   what it does, with shapes and an example; ?heed.softmax is the same
  help "nn.Linear"     by name; other words are searched: help "label smoothing"
  heed                 everything there is, by name
  t:so<Tab>            completes names
  Ctrl-C stops what runs, the arrows bring back what was typed, Ctrl-R searches it, Ctrl-D ends]]

local LIBRARIES = { coroutine = true, debug = true, io = true, math = true, os = true,
    package = true, string = true,
    table = true, utf8 = true }

-- Where the manual of Lua describes one of its own.
local function manual(value)
    local name = (type(value) == "function" and inspect.name_of(value))
        or (type(value) == "table" and inspect.module_name(value))
    if not name or not (LIBRARIES[match(name, "^[^.]+")] or rawget(_G, name)) then return nil end
    return format("%s is Lua's own: https://www.lua.org/manual/5.4/manual.html#pdf-%s", name, name)
end

-- A model of somebody's own class is at least what its class extends.
local function class_of(value)
    local class = type(value) == "table" and (rawget(value, "is_heed_module") and value
        or getmetatable(value))
    if type(class) ~= "table" or not rawget(class, "is_heed_module") then return nil end
    return rawget(class, "super")
end

local function documentation(what, options)
    local ok, help = pcall(require, "heed.help")
    if not ok then return nil, "this build has no documentation" end
    local text, message = help.text(what, options)
    local class = class_of(what)
    while not text and class do
        text = help.text(class, options)
        class = rawget(class, "super")
    end
    return text or manual(what), message
end

function Session:documentation(what)
    if what == "help" or rawequal(what, self.help) then return SHORT_HELP end
    return documentation(what, { width = math.max(40, self.host.columns()),
        color = self.style.enabled })
end

function Session:show_help(what)
    local text, message = self:documentation(what)
    self.host.output:write(text or message, "\n")
end

-- By what a variable holds, else by the name itself.
function Session:help_of_name(name)
    local value = inspect.path(gsub(name, ":", "."), self.scope.get)
    return value ~= nil and self:documentation(value) or (self:documentation(name))
end

-- help(softmax), where nothing is called softmax.
function Session:help_of_nothing()
    local name = match(self.inputs["=input " .. self.number] or "",
        "help%s*%(%s*([%a_][%w_.]*)%s*%)")
    local hint = name and hints.nothing(name, self.scope)
    self.host.output:write("nil has no documentation: ", hint or "is the name right?", "\n")
end

-- `help` is a function that, typed alone, says what to do with it.
function Session:help_value()
    return setmetatable({}, {
        __tostring = function() return SHORT_HELP end,
        __name = "help",
        __call = function(_, ...)
            if select("#", ...) == 0 then
                self.host.output:write(SHORT_HELP, "\n")
            elseif ... == nil then
                self:help_of_nothing()
            else
                self:show_help((...))
            end
        end,
    })
end

-- `?heed.attention`: by name where there is one, else what the expression gives.
function Session:question(asked)
    asked = match(asked, "^(.-)[%s?;]*$")
    if asked == "" then
        self.host.output:write(SHORT_HELP, "\n")
        return true
    end
    -- words: ?cross entropy
    if find(asked, "^%a[%w_]* [%w_ ]+$") and not load("return " .. asked, "=input", "t") then
        self:show_help(asked)
        return true
    end
    local text = find(asked, "^[%a_][%w_.:]*$") and self:help_of_name(asked)
    if text then self.host.output:write(text, "\n") end
    return text and true
end

-- `heed help nn.Linear`, `heed help gradient clipping`: is there anything?
function Session:answer(...)
    local asked = concat({ ... }, " ")
    local text, message
    if not find(asked, "%S") then
        text = SHORT_HELP
    else
        text = find(asked, "^[%a_][%w_.:]*$") and self:help_of_name(asked)
        if not text then text, message = self:documentation(asked) end
    end
    local stream = text and self.host.output or self.host.errors
    stream:write(text or message, "\n")
    return text ~= nil
end

-- ---- reading ------------------------------------------------------------------------------------

local function lacks_end(message) return sub(message, -5) == "<eof>" end

-- Could more lines make an expression or a statement of the text, which is neither? A string that
-- lacks its end cannot be mended by them: the newline shows it.
local function is_incomplete(text)
    text = text .. "\n"
    local expression, lacking = load(EXPRESSION .. text, "=input", "t")
    if expression then return false end
    local statement, message = load(text, "=input", "t")
    return not statement and (lacks_end(lacking) or lacks_end(message))
end

-- The function an input means, an expression or else a statement: nil and the error when it does
-- not parse.
function Session:compile(text, name)
    local before = load(EXPRESSION .. text, name, "t") and EXPRESSION or ""
    if before == "" then
        local ok, message = load(text, name, "t")
        if not ok then return nil, message end
    end
    return self.variables:compile(text, before, name, self.globals)
end

-- `=x` printed x in older Luas; `?x` asks for help.
local function as_lua(text)
    text = gsub(text, "^%s*=", function(equals) return gsub(equals, "=", " ") end)
    local asked = match(text, "^%s*%?(.*)$")
    if asked then return "help(" .. asked .. ")", asked end
    return text
end

-- Lines until they make an input. Nil at the end of all, false after Ctrl-C.
function Session:read()
    local line = self.host.read(self.prompts[1])
    local text = line
    while line do
        if not is_incomplete((as_lua(text))) then break end
        self.pending = text .. "\n"
        line = self.host.read(self.prompts[2])
        self.pending = ""
        if line == false then return false end
        if line then text = text .. "\n" .. line end
    end
    return text
end

-- ---- running ------------------------------------------------------------------------------------

function Session:write_error(text)
    self.host.output:flush()
    self.host.errors:write(text, "\n")
    self.host.errors:flush()
end

-- In a call that can be stopped, since a __tostring of anybody's may run; one that fails is an
-- error like any other.
function Session:print_values(values)
    if values.n == 0 then return true end
    local ok, text = self.host.run(function()
        local columns = self.host.columns()
        return show.values(self.style, columns, unpack(values, 1, values.n))
    end, explain.collect)
    if not ok then return self:fail(text) end
    ok, text = self.host.guard(function() self.host.output:write(text, "\n") end)
    if not ok then return self:fail(text) end
    return true
end

function Session:fail(problem)
    if explain.is_interrupt(problem) then
        self:write_error(self.error_style.red "interrupted")
        return false
    end
    local ok, text = self.host.guard(explain.runtime, problem,
        { inputs = self.inputs, style = self.error_style, scope = self.scope })
    self:write_error(ok and text or "an error whose message cannot be shown: "
        .. (type(text) == "string" and text or type(text)))
    return false
end

-- Undo nothing but names: a variable whose statement failed must not hide a global of its name.
function Session:execute(f, declared)
    local results = pack(self.host.run(f, explain.collect))
    if results[1] then return self:print_values(pack(unpack(results, 2, results.n))) end
    self.variables:forget_unassigned(declared)
    return self:fail(results[2])
end

-- What went well may still not be what was wanted.
function Session:wonder(code)
    local ok, hint = self.host.guard(hints.nothing, code, self.scope)
    if ok and not hint and not self.said_meaning then
        ok, hint = self.host.guard(hints.meaning, code, self.scope)
        self.said_meaning = ok and hint ~= nil
    end
    if ok and hint then self:write_error(self.error_style.yellow "hint: " .. hint) end
end

function Session:keep_lines(text, name)
    self.inputs[name] = text
    self.inputs["=input " .. self.number - KEPT] = nil
end

function Session:is_farewell(text)
    local word = lower(match(text, "^%s*(%a+)[%s();]*$") or "")
    return (word == "exit" or word == "quit" or word == "bye") and self.scope.get(word) == nil
end

---One input: true when it went well, false when it failed or was stopped, nil at the end.
---@return boolean|nil
function Session:step()
    self.pending = ""
    local text = self:read()
    if text == nil then
        if self.host.terminal then self.host.output:write "\n" end
        return nil
    end
    if text == false then return true end
    self.number = self.number + 1
    self.host.remember(text)
    if self:is_farewell(text) then return nil end
    local name = "=input " .. self.number
    local code, asked = as_lua(text)
    if asked then
        local ok, done = self.host.guard(self.question, self, asked)
        if not ok then return self:fail(done) end
        if done then return true end
    end
    self:keep_lines(text, name)
    local f, declared = self:compile(code, name)
    if not f then
        self:write_error(explain.syntax(declared, name,
            { inputs = self.inputs, style = self.error_style, scope = self.scope }))
        return false
    end
    local done = self:execute(f, declared)
    if done and self.host.terminal then self:wonder(code) end
    if not self.host.output:flush() then return nil end -- nobody reads what is printed any more
    return done
end

-- ---- a script before the first input ------------------------------------------------------------

---A script whose outermost locals will be variables here, with the values that they have when it
---ends.
---@param path string
---@return function|nil
---@return string? message
function Session:load_script(path)
    return script.load(path, function(list)
        for _, variable in ipairs(list) do self.variables:set(variable[1], variable[2]) end
    end)
end

-- ---- completing ---------------------------------------------------------------------------------

local function common_beginning(list)
    local shared = list[1] or ""
    for _, name in ipairs(list) do
        while not inspect.begins(name, shared) do shared = sub(shared, 1, -2) end
    end
    return shared
end

local LISTED = 400

---The Tab key.
---@param before string the line up to the cursor
---@return integer|nil remove bytes before the cursor; nil: it may be the name of a file
---@return string? insert
---@return string? # list what there is, when nothing can be inserted
function Session:complete(before)
    if match(before, "^%s*$") then return 0, rep(" ", 4) end
    local found = complete(self.pending .. before, self.scope)
    if found.files then return nil end
    local list, prefix = found.candidates, found.prefix
    local shared = common_beginning(list)
    if #list == 1 or #shared > #prefix or (#list > 0 and lower(shared) == lower(prefix)
        and shared ~= prefix) then
        return #prefix, shared
    end
    if #list == 0 then return 0, "" end
    local more = #list - LISTED
    for i = #list, LISTED + 1, -1 do list[i] = nil end
    local listing = show.name_columns(list, self.host.columns())
    return 0, "", listing .. (more > 0 and format("\n… %d more", more) or "")
end

-- ---- the session --------------------------------------------------------------------------------

local function scope_of(session)
    return {
        names = function()
            local list = inspect.names(session.globals)
            for _, name in ipairs(session.variables:names()) do list[#list + 1] = name end
            return list
        end,
        get = function(name)
            local known, value = session.variables:get(name)
            if known then return value end
            return inspect.get(session.globals, name)
        end,
        text = function()
            local list = {}
            for _, text in next, session.inputs do list[#list + 1] = text end
            return concat(list, "\n")
        end,
    }
end

local prompt = {}

---@param host heed.prompt.Host
---@return heed.prompt.Session
function prompt.new(host)
    local colors = host.colors
    local function wanted(descriptor)
        if colors ~= nil then return colors end
        return style.wanted(descriptor)
    end
    local self = setmetatable({
        host = host, globals = _G, inputs = {}, number = 0, pending = "",
            variables = variables.new(),
        style = style.new(wanted(1)), error_style = style.new(wanted(2)),
    }, Session)
    self.scope = scope_of(self)
    self.prompts = { "> ", ">> " }
    if host.edits and self.style.enabled then
        -- The blank comes last: libedit drops what takes no room at the end of a prompt.
        for i, text in ipairs(self.prompts) do
            self.prompts[i] = "\1\27[1;36m\1" .. sub(text, 1, -2) .. "\1\27[0m\1 "
        end
    end
    self.help = self:help_value()
    if rawget(_G, "help") == nil then rawset(_G, "help", self.help) end
    return self
end

return prompt
