--- Batches of examples that come one after another and are never all in memory: a pool of them at a
--- time.

local core = require "heed.core"
local errors = require "heed.errors"
local examples_of = require "heed.data.examples"
local loops = require "heed.data.loops"
local no_list = require "heed.data.no_list"
local shuffle = require "heed.data.shuffle"
local state = require "heed.data.state"

---An iterator of batches of examples that come one after another; how many there are is not known
---before the end.
---@class heed.data.PooledBatches
---@field epoch integer the present pass over the data, from 1
---@field position integer batches already given of the present pool
---@field private at_end boolean
---@field private batches table[]?
---@field private before table
---@field private examples table[]
---@field private fields string[]
---@field private pool integer
---@field private size integer?
---@field private source table
---@field private tokens integer?
---@field private value integer
local Pooled = {}
Pooled.__index = Pooled

local DEFAULT_POOL = 10000
local BATCHES = 100 -- in a pool, when their size is known

-- ---- one pool -----------------------------------------------------------------------------------

-- The next `count` examples of the source, encoded; fewer at the end of its pass.
local function gather(self, count)
    local list = {}
    while #list < count do
        local example = self.source()
        if example == nil then
            self.at_end = true
            break
        end
        if self.encode then example = self.encode(example) end
        if example ~= nil then list[#list + 1] = example end
    end
    return list
end

-- As those of the pools before; a pool with the first float in a field comes too late.
local function dtypes_of(self, list)
    local dtypes, before = examples_of.dtypes(list, self.fields), self.dtypes
    for name, dtype in pairs(before or {}) do
        if dtype == "i64" and dtypes[name] == "f32" then
            errors.raise("heed.data.batches: examples: field %s: expected integers as in the "
                .. "batches before, "
                .. "got a float; write floats as 1.0 from the first example on", name)
        end
        dtypes[name] = dtype
    end
    return dtypes
end

local function plan(self)
    local list, lengths, indices = self.examples, {}, {}
    if self.fields == nil then self.fields = examples_of.fields(list) end
    self.dtypes = dtypes_of(self, list)
    for i, example in ipairs(list) do
        lengths[i], indices[i] = examples_of.longest(example, self.fields, i), i
    end
    local random = shuffle.random(self.seed + (self.pools << 32), self.epoch)
    if self.shuffle then shuffle.shuffle(indices, random) end
    if self.bucket then indices = shuffle.bucket(indices, lengths, math.max(#indices, 1)) end
    local batches = shuffle.cut(indices, lengths, self.size, self.tokens)
    local last = batches[#batches]
    if self.drop_last and self.size and last and #last < self.size then batches[#batches] = nil end
    if self.shuffle and self.bucket then shuffle.shuffle(batches, random) end
    return batches
end

-- The state of the source before the pool is what a saved state needs of it.
local function next_pool(self)
    self.before = self.source:state_dict()
    self.pools, self.position = self.pools + 1, 0
    self.examples = gather(self, self.pool)
    self.batches = plan(self)
end

local function begin(self, epoch)
    self.epoch, self.pools, self.position, self.at_end = epoch, 0, 0, false
    self.examples, self.batches, self.before, self.given = nil, {}, nil, 0
    loops.done(self)
end

-- The source stands in the middle of its pass, which is over.
local function skip_pass(self)
    if not self.at_end then
        if self.source.next_pass then
            self.source:next_pass()
        else
            while self.source() ~= nil do end
        end
    end
    begin(self, self.epoch + 1)
end

-- ---- public -------------------------------------------------------------------------------------

---@param source table an iterator with state_dict and load_state_dict
---@param settings table the checked options of batches
---@return heed.data.PooledBatches
local function pooled(source, settings)
    local self = setmetatable({}, Pooled)
    for name, value in pairs(settings) do self[name] = value end
    self.source = source
    local wanted = self.pool or self.size and self.size * BATCHES or DEFAULT_POOL
    self.pool = self.size and -(-wanted // self.size) * self.size or wanted -- whole batches
    begin(self, 1)
    return self
end

---The next batch of this pass, or nil at its end (the one after that begins the next pass). A `for`
---loop that begins after one was left by break begins the next pass.
---@return table|nil batch
function Pooled:__call(...)
    if loops.restarts(self, ...) then
        skip_pass(self)
        self.in_loop = true
    end
    while self.position == #self.batches do
        if self.at_end then
            if self.given == 0 then
                errors.raise("heed.data.batches: examples: the split has 0 batches: the pass "
                    .. "gave none")
            end
            begin(self, self.epoch + 1)
            return nil
        end
        next_pool(self)
    end
    self.position, self.given = self.position + 1, self.given + 1
    return examples_of.collate(self.examples, self.batches[self.position], self.fields, self.dtypes,
        self.value)
end

---An iterator over passes without end.
---@return fun(): table
function Pooled:forever()
    return function() return self() or self() end
end

---How many batches there are is known to nobody before all examples were read.
function Pooled:__len() -- luacheck: ignore self
    errors.raise("heed.data.batches: their number is not known: the examples are read as they "
        .. "are needed")
end

function Pooled:__tostring()
    return ("heed.data.batches(%s, batches of %s; epoch %d, %d given)"):format(
        tostring(self.source),
        self.size and self.size .. " examples" or self.tokens .. " tokens", self.epoch, self.given)
end

no_list(Pooled, "heed.data.PooledBatches", "for batch in batches do ... end",
    "how many there are is known at the end")

local LEAST = { seed = math.mininteger, epoch = 1, pools = 0, position = 0, given = 0, pool = 1 }

---Where the iteration stands. With the same examples and options, load_state_dict goes on with the
---very same batches: the pool that it stood in is read again.
---@return table
function Pooled:state_dict()
    return {
        seed = self.seed, epoch = self.epoch, pools = self.pools, position = self.position,
            given = self.given, pool = self.pool,
        source = self.before or self.source:state_dict(),
        size = self.size, tokens = self.tokens, shuffle = self.shuffle, bucket = self.bucket,
            drop_last = self.drop_last,
    }
end

---nil and a message when the state is not of these examples.
---@param saved table
---@return true|nil
---@return string? message
function Pooled:check_state_dict(saved)
    local ok, message = state.check("batches", saved, LEAST)
    if not ok then return nil, message end
    if saved.pool ~= self.pool then
        return nil, ("the state is of pools of %d examples, these are of %d"):format(saved.pool,
            self.pool)
    end
    ok, message = state.same_options(saved, self)
    if not ok then return nil, message end
    if self.source.check_state_dict then return self.source:check_state_dict(saved.source) end
    return true
end

---Goes on where the state was taken, in the middle of a pass too.
---@param saved table as state_dict gave it
function Pooled:load_state_dict(saved)
    state.must("heed.data.PooledBatches", self:check_state_dict(saved))
    self.source:load_state_dict(saved.source)
    self.seed = saved.seed
    begin(self, saved.epoch)
    if saved.pools > 0 then
        self.pools = saved.pools - 1
        next_pool(self)
        self.position = math.min(saved.position, #self.batches)
    end
    self.given = saved.given
end

---How many of the cells of a batch are not padding: the sum of its lengths.
---@param lengths heed.Tensor i64 [B]
---@return integer
function Pooled:count(lengths) -- luacheck: ignore self
    return core.sum(lengths):item()
end

return pooled
