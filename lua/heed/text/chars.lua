--- A vocabulary of characters: every token is one Unicode character (a byte that is no character
--- stands for itself).

local check = require "heed.check"
local errors = require "heed.errors"
local specials = require "heed.text.specials"

---A vocabulary of characters. Special tokens are fields by their names; `#vocabulary` counts all
---tokens.
---@class heed.text.Chars
---@field pad integer
---@field bos integer
---@field eos integer
---@field unk integer
---@field special table<string, integer> ids of the special tokens by name
---@field private ids table<string, integer>
---@field private names string[]
---@field private tokens string[]
local Chars = {}
Chars.__index = Chars

local CALL = check.set("bos", "eos")
local RESERVED = check.set("special", "names", "tokens", "ids")
local MAX_TOKENS = 0x110000 + 256

-- Calls emit(character) for each character, or for the byte where the text is not UTF-8.
local function each_character(text, emit)
    local at, length = 1, #text
    while at <= length do
        local valid, bad = utf8.len(text, at)
        local last = valid and length or bad - 1
        for character in text:sub(at, last):gmatch(utf8.charpattern) do emit(character) end
        if not valid then emit(text:sub(bad, bad)) end
        at = last + (valid and 1 or 2)
    end
end

local function problem_with_specials(names) return specials.problem(names, Chars, RESERVED) end

-- From the special names and the characters in the order of their ids.
local function fill(self, special_names, characters)
    self.special, self.names, self.tokens, self.ids = {}, {}, {}, {}
    for id, name in ipairs(special_names) do
        self.special[name], self.names[id], self.tokens[id], self[name] = id, name, "", id
    end
    for _, character in ipairs(characters) do
        self.tokens[#self.tokens + 1] = character
        self.ids[character] = #self.tokens
    end
    return self
end

---The characters of a text, or of all texts of a list, sorted, after the special tokens.
---
---```lua
---local vocabulary = heed.text.chars { "hello", "wörld" }
---local ids = vocabulary:encode("höhle", { eos = true })
---print(#vocabulary, table.concat(ids, " ")) --> 12 7 12 7 8 6 3
---print(vocabulary:decode(ids)) --> höhle
---```
---@param source string|string[]
---@param options? { specials?: string[] } names of special tokens, ids from 1 (default pad, bos,
---eos, unk)
---@return heed.text.Chars
local function chars(source, options)
    options = check.options("heed.text.chars", options, { specials = true })
    local special_names = options.specials or specials.DEFAULT
    local problem = problem_with_specials(special_names)
    if problem then errors.raise("heed.text.chars: specials: %s", problem) end
    if type(source) == "string" then source = { source } end
    check.type("heed.text.chars", "source", source, "table")
    local seen, list = {}, {}
    for i, text in ipairs(source) do
        if type(text) ~= "string" then
            errors.raise("heed.text.chars: source: expected strings, got %s at %d",
                check.describe(text), i)
        end
        each_character(text, function(character)
            if not seen[character] then
                seen[character] = true
                list[#list + 1] = character
            end
        end)
    end
    table.sort(list)
    return fill(setmetatable({}, Chars), special_names, list)
end

---The tokens of a text. A character that the vocabulary lacks is the special token unk; without one
---it is an error.
---@param text string
---@param options? { bos?: boolean, eos?: boolean } bos: put this special token before it; eos: put
---this one behind it
---@return integer[] ids
function Chars:encode(text, options)
    if type(text) ~= "string" then
        errors.raise("heed.text.Chars:encode: text: expected a string, got %s",
            check.describe(text))
    end
    if options then check.options("heed.text.Chars:encode", options, CALL) end
    local ids, known, unknown = {}, self.ids, self.unk
    if options and options.bos then ids[1] = specials.id(self, "heed.text.Chars:encode", "bos") end
    each_character(text, function(character)
        local id = known[character] or unknown
        if not id then
            errors.raise("heed.text.Chars:encode: text: %q is not in the vocabulary", character)
        end
        ids[#ids + 1] = id
    end)
    if options and options.eos then
        ids[#ids + 1] = specials.id(self, "heed.text.Chars:encode", "eos")
    end
    return ids
end

---The text of tokens; special tokens are left out.
---@param ids integer[]|heed.Tensor a list or a vector
---@return string
function Chars:decode(ids)
    ids = specials.list("heed.text.Chars:decode", ids)
    local out = {}
    for i, id in ipairs(ids) do
        out[i] = self.tokens[id]
        if not out[i] then
            errors.raise("heed.text.Chars:decode: ids: expected tokens from 1 to %d, got %s at %d",
                #self.tokens, check.describe(id), i)
        end
    end
    return table.concat(out)
end

---One token as a person may read it.
---@param id integer
---@return string
function Chars:token(id)
    local token = self.tokens[id]
    if not token then
        errors.raise("heed.text.Chars:token: id: expected a token from 1 to %d, got %s",
            #self.tokens, check.describe(id))
    end
    return self.names[id] and "<" .. self.names[id] .. ">" or token
end

function Chars:__len() return #self.tokens end

function Chars:__tostring()
    return ("heed.text.chars(%d tokens: %s and %d characters)"):format(#self.tokens,
        table.concat(self.names, " "),
        #self.tokens - #self.names)
end

---For heed.checkpoint.
---@return { specials: string[], characters: string[] }
function Chars:state_dict()
    return { specials = self.names, characters = table.move(self.tokens, #self.names + 1,
        #self.tokens, 1, {}) }
end

---nil and a message when this is no state of a vocabulary.
---@param state table
---@return true|nil
---@return string? message
function Chars:check_state_dict(state) -- luacheck: ignore self
    if type(state) ~= "table" or type(state.characters) ~= "table"
        or #state.characters > MAX_TOKENS then
        return nil, "not the state of a vocabulary of characters"
    end
    local problem = problem_with_specials(state.specials)
    if problem then return nil, problem end
    for _, character in ipairs(state.characters) do
        if type(character) ~= "string" or character == "" then
            return nil, "a character that is no string"
        end
    end
    return true
end

---Becomes the vocabulary that was saved.
---@param state table as state_dict gave it
function Chars:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("heed.text.Chars:load_state_dict: %s", message) end
    for key in pairs(self) do self[key] = nil end
    fill(self, state.specials, state.characters)
end

return chars
