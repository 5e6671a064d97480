--- Windows of a file of token ids, for language models: the file stays on disk, and each window is
--- read when it is asked for. Nothing is mapped: a page of a map that the file lost while it was
--- read kills the process, where a short read is an error.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local loops = require "heed.data.loops"
local no_list = require "heed.data.no_list"
local state = require "heed.data.state"

---An iterator of inputs and targets; `#tokens` is the number of batches in a pass.
---@class heed.data.Tokens
---@field epoch integer the present pass over the file, from 1
---@field position integer batches already given in it
---@field count integer tokens in the file
---@field private path string
---@field private file file*
---@field private dtype heed.dtype
---@field private bytes integer
---@field private window integer
---@field private batch integer
---@field private offset integer
---@field private shuffle boolean
---@field private seed integer
---@field private length integer
local Tokens = {}
Tokens.__index = Tokens

local WHERE = "heed.data.tokens"
local KNOWN = check.set("dtype", "window", "batch", "seed", "shuffle", "offset")
local DTYPES = { "u16", "u32", "i32", "i64", "i16", "u8", "i8" }

local function settings_of(options)
    options = check.options(WHERE, options, KNOWN)
    local dtype = check.one_of(WHERE, "dtype", options.dtype or "u16", DTYPES)
    return {
        dtype = dtype, bytes = #core.zeros(1, { dtype = dtype }):bytes(),
        window = check.integer(WHERE, "window", options.window),
        batch = check.integer(WHERE, "batch", options.batch),
        seed = check.integer(WHERE, "seed", options.seed or 1, math.mininteger),
        shuffle = check.flag(WHERE, "shuffle", options.shuffle, true),
        offset = check.integer(WHERE, "offset", options.offset or 1, math.mininteger),
        epoch = 1, position = 0,
    }
end

