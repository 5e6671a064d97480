--- Batches of examples of different lengths: bucketed, padded, shuffled by a seed of their own, and resumed exactly.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local pad = require "heed.data.pad"

---@class heed.data.Batches
---@field epoch integer the present pass over the data, from 1
---@field position integer batches already given in it
local Batches = {}
Batches.__index = Batches

local KNOWN = check.set("tokens", "size", "shuffle", "bucket", "seed", "value", "drop_last")
local POOL = 100 -- batches whose examples are sorted by length together

-- ---- the order of an epoch: a function of seed and epoch alone -------------------------------------------------

-- SplitMix64 (Steele et al. 2014): integers below n, the same on every machine, apart from the streams of the model.
local function random_stream(seed, epoch)
    local state = seed * 0x9E3779B97F4A7C15 + epoch * 0xD1B54A32D192ED03
    return function(n)
        state = state + 0x9E3779B97F4A7C15
        local z = state
        z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ~ (z >> 27)) * 0x94D049BB133111EB
        z = z ~ (z >> 31)
        return (z >> 11) % n
    end
end

local function shuffle(list, random)
    for i = #list, 2, -1 do
        local j = random(i) + 1
        list[i], list[j] = list[j], list[i]
    end
end

-- Sorts each pool of neighbours by length; among equals the order stays.
local function bucket(order, lengths, pool)
    local sorted = {}
    for first = 1, #order, pool do
        local part = table.move(order, first, math.min(first + pool - 1, #order), 1, {})
        local rank = {}
        for i, index in ipairs(part) do rank[index] = i end
        table.sort(part, function(a, b)
            local la, lb = lengths[a], lengths[b]
            if la ~= lb then return la < lb end
            return rank[a] < rank[b]
        end)
        table.move(part, 1, #part, #sorted + 1, sorted)
    end
    return sorted
end

-- Lists of example indices: at most `size` examples, or at most `tokens` cells once padded.
local function cut(order, lengths, size, tokens)
    local batches, current, longest = {}, {}, 0
    for _, index in ipairs(order) do
        local with = math.max(longest, lengths[index])
        local full
        if tokens then full = with * (#current + 1) > tokens else full = #current == size end
        if full and #current > 0 then
            batches[#batches + 1] = current
            current, with = {}, lengths[index]
        end
        current[#current + 1], longest = index, with
    end
    if #current > 0 then batches[#batches + 1] = current end
    return batches
end

local function plan(self)
    local order = {}
    for i = 1, #self.examples do order[i] = i end
    local random = random_stream(self.seed, self.epoch)
    if self.shuffle then shuffle(order, random) end
    if self.bucket then
        local pool = #order
        if self.shuffle then
            local total = 0
            for _, n in ipairs(self.lengths) do total = total + n end
            local mean = math.max(1, total // math.max(1, #order))
            pool = math.max(1, self.size and self.size * POOL or self.tokens * POOL // mean)
        end
        order = bucket(order, self.lengths, pool)
    end
    local batches = cut(order, self.lengths, self.size, self.tokens)
    if self.drop_last and #batches > 0 and self.size and #batches[#batches] < self.size then batches[#batches] = nil end
    if self.shuffle and self.bucket then shuffle(batches, random) end
    return batches
end

-- ---- examples --------------------------------------------------------------------------------------------------

-- The fields of an example: { {...}, {...} } has 1 and 2, { src = {...}, tgt = {...} } has src and tgt, { 5, 3, 9 } is one list.
local function fields_of(example)
    if type(example) ~= "table" then
        errors.raise("batches: examples: expected tables, got %s", check.describe(example))
    end
    if math.type(example[1]) == "integer" then return nil end
    local fields = {}
    for name, value in pairs(example) do
        if type(value) == "table" then fields[#fields + 1] = name end
    end
    table.sort(fields, function(a, b) return tostring(a) < tostring(b) end)
    if #fields == 0 then errors.raise("batches: examples: expected lists of integers, got a table without any") end
    return fields
end

local function longest_of(example, fields, number)
    if not fields then return #example end
    local longest = 0
    for _, name in ipairs(fields) do
        local list = example[name]
        if type(list) ~= "table" then
            errors.raise("batches: examples[%d]: expected a list of integers as %s, got %s", number, name, check.describe(list))
        end
        if #list > longest then longest = #list end
    end
    return longest
end

-- One batch: { [1] = i64 [B, L], [2] = ..., lengths = { [1] = i64 [B], ... }, indices = {...}, size = B } or, of named fields,
-- { src = ..., src_lengths = ..., ... }.
local function collate(self, indices)
    local batch = { indices = indices, size = #indices, lengths = {} }
    for _, name in ipairs(self.fields or { 1 }) do
        local rows = {}
        for i, index in ipairs(indices) do
            local example = self.examples[index]
            rows[i] = self.fields and example[name] or example
        end
        local tensor, lengths = pad(rows, { value = self.value })
        batch[name] = tensor
        if math.type(name) == "integer" then batch.lengths[name] = lengths else batch[name .. "_lengths"] = lengths end
    end
    return batch
end

-- ---- public ----------------------------------------------------------------------------------------------------

---Batches of examples. `for batch in batches do` is one pass over the data; the next such loop is the next pass.
---
---An example is a list of integers, several ({source, target}), or several by name ({src = ..., tgt = ...}). A batch has, under
---the same keys, i64 tensors [B, longest], and their lengths: batch.lengths[1], or batch.src_lengths; and batch.size.
---@param examples table[]
---@param options { size?: integer, tokens?: integer, shuffle?: boolean, bucket?: boolean, seed?: integer, value?: integer, drop_last?: boolean }
---size: examples in a batch; or tokens: at most so many cells of its longest field, padding counted (an example that alone is
---longer makes a batch of its own); bucket (default with tokens): examples of like length together; seed (default 1): of the
---shuffle; value: the padding (default 1); drop_last: leave out a last batch of less than size
---@return heed.data.Batches
local function batches(examples, options)
    check.type("batches", "examples", examples, "table")
    options = check.options("batches", options, KNOWN)
    if (options.size == nil) == (options.tokens == nil) then
        errors.raise "batches: options: expected either size (examples in a batch) or tokens (cells in a batch)"
    end
    check.integer("batches", options.size and "size" or "tokens", options.size or options.tokens)
    local self = setmetatable({
        examples = examples, size = options.size, tokens = options.tokens,
        shuffle = options.shuffle or false, seed = check.integer("batches", "seed", options.seed or 1, math.mininteger),
        value = options.value, drop_last = options.drop_last or false, epoch = 1, position = 0, lengths = {},
    }, Batches)
    if options.bucket == nil then self.bucket = options.tokens ~= nil else self.bucket = options.bucket end
    if #examples == 0 then errors.raise "batches: examples: the split has 0 batches: it has no examples" end
    self.fields = fields_of(examples[1])
    for i, example in ipairs(examples) do self.lengths[i] = longest_of(example, self.fields, i) end
    self.plan = plan(self)
    if #self.plan == 0 then
        errors.raise("batches: examples: the split has 0 batches: its %d examples are fewer than one batch of %d",
            #examples, options.size)
    end
    return self
end

---The next batch of this pass, or nil at its end (the one after that begins the next pass).
---@return table|nil batch
function Batches:__call()
    if self.position == #self.plan then
        self.epoch, self.position = self.epoch + 1, 0
        self.plan = plan(self)
        return nil
    end
    self.position = self.position + 1
    return collate(self, self.plan[self.position])
end

---An iterator over passes without end.
---@return fun(): table
function Batches:forever()
    return function() return self() or self() end
end

---Batches in the present pass.
function Batches:__len() return #self.plan end

function Batches:__tostring()
    return ("heed.data.batches(%d examples, %d batches of %s; epoch %d, %d given)"):format(#self.examples, #self.plan,
        self.size and self.size .. " examples" or self.tokens .. " tokens", self.epoch, self.position)
end

local STATE = { "seed", "epoch", "position", "examples" }

---Where the iteration stands. With the same examples and options, load_state_dict goes on with the very same batches.
---@return { seed: integer, epoch: integer, position: integer, examples: integer }
function Batches:state_dict()
    return { seed = self.seed, epoch = self.epoch, position = self.position, examples = #self.examples }
end

---nil and a message when the state is not of these examples.
---@return true|nil
---@return string? message
function Batches:check_state_dict(state)
    if type(state) ~= "table" then return nil, "not the state of batches" end
    for _, key in ipairs(STATE) do
        if math.type(state[key]) ~= "integer" then return nil, "not the state of batches: it lacks " .. key end
    end
    if state.examples ~= #self.examples then
        return nil, ("the state is of %d examples, here are %d"):format(state.examples, #self.examples)
    end
    if state.epoch < 1 or state.position < 0 then return nil, "not the state of batches: it counts from below 1" end
    return true
end

---Goes on where the state was taken, in the middle of a pass too.
function Batches:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("batches:load_state_dict: %s", message) end
    self.seed, self.epoch = state.seed, state.epoch
    self.plan = plan(self)
    self.position = math.min(state.position, #self.plan)
end

---How many of the cells of a batch are not padding: the sum of its lengths.
---@param lengths heed.Tensor i64 [B]
---@return integer
function Batches.count(lengths) return core.sum(lengths):item() end

return batches
