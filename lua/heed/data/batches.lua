--- Batches of examples of different lengths: bucketed, padded, shuffled by a seed of their own, and
--- resumed exactly.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local examples_of = require "heed.data.examples"
local index = require "heed.data.index"
local loops = require "heed.data.loops"
local no_list = require "heed.data.no_list"
local shuffle = require "heed.data.shuffle"
local state = require "heed.data.state"
local stream_batches = require "heed.data.stream_batches"
local tensors = require "heed.data.tensors"

---An iterator of batches; `#batches` is their number in the present pass.
---@class heed.data.Batches
---@field epoch integer the present pass over the data, from 1
---@field position integer batches already given in it
---@field private examples table[]
---@field private count_of_examples integer
---@field private collate fun(self: heed.data.Batches, indices: integer[]): table
---@field private size integer?
---@field private tokens integer?
---@field private value integer
---@field private shuffle boolean
---@field private bucket boolean
---@field private seed integer
---@field private drop_last boolean
local Batches = {}
Batches.__index = Batches

local KNOWN = check.set("tokens", "size", "shuffle", "bucket", "seed", "value", "drop_last",
    "encode", "pool")
local POOL = 100 -- batches whose examples are sorted by length together

-- The batches of an epoch, as lists of indices: a function of seed and epoch alone.
local function plan(self)
    local indices = {}
    for i = 1, self.count_of_examples do indices[i] = i end
    local random = shuffle.random(self.seed, self.epoch)
    if self.shuffle then shuffle.shuffle(indices, random) end
    if self.bucket then
        local pool = #indices
        if self.shuffle then
            local total = 0
            for _, n in ipairs(self.lengths) do total = total + n end
            local mean = math.max(1, total // math.max(1, #indices))
            pool = math.max(1, self.size and self.size * POOL or self.tokens * POOL // mean)
        end
        indices = shuffle.bucket(indices, self.lengths, pool)
    end
    local batches = shuffle.cut(indices, self.lengths, self.size, self.tokens)
    if self.drop_last and #batches > 0 and self.size and #batches[#batches] < self.size then
        batches[#batches] = nil
    end
    if self.shuffle and self.bucket then shuffle.shuffle(batches, random) end
    return batches
end

local function encoded(list, encode)
    local result = {}
    for _, example in ipairs(list) do result[#result + 1] = encode(example) end
    return result
end

-- Something that gives one example after another and can go on where it was: a stream, passes over
-- an index, a user's own.
local function is_source(value)
    local meta = type(value) == "table" and getmetatable(value)
    return meta and meta.__call and value.state_dict and value.load_state_dict and true or false
end

-- Examples in a list.
local function hold_examples(self, list)
    if self.encode then list = encoded(list, self.encode) end
    local fields = examples_of.fields(list)
    local dtypes = examples_of.dtypes(list, fields)
    self.count_of_examples, self.lengths = #list, {}
    for i, example in ipairs(list) do self.lengths[i] = examples_of.longest(example, fields, i) end
    self.collate = function(indices)
        return examples_of.collate(list, indices, fields, dtypes, self.value)
    end
end

-- Rows of tensors.
local function hold_rows(self, held)
    self.count_of_examples, self.lengths = tensors.count(held), {}
    for i = 1, self.count_of_examples do self.lengths[i] = 1 end
    self.collate = function(indices) return tensors.collate(held, indices) end
end

local function settings_of(options)
    if (options.size == nil) == (options.tokens == nil) then
        errors.raise("heed.data.batches: options: expected either size (examples in a batch) or "
            .. "tokens (cells in a batch)")
    end
    check.integer("heed.data.batches", options.size and "size" or "tokens",
        options.size or options.tokens)
    if options.encode ~= nil then
        check.type("heed.data.batches", "encode", options.encode, "function")
    end
    return {
        size = options.size and math.tointeger(options.size), tokens = options.tokens
            and math.tointeger(options.tokens),
        shuffle = check.flag("heed.data.batches", "shuffle", options.shuffle, false),
            value = options.value, encode = options.encode,
        bucket = check.flag("heed.data.batches", "bucket", options.bucket, options.tokens ~= nil),
        seed = check.integer("heed.data.batches", "seed", options.seed or 1, math.mininteger),
        drop_last = check.flag("heed.data.batches", "drop_last", options.drop_last, false),
        pool = options.pool and check.integer("heed.data.batches", "pool", options.pool),
    }
end

-- ---- public -------------------------------------------------------------------------------------

---Batches of examples. `for batch in batches do` is one pass over the data; the next such loop is
---the next pass.
---
---An example is a list of numbers, or has several fields, in order ({source, target}) or by name
---({src = ..., label = 3}). A batch has them under the same keys. A list becomes a tensor [B,
---longest], i64 or (where any example has a float in it) f32, with its lengths beside it:
---batch.lengths[1], or batch.src_lengths. A number becomes [B], a truth value bool [B], a text
---stands in a list, and tensors of one shape are stacked: [B, ...]. batch.size is B; batch.indices
---says which examples of the list they are (not of an index or a stream).
---
---Instead of a list of examples there may be tensors of as many rows, {x, y} or {x = x, y = y}: a
---row of all is an example, and a batch has rows of each.
---
---The examples are a list, or stay in their files: an index (heed.data.line_index, pair_index),
---whose order is shuffled as a whole and whose text is never held, or a stream (line_stream,
---pair_stream). `encode` makes lists of integers of their text; a pool of examples is held at a
---time, and bucketing and the shuffle of batches are within it. Then `#` is not known.
---
---state_dict and load_state_dict go on in the middle of a pass, with the same batches.
---
---```lua
---local batches = heed.data.batches({ { 5, 6 }, { 7 }, { 8, 9, 10 } }, { size = 2, value = 0 })
---for batch in batches do print(batch[1], batch.lengths[1]) end
---```
---@param examples table[]|heed.data.Index|heed.data.Stream|heed.data.Passes
---@param options { size?: integer, tokens?: integer, shuffle?: boolean, bucket?: boolean, seed?: integer, value?: integer, drop_last?: boolean, pool?: integer, encode?: fun(example: any): table|nil }
---size: examples in a batch; tokens: instead of size, at most so many cells of its longest field,
---padding counted (an example that alone is longer makes a batch of its own); shuffle: default
---false; bucket: examples of like length together, default with tokens; seed: of the shuffle,
---default 1; value: the padding, default 1; drop_last: leave out a last batch of less than size;
---encode: an example's lists of integers, or nil to leave it out; pool: examples held at a time,
---when they are not a list, default 100 batches of size, or 10000
---@return heed.data.Batches|heed.data.PooledBatches
local function batches(examples, options)
    check.type("heed.data.batches", "examples", examples, "table")
    local settings = settings_of(check.options("heed.data.batches", options, KNOWN))
    if index.is_index(examples) then
        return stream_batches(examples:passes { shuffle = settings.shuffle, seed = settings.seed },
            settings)
    end
    if is_source(examples) then return stream_batches(examples, settings) end
    local self = setmetatable(settings, Batches)
    self.epoch, self.position = 1, 0
    if tensors.are_rows(examples) then hold_rows(self, examples) else hold_examples(self,
        examples) end
    if self.count_of_examples == 0 then
        errors.raise "heed.data.batches: examples: the split has 0 batches: it has no examples"
    end
    self.plan = plan(self)
    if #self.plan == 0 then
        errors.raise("heed.data.batches: examples: the split has 0 batches: its %d examples are "
            .. "fewer than "
            .. "one batch of %d", self.count_of_examples, self.size)
    end
    return self
end

local function next_pass(self)
    self.epoch, self.position = self.epoch + 1, 0
    self.plan = plan(self)
    loops.done(self)
end

---The next batch of this pass, or nil at its end (the one after that begins the next pass). A `for`
---loop that begins after one was left by break begins the next pass.
---@return table|nil batch
function Batches:__call(...)
    if loops.restarts(self, ...) then
        next_pass(self)
        self.in_loop = true
    end
    if self.position == #self.plan then
        next_pass(self)
        return nil
    end
    self.position = self.position + 1
    local indices = self.plan[self.position]
    local batch = self.collate(indices)
    batch.indices = indices
    return batch
end

---An iterator over passes without end.
---@return fun(): table
function Batches:forever()
    return function() return self() or self() end
end

---Batches in the present pass.
function Batches:__len() return #self.plan end

function Batches:__tostring()
    return ("heed.data.batches(%d examples, %d batches of %s; epoch %d, %d given)"):format(
        self.count_of_examples, #self.plan,
        self.size and self.size .. " examples" or self.tokens .. " tokens", self.epoch,
            self.position)
end

no_list(Batches, "heed.data.Batches", "for batch in batches do ... end",
    "batches() gives the next")

local LEAST = { seed = math.mininteger, epoch = 1, position = 0, examples = 0 }

---Where the iteration stands. With the same examples and options, load_state_dict goes on with the
---very same batches.
---@return { seed: integer, epoch: integer, position: integer, examples: integer, size: integer?, tokens: integer? }
function Batches:state_dict()
    return {
        seed = self.seed, epoch = self.epoch, position = self.position,
        examples = self.count_of_examples, size = self.size, tokens = self.tokens,
        shuffle = self.shuffle, bucket = self.bucket, drop_last = self.drop_last,
    }
end

---nil and a message when the state is not of these examples, or of other batches of them.
---@param saved table
---@return true|nil
---@return string? message
function Batches:check_state_dict(saved)
    local ok, message = state.check("batches", saved, LEAST)
    if not ok then return nil, message end
    if saved.examples ~= self.count_of_examples then
        return nil, ("the state is of %d examples, here are %d"):format(saved.examples,
            self.count_of_examples)
    end
    return state.same_options(saved, self)
end

---Goes on where the state was taken, in the middle of a pass too.
---@param saved table as state_dict gave it
function Batches:load_state_dict(saved)
    state.must("heed.data.Batches", self:check_state_dict(saved))
    self.seed, self.epoch = saved.seed, saved.epoch
    self.plan = plan(self)
    self.position = math.min(saved.position, #self.plan)
    loops.done(self)
end

---How many of the cells of a batch are not padding: the sum of its lengths.
---@param lengths heed.Tensor i64 [B]
---@return integer
function Batches:count(lengths) -- luacheck: ignore self
    return core.sum(lengths):item()
end

return batches
