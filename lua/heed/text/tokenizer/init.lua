--- Tokenizers of other people's models: text to ids and back, the same ids as the programs that
--- made the files.

local chat = require "heed.text.tokenizer.chat"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local files = require "heed.text.tokenizer.files"
local pad = require "heed.data.pad"
local stream = require "heed.text.tokenizer.stream"
local unknown = require "heed.unknown"

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
---@field template? string|table[] of chats

---A tokenizer. Ids count from 1: a file's id and 1.
---@class heed.Tokenizer
---@field offset integer 1: what is added to a file's id
---@field path string the file or directory that it came from
---@field is_gguf boolean
---@field bos integer|nil begins a text
---@field eos integer|nil ends one
---@field unk integer|nil stands for what is unknown
---@field pad integer|nil
---@field mask integer|nil
---@field cls integer|nil
---@field sep integer|nil
---@field template string|table[]|nil of chats, as the file has it: one, or several with names
local Tokenizer = {}
Tokenizer.__index = Tokenizer
Tokenizer.__name = "heed.Tokenizer"

local NAMES = { "bos", "eos", "unk", "pad", "mask", "cls", "sep" }

local function method(self, name)
    check.object(self, "heed.Tokenizer", name, "tokenizer")
    if getmetatable(self) ~= Tokenizer then
        errors.raise("heed.Tokenizer:%s: self: expected a tokenizer, got %s", name,
            check.describe(self))
    end
    return "heed.Tokenizer:" .. name
end

