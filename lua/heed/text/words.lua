--- A vocabulary of words.

local characters = require "heed.text.characters"
local check = require "heed.check"
local errors = require "heed.errors"
local spaces = require "heed.text.spaces"
local specials = require "heed.text.specials"
local vocabulary = require "heed.text.vocabulary"

---A vocabulary of words. Special tokens are fields by their names; `#vocabulary` counts all tokens.
---@class heed.text.Words
---@field pad integer
---@field bos integer
---@field eos integer
---@field unk integer
---@field special table<string, integer> ids of the special tokens by name
---@field private ids table<string, integer>
---@field private names string[]
---@field private tokens string[]
local Words = {}
Words.__index = Words

local OPTIONS = check.set("min_count", "max_size", "specials")
local MAX_TOKENS = 1 << 24

-- ---- cutting ------------------------------------------------------------------------------------

-- A letter, a digit, an underscore, or a byte that is no character; not the two Unicode blocks of
-- common punctuation and signs (U+0080-U+00BF, U+2000-U+206F), nor that of CJK (U+3000-U+303F).
local function is_letter(character)
    if not character:find "^[\x80-\xFF]" then return character:find "^[%w_]" ~= nil end
    return not (character:find "^\xC2[\x80-\xBF]" or character:find "^\xE2[\x80\x81][\x80-\xBF]"
        or character:find "^\xE3\x80[\x80-\xBF]")
end

-- Between letters these are of the word; between digits . and , are.
local INSIDE_WORD = { ["'"] = true, ["\u{2019}"] = true, ["-"] = true }
local INSIDE_NUMBER = { ["."] = true, [","] = true }

local function joins(before, character, after)
    if not before or not after then return false end
    if INSIDE_NUMBER[character] then return before:find "^%d" and after:find "^%d" end
    return INSIDE_WORD[character] and is_letter(before) and is_letter(after)
end

-- Calls emit(word) for each word and each mark between words.
local function each_word(text, emit)
    for piece in spaces.fold(text):gmatch "%S+" do
        if piece:find "^[%w_]+$" then
            emit(piece)
        else
            local list, word = characters(piece), ""
            for i, character in ipairs(list) do
                if is_letter(character) or joins(list[i - 1], character, list[i + 1]) then
                    word = word .. character
                else
                    if word ~= "" then emit(word) end
                    emit(character)
                    word = ""
                end
            end
            if word ~= "" then emit(word) end
        end
    end
end

-- Of a text, or of a list of words that somebody else has cut.
local function each_of(where, name, text, emit)
    if type(text) == "string" then return each_word(text, emit) end
    if type(text) ~= "table" then
        errors.raise("%s: %s: expected a string or a list of words, got %s", where, name,
            check.describe(text))
    end
    for i, word in ipairs(text) do
        if type(word) ~= "string" or word == "" then
            errors.raise("%s: %s: expected words, got %s at %d", where, name,
                check.describe(word), i)
        end
        emit(word)
    end
end

-- ---- making one ---------------------------------------------------------------------------------

local function problem_with_specials(names)
    return specials.problem(names, Words, vocabulary.RESERVED)
end

