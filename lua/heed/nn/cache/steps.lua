--- The steps of a cache: in one a model reads tokens, through all of its attentions.
---
--- A step is a call under way (heed.nn.calls): the outermost forward of the cache's model or of a
--- part of it, or the outermost decode; Cache:step makes one of any function. What a step kept is
--- forgotten when its call raises, or is never finished, so that all attentions hold the same
--- tokens; a call inside it that raises forgets what it kept itself.

local calls = require "heed.nn.calls"
local core = require "heed.core"
local errors = require "heed.errors"
local state = require "heed.nn.cache.state"

local READS = { forward = true, decode = true }

local steps = {}

---@class heed.CacheWholeStep
---@field cache heed.Cache
---@field number integer of its call
---@field around integer|nil the number of the method that it runs in, when that may be a step too
---@field log table[] what it kept, to be undone
---@field open boolean its call is under way, as far as is known
---@field thread thread its coroutine
---@field dry boolean a run on shapes alone keeps nothing
local Step = {}
Step.__index = Step

---Forgets what was kept since a call began.
---@param number integer of that call
function Step:undo(number)
    local log = self.log
    for i = #log, 1, -1 do
        local kept = log[i]
        if kept.number < number then return end
        kept.slot.state, self.cache.first = kept.state, kept.first
        kept.slot.states = kept.states
        kept.entry.calls = kept.entry.calls - 1
        if kept.entry.calls == 0 then kept.entry.around = nil end
        log[i] = nil
    end
end

---@param complete boolean false: its call raised, or was abandoned
function Step:finish(complete)
    if self.open and (self.dry or not complete) then self:undo(0) end
    self.open, self.log = false, {}
end

-- ---- which call is the step ---------------------------------------------------------------------

-- The call; and the method of the model that is around it, if any.
local function call_of(self)
    local levels, depth = calls.under_way()
    local reads, around
    for i = 1, depth do
        local call = levels[i]
        if call.number > self.born and self.within[call.module] then
            if call.module == self then return call end
            if reads == nil and READS[call.name] then reads = call end
            if reads == nil then around = around or call end
        end
    end
    if not reads then
        errors.raise "cache: expected a call of the model that it was made for, or of a part of it"
    end
    return reads, around
end

-- A method that calls a part several times may read one token after the other, or one token in
-- several rounds.
local function is_clear(self, call)
    return call.module == self or call.module == self.model or call.name == "decode"
end

local function begin(self, call, around)
    for _, step in ipairs(call.steps or {}) do
        if step.cache == self then
            errors.raise "cache: another step of it began before this one had ended"
        end
    end
    if self.current then self.current:finish(false) end -- abandoned in a coroutine, if it is open
    if around and is_clear(self, call) then around = nil end
    local step = setmetatable({ cache = self, number = call.number, log = {}, open = true }, Step)
    step.around, step.dry = around and around.number, core.shapes_only()
    step.thread = coroutine.running()
    call.steps = call.steps or {}
    table.insert(call.steps, step)
    self.current = step
    return step
end

local function current_of(self)
    local call, around = call_of(self)
    local step = self.current
    if step and step.open and step.number == call.number then return step end
    return begin(self, call, around)
end

-- ---- slots --------------------------------------------------------------------------------------

-- A slot is what one call of an attention keeps. Of an attention that is called several times in a
-- step each call has its own; they are its entry.

---An attention is called: the slot of this call.
---@param self heed.Cache
---@param entry table of the attention
---@return table slot
function steps.enter(self, entry)
    local step = current_of(self)
    if entry.step ~= step then
        if step.around and step.around == entry.around then
            errors.raise("cache: expected %s once in a method that calls parts of its model, "
                .. "got it again: one step or two? cache:step(function) says where one begins",
                entry.path)
        end
        entry.step, entry.around, entry.calls, entry.base = step, step.around, 0, entry[1].state
    end
    local number = entry.calls + 1
    local slot = entry[number] or { state = self.empty }
    if not state.same(slot.state, entry.base) then
        errors.raise("cache: expected as many calls of %s in each forward, got call %d, "
            .. "which keeps other lengths than the first", entry.path, number)
    end
    entry[number], entry.calls = slot, number
    local kept = { slot = slot, state = slot.state, entry = entry, first = self.first }
    kept.number, kept.states = calls.count(), slot.states
    table.insert(step.log, kept)
    return slot
end

local function is_under_way(step)
    local levels, depth = calls.under_way()
    for i = 1, depth do
        if levels[i].number == step.number then return true end
    end
    return false
end

---Somebody looks: a step whose end went unnoticed is forgotten. Its coroutine died, or an interrupt
---came just then.
---@param self heed.Cache
function steps.refresh(self)
    local step = self.current
    if not step or not step.open or coroutine.status(step.thread) == "suspended" then return end
    if not is_under_way(step) then step:finish(false) end
end

---What cannot be undone comes: a step that is under way keeps what it has, one that was left in a
---coroutine is forgotten.
---@param self heed.Cache
function steps.settle(self)
    local step = self.current
    if not step or not step.open then return end
    if is_under_way(step) then step.log = {} else step:finish(false) end
end

return steps
