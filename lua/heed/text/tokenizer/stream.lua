--- Ids one at a time, and text of whole characters as soon as it is known.
---
--- What an id decodes to depends on the ids around it: the first loses its space, bytes wait for the
--- rest of their character. So the last ids are decoded again with each new one, behind some that are
--- written already, and what they add is the news.

local valid = require "heed.text.tokenizer.valid"

---@class heed.text.TokenStream
---@field tokenizer heed.Tokenizer
---@field options table
---@field ids integer[] the last ones
---@field written integer how many of them are
local Stream = {}
Stream.__index = Stream

-- So many ids without a whole character: then it is none.
local MOST_WAITING = 8

local stream = {}

---@param tokenizer heed.Tokenizer
---@param options table of its decode
---@return heed.text.TokenStream
function stream.new(tokenizer, options)
    return setmetatable({ tokenizer = tokenizer, options = options, ids = {}, written = 0 }, Stream)
end

-- What the ids behind those that are written add to them, and whether they leave those as they are:
-- a byte may make a whole run of them unreadable until its character is whole.
local function news(self)
    local before = table.move(self.ids, 1, self.written, 1, {})
    local known = self.tokenizer:decode(before, self.options)
    local text = self.tokenizer:decode(self.ids, self.options)
    return valid.text(text:sub(#known + 1)), text:sub(1, #known) == known
end

local function forget(self)
    local ids, last = self.ids, #self.ids
    self.ids = table.move(ids, math.max(self.written + 1, 1), last, 1, {})
    self.written = #self.ids
end

---Takes one more id, and gives the characters that are whole now: "" while they are not.
---@param id integer
---@return string
function Stream:push(id)
    table.insert(self.ids, id)
    local text, continues = news(self)
    local waiting = #self.ids - self.written
    if (not continues or text:sub(-3) == "\u{FFFD}") and waiting < MOST_WAITING then return "" end
    if text ~= "" then forget(self) end
    return text
end

---No id comes any more: what is left, as decode gives it.
---@return string
function Stream:finish()
    local text = news(self)
    self.ids, self.written = {}, 0
    return text
end

return stream
