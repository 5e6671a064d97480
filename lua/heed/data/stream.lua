--- Lines and pairs as they come in their files, through a buffer that shuffles: what need not be
--- read beforehand.

local check = require "heed.check"
local errors = require "heed.errors"
local loops = require "heed.data.loops"
local no_list = require "heed.data.no_list"
local pair_format = require "heed.data.pair_format"
local reader = require "heed.data.reader"
local shuffle = require "heed.data.shuffle"
local state = require "heed.data.state"

local KNOWN = check.set("shuffle", "seed", "max_line")
local LEAST = { seed = math.mininteger, epoch = 1, given = 0, shuffle = 0 }

---Passes over files, without end: `for example in stream do` is one, the next such loop the next. A
---line that is too long, not of the file's form, or missing in one of two files raises when it is
---met.
---@class heed.data.Stream
---@field epoch integer the present pass, from 1
---@field given integer examples already given in it
---@field private buffer any[] examples
---@field private offsets integer[][] of each file: where the lines of these examples begin
---@field private first { offset: integer, number: integer }
---@field private shuffle integer
---@field private where string the function that made it
---@field private sources heed.data.Reader[]
local Stream = {}
Stream.__index = Stream

-- ---- one example after another, unshuffled ------------------------------------------------------

local function read(source)
    local line, offset = source:read()
    if source.message then errors.raise("%s", source.message) end
    return line, offset
end

local function rest(source)
    while read(source) do end
    return source.number
end

-- Each gives an example and the offset of its line in each file; nil at the end.
local NEXT = {}

function NEXT.lines(sources) return read(sources[1]) end

function NEXT.columns(sources)
    local line, offset
    repeat line, offset = read(sources[1]) until line ~= ""
    if not line then return nil end
    local pair = pair_format.split(line) or errors.raise("%s", pair_format.misfit(sources[1].path,
        sources[1].number, line))
    return pair, offset
end

function NEXT.files(sources)
    local a, b = sources[1], sources[2]
    local source, first = read(a)
    local target, second = read(b)
    if source and target then return { source, target }, first, second end
    if source or target then
        errors.raise("%s", pair_format.unequal(a.path, rest(a), b.path, rest(b)))
    end
end

-- ---- the buffer ---------------------------------------------------------------------------------

local function go(self, offsets, numbers)
    for i, source in ipairs(self.sources) do source:go(offsets[i], numbers[i]) end
end

local function begin(self, epoch)
    local offsets, numbers = {}, {}
    for i = 1, #self.sources do offsets[i], numbers[i] = self.first.offset, self.first.number end
    go(self, offsets, numbers)
    self.epoch, self.given, self.buffer, self.at_end = epoch, 0, {}, false
    self.offsets = {}
    for f = 1, #self.sources do self.offsets[f] = {} end
    self.random = shuffle.random(self.seed, epoch)
end

-- One more into the buffer, at place i; false at the end.
local function take_in(self, i)
    local example, first, second = self.next(self.sources)
    if example == nil then
        self.at_end = true
        return false
    end
    self.buffer[i], self.offsets[1][i] = example, first
    if second then self.offsets[2][i] = second end
    return true
end

-- The last of a list takes the place of the one at i, which is returned.
local function take_out(list, i)
    local taken, last = list[i], #list
    list[i] = list[last]
    list[last] = nil
    return taken
end

---What is left of this pass is not given.
function Stream:next_pass()
    begin(self, self.epoch + 1)
    loops.done(self)
end

