--- What all optimisers are: groups of parameters with settings, what is remembered of each
--- parameter, steps, states.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local gradients = require "heed.optim.gradients"
local suggest = require "heed.suggest"

local optimizer = {}

local FLOATS = core.dtypes.floats

---@class heed.optim.Group
---@field params heed.Tensor[]
---@field lr number settable: opt.lr times lr_scale
---@field lr_scale number 1 where the group has no rate of its own

---What SGD, Adam, AdamW, RMSprop and Lion give: parameters in groups, with what is remembered of each. `opt.lr`
---and the other settings may be set at any time.
---@class heed.optim.Optimizer
---@field lr number settable: all groups move with it, those with a rate of their own in proportion
---@field groups heed.optim.Group[] with their own settings, settable
---@field steps integer calls of step; each parameter counts those that it took part in
---@field private class table what makes the kind: name, kind, defaults, check(where, settings),
---remembers (names of moments) and may_lack (those among them that some settings do without),
---moments(settings), rates(settings)
---@field private remembered table[] for each group { steps =, m =, v =, a = }
---@field private group_class table
---@field private seen table<heed.Tensor, boolean>
local Optimizer = {}

local function check_setting(class, name, value)
    local where = class.name
    if class.defaults[name] == nil then
        errors.raise("%s: there is no setting %s%s", where, check.describe(name),
            type(name) == "string" and suggest.near(name, class.defaults) or "")
    end
    if name == "lr" then check.number(where, "lr", value, 0) end
    if value == nil then errors.raise("%s: %s: expected a value, got nil", where, name) end
    class.check(where, { [name] = value })
end

-- Settings are apart from the object's own fields, so that every one that is set is looked at.
function Optimizer.__index(self, name)
    local own = Optimizer[name]
    if own ~= nil then return own end
    return rawget(self, "settings")[name]
end

function Optimizer.__newindex(self, name, value)
    check_setting(self.class, name, value)
    self.settings[name] = value
end

local function method(self, name) check.object(self, "heed.optim.Optimizer", name, "opt") end

-- ---- groups -------------------------------------------------------------------------------------

local function scale_of(self, lr)
    if lr == 0 then return 0 end
    if self.lr == 0 then
        errors.raise("%s: group: lr: the optimiser's lr is 0 and a group's is a share of it; set "
            .. "lr_scale",
            self.class.name)
    end
    return lr / self.lr
end

-- group.lr is a share of the optimiser's: the groups keep their proportions whatever a schedule
-- sets.
local function group_class(self)
    return {
        __index = function(group, name)
            local own = rawget(group, "settings")
            if name == "lr" then return self.lr * own.lr_scale end
            return own[name]
        end,
        __newindex = function(group, name, value)
            if name == "lr_scale" then
                check.number(self.class.name .. ": group", "lr_scale", value, 0)
            else
                check_setting(self.class, name, value)
            end
            if name == "lr" then name, value = "lr_scale", scale_of(self, value) end
            group.settings[name] = value
        end,
    }
end

local function check_params(where, params, seen)
    gradients.check_list(where, params)
    for i = 1, #params do
        local p = params[i]
        if not check.is_tensor(p) or not FLOATS[p.dtype] then
            errors.raise("%s: params: expected tensors of floats, got %s at %d", where,
                check.describe(p), i)
        end
        if seen[p] then
            errors.raise("%s: params: the tensor at %d, %s, is there twice", where, i,
                tostring(p.shape))
        end
        seen[p] = true
    end
    return #params
end