-- The words that occur often enough, the most frequent first, equals in the order of their bytes.
local function frequent(counts, min_count)
    local list = {}
    for word, count in pairs(counts) do
        if count >= min_count then list[#list + 1] = word end
    end
    table.sort(list, function(a, b)
        if counts[a] ~= counts[b] then return counts[a] > counts[b] end
        return a < b
    end)
    return list
end

---The words of a text, or of all texts of a list, the most frequent first, after the special
---tokens.
---
---A word is a run of letters and digits, with apostrophes and hyphens inside it, and points and
---commas inside a number; every other mark is a word of its own. Case is kept: text:lower() takes
---it away. Whoever cuts otherwise gives lists of words in place of texts, here and to encode.
---
---```lua
---local vocabulary = heed.text.words({ "the cat saw the dog.", "the dog didn't" }, { min_count = 2 })
---local ids = vocabulary:encode("the dog ran", { eos = true })
---print(#vocabulary, table.concat(ids, " ")) --> 6 5 6 4 3
---print(vocabulary:decode(ids)) --> the dog <unk>
---```
---@param source string|(string|string[])[]
---@param options? { min_count?: integer, max_size?: integer, specials?: string[] } min_count: words
---that occur less often are left out (default 1); max_size: tokens there may be, special ones
---counted (default as many as there are); specials: names of special tokens, ids from 1 (default
---pad, bos, eos, unk)
---@return heed.text.Words
local function words(source, options)
    local where = "heed.text.words"
    options = check.options(where, options, OPTIONS)
    local special_names = options.specials or specials.DEFAULT
    local problem = problem_with_specials(special_names)
    if problem then errors.raise("%s: specials: %s", where, problem) end
    local min_count = check.integer(where, "min_count", check.default(options.min_count, 1))
    local most = check.integer(where, "max_size", check.default(options.max_size, MAX_TOKENS),
        #special_names)
    if type(source) == "string" then source = { source } end
    local counts = {}
    for i, text in ipairs(check.type(where, "source", source, "table")) do
        each_of(where, ("source[%d]"):format(i), text, function(word)
            counts[word] = (counts[word] or 0) + 1
        end)
    end
    local list = frequent(counts, min_count)
    local kept = table.move(list, 1, math.min(#list, most - #special_names), 1, {})
    return vocabulary.fill(setmetatable({}, Words), special_names, kept)
end

-- ---- using it -----------------------------------------------------------------------------------

---The tokens of a text, or of a list of words. A word that the vocabulary lacks is the special
---token unk; without one it is an error.
---@param text string|string[]
---@param options? { bos?: boolean, eos?: boolean } bos: put this special token before it; eos: put
---this one behind it
---@return integer[] ids
function Words:encode(text, options)
    local where = "heed.text.Words:encode"
    return vocabulary.encode(self, where, options, function(emit)
        each_of(where, "text", text, emit)
    end)
end

---The words of tokens with a space between each two, so that marks stand alone; special tokens are
---left out, unk is `<unk>`.
---@param ids integer[]|heed.Tensor a list or a vector
---@return string
function Words:decode(ids)
    local list = {}
    ids = specials.list("heed.text.Words:decode", ids)
    for i, piece in ipairs(vocabulary.pieces(self, "heed.text.Words:decode", ids)) do
        if ids[i] == self.unk then piece = "<unk>" end
        if piece ~= "" then list[#list + 1] = piece end
    end
    return table.concat(list, " ")
end

---One token as a person may read it.
---@param id integer
---@return string
function Words:token(id) return vocabulary.token(self, "heed.text.Words:token", id) end

function Words:__len() return #self.tokens end

function Words:__tostring()
    return ("heed.text.words(%d tokens: %s and %d words)"):format(#self.tokens,
        table.concat(self.names, " "), #self.tokens - #self.names)
end

---For heed.checkpoint.
---@return { specials: string[], words: string[] }
function Words:state_dict()
    return { specials = self.names, words = vocabulary.listed(self) }
end

---nil and a message when this is no state of a vocabulary.
---@param state table
---@return true|nil
---@return string? message
function Words:check_state_dict(state) -- luacheck: ignore self
    if type(state) ~= "table" or not vocabulary.is_list(state.words, MAX_TOKENS) then
        return nil, "not the state of a vocabulary of words"
    end
    local problem = problem_with_specials(state.specials)
    if problem then return nil, problem end
    return true
end

---Becomes the vocabulary that was saved.
---@param state table as state_dict gave it
function Words:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("heed.text.Words:load_state_dict: %s", message) end
    vocabulary.refill(self, state.specials, state.words)
end

return words