---The next example, or nil at the end of the pass. A `for` loop that begins after one was left by
---break begins the next pass.
---@return string|table|nil
function Stream:__call(...)
    if loops.restarts(self, ...) then
        self:next_pass()
        self.in_loop = true
    end
    local buffer = self.buffer
    while not self.at_end and #buffer < math.max(self.shuffle, 1) do take_in(self, #buffer + 1) end
    if #buffer == 0 then
        self:next_pass()
        return nil
    end
    local i = self.random(#buffer) + 1
    for f = 1, #self.offsets do take_out(self.offsets[f], i) end
    self.given = self.given + 1
    return take_out(buffer, i)
end

-- ---- going on -----------------------------------------------------------------------------------

---Where it stands: of the buffer, where its lines begin.
---@return table
function Stream:state_dict()
    local saved = { seed = self.seed, epoch = self.epoch, given = self.given,
        shuffle = self.shuffle, files = {} }
    for f, source in ipairs(self.sources) do
        saved.files[f] = { offset = source:offset(), number = source.number, bytes = source.size,
            buffered = table.move(self.offsets[f], 1, #self.buffer, 1, {}) }
    end
    return saved
end

local function check_file(saved, source, buffered)
    local ok, message = state.check("a stream", saved, { offset = 0, number = 0, bytes = 0 })
    if not ok then return nil, message end
    if saved.bytes ~= source.size then
        return nil, ("%s had %d bytes when the state was taken, and has %d"):format(source.path,
            saved.bytes, source.size)
    end
    local is_sound = type(saved.buffered) == "table" and #saved.buffered == buffered
    for i = 1, is_sound and buffered or 0 do
        local offset = saved.buffered[i]
        is_sound = is_sound and math.type(offset) == "integer" and offset >= 0
    end
    if not is_sound then return nil, "not the state of a stream: its buffer is none" end
    return true
end

---nil and a message when the state is not of these files.
---@param saved table
---@return true|nil
---@return string? message
function Stream:check_state_dict(saved)
    local ok, message = state.check("a stream", saved, LEAST)
    if not ok then return nil, message end
    if type(saved.files) ~= "table" or #saved.files ~= #self.sources then
        return nil, ("the state is not of %d files"):format(#self.sources)
    end
    if saved.shuffle ~= self.shuffle then
        return nil, ("the state is of a buffer of %d examples, this is one of %d"):format(
            saved.shuffle, self.shuffle)
    end
    local first = saved.files[1]
    local buffered = type(first) == "table" and type(first.buffered) == "table" and #first.buffered
        or 0
    for f, source in ipairs(self.sources) do
        ok, message = check_file(saved.files[f], source, buffered)
        if not ok then return nil, message end
    end
    return true
end

---Goes on where the state was taken, with the same examples in the same shuffle.
---@param saved table as state_dict gave it
function Stream:load_state_dict(saved)
    state.must("heed.data.Stream", self:check_state_dict(saved))
    self.seed = saved.seed
    begin(self, saved.epoch)
    local offsets, numbers = {}, {}
    for i = 1, #saved.files[1].buffered do
        for f, file in ipairs(saved.files) do offsets[f], numbers[f] = file.buffered[i], 0 end
        go(self, offsets, numbers)
        if not take_in(self, i) then
            errors.raise("heed.data.Stream:load_state_dict: the state points behind the end of %s",
                self.sources[1].path)
        end
    end
    for f, file in ipairs(saved.files) do offsets[f], numbers[f] = file.offset, file.number end
    go(self, offsets, numbers)
    loops.done(self)
    self.given, self.at_end, self.random = saved.given, false,
        shuffle.random(saved.seed, saved.epoch, saved.given)
end

---Closes the files; `local stream <close> = ...` does it too, and so does the collector.
function Stream:close()
    for _, source in ipairs(self.sources) do source:close() end
end

Stream.__close = Stream.close

function Stream:__tostring()
    local paths = {}
    for i, source in ipairs(self.sources) do paths[i] = source.path end
    return ("%s(%s; epoch %d, %d given)"):format(self.where, table.concat(paths, ", "),
        self.epoch, self.given)
end

no_list(Stream, "heed.data.Stream", "for row in rows do ... end",
    "local list = {} for row in rows do list[#list + 1] = row end has them all", true)

-- ---- public -------------------------------------------------------------------------------------

local stream = {}

---The class, for what adds methods to it.
stream.Stream = Stream

local function buffer_of(where, size)
    if size ~= true then return check.integer(where, "shuffle", size, 0) end
    return errors.raise("%s: shuffle: expected the size of the buffer of which the next is drawn, "
        .. "an integer of at least 0, got true; shuffle = 10000 holds as many", where)
end

---Passes over open files.
---@param where string for messages
---@param sources heed.data.Reader[] closed with the stream
---@param next fun(sources: heed.data.Reader[]): any, integer?, integer? the next example and the
---offset of its line in each file; nil at the end
---@param options { shuffle?: integer, seed?: integer }
---@param first? { offset: integer, number: integer } where the examples begin, and lines before it;
---default: where the files do
---@return heed.data.Stream
function stream.of(where, sources, next, options, first)
    local self = setmetatable({
        where = where, sources = sources, next = next,
        first = first or { offset = 0, number = 0 }, in_loop = false,
        shuffle = buffer_of(where, options.shuffle or 0),
        seed = check.integer(where, "seed", options.seed or 1, math.mininteger),
    }, Stream)
    begin(self, 1)
    return self
end

local function new(where, paths, options, next)
    local max_line, sources = reader.max_line(where, options.max_line), {}
    for i, path in ipairs(paths) do
        local source, message = reader.open(path, max_line)
        if not source then
            for _, opened in ipairs(sources) do opened:close() end
            return nil, message
        end
        sources[i] = source
    end
    return stream.of(where, sources, next, options)
end

---The lines of a text file, one pass after another; it holds no more than the buffer.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---for i = 1, 9 do file:write("line ", i, "\n") end
---file:flush()
---local lines <close> = assert(heed.data.line_stream(path, { shuffle = 4, seed = 2 }))
---for line in lines do print(line) end
---os.remove(path)
---```
---@param path string
---@param options? { shuffle?: integer, seed?: integer, max_line?: integer } shuffle: lines in the
---buffer of which the next is drawn, default 0: in the file's order; seed: of the draws, default 1;
---max_line: bytes of the longest line there may be, default 2^20
---@return heed.data.Stream|nil
---@return string? message
function stream.lines(path, options)
    check.type("heed.data.line_stream", "path", path, "string")
    return new("heed.data.line_stream", { path }, check.options("heed.data.line_stream", options,
        KNOWN), NEXT.lines)
end

---The pairs of a file of two columns, `source<TAB>target` a line, or of two files, line by line,
---one pass after another.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "eins\tone\nzwei\ttwo\n"
---file:flush()
---local stream <close> = assert(heed.data.pair_stream(path))
---for pair in stream do print(pair[1], pair[2]) end
---os.remove(path)
---```
---@param path string
---@param target? string the file of the targets
---@param options? { shuffle?: integer, seed?: integer, max_line?: integer } shuffle: pairs in the
---buffer of which the next is drawn, default 0: in the file's order; seed: of the draws, default 1;
---max_line: bytes of the longest line there may be, default 2^20
---@return heed.data.Stream|nil
---@return string? message
function stream.pairs(path, target, options)
    target, options = pair_format.arguments("heed.data.pair_stream", path, target, options, KNOWN)
    return new("heed.data.pair_stream", { path, target }, options,
        target and NEXT.files or NEXT.columns)
end

return stream