-- How many tokens the file has, and batches a pass; nil and a message where they are no pass.
local function measure(self)
    local size, message = self.file:seek "end"
    if not size then return nil, message end
    self.file:seek "set"
    local _, why = self.file:read(0) -- a directory opens, and cannot be read
    if why then return nil, why end
    if size % self.bytes ~= 0 then
        return nil, ("expected whole tokens of %d bytes (%s), the file has %d bytes"):format(
            self.bytes, self.dtype, size)
    end
    self.count = size // self.bytes
    local windows = (self.count - 1) // self.window
    if windows < 1 then
        return nil, ("expected at least %d tokens, a window and the one behind it, the file has %d")
            :format(self.window + 1, self.count)
    end
    self.length = self.shuffle and math.max(windows // self.batch, 1)
        or -(-windows // self.batch)
    return true
end

---Inputs and targets from a file of token ids without any header, such as nanoGPT's train.bin:
---`for x, y in tokens do` is one pass, the next such loop the next. Both are i64 [B, L], and y is x
---one further: y[b][i] follows x[b][i] in the file.
---
---The windows begin anywhere, drawn anew for every batch as nanoGPT does it, and a pass is as many
---batches as it takes to see as many tokens as the file has. With `shuffle = false` they follow one
---another from the file's beginning, each begins with the last target of the one before, and the
---last batch of the pass may have fewer rows; what is left behind the last whole window is not
---seen.
---
---Files count ids from 0 and heed from 1: `offset` is added to each, default 1, as tokenizers do.
---A file of ids that heed gave has `offset = 0`.
---
---The file is never read whole, whatever its size, and a file that becomes shorter is an error.
---state_dict and load_state_dict go on in the middle of a pass, with the same batches.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "wb"))
---file:write(heed.range(0, 99):to "u16":bytes())
---file:flush()
---local tokens <close> = assert(heed.data.tokens(path, { window = 4, batch = 2, shuffle = false }))
---local x, y = tokens()
---print(x, y, #tokens) --> [[1, 2, 3, 4], [5, 6, 7, 8]] i64 [2, 4] [[2, 3, 4, 5], [6, 7, 8, 9]] i64 [2, 4] 12
---os.remove(path)
---```
---@param path string
---@param options { window: integer, batch: integer, dtype?: heed.dtype, offset?: integer, shuffle?: boolean, seed?: integer }
---window: L; batch: B; dtype: of the ids in the file, little-endian, default "u16"; offset: added to
---each, default 1; shuffle: windows that begin anywhere, default true; seed: of their beginnings,
---default 1
---@return heed.data.Tokens|nil
---@return string? message the file cannot be read, has no whole tokens, or not enough for a window
local function tokens(path, options, ...)
    check.type(WHERE, "path", path, "string")
    check.no_more(WHERE, 2, ...)
    local self = settings_of(options)
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    file:setvbuf "no" -- windows lie apart: nothing is read but they
    self.path, self.file = path, file
    local ok, why = measure(self)
    if ok then return setmetatable(self, Tokens) end
    file:close()
    return nil, path .. ": " .. why
end

-- Where the windows of the present batch begin, tokens before each: a function of seed, epoch and
-- position alone.
local function starts(self)
    local list = {}
    if self.shuffle then
        local generator = core.generator(0)
        generator:state(core.ids { self.seed * 0x9E3779B97F4A7C15 + self.epoch, self.position })
        return core.randint(0, self.count - self.window - 1, self.batch,
            { generator = generator }):totable()
    end
    local windows = (self.count - 1) // self.window
    local first = (self.position - 1) * self.batch
    for i = 1, math.min(self.batch, windows - first) do
        list[i] = (first + i - 1) * self.window
    end
    return list
end

local function window_at(self, start)
    local wanted = (self.window + 1) * self.bytes
    if io.type(self.file) ~= "file" then errors.raise("%s: the file was closed", self.path) end
    local at, message = self.file:seek("set", start * self.bytes)
    local text = at and self.file:read(wanted)
    if not text or #text < wanted then
        errors.raise("%s: %s", self.path, message
            or ("the file became shorter: expected %d tokens, it ends before token %d"):format(
                self.count, start + self.window + 1))
    end
    return text
end

local function read_batch(self)
    local rows = starts(self)
    for b, start in ipairs(rows) do rows[b] = window_at(self, start) end
    local L = self.window
    local ids = core.frombytes(table.concat(rows), self.dtype, #rows, L + 1):to "i64" + self.offset
    return ids:narrow(2, 1, L):contiguous(), ids:narrow(2, 2, L):contiguous()
end

local function next_pass(self)
    self.epoch, self.position = self.epoch + 1, 0
    loops.done(self)
end

---The next inputs and targets, or nil at the end of the pass (the call after that begins the next
---one). A `for` loop that begins after one was left by break begins the next pass.
---@return heed.Tensor|nil inputs i64 [B, L]
---@return heed.Tensor|nil targets i64 [B, L]
function Tokens:__call(...)
    if loops.restarts(self, ...) then
        next_pass(self)
        self.in_loop = true
    end
    if self.position == self.length then
        next_pass(self)
        return nil
    end
    self.position = self.position + 1
    return read_batch(self)
end

---An iterator over passes without end.
---@return fun(): heed.Tensor, heed.Tensor
function Tokens:forever()
    return function()
        if self.position == self.length then next_pass(self) end
        return self()
    end
end

---Batches in a pass.
function Tokens:__len() return self.length end

function Tokens:__tostring()
    return ("heed.data.tokens(%d %s of %s, %d batches of %d x %d; epoch %d, %d given)"):format(
        self.count, self.dtype, self.path, self.length, self.batch, self.window, self.epoch,
        self.position)
end

no_list(Tokens, "heed.data.Tokens", "for x, y in tokens do ... end",
    "tokens() gives the next two")

---Closes the file; `local tokens <close> = ...` does it too, and so does the collector.
function Tokens:close() if io.type(self.file) == "file" then self.file:close() end end

Tokens.__close = Tokens.close

local LEAST = { seed = math.mininteger, epoch = 1, position = 0, count = 0 }
local SAME = { "count", "window", "batch", "shuffle", "offset", "dtype" }

---Where the iteration stands. With the same file and options, load_state_dict goes on with the very
---same batches.
---@return table
function Tokens:state_dict()
    local saved = { seed = self.seed, epoch = self.epoch, position = self.position }
    for _, name in ipairs(SAME) do saved[name] = self[name] end
    return saved
end

---nil and a message when the state is of another file or of other windows.
---@param saved table
---@return true|nil
---@return string? message
function Tokens:check_state_dict(saved)
    local ok, message = state.check("tokens", saved, LEAST)
    if not ok then return nil, message end
    for _, name in ipairs(SAME) do
        if saved[name] ~= self[name] then
            return nil, ("the state is of tokens with %s = %s, these have %s"):format(name,
                tostring(saved[name]), tostring(self[name]))
        end
    end
    if saved.position > self.length then
        return nil, ("the state is at batch %d of %d"):format(saved.position, self.length)
    end
    return true
end

---Goes on where the state was taken, in the middle of a pass too.
---@param saved table as state_dict gave it
function Tokens:load_state_dict(saved)
    state.must("heed.data.Tokens", self:check_state_dict(saved))
    self.seed, self.epoch, self.position = saved.seed, saved.epoch, saved.position
    loops.done(self)
end

return tokens
