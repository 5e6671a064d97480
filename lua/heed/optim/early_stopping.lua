local check = require "heed.check"
local errors = require "heed.errors"

local WHERE = "heed.optim.EarlyStopping"

---Says when a run has not got better for long enough.
---@class heed.optim.StoppingRule
---@field best number? the best value so far
---@field best_step integer when it came; steps count from 1
---@field steps integer values seen
---@field private mode "min"|"max"
---@field private patience integer
---@field private on_best (fun(best: number, step: integer): any, any)?
local Rule = {}
Rule.__index = Rule

---Watches a value, usually the loss of the validation: step(value) is true when `patience` values
---in a row were not better than the best before them by more than min_delta. NaN is never better.
---It has state_dict and load_state_dict.
---
---step says too whether the value was the best so far; on_best is called with each such value, and
---saves the model.
---
---```lua
---local function save(loss, step) print("best", loss, step) end
---local stopping = heed.optim.EarlyStopping { patience = 2, on_best = save }
---for _, loss in ipairs { 3.0, 2.0, 2.1, 2.2, 1.0 } do
---    local stop, best = stopping:step(loss)
---    if stop then break end
---end
---print(stopping.best, stopping.best_step, stopping.steps) --> 2.0 2 4
---```
---@param options { patience: integer, min_delta?: number, mode?: "min"|"max", on_best?: function }
---patience: values in a row; min_delta: default 0; mode: default "min", lower is better; on_best:
---called with the value and its step; nil and a message, as saving gives them, are raised
---@return heed.optim.StoppingRule
local function EarlyStopping(options)
    options = check.options(WHERE, options, check.set("patience", "min_delta", "mode", "on_best"))
    return setmetatable({
        patience = check.integer(WHERE, "patience", options.patience),
        min_delta = check.number(WHERE, "min_delta", options.min_delta or 0, 0),
        mode = check.one_of(WHERE, "mode", options.mode or "min", { "min", "max" }),
        on_best = options.on_best ~= nil and check.type(WHERE, "on_best", options.on_best,
            "function") or nil,
        best = nil, best_step = 0, steps = 0,
    }, Rule)
end

local function is_better(self, value)
    if value ~= value then return false end
    if self.best == nil then return true end
    if self.mode == "min" then return value < self.best - self.min_delta end
    return value > self.best + self.min_delta
end

-- What on_best gave: nil and a message are a save that failed.
local function check_saved(result, message)
    if result == nil and message ~= nil then
        errors.raise("%s: on_best: %s", WHERE, tostring(message))
    end
end

---Takes the next value; true says that the run may stop.
---
---```lua
---local stopping = heed.optim.EarlyStopping { patience = 1, mode = "max" }
---print(stopping:step(0.5)) --> false true
---print(stopping:step(0.4)) --> true false
---```
---@param value number|heed.Tensor of one element
---@return boolean stop
---@return boolean best whether this was the best so far
function Rule:step(value)
    if check.is_tensor(value) then value = value:item() end
    if type(value) ~= "number" then
        errors.raise("%s:step: value: expected a number, got %s", WHERE, check.describe(value))
    end
    self.steps = self.steps + 1
    local best = is_better(self, value)
    if best then
        self.best, self.best_step = value, self.steps
        if self.on_best then check_saved(self.on_best(value, self.steps)) end
    end
    return self.steps - self.best_step >= self.patience, best
end

---What it has seen, for load_state_dict.
---@return table
function Rule:state_dict()
    return { mode = self.mode, best = self.best, best_step = self.best_step, steps = self.steps }
end

---Would load_state_dict take this?
---@param state table
---@return true|nil
---@return string? message
function Rule:check_state_dict(state)
    local sound = type(state) == "table" and math.type(state.steps) == "integer"
        and math.type(state.best_step) == "integer"
        and state.steps >= state.best_step and state.best_step >= 0
            and (state.best == nil or type(state.best) == "number")
    if not sound then return nil, "not the state of EarlyStopping" end
    if state.mode ~= self.mode then
        return nil, ("the state is of mode %s, here is %q"):format(check.describe(state.mode),
            self.mode)
    end
    return true
end

---Takes over what state_dict gave.
---@param state table
function Rule:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("%s:load_state_dict: %s", WHERE, message) end
    self.best, self.best_step, self.steps = state.best, state.best_step, state.steps
end

return EarlyStopping