---One more group of parameters: { params = list } and settings of its own (lr, or lr_scale to have
---a share of opt.lr).
---
---```lua
---local body, head = heed.nn.Linear(4, 4), heed.nn.Linear(4, 2)
---local opt = heed.optim.SGD(body:parameters(), { lr = 0.1 })
---opt:add_group { params = head:parameters(), lr = 0.01 }
---opt.lr = 0.2
---print(opt.groups[2].lr) --> 0.02
---```
---@param given table
function Optimizer:add_group(given)
    method(self, "add_group")
    check.type(self.class.name .. ":add_group", "given", given, "table")
    local where = ("%s: group %d"):format(self.class.name, #self.groups + 1)
    check.options(where, given, self.class.group_options)
    self.class.check(where, given)
    if given.lr ~= nil then check.number(where, "lr", given.lr, 0) end
    if given.lr_scale ~= nil then check.number(where, "lr_scale", given.lr_scale, 0) end
    local count = check_params(self.class.name, given.params, self.seen)
    local group = setmetatable({ params = given.params,
        settings = { lr_scale = given.lr_scale or 1 } },
        self.group_class)
    for name, value in pairs(given) do
        if name ~= "lr_scale" and name ~= "params" then group[name] = value end
    end
    self.groups[#self.groups + 1] = group
    return count
end

local function is_list_of_groups(params) return type(params[1]) == "table" end

-- A setting of a group: its own, or the optimiser's.
local function settings_of(self, group)
    return setmetatable({}, { __index = function(_, name)
        local own = group.settings[name]
        if own == nil then return self[name] end
        return own
    end })
end

local function new(class, params, options)
    local where = class.name
    options = check.options(where, options, class.options)
    class.check(where, options)
    if options.lr ~= nil then check.number(where, "lr", options.lr, 0) end
    gradients.check_list(where, params)
    local self = { class = class, settings = {}, groups = {}, steps = 0, remembered = {},
        seen = {} }
    self.group_class = group_class(self)
    setmetatable(self, Optimizer)
    for name, default in pairs(class.defaults) do
        if type(default) == "table" then default = table.move(default, 1, #default, 1, {}) end
        self.settings[name] = check.default(options[name], default)
    end
    local count = 0
    if is_list_of_groups(params) then
        for _, given in ipairs(params) do count = count + self:add_group(given) end
    else
        count = self:add_group { params = params }
    end
    if count == 0 then
        errors.raise("%s: params: expected at least one tensor, got an empty list", where)
    end
    return self
end

-- ---- steps --------------------------------------------------------------------------------------

-- Zeros for each parameter. Of no scope: they outlive the step that made them.
local function zeros_for(params)
    local list = {}
    for i, p in ipairs(params) do list[i] = core.keep(core.zeros_like(p)) end
    return list
end

-- What is remembered of a group, made at its first step; a buffer that is wanted only later begins
-- then.
local function remembered_of(self, index)
    local group = self.groups[index]
    local memory = self.remembered[index]
    if not memory then
        memory = { steps = {} }
        self.remembered[index] = memory
    end
    for i = #memory.steps + 1, #group.params do memory.steps[i] = 0 end
    for _, name in ipairs(self.class.moments(settings_of(self, group))) do
        if not memory[name] then
            memory[name] = zeros_for(group.params)
            for i = 1, #group.params do memory.steps[i] = 0 end
        end
    end
    return memory
end

local function step(self)
    local groups = {}
    for i, group in ipairs(self.groups) do
        local memory, settings = remembered_of(self, i), settings_of(self, group)
        local item = self.class.rates(settings)
        item.params, item.steps, item.lr, item.weight_decay = group.params, memory.steps, group.lr,
            settings.weight_decay
        for _, name in ipairs(self.class.moments(settings)) do item[name] = memory[name] end
        groups[i] = item
    end
    core.optim_step(self.class.kind, groups)
    self.steps = self.steps + 1
end

local function has_gradient(groups)
    for _, group in ipairs(groups) do
        for _, p in ipairs(group.params) do
            if p.grad then return true end
        end
    end
    return false
end

---One step: every parameter that has a gradient moves, or none when something is wrong; an error
---when none has one. An interrupt waits until all have moved.
function Optimizer:step()
    method(self, "step")
    if not has_gradient(self.groups) then
        errors.raise("%s:step: no parameter has a gradient: expected a loss:backward() before "
            .. "it, and "
            .. "the model's own parameters (model:to makes new ones: make the optimiser after it)",
            self.class.name)
    end
    core.uninterrupted(step, self)
end

---Forgets all gradients.
function Optimizer:zero_grad()
    method(self, "zero_grad")
    for _, group in ipairs(self.groups) do core.zero_grads(group.params) end
end

-- ---- states -------------------------------------------------------------------------------------

-- { "lr", "weight_decay", ... } in a fixed order.
local function names_of(class)
    local names = {}
    for name in pairs(class.defaults) do names[#names + 1] = name end
    table.sort(names)
    return names
end

---Steps, moments and settings: with the same parameters, load_state_dict goes on with the same
---bits.
---@return table
function Optimizer:state_dict()
    method(self, "state_dict")
    local state = { kind = self.class.kind, steps = self.steps, groups = {} }
    local names = names_of(self.class)
    for _, name in ipairs(names) do state[name] = self[name] end
    for i, group in ipairs(self.groups) do
        local saved = { count = #group.params, lr_scale = group.lr_scale }
        for _, name in ipairs(names) do saved[name] = group.settings[name] end
        for name, value in pairs(self.remembered[i] or {}) do saved[name] = value end
        state.groups[i] = saved
    end
    return state
end

-- Not NaN, and not negative.
local function is_rate(value) return type(value) == "number" and value >= 0 end

-- Of a state, which may come from anywhere.
local function settings_are_sound(class, state, complete)
    local own = {}
    for name in pairs(class.defaults) do
        if complete and state[name] == nil then return false end
        own[name] = state[name]
    end
    if state.lr ~= nil and not is_rate(state.lr) then return false end
    return (pcall(class.check, "state", own))
end

local function steps_are_sound(steps, count)
    if type(steps) ~= "table" or #steps ~= count then return false end
    for i = 1, count do
        if math.type(steps[i]) ~= "integer" or steps[i] < 0 then return false end
    end
    return true
end

local function remembers_nothing(class, saved)
    if saved.steps ~= nil then return false end
    for _, name in ipairs(class.remembers) do
        if saved[name] ~= nil then return false end
    end
    return true
end

local function moments_misfit(group, moments, i)
    if type(moments) ~= "table" then return ("group %d lacks its moments"):format(i) end
    for j, p in ipairs(group.params) do
        local t = moments[j]
        if not check.is_tensor(t) or t.shape ~= p.shape or t.dtype ~= p.dtype then
            return ("parameter %d of group %d is %s here, its moment is %s"):format(j, i,
                tostring(p.shape), check.is_tensor(t) and tostring(t.shape) or "none")
        end
    end
end

local function misfit(class, group, saved, i)
    if type(saved) ~= "table" or saved.count ~= #group.params then
        return ("group %d has %d parameters here, and %s in the state"):format(i, #group.params,
            type(saved) == "table" and check.describe(saved.count) or "none")
    end
    if not settings_are_sound(class, saved) or not is_rate(saved.lr_scale) then
        return ("the settings of group %d are none"):format(i)
    end
    if remembers_nothing(class, saved) then return end
    if not steps_are_sound(saved.steps, #group.params) then
        return ("group %d lacks its counts of steps"):format(i)
    end
    for _, name in ipairs(class.remembers) do
        local moments = saved[name]
        if moments ~= nil or not class.may_lack[name] then
            local message = moments_misfit(group, moments, i)
            if message then return message end
        end
    end
end

---Would load_state_dict take this?
---@param state table
---@return true|nil
---@return string? message
function Optimizer:check_state_dict(state)
    if type(state) ~= "table" or math.type(state.steps) ~= "integer" or state.steps < 0
        or type(state.groups) ~= "table" then
        return nil, "not the state of an optimiser"
    end
    if state.kind ~= self.class.kind then
        return nil, ("the state is of %s, here is %s"):format(check.describe(state.kind),
            check.describe(self.class.kind))
    end
    if not settings_are_sound(self.class, state, true) then
        return nil, "the optimiser's settings are none"
    end
    if #state.groups ~= #self.groups then
        return nil, ("the state has %d groups of parameters, here are %d"):format(#state.groups,
            #self.groups)
    end
    for i, group in ipairs(self.groups) do
        local message = misfit(self.class, group, state.groups[i], i)
        if message then return nil, message end
    end
    return true
end

local function copies(tensors, params)
    local list = zeros_for(params)
    for i, t in ipairs(tensors) do list[i]:copy_(t) end
    return list
end

local function remembered_from(class, saved, params)
    if not saved.steps then return nil end
    local memory = { steps = table.move(saved.steps, 1, #saved.steps, 1, {}) }
    for _, name in ipairs(class.remembers) do
        memory[name] = saved[name] and copies(saved[name], params)
    end
    return memory
end

---Takes over what state_dict gave. An error when it is of other parameters; nothing is loaded then.
---@param state table
function Optimizer:load_state_dict(state)
    method(self, "load_state_dict")
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("%s:load_state_dict: %s", self.class.name, message) end
    local remembered, names = {}, names_of(self.class)
    for i, group in ipairs(self.groups) do -- before anything changes: memory may run out
        remembered[i] = remembered_from(self.class, state.groups[i], group.params)
    end
    self.steps, self.remembered = state.steps, remembered
    for _, name in ipairs(names) do self.settings[name] = state[name] end
    for i, group in ipairs(self.groups) do
        for _, name in ipairs(names) do
            if name ~= "lr" then group.settings[name] = state.groups[i][name] end
        end
        group.settings.lr_scale = state.groups[i].lr_scale
    end
end

function Optimizer:__tostring()
    local count = 0
    for _, group in ipairs(self.groups) do count = count + #group.params end
    return ("%s(%d tensors, lr %g, %d steps)"):format(self.class.name, count, self.lr, self.steps)
end

-- ---- kinds --------------------------------------------------------------------------------------

---The function that makes optimisers of one kind.
---@param class table
---@return fun(params: heed.Tensor[]|table[], options?: table): heed.optim.Optimizer
function optimizer.define(class)
    class.options, class.group_options = {}, check.set("params", "lr_scale")
    class.may_lack = class.may_lack or {}
    for name in pairs(class.defaults) do
        class.options[name], class.group_options[name] = true, true
    end
    return function(params, options) return new(class, params, options) end
end

---betas, two numbers of at least 0 and below 1, where they are given.
function optimizer.check_betas(where, settings)
    if settings.betas == nil then return end
    check.type(where, "betas", settings.betas, "table")
    for i = 1, 2 do
        if check.number(where, "betas", settings.betas[i], 0, 1) == 1 then
            errors.raise("%s: betas: expected two numbers below 1, got 1", where)
        end
    end
end

---A setting that is at least 0 where it is given.
function optimizer.check_rate(where, settings, name)
    if settings[name] ~= nil then check.number(where, name, settings[name], 0) end
end

return optimizer
