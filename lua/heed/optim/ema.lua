local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local WHERE = "heed.optim.EMA"

---Exponentially averaged weights of a model (Polyak and Juditsky 1992): a ← d·a + (1-d)·w at every
---update.
---@class heed.optim.Averages
---@field decay number
---@field updates integer
---@field private params heed.Tensor[]
---@field private warmup number?
local Averages = {}
Averages.__index = Averages

local function copies(tensors)
    local list = {}
    for i, t in ipairs(tensors) do
        list[i] = core.keep(core.no_grad(function() return t:detach():clone() end))
    end
    return list
end

---Keeps averages of all parameters of a model, which begin as what they are now. With warmup = n
---the decay of update t is min(decay, (1 + t) / (n + t)), so that the beginning is soon forgotten.
---It has state_dict and load_state_dict.
---
---```lua
---local w = nn.parameter(heed.tensor { 1.0 })
---local ema = heed.optim.EMA({ w }, { decay = 0.75 })
---w:detach():add_(4) -- the step of an optimiser
---ema:update()
---print(ema.averages[1]) --> [2.] f32 [1]
---```
---@param model heed.nn.Module|heed.Tensor[] or a list of parameters
---@param options? { decay?: number, warmup?: number } decay: d, default 0.999; warmup: n, default
---none
---@return heed.optim.Averages
local function EMA(model, options)
    check.type(WHERE, "model", model, "table")
    options = check.options(WHERE, options, check.set("decay", "warmup"))
    local params = type(model.parameters) == "function" and model:parameters() or model
    for i = 1, rawlen(params) do
        if not check.is_live(params[i]) then
            errors.raise("%s: model: expected a module or a list of tensors, got %s at %d", WHERE,
                check.describe(params[i]), i)
        end
    end
    if rawlen(params) == 0 then errors.raise("%s: model: it has no parameters", WHERE) end
    return setmetatable({
        params = params, averages = copies(params), updates = 0, swapped = false,
        decay = check.number(WHERE, "decay", options.decay or 0.999, 0, 1),
        warmup = options.warmup and check.number(WHERE, "warmup", options.warmup, 1),
    }, Averages)
end

local function refuse_inside(self, what)
    if self.swapped then
        errors.raise("%s:%s: not inside average(): the averages are in the model now", WHERE, what)
    end
end

---Takes the weights of now into the averages: after each step of the optimiser.
function Averages:update()
    refuse_inside(self, "update")
    local t, decay = self.updates + 1, self.decay
    if self.warmup then decay = math.min(decay, (1 + t) / (self.warmup + t)) end
    core.average_all(self.averages, self.params, decay)
    self.updates = t
end

local function swap(self)
    core.uninterrupted(function()
        core.swap_all(self.averages, self.params)
        self.swapped = not self.swapped
    end)
end

---Puts the averages into the model until the scope closes, which brings its own weights back, with
---the same bits: `local _ <close> = ema:average()`.
---
---```lua
---local w = nn.parameter(heed.tensor { 1.0 })
---local ema = heed.optim.EMA { w }
---w:detach():add_(4)
---do
---    local _ <close> = ema:average()
---    print(w:item()) --> 1.0
---end
---print(w:item()) --> 5.0
---```
---@return table scope
function Averages:average()
    refuse_inside(self, "average")
    swap(self)
    local open = true
    return setmetatable({}, { __close = function()
        if open then swap(self) end
        open = false
    end })
end

---The averages and the count of updates, for load_state_dict.
---@return table
function Averages:state_dict()
    refuse_inside(self, "state_dict")
    return { updates = self.updates, averages = self.averages }
end

---Would load_state_dict take this?
---@param state table
---@return true|nil
---@return string? message
function Averages:check_state_dict(state)
    if type(state) ~= "table" or math.type(state.updates) ~= "integer" or state.updates < 0
        or type(state.averages) ~= "table" then
        return nil, "not the state of an EMA"
    end
    if #state.averages ~= #self.averages then
        return nil, ("the state has averages of %d tensors, here are %d"):format(#state.averages,
            #self.averages)
    end
    for i, average in ipairs(self.averages) do
        local t = state.averages[i]
        if not check.is_tensor(t) or t.shape ~= average.shape or t.dtype ~= average.dtype then
            return nil, ("parameter %d is %s here, its average is %s"):format(i,
                tostring(average.shape),
                check.is_tensor(t) and tostring(t.shape) or "none")
        end
    end
    return true
end

---Takes over what state_dict gave. An error when it is of another model; nothing is loaded then.
---@param state table
function Averages:load_state_dict(state)
    refuse_inside(self, "load_state_dict")
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("%s:load_state_dict: %s", WHERE, message) end
    local averages = copies(state.averages)
    self.averages, self.updates = averages, state.updates
end

return EMA
