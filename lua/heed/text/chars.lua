--- A vocabulary of characters: every token is one Unicode character (a byte that is no character
--- stands for itself).

local check = require "heed.check"
local errors = require "heed.errors"
local specials = require "heed.text.specials"
local vocabulary = require "heed.text.vocabulary"

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

local function problem_with_specials(names)
    return specials.problem(names, Chars, vocabulary.RESERVED)
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
    return vocabulary.fill(setmetatable({}, Chars), special_names, list)
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
    return vocabulary.encode(self, "heed.text.Chars:encode", options, function(emit)
        each_character(text, emit)
    end)
end

---The text of tokens; special tokens are left out.
---@param ids integer[]|heed.Tensor a list or a vector
---@return string
function Chars:decode(ids)
    return table.concat(vocabulary.pieces(self, "heed.text.Chars:decode", ids))
end

---One token as a person may read it.
---@param id integer
---@return string
function Chars:token(id) return vocabulary.token(self, "heed.text.Chars:token", id) end

function Chars:__len() return #self.tokens end

function Chars:__tostring()
    return ("heed.text.chars(%d tokens: %s and %d characters)"):format(#self.tokens,
        table.concat(self.names, " "),
        #self.tokens - #self.names)
end

---For heed.checkpoint.
---@return { specials: string[], characters: string[] }
function Chars:state_dict()
    return { specials = self.names, characters = vocabulary.listed(self) }
end

---nil and a message when this is no state of a vocabulary.
---@param state table
---@return true|nil
---@return string? message
function Chars:check_state_dict(state) -- luacheck: ignore self
    if type(state) ~= "table" or not vocabulary.is_list(state.characters, MAX_TOKENS) then
        return nil, "not the state of a vocabulary of characters"
    end
    local problem = problem_with_specials(state.specials)
    if problem then return nil, problem end
    return true
end

---Becomes the vocabulary that was saved.
---@param state table as state_dict gave it
function Chars:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("heed.text.Chars:load_state_dict: %s", message) end
    vocabulary.refill(self, state.specials, state.characters)
end

return chars
