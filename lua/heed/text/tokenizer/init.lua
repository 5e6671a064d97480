--- Tokenizers of other people's models: text to ids and back, the same ids as the programs that
--- made the files.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local files = require "heed.text.tokenizer.files"
local unknown = require "heed.text.tokenizer.unknown"
local valid = require "heed.text.tokenizer.valid"

---What a file says of a tokenizer: what the core's steps are made of, and what is done in Lua.
---@class heed.text.tokenizer.Description
---@field vocabulary table a list (the first has the file's id 0) or a map of tokens to ids
---@field model table
---@field normalizers table[]
---@field splitters table[]
---@field added table[]
---@field decode fun(tokens: string[]): string[]
---@field around heed.text.tokenizer.Around
---@field names? table<string, string> the special tokens by what they are for: bos, eos ...
---@field template? string of chats

---A tokenizer. Ids count from 1: a file's id and 1.
---@class heed.Tokenizer
---@field offset integer 1: what is added to a file's id
---@field bos integer|nil begins a text
---@field eos integer|nil ends one
---@field unk integer|nil stands for what is unknown
---@field pad integer|nil
---@field mask integer|nil
---@field cls integer|nil
---@field sep integer|nil
local Tokenizer = {}
Tokenizer.__index = Tokenizer
Tokenizer.__name = "heed.Tokenizer"

local NAMES = { "bos", "eos", "unk", "pad", "mask", "cls", "sep" }

local function new(description)
    local self = setmetatable({ offset = 1 }, Tokenizer)
    self.core = core.tokenizer_new(description)
    self.around, self.decoding = description.around, description.decode
    self.template = description.template
    self.special = {}
    for _, token in ipairs(description.added) do
        if token.special then self.special[token.id + 1] = true end
    end
    for _, name in ipairs(NAMES) do
        local token = (description.names or {})[name]
        if token then self[name] = core.tokenizer_id(self.core, token) end
    end
    return self
end

---The tokenizer of a file: a tokenizer.json, or a directory that holds one.
---@param path string
---@return heed.Tokenizer|nil tokenizer nil when the file cannot be read, or says something that is
---not known here: never a guess
---@return string? message
local function open(path)
    check.type("heed.text.tokenizer", "path", path, "string")
    local description, message = files.read(path)
    if not description then return nil, message end
    return unknown.attempt(path, new, description)
end

-- ---- encoding -----------------------------------------------------------------------------------

local OPTIONS = check.set("pair", "specials", "offsets", "truncate", "specials_in_text")

local function encode_one(self, where, name, text, options)
    check.type(where, name, text, "string")
    local in_text = options.specials_in_text
    return core.tokenizer_encode(self.core, text, in_text == nil or in_text, options.offsets)
end

-- Which tokens begin or end with spaces, as the file's own strings show them.
local function trim(self, ids, ends)
    for i, id in ipairs(ids) do
        local token = core.tokenizer_token(self.core, id)
        local first, last = ends[2 * i - 1], ends[2 * i]
        local left, right = 0, 0
        for _ in token:gmatch "\u{120}" do left = left + 1 end
        if left > 0 then
            left = #token:match "^[\u{120}]*" // 2
            right = left == utf8.len(token) and 0 or #token:match "[\u{120}]*$" // 2
            if i == 1 and self.around.prefix_space and left > 0 then left = left - 1 end
            first = math.min(first + left, last + 1)
            last = math.max(last - right, first - 1)
            ends[2 * i - 1], ends[2 * i] = first, last
        end
    end
end

local function truncated(a, b, most)
    local excess = #a + (b and #b or 0) - most
    while excess > 0 do -- from the longer one, the first when they are equal
        local longer = b and #b > #a and b or a
        longer[#longer] = nil
        excess = excess - 1
    end
end

local function assemble(around, parts, ends)
    local ids, offsets = {}, ends and {}
    for _, what in ipairs(around) do
        local part = parts[what]
        if not part then
            ids[#ids + 1] = what
            if offsets then offsets[#ids] = { 1, 0 } end
        else
            local before = #ids
            table.move(part, 1, #part, before + 1, ids)
            if offsets then
                for i = 1, #part do
                    offsets[before + i] = { ends[what][2 * i - 1], ends[what][2 * i] }
                end
            end
        end
    end
    return ids, offsets
end

---The ids of a text, or of two.
---@param text string
---@param options? { pair?: string, specials?: boolean, offsets?: boolean, truncate?: integer, specials_in_text?: boolean }
---pair: a second text; specials: with the tokens that the file puts around (default true);
---offsets: the first and last byte of each token too; truncate: so many ids at most, those around
---counted; specials_in_text: special tokens that are written out in the text are read as such
---(default true), and as any text when false
---@return integer[] ids
---@return integer[][]|nil offsets { first, last } of each: text:sub(first, last); { 1, 0 } of what
---is not in the text
function Tokenizer:encode(text, options)
    local where = "tokenizer:encode"
    options = check.options(where, options, OPTIONS)
    local a, a_ends = encode_one(self, where, "text", text, options)
    local b, b_ends
    if options.pair ~= nil then b, b_ends = encode_one(self, where, "pair", options.pair, options) end
    if options.offsets and self.around.trim then
        trim(self, a, a_ends)
        if b then trim(self, b, b_ends) end
    end
    local specials = check.flag(where, "specials", options.specials, true)
    local around = b and self.around.pair or self.around.single
    if not specials then around = b and { "A", "B" } or { "A" } end
    if options.truncate then
        check.integer(where, "truncate", options.truncate, 0)
        local count = 0
        for _, what in ipairs(around) do count = count + (math.type(what) and 1 or 0) end
        truncated(a, b, math.max(0, options.truncate - count))
    end
    if #around == 1 and around[1] == "A" and not options.offsets then return a end
    return assemble(around, { A = a, B = b }, options.offsets and { A = a_ends, B = b_ends })
end

-- ---- decoding -----------------------------------------------------------------------------------

local function tokens_of(self, where, ids, specials)
    check.type(where, "ids", ids, "table")
    local list = {}
    for i, id in ipairs(ids) do
        local token = core.tokenizer_token(self.core, check.integer(where, ("ids[%d]"):format(i), id))
        if not token then
            errors.raise("%s: ids[%d]: expected 1..%d, got %d", where, i, #self, id)
        end
        if specials or not self.special[id] then list[#list + 1] = token end
    end
    return list
end

---The text of ids.
---@param ids integer[]
---@param options? { specials?: boolean } specials: with the special tokens; default false
---@return string
function Tokenizer:decode(ids, options)
    local where = "tokenizer:decode"
    options = check.options(where, options, check.set("specials"))
    if check.is_tensor(ids) then ids = ids:totable() end
    local specials = check.flag(where, "specials", options.specials, false)
    return table.concat(self.decoding(tokens_of(self, where, ids, specials)))
end

---@class heed.text.TokenStream
local Stream = {}
Stream.__index = Stream

---Takes one more id, and gives the characters that are whole now: "" while they are not.
---@param id integer
---@return string
function Stream:push(id)
    local ids = self.ids
    ids[#ids + 1] = id
    local text = self.tokenizer:decode(ids)
    local known = self.known
    -- What decodes to U+FFFD at the end may still become a character.
    if #text <= #known or text:sub(-3) == "\u{FFFD}" and #ids - self.first < 8 then return "" end
    if text:sub(1, #known) ~= known then known = "" end
    local new_text = text:sub(#known + 1)
    -- The last ids stay, since what they decode to depends on what is before.
    local from = self.first
    self.ids, self.first = table.move(ids, from + 1, #ids, 1, {}), #ids - from
    self.known = self.tokenizer:decode(self.ids)
    return new_text
end

---An object that takes ids one at a time.
---@return heed.text.TokenStream
function Tokenizer:stream()
    return setmetatable({ tokenizer = self, ids = {}, first = 0, known = "" }, Stream)
end

-- ---- the vocabulary -----------------------------------------------------------------------------

---@param id integer
---@return string|nil token as the file writes it
function Tokenizer:token(id) return core.tokenizer_token(self.core, id) end

---@param token string as the file writes it
---@return integer|nil id
function Tokenizer:id(token) return core.tokenizer_id(self.core, token) end

function Tokenizer:__len() return core.tokenizer_count(self.core) end

function Tokenizer:__tostring() return ("tokenizer of %d tokens"):format(#self) end

return setmetatable({ Tokenizer = Tokenizer, open = open, valid = valid }, {
    __call = function(_, path) return open(path) end,
})
