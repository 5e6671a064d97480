--- Byte-pair encoding over bytes (Sennrich et al. 2016, "Neural machine translation of rare words
--- with subword units").
---
--- Every text has an encoding and comes back byte for byte: the first tokens after the special ones
--- are the 256 bytes, each later token is two earlier ones joined. Text is cut into words first,
--- and no token crosses their ends. A word carries the space before it, and a space is put before
--- the text (and taken off again by decode), so that a word is the same token wherever it stands.

local check = require "heed.check"
local chunks = require "heed.text.chunks"
local errors = require "heed.errors"
local files = require "heed.files"
local specials = require "heed.text.specials"

---A vocabulary of byte pairs. Special tokens are fields by their names; `#vocabulary` counts all
---tokens.
---@class heed.text.Bpe
---@field pad integer
---@field bos integer
---@field eos integer
---@field unk integer
---@field special table<string, integer> ids of the special tokens by name
---@field private names string[]
---@field private pieces string[]
local Bpe = {}
Bpe.__index = Bpe

local bpe = {}

local SHIFT = 1 << 24 -- a pair of tokens as one integer key: a * SHIFT + b
local CACHE_LIMIT = 100000
local HEADER = "heed bpe 1"
local CALL = check.set("bos", "eos")
local RESERVED = check.set("special", "names", "pieces", "merges", "lefts", "rights", "first_byte",
    "cache", "cached")

-- ---- construction -------------------------------------------------------------------------------

local function new(special_names)
    local self = setmetatable({ special = {}, names = {}, pieces = {}, merges = {}, lefts = {},
        rights = {} }, Bpe)
    for id, name in ipairs(special_names) do
        self.special[name], self.names[id], self.pieces[id] = id, name, ""
        self[name] = id
    end
    self.first_byte = #special_names + 1
    for byte = 0, 255 do self.pieces[self.first_byte + byte] = string.char(byte) end
    self.cache, self.cached = {}, 0
    return self
end

local function add_merge(self, left, right)
    local id = #self.pieces + 1
    self.pieces[id] = self.pieces[left] .. self.pieces[right]
    self.merges[left * SHIFT + right] = id
    self.lefts[id], self.rights[id] = left, right
    return id
end

local function problem_with_specials(names) return specials.problem(names, Bpe, RESERVED) end

---A vocabulary of bytes alone: every byte is a token.
---
---```lua
---local bytes = heed.text.bpe.new()
---print(#bytes, table.concat(bytes:encode "hi", " ")) --> 260 37 109 110
---print(bytes.pad, bytes.bos, bytes.eos, bytes.unk) --> 1 2 3 4
---```
---@param options? { specials?: string[] } names of special tokens, ids from 1 (default pad, bos,
---eos, unk)
---@return heed.text.Bpe
function bpe.new(options)
    options = check.options("heed.text.bpe.new", options, { specials = true })
    local special_names = options.specials or specials.DEFAULT
    local problem = problem_with_specials(special_names)
    if problem then errors.raise("heed.text.bpe.new: specials: %s", problem) end
    return new(special_names)
end

-- ---- training -----------------------------------------------------------------------------------

local function count_chunks(lines)
    local counts, order = {}, {}
    local function count(chunk)
        local n = counts[chunk]
        if n then
            counts[chunk] = n + 1
        else
            counts[chunk] = 1
            order[#order + 1] = chunk
        end
    end
    local number = 0
    local function count_line(line)
        number = number + 1
        if type(line) ~= "string" then
            errors.raise("heed.text.bpe.train: lines: expected strings, got %s at %d",
                check.describe(line), number)
        end
        chunks.each(" " .. line, count)
    end
    if type(lines) == "table" and getmetatable(lines) == nil then
        for _, line in ipairs(lines) do count_line(line) end
    else
        for line in lines do count_line(line) end
    end
    return counts, order
end

-- A heap of pairs, the most frequent first, the earlier pair (by its tokens) first among equals. An
-- entry's count may be stale: whoever pops compares it with the present one.
local function heap_push(heap, count, key)
    local at = #heap + 1
    heap[at] = { count, key }
    while at > 1 do
        local up = at // 2
        local parent, child = heap[up], heap[at]
        if parent[1] > child[1] or (parent[1] == child[1] and parent[2] <= child[2]) then break end
        heap[up], heap[at] = child, parent
        at = up
    end
end

local function heap_pop(heap)
    local top, last = heap[1], #heap
    local moved = heap[last]
    heap[last] = nil
    last = last - 1
    if last > 0 then
        local at = 1
        local count, key = moved[1], moved[2]
        while true do
            local child = at * 2
            if child > last then break end
            local c = heap[child]
            if child < last then
                local other = heap[child + 1]
                if other[1] > c[1] or (other[1] == c[1] and other[2] < c[2]) then
                    child, c = child + 1, other
                end
            end
            if count > c[1] or (count == c[1] and key <= c[2]) then break end
            heap[at] = c
            at = child
        end
        heap[at] = moved
    end
    return top
end

-- Everything that learning keeps: the chunks as token sequences, how often each pair stands in
-- them, and where.
local function count_pairs(self, counts, order)
    local sequences, pair_counts, where = {}, {}, {}
    local first = self.first_byte
    for index, chunk in ipairs(order) do
        local sequence, n = { chunk:byte(1, -1) }, counts[chunk]
        for i = 1, #sequence do sequence[i] = sequence[i] + first end
        sequences[index] = sequence
        for i = 1, #sequence - 1 do
            local key = sequence[i] * SHIFT + sequence[i + 1]
            pair_counts[key] = (pair_counts[key] or 0) + n
            local places = where[key]
            if not places then where[key] = { index } elseif places[#places] ~=
                index then places[#places + 1] = index end
        end
    end
    return sequences, pair_counts, where
end

-- Joins left and right to id wherever they stand side by side in the sequence; change(key, d) is
-- told of every pair gone and come.
local function join(sequence, left, right, id, change)
    local length, from, to = #sequence, 1, 0
    while from <= length do
        local token = sequence[from]
        if token == left and sequence[from + 1] == right then
            local before, after = sequence[to], sequence[from + 2]
            if to > 0 then
                change(before * SHIFT + left, -1)
                change(before * SHIFT + id, 1)
            end
            if after then
                change(right * SHIFT + after, -1)
                change(id * SHIFT + after, 1)
            end
            token = id
            from = from + 1
        end
        to, from = to + 1, from + 1
        sequence[to] = token
    end
    for i = to + 1, length do sequence[i] = nil end
end

local function learn(self, vocab_size, counts, order)
    local sequences, pair_counts, where = count_pairs(self, counts, order)
    local heap = {}
    for key, count in pairs(pair_counts) do heap_push(heap, count, key) end
    while #self.pieces < vocab_size and heap[1] do
        local entry = heap_pop(heap)
        local key = entry[2]
        local count = pair_counts[key] or 0
        if count ~= entry[1] then
            if count > 1 then heap_push(heap, count, key) end
        elseif count < 2 then
            break
        else
            local left, right = key // SHIFT, key % SHIFT
            local id = add_merge(self, left, right)
            local grown = {}
            for _, index in ipairs(where[key]) do
                local n = counts[order[index]]
                join(sequences[index], left, right, id, function(changed, sign)
                    local now = (pair_counts[changed] or 0) + sign * n
                    pair_counts[changed] = now
                    if sign > 0 then
                        local places = where[changed]
                        if not places then
                            where[changed] = { index }
                            grown[#grown + 1] = changed
                        elseif places[#places] ~= index then
                            places[#places + 1] = index
                        end
                    end
                end)
            end
            pair_counts[key], where[key] = nil, nil
            for _, changed in ipairs(grown) do
                local now = pair_counts[changed]
                if now and now > 1 then heap_push(heap, now, changed) end
            end
        end
    end
end

---Learns a vocabulary. The same lines give the same vocabulary.
---
---```lua
---local lines = { "low lower lowest", "new newer newest", "low new" }
---local vocabulary = heed.text.bpe.train(lines, { vocab_size = 270 })
---local ids = vocabulary:encode "lowest newest"
---print(#ids, vocabulary:decode(ids)) --> 4 lowest newest
---for i, id in ipairs(ids) do print(i, vocabulary:token(id)) end
---```
---@param lines string[]|fun(): string|nil a list, or an iterator
---@param options { vocab_size: integer, specials?: string[] } vocab_size: the special tokens and
---the 256 bytes counted too; fewer tokens come out when no pair is left that stands twice;
---specials: names of special tokens, ids from 1, default pad, bos, eos, unk
---@return heed.text.Bpe
function bpe.train(lines, options)
    if type(lines) ~= "table" and type(lines) ~= "function" then
        errors.raise("heed.text.bpe.train: lines: expected a list of strings or an iterator, "
            .. "got %s", check.describe(lines))
    end
    options = check.options("heed.text.bpe.train", options, check.set("vocab_size", "specials"))
    local self = bpe.new { specials = options.specials }
    check.integer("heed.text.bpe.train", "vocab_size", options.vocab_size, #self.pieces)
    if options.vocab_size >= SHIFT then
        errors.raise("heed.text.bpe.train: vocab_size: expected less than %d, got %d", SHIFT,
            options.vocab_size)
    end
    learn(self, options.vocab_size, count_chunks(lines))
    return self
end

-- ---- use ----------------------------------------------------------------------------------------

local function encode_chunk(self, chunk)
    local merges, first = self.merges, self.first_byte
    local ids = { chunk:byte(1, -1) }
    for i = 1, #ids do ids[i] = ids[i] + first end
    while true do
        local best, at
        for i = 1, #ids - 1 do
            local id = merges[ids[i] * SHIFT + ids[i + 1]]
            if id and (not best or id < best) then best, at = id, i end
        end
        if not best then return ids end
        local left, right, to = self.lefts[best], self.rights[best], at - 1
        local length, from = #ids, at
        while from <= length do
            local token = ids[from]
            if token == left and ids[from + 1] == right then
                token = best
                from = from + 1
            end
            to, from = to + 1, from + 1
            ids[to] = token
        end
        for i = to + 1, length do ids[i] = nil end
    end
end

---The tokens of a text.
---@param text string any bytes
---@param options? { bos?: boolean, eos?: boolean } bos: put this special token before it; eos: put
---this one behind it
---@return integer[] ids
function Bpe:encode(text, options)
    if type(text) ~= "string" then
        errors.raise("heed.text.Bpe:encode: text: expected a string, got %s", check.describe(text))
    end
    if options then check.options("heed.text.Bpe:encode", options, CALL) end
    local ids, n = {}, 0
    if options and options.bos then
        ids[1], n = specials.id(self, "heed.text.Bpe:encode", "bos"), 1
    end
    local cache = self.cache
    chunks.each(" " .. text, function(chunk)
        local known = cache[chunk]
        if not known then
            -- A chunk without an end (a long run of letters without a space) is cut: joining is
            -- quadratic in its length.
            known = {}
            for from = 1, #chunk, 200 do
                table.move(encode_chunk(self, chunk:sub(from, from + 199)), 1, 200, #known + 1,
                    known)
            end
            if self.cached >= CACHE_LIMIT then
                cache, self.cached = {}, 0
                self.cache = cache
            end
            if #chunk <= 64 then
                cache[chunk] = known
                self.cached = self.cached + 1
            end
        end
        for i = 1, #known do ids[n + i] = known[i] end
        n = n + #known
    end)
    if options and options.eos then
        ids[n + 1] = specials.id(self, "heed.text.Bpe:encode", "eos")
    end
    return ids
end

---The text of tokens; special tokens are left out. decode(encode(s)) is s.
---@param ids integer[]|heed.Tensor a list or a vector
---@return string
function Bpe:decode(ids)
    ids = specials.list("heed.text.Bpe:decode", ids)
    local pieces, out = self.pieces, {}
    for i, id in ipairs(ids) do
        local piece = pieces[id]
        if not piece then
            errors.raise("heed.text.Bpe:decode: ids: expected tokens from 1 to %d, got %s at %d",
                #pieces, check.describe(id), i)
        end
        out[i] = piece
    end
    local text = table.concat(out)
    return text:sub(1, 1) == " " and text:sub(2) or text
end

---One token as a person may read it: ▁ for a space, <pad> for a special token, \xC3 for a byte that
---is no character.
---@param id integer
---@return string
function Bpe:token(id)
    local piece = self.pieces[id]
    if not piece then
        errors.raise("heed.text.Bpe:token: id: expected a token from 1 to %d, got %s", #self.pieces,
            check.describe(id))
    end
    if self.names[id] then return "<" .. self.names[id] .. ">" end
    local text = piece:gsub("[%c\\]", function(c) return ("\\x%02X"):format(c:byte()) end)
    if not utf8.len(text) then
        text = text:gsub("[\x80-\xFF]", function(c) return ("\\x%02X"):format(c:byte()) end)
    end
    return (text:gsub(" ", "▁"))
end

---The size of the vocabulary, special tokens included.
function Bpe:__len() return #self.pieces end

function Bpe:__tostring()
    return ("heed.text.bpe(%d tokens: %s)"):format(#self.pieces, table.concat(self.names, " ")
        .. ", 256 bytes, "
        .. (#self.pieces - 256 - #self.names) .. " joined")
end

-- ---- files --------------------------------------------------------------------------------------

-- The file: the line "heed bpe 1"; "specials" and their names; "merges" and their count; then a
-- line "LEFT RIGHT" for each joined token in order of its id, which is one more than all ids before
-- it. After a tab follows the token as a person reads it.
local function to_text(self)
    local lines = { HEADER, ("specials " .. table.concat(self.names, " ")):gsub(" $", "") }
    local first = self.first_byte + 256
    lines[3] = "merges " .. (#self.pieces - first + 1)
    for id = first, #self.pieces do
        lines[#lines + 1] = ("%d %d\t%s"):format(self.lefts[id], self.rights[id], self:token(id))
    end
    return table.concat(lines, "\n") .. "\n"
end

local MAX_PIECE = 4096 -- bytes: a hostile file could double a token's length at every line

local function from_text(text)
    local next_line = text:gmatch "([^\n]*)\n"
    if next_line() ~= HEADER then
        return nil, "not a vocabulary: its first line is not '" .. HEADER .. "'"
    end
    local names = (next_line() or ""):match "^specials(.*)$"
    if not names then return nil, "line 2 does not list the special tokens" end
    local special_names = {}
    for name in names:gmatch "%S+" do special_names[#special_names + 1] = name end
    local problem = problem_with_specials(special_names)
    if problem then return nil, "line 2: " .. problem end
    local count = math.tointeger(tonumber((next_line() or ""):match "^merges (%d+)$"))
    if not count or count >= SHIFT // 2 then
        return nil, "line 3 does not give the number of merges"
    end
    local self = new(special_names)
    local lowest = self.first_byte
    for i = 1, count do
        local line = next_line()
        if not line then return nil, ("cut off: %d of %d merges are there"):format(i - 1, count) end
        local left, right = line:match "^(%d+) (%d+)\t"
        if not left then left, right = line:match "^(%d+) (%d+)$" end
        left, right = math.tointeger(tonumber(left)), math.tointeger(tonumber(right))
        local known = #self.pieces
        if not (left and right) or left < lowest or right < lowest or left > known
            or right > known then
            return nil, ("line %d does not join two tokens from %d to %d"):format(i + 3, lowest,
                known)
        end
        if self.merges[left * SHIFT + right] then
            return nil, ("line %d joins what an earlier line joins"):format(i + 3)
        end
        if #self.pieces[left] + #self.pieces[right] > MAX_PIECE then
            return nil, ("line %d makes a token of more than %d bytes"):format(i + 3, MAX_PIECE)
        end
        add_merge(self, left, right)
    end
    if next_line() then return nil, "there are lines after the last merge" end
    return self
end

---Writes the vocabulary as a text file, whole or not at all.
---@param path string
---@return true|nil ok
---@return string? message
function Bpe:save(path)
    check.type("heed.text.Bpe:save", "path", path, "string")
    return files.write(path, to_text(self))
end

---Reads what save wrote. A file that is anything else gives nil and a message.
---
---```lua
---local path = os.tmpname()
---local vocabulary = heed.text.bpe.train({ "a rose is a rose is a rose" }, { vocab_size = 264 })
---assert(vocabulary:save(path))
---local again = assert(heed.text.bpe.load(path))
---print(#again, again:decode(again:encode "a rose")) --> 264 a rose
---os.remove(path)
---```
---@param path string
---@return heed.text.Bpe|nil
---@return string? message
function bpe.load(path)
    check.type("heed.text.bpe.load", "path", path, "string")
    local text, message = files.read(path)
    if not text then return nil, message end
    local self
    self, message = from_text(text)
    if not self then return nil, path .. ": " .. message end
    return self
end

---For heed.checkpoint.
---@return { text: string }
function Bpe:state_dict() return { text = to_text(self) } end

---nil and a message when this is no state of a vocabulary.
---@param state table
---@return true|nil
---@return string? message
function Bpe:check_state_dict(state) -- luacheck: ignore self
    if type(state) ~= "table" or type(state.text) ~= "string" then
        return nil, "not the state of a vocabulary"
    end
    local loaded, message = from_text(state.text)
    if not loaded then return nil, message end
    return true
end

---Becomes the vocabulary that was saved.
---@param state table as state_dict gave it
function Bpe:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("heed.text.Bpe:load_state_dict: %s", message) end
    for key in pairs(self) do self[key] = nil end
    for key, value in pairs(from_text(state.text)) do self[key] = value end
end

return bpe
