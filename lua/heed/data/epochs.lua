local check = require "heed.check"
local core = require "heed.core"
local loops = require "heed.data.loops"
local no_list = require "heed.data.no_list"
local state = require "heed.data.state"

local KNOWN = check.set("shuffle", "seed")
local LEAST = { seed = math.mininteger, epoch = 1, given = 0, examples = 0, bytes = 0 }

---Passes over an index, without end: `for example in passes do` is one, the next such loop the
---next.
---@class heed.data.Passes
---@field epoch integer the present pass, from 1
---@field given integer examples already given in it
---@field private index heed.data.Index
---@field private order heed.Tensor?
local Passes = {}
Passes.__index = Passes

-- The order of a pass is a function of seed and epoch alone. Of no scope: it outlives the step that
-- began it.
local function begin(self, epoch, given)
    self.epoch, self.given, self.order = epoch, given, nil
    if not self.shuffle or #self.index == 0 then return end
    local generator = core.generator(self.seed * 0x9E3779B97F4A7C15 + epoch)
    self.order = core.keep(core.randperm(#self.index, { generator = generator }))
end

---@param index heed.data.Index
---@param options? { shuffle?: boolean, seed?: integer } shuffle: default false; seed: default 1
---@return heed.data.Passes
local function passes(index, options)
    options = check.options("passes", options, KNOWN)
    local self = setmetatable({
        index = index, shuffle = check.flag("passes", "shuffle", options.shuffle, false),
        seed = check.integer("passes", "seed", options.seed or 1, math.mininteger),
    }, Passes)
    begin(self, 1, 0)
    return self
end

---What is left of this pass is not given.
function Passes:next_pass()
    begin(self, self.epoch + 1, 0)
    loops.done(self)
end

---The next example, or nil at the end of the pass. A `for` loop that begins after one was left by
---break begins the next pass.
---@return string|table|nil
function Passes:__call(...)
    if loops.restarts(self, ...) then
        self:next_pass()
        self.in_loop = true
    end
    if self.given == #self.index then
        self:next_pass()
        return nil
    end
    self.given = self.given + 1
    return self.index[self.order and self.order[self.given] or self.given]
end

---Where it stands.
---@return { seed: integer, epoch: integer, given: integer, examples: integer, bytes: integer }
function Passes:state_dict()
    return { seed = self.seed, epoch = self.epoch, given = self.given, examples = #self.index,
        bytes = self.index:bytes() }
end

---nil and a message when the state is not of these files.
---@param saved table
---@return true|nil
---@return string? message
function Passes:check_state_dict(saved)
    local ok, message = state.check("passes over an index", saved, LEAST)
    if not ok then return nil, message end
    if saved.examples ~= #self.index or saved.bytes ~= self.index:bytes()
        or saved.given > saved.examples then
        return nil, ("the state is of %d examples in %d bytes, here are %d in %d"):format(
            saved.examples, saved.bytes, #self.index,
            self.index:bytes())
    end
    return true
end

---Goes on where the state was taken, with the same examples in the same order.
---@param saved table as state_dict gave it
function Passes:load_state_dict(saved)
    state.must("heed.data.Passes", self:check_state_dict(saved))
    self.seed = saved.seed
    begin(self, saved.epoch, saved.given)
    loops.done(self)
end

function Passes:__tostring()
    return ("heed.data.passes(%s; epoch %d, %d given)"):format(tostring(self.index), self.epoch,
        self.given)
end

no_list(Passes, "heed.data.Passes", "for example in passes do ... end",
    "the index itself is a list")

return passes
