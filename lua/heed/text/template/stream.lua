--- The tokens of a template as the parsers take them.

local failure = require "heed.text.template.failure"

---@class heed.text.template.Stream
local Stream = {}
Stream.__index = Stream

local DEEPEST = 150

local function describe(token)
    if token.kind == "name" then return ("'%s'"):format(token.value) end
    if token.kind == "end" then return "the end of the template" end
    local text = token.kind:gsub("_", " ")
    return text
end

---Ends the parsing.
function Stream:fail(message, ...)
    failure.raise("line %d: %s", self.token.line, message:format(...))
end

function Stream:advance()
    local token = self.token
    if token.kind ~= "end" then self.at = self.at + 1 end
    self.token = self.tokens[self.at]
    return token
end

function Stream:following() return self.tokens[self.at + 1] or self.token end

---Is the token of this kind, or with a second argument this name?
function Stream:is(kind, name)
    return self.token.kind == kind and (name == nil or self.token.value == name)
end

function Stream:is_name(name) return self:is("name", name) end

---Takes the token when it is of this kind.
function Stream:accept(kind, name)
    if self:is(kind, name) then return self:advance() end
    return nil
end

function Stream:expect(kind, name)
    if self:is(kind, name) then return self:advance() end
    return self:fail("expected %s, got %s", name and ("'%s'"):format(name) or kind:gsub("_", " "),
        describe(self.token))
end

function Stream:unexpected() return self:fail("unexpected %s", describe(self.token)) end

---parse(self, ...), which may come to itself again, but not for ever.
function Stream:deeper(parse, ...)
    self.depth = self.depth + 1
    if self.depth > DEEPEST then self:fail("more than %d levels inside each other", DEEPEST) end
    local node = parse(self, ...)
    self.depth = self.depth - 1
    return node
end

---@param tokens heed.text.template.Token[]
---@return heed.text.template.Stream
return function(tokens)
    return setmetatable({ tokens = tokens, at = 1, token = tokens[1], depth = 0 }, Stream)
end