-- What is put around texts must be ids that there are.
local function check_around(self)
    for _, list in ipairs { self.around.single, self.around.pair } do
        for _, id in ipairs(list) do
            if math.type(id) and not core.tokenizer_token(self.core, id) then
                unknown.refuse("post_processor: expected ids 0..%d, got %d", #self - 1, id - 1)
            end
        end
    end
end

local function new(description, path)
    local self = setmetatable({ offset = 1, path = path }, Tokenizer)
    self.is_gguf = description.is_gguf or false
    self.core = core.tokenizer_new(description)
    self.around, self.decoding = description.around, description.decode
    check_around(self)
    self.template, self.names = description.template, description.names or {}
    self.special = {}
    for _, token in ipairs(description.added) do
        if token.special then self.special[token.id + 1] = true end
    end
    for _, name in ipairs(NAMES) do
        local token = self.names[name]
        if token then self[name] = core.tokenizer_id(self.core, token) end
    end
    return self
end

local function is_gguf_file(value)
    local meta = type(value) == "table" and getmetatable(value)
    return meta and meta.__name == "heed.gguf.File"
end

---The tokenizer of a file: a tokenizer.json, a vocab.txt, a SentencePiece model (.model, .spm), a GGUF
---file; or of a directory that holds one of the first three. A GGUF file may be given as heed.gguf.open
---gives it, so that it is not read twice.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---print(tokenizer, tokenizer.unk, tokenizer.offset) --> tokenizer of 5 tokens 1 1
---print(heed.text.tokenizer "nowhere") --> nil nowhere: No such file or directory
---os.remove(path)
---```
---
---A vocab.txt does not say how texts become tokens: they are BERT's words and their pieces, unless a
---`pattern` says that they are what a regular expression finds, as in vocabularies of SMILES.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\nC\nCl\n[O-]\n=\n":close()
---local tokenizer = heed.text.tokenizer(path, { pattern = [=[\[[^\]]+\]|Cl?|=]=] })
---print(table.concat(tokenizer:encode "ClC=[O-]", " ")) --> 3 2 5 4
---os.remove(path)
---```
---@param path string|heed.gguf.File
---@param options? { pattern?: string } pattern: of the tokens of a vocab.txt; what it does not find
---is no token
---@return heed.Tokenizer|nil # nil when the file cannot be read, or says something that is
---not known here: never a guess
---@return string? message
local function open(path, options)
    local file = is_gguf_file(path) and path or nil
    path = file and file.path or check.type("heed.text.tokenizer", "path", path, "string")
    options = check.options("heed.text.tokenizer", options, check.set("pattern"))
    local pattern = options.pattern
    if pattern then check.type("heed.text.tokenizer", "pattern", pattern, "string") end
    local description, message = files.read(path, pattern, file and file.metadata)
    if not description then return nil, message end
    return unknown.attempt(path, new, description, path)
end

-- ---- encoding -----------------------------------------------------------------------------------

local OPTIONS = check.set("pair", "specials", "offsets", "truncate", "specials_in_text")

local function encode_one(self, where, name, text, options)
    check.type(where, name, text, "string")
    local in_text = options.specials_in_text
    return core.tokenizer_encode(self.core, text, in_text == nil or in_text, options.offsets)
end

-- How many marks of spaces a token begins with, and ends with.
local MARK = "\u{120}"
local function spaces_of(token)
    local left, right = 0, 0
    while token:sub(2 * left + 1, 2 * left + 2) == MARK do left = left + 1 end
    while token:sub(-2 * right - 2, -2 * right - 1) == MARK do right = right + 1 end
    return left, right
end

local function continues(text, i)
    local byte = text:byte(i)
    return byte and byte & 0xC0 == 0x80
end

-- Where the next character begins, and where the one before ends.
local function behind(text, i)
    repeat i = i + 1 until not continues(text, i)
    return i
end
local function before(text, i)
    while continues(text, i) do i = i - 1 end
    return i - 1
end

-- Spaces at a token's ends are none of its text; the first one may have been put there.
local function trim(self, text, ids, ends)
    for i, id in ipairs(ids) do
        local left, right = spaces_of(core.tokenizer_token(self.core, id))
        if i == 1 and self.around.prefix_space then left = left - 1 end
        local first, last = ends[2 * i - 1], ends[2 * i]
        for _ = 1, left do
            if first <= last then first = behind(text, first) end
        end
        for _ = 1, right do
            if first <= last then last = before(text, last) end
        end
        ends[2 * i - 1], ends[2 * i] = first, last
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
            local earlier = #ids
            table.move(part, 1, #part, earlier + 1, ids)
            if offsets then
                for i = 1, #part do
                    offsets[earlier + i] = { ends[what][2 * i - 1], ends[what][2 * i] }
                end
            end
        end
    end
    return ids, offsets
end

---The ids of a text, or of two.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---print(table.concat(tokenizer:encode "The foxes, the fox", " ")) --> 3 4 5 1 3 4
---local ids, offsets = tokenizer:encode("The foxes", { offsets = true })
---print(#ids, table.unpack(offsets[3])) --> 3 8 9
---os.remove(path)
---```
---@param text string
---@param options? { pair?: string, specials?: boolean, offsets?: boolean, truncate?: integer, specials_in_text?: boolean }
---pair: a second text; specials: with the tokens that the file puts around (default true); offsets:
---the first and last byte of each token too; truncate: so many ids at most, those around counted;
---specials_in_text: special tokens that are written out in the text are read as such (default
---true), and as any text when false
---@return integer[] ids
---@return integer[][]|nil offsets { first, last } of each: text:sub(first, last); { 1, 0 } of what
---is not in the text
function Tokenizer:encode(text, options)
    local where = method(self, "encode")
    options = check.options(where, options, OPTIONS)
    local a, a_ends = encode_one(self, where, "text", text, options)
    local b, b_ends
    if options.pair ~= nil then
        b, b_ends = encode_one(self, where, "pair", options.pair, options)
    end
    if options.offsets and self.around.trim then
        trim(self, text, a, a_ends)
        if b then trim(self, options.pair, b, b_ends) end
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

---The ids of several texts as a batch: shorter ones are filled up with the padding token, or with
---1 where the file names none.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---local ids, lengths = tokenizer:encode_batch { "the fox", "the foxes" }
---print(ids, lengths[1], lengths[2]) --> [[3, 4, 2], [3, 4, 5]] i64 [2, 3] 2 3
---os.remove(path)
---```
---@param texts string[]
---@param options? table as of encode, without offsets
---@return heed.Tensor ids [B, L] i64
---@return integer[] lengths
function Tokenizer:encode_batch(texts, options)
    local where = method(self, "encode_batch")
    check.type(where, "texts", texts, "table")
    options = check.options(where, options, OPTIONS)
    if options.offsets then
        errors.raise("%s: offsets: expected none; encode gives those of one text", where)
    end
    local lists, lengths = {}, {}
    for i, text in ipairs(texts) do
        lists[i] = self:encode(check.type(where, ("texts[%d]"):format(i), text, "string"), options)
        lengths[i] = #lists[i]
    end
    return pad(lists, { value = self.pad or 1 }), lengths
end

-- ---- decoding -----------------------------------------------------------------------------------

local function tokens_of(self, where, ids, specials)
    check.type(where, "ids", ids, "table")
    local list = {}
    for i, id in ipairs(ids) do
        local token = core.tokenizer_token(self.core, check.integer(where, ("ids[%d]"):format(i),
            id))
        if not token then
            errors.raise("%s: ids[%d]: expected 1..%d, got %d", where, i, #self, id)
        end
        if specials or not self.special[id] then list[#list + 1] = token end
    end
    return list
end

-- `tokenizer:decode(heed.generate(...))` passes both of its results.
local OF_GENERATE = {}
for name in pairs(check.set("tokens", "text", "score", "log_probs", "reason")) do
    OF_GENERATE[name] = "heed.generate gives two results, and in parentheses only the first: "
        .. "tokenizer:decode((heed.generate(model, ids)))"
end

---The text of ids.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---print(tokenizer:decode { 3, 4, 5 }) --> the foxes
---os.remove(path)
---```
---@param ids integer[]
---@param options? { specials?: boolean } specials: with the special tokens; default false
---@return string
function Tokenizer:decode(ids, options)
    local where = method(self, "decode")
    options = check.options(where, options, check.set("specials"), OF_GENERATE)
    if check.is_tensor(ids) then ids = ids:totable() end
    local specials = check.flag(where, "specials", options.specials, false)
    return table.concat(self.decoding(tokens_of(self, where, ids, specials)))
end

---An object that takes ids one at a time, and gives text of whole characters.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---local stream = tokenizer:stream()
---print(stream:push(3) .. "|" .. stream:push(4) .. "|" .. stream:push(5)) --> the| fox|es
---os.remove(path)
---```
---@param options? { specials?: boolean } specials: with the special tokens; default false
---@return heed.text.TokenStream
function Tokenizer:stream(options)
    options = check.options(method(self, "stream"), options, check.set("specials"))
    return stream.new(self, { specials = options.specials })
end

-- ---- chats --------------------------------------------------------------------------------------

---The text of a chat, as the model of the tokenizer's file wants it: by the file's own template,
---a program in the language of Jinja.
---
---Messages and tools are lists, as Lua tables or as JSON text. Objects of JSON text keep the order
---of their names where a template writes them out as JSON; a Lua table has no order, and its names
---are written in the order of their bytes. heed.json.null is None.
---
---The text has its special tokens in it: encode it with `{ specials = false }`.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---tokenizer.template = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
---    .. "{{ '<assistant>' if add_generation_prompt }}"
---local messages = { { role = "user", content = " 2 + 2? " } }
---print(tokenizer:chat(messages)) --> <user>2 + 2?<assistant>
---os.remove(path)
---```
---@param messages table[]|string `{ role = "user", content = "..." }`, and what else is read
---@param options? table add_generation_prompt: end where an answer begins (default true); tools,
---documents: lists; template: the name of one of several templates; now: the time that a template
---is told, as os.time() (default: now). Other names are variables of the template's:
---`{ enable_thinking = false }`
---@return string|nil text nil when the file has no template, or the template refuses
---@return string? message
function Tokenizer:chat(messages, options)
    method(self, "chat")
    return chat.text(self, messages, options)
end

-- ---- the vocabulary -----------------------------------------------------------------------------

---The token of an id.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---print(tokenizer:token(5), tokenizer:id "fox", #tokenizer) --> ##es 4 5
---os.remove(path)
---```
---@param id integer
---@return string|nil token as the file writes it; nil when there is no such id
function Tokenizer:token(id)
    method(self, "token")
    return core.tokenizer_token(self.core, id)
end

---The id of a token.
---
---```lua
---local path = os.tmpname() .. ".txt"
---local file <close> = io.open(path, "w")
---file:write "[UNK]\n[PAD]\nthe\nfox\n##es\n":close()
---local tokenizer = heed.text.tokenizer(path)
---print(tokenizer:id "fox", tokenizer:id "dog") --> 4 nil
---os.remove(path)
---```
---@param token string as the file writes it
---@return integer|nil id nil when there is no such token
function Tokenizer:id(token)
    method(self, "id")
    return core.tokenizer_id(self.core, token)
end

function Tokenizer:__len()
    method(self, "__len")
    return core.tokenizer_count(self.core)
end

function Tokenizer:__tostring()
    method(self, "__tostring")
    return ("tokenizer of %d tokens"):format(#self)
end

return open
