--- A template's text to tokens: text to print, and what is inside {{ }} and {% %}.
---
--- White space goes as for chats: a newline behind a block or comment is dropped (trim_blocks), so
--- are blanks before one on its line (lstrip_blocks), unless there is a +; a - drops all white
--- space.

local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local literals = require "heed.text.template.literals"

---@class heed.text.template.Token
---@field kind string "data", "variable_begin", "variable_end", "block_begin", "block_end", "name",
---"string", "number", "end", or an operator
---@field value any
---@field line integer

local Lexer = {}
Lexer.__index = Lexer

local function add(self, kind, value)
    self.tokens[#self.tokens + 1] = { kind = kind, value = value, line = self.line }
end

-- Moves on to a position, and counts lines.
local function move(self, at)
    local _, lines = self.source:sub(self.at, at - 1):gsub("\n", "")
    self.line, self.at = self.line + lines, at
end

-- Text before a tag, less what the tag drops.
local function add_data(self, text, sign, strips_line)
    local kept = text
    if sign == "-" then
        kept = characters.strip(text, nil, false, true)
    elseif sign ~= "+" and strips_line then
        local before, blanks = text:match "^(.*\n)([^\n]*)$"
        if not before and self.line_starting then before, blanks = "", text end
        if before and characters.strip(blanks) == "" then kept = before end
    end
    if kept ~= "" then add(self, "data", kept) end
end

-- The position behind the end of a tag and what the end drops; nil when it is not here.
local function behind_end(self, closing, trims)
    local sign = self.source:sub(self.at, self.at)
    local signed = (sign == "-" or sign == "+" and trims) and 1 or 0
    local first = self.at + signed
    if self.source:sub(first, first + 1) ~= closing then return nil end
    local at = first + 2
    if sign == "-" then return characters.behind_spaces(self.source, at) end
    if trims and signed == 0 and self.source:sub(at, at) == "\n" then at = at + 1 end
    return at
end

-- A tag that is the last of the template needs no end, as in Jinja.
local function skip_comment(self)
    if self.at > #self.source then return end
    local at = self.source:find("#}", self.at, true)
    if not at then failure.raise("line %d: a comment without its #}", self.line) end
    local sign = self.source:sub(at - 1, at - 1)
    if at > self.at and (sign == "-" or sign == "+") then at = at - 1 end
    move(self, at)
    move(self, behind_end(self, "#}", true))
end

-- After {% raw %}: text up to {% endraw %}.
local function read_raw(self)
    if self.at > #self.source then return end
    local from = self.at
    while true do
        local first, behind, sign = self.source:find("{%%([-+]?)%s*endraw%s*", from)
        if not first then failure.raise("line %d: a raw without its endraw", self.line) end
        local text, here = self.source:sub(self.at, first - 1), self.at
        self.at = behind + 1
        local at = behind_end(self, "%}", true)
        self.at = here
        if at then
            add_data(self, text, sign, true)
            return move(self, at)
        end
        from = first + 2
    end
end

local OPENING = { ["("] = ")", ["["] = "]", ["{"] = "}" }
local CLOSING = { [")"] = true, ["]"] = true, ["}"] = true }
local OPERATORS = { ["//"] = true, ["**"] = true, ["=="] = true, ["!="] = true, [">="] = true,
    ["<="] = true }
for operator in ("+-/*%~[](){}><=.:|,;"):gmatch "." do OPERATORS[operator] = true end

local function read_operator(self, open)
    local two = self.source:sub(self.at, self.at + 1)
    local operator = OPERATORS[two] and #two == 2 and two or two:sub(1, 1)
    if not OPERATORS[operator] then
        failure.raise("line %d: unexpected character %q", self.line,
            self.source:match("^[^\x80-\xBF][\x80-\xBF]*", self.at) or two)
    end
    if OPENING[operator] then open[#open + 1] = OPENING[operator] end
    if CLOSING[operator] and table.remove(open) ~= operator then
        failure.raise("line %d: unexpected '%s'", self.line, operator)
    end
    add(self, operator)
    self.at = self.at + #operator
end

local function read_string(self, quote)
    local at = self.at + 1
    while true do
        at = self.source:find("[\\" .. quote .. "]", at)
        if not at then failure.raise("line %d: a string without its end", self.line) end
        if self.source:sub(at, at) == quote then break end
        at = at + 2
    end
    add(self, "string", literals.string(self.source:sub(self.at + 1, at - 1), self.line))
    move(self, at + 1)
end

local function read_token(self, open)
    local number, size = literals.number(self.source, self.at, self.line)
    if number then
        add(self, "number", number)
        self.at = self.at + size
        return
    end
    local name = characters.name_at(self.source, self.at)
    if name then
        add(self, "name", name)
        self.at = self.at + #name
        return
    end
    local quote = self.source:match("^['\"]", self.at)
    if quote then return read_string(self, quote) end
    return read_operator(self, open)
end

-- What is inside a tag, up to its end.
local function read_inside(self, kind, closing)
    local open = {}
    add(self, kind .. "_begin")
    while true do
        local start = characters.behind_spaces(self.source, self.at)
        if start > self.at then move(self, start) end
        if self.at > #self.source then return end -- the parser says what is missing
        local behind = #open == 0 and behind_end(self, closing, kind == "block")
        if behind then
            add(self, kind .. "_end")
            self.line_starting = self.source:sub(behind - 1, behind - 1) == "\n"
            return move(self, behind)
        end
        read_token(self, open)
    end
end

-- The text up to the next tag, and the tag.
local function read_next(self)
    local source = self.source
    local first = source:find("{[{%%#]", self.at)
    if not first then
        add(self, "data", source:sub(self.at))
        self.at = #source + 1
        return
    end
    local tag, sign = source:sub(first, first + 1), source:match("^[-+]?", first + 2)
    add_data(self, source:sub(self.at, first - 1), sign, tag ~= "{{")
    move(self, first + 2 + #sign)
    if tag == "{{" then return read_inside(self, "variable", "}}") end
    if tag == "{%" then
        local _, behind = source:find("^%s*raw%s*", self.at)
        local ending = behind and (source:match("^-?%%}()", behind + 1))
        if not ending then return read_inside(self, "block", "%}") end
        if source:sub(behind + 1, behind + 1) == "-" then
            ending = characters.behind_spaces(source, ending)
        end
        move(self, ending)
        self.line_starting = source:sub(ending - 1, ending - 1) == "\n"
        read_raw(self)
    else
        skip_comment(self)
    end
    self.line_starting = source:sub(self.at - 1, self.at - 1) == "\n"
end

---@param source string
---@return heed.text.template.Token[]
return function(source)
    source = source:gsub("\r\n?", "\n"):gsub("\n$", "", 1)
    local self = setmetatable({ source = source, at = 1, line = 1, tokens = {},
        line_starting = true }, Lexer)
    while self.at <= #source do read_next(self) end
    add(self, "end")
    return self.tokens
end
