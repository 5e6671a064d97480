local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local WHERE = "optim.AdamW"
local KNOWN = check.set("lr", "betas", "eps", "weight_decay")
local FLOATS = check.set("f32", "f64", "bf16", "f16")
local GROUP = check.set("params", "lr", "betas", "eps", "weight_decay")

---Adam with decoupled weight decay (Kingma and Ba 2015; Loshchilov and Hutter 2019, "Decoupled weight decay regularization"):
---m ← β1 m + (1-β1) g, v ← β2 v + (1-β2) g², w ← w - lr·wd·w - lr · m/(1-β1^t) / (sqrt(v/(1-β2^t)) + eps).
---@class heed.optim.AdamW
---@field lr number settable; of every group that has none of its own
---@field groups table[] { params, lr, betas, eps, weight_decay }, settable
---@field steps integer steps made
local AdamW = {}
AdamW.__index = AdamW

local function check_settings(where, settings)
    if settings.lr ~= nil then check.number(where, "lr", settings.lr, 0) end
    if settings.eps ~= nil then check.number(where, "eps", settings.eps, 0) end
    if settings.weight_decay ~= nil then check.number(where, "weight_decay", settings.weight_decay, 0) end
    if settings.betas ~= nil then
        check.type(where, "betas", settings.betas, "table")
        for i = 1, 2 do check.number(where, "betas", settings.betas[i], 0, 1) end
    end
end

local function check_params(params, seen)
    check.type(WHERE, "params", params, "table")
    for i = 1, #params do
        local p = params[i]
        if not check.is_tensor(p) or not FLOATS[p.dtype] then
            errors.raise("%s: params: expected tensors of floats, got %s at %d", WHERE, check.describe(p), i)
        end
        if seen[p] then errors.raise("%s: params: the tensor at %d, %s, is there twice", WHERE, i, tostring(p.shape)) end
        seen[p] = true
    end
    return params
end

local function groups_of(params)
    if type(params[1]) ~= "table" then return { { params = params } } end
    local groups = {}
    for i, given in ipairs(params) do
        local group = {}
        for name, value in pairs(check.options(WHERE .. ": group", given, GROUP)) do group[name] = value end
        check_settings(("%s: group %d"):format(WHERE, i), group)
        groups[i] = group
    end
    return groups
end

---@param params heed.Tensor[]|table[] model:parameters(), or groups { params = list, lr =, betas =, eps =, weight_decay = }
---@param options? { lr?: number, betas?: number[], eps?: number, weight_decay?: number } defaults 1e-3, {0.9, 0.999}, 1e-8, 0.01
---@return heed.optim.AdamW
local function new(params, options)
    options = check.options(WHERE, options, KNOWN)
    check_settings(WHERE, options)
    check.type(WHERE, "params", params, "table")
    if params.parameters then errors.raise("%s: params: expected a list of tensors: give model:parameters()", WHERE) end
    local self = setmetatable({
        lr = options.lr or 1e-3, betas = options.betas or { 0.9, 0.999 }, eps = options.eps or 1e-8,
        weight_decay = options.weight_decay or 0.01, groups = groups_of(params), steps = 0, moments = {},
    }, AdamW)
    local seen, count = {}, 0
    for _, group in ipairs(self.groups) do count = count + #check_params(group.params, seen) end
    if count == 0 then errors.raise("%s: params: there are none", WHERE) end
    return self
end

-- The running means m and v of a group, zeros before the first step. Of no scope: they outlive the step that made them.
local function moments_of(self, index)
    local moments = self.moments[index]
    if not moments then
        moments = { m = {}, v = {} }
        for i, p in ipairs(self.groups[index].params) do
            moments.m[i], moments.v[i] = core.keep(core.zeros_like(p), core.zeros_like(p))
        end
        self.moments[index] = moments
    end
    return moments
end

local function step(self)
    for i, group in ipairs(self.groups) do
        local moments, betas = moments_of(self, i), group.betas or self.betas
        core.adamw(group.params, moments.m, moments.v, group.lr or self.lr, betas[1], betas[2], group.eps or self.eps,
            group.weight_decay or self.weight_decay, self.steps + 1, 1)
    end
    self.steps = self.steps + 1
end

---One step: every parameter that has a gradient moves. An interrupt waits until all have.
function AdamW:step() core.uninterrupted(step, self) end

---Forgets all gradients.
function AdamW:zero_grad()
    for _, group in ipairs(self.groups) do core.zero_grads(group.params) end
end

local SETTINGS = { "lr", "eps", "weight_decay", "betas" }

---Steps, moments and settings: with the same parameters, load_state_dict goes on with the same bits.
---@return table
function AdamW:state_dict()
    local state = { steps = self.steps, groups = {} }
    for _, name in ipairs(SETTINGS) do state[name] = self[name] end
    for i, group in ipairs(self.groups) do
        local saved = { count = #group.params }
        for _, name in ipairs(SETTINGS) do saved[name] = group[name] end
        if self.moments[i] then saved.m, saved.v = self.moments[i].m, self.moments[i].v end
        state.groups[i] = saved
    end
    return state
end

-- Not NaN, and within what new() takes.
local function is_within(value, high) return type(value) == "number" and value >= 0 and value <= high end

-- Of a state, which may come from anywhere; nil stands for the optimiser's own.
local function settings_are_sound(state)
    for _, name in ipairs { "lr", "eps", "weight_decay" } do
        if state[name] ~= nil and not is_within(state[name], math.huge) then return false end
    end
    local betas = state.betas
    return betas == nil or (type(betas) == "table" and is_within(betas[1], 1) and is_within(betas[2], 1))
end

local function misfit(group, saved, i)
    if type(saved) ~= "table" or saved.count ~= #group.params then
        return ("group %d has %d parameters here, and %s in the state"):format(i, #group.params,
            type(saved) == "table" and check.describe(saved.count) or "none")
    end
    if not settings_are_sound(saved) then return ("the settings of group %d are none"):format(i) end
    if saved.m == nil and saved.v == nil then return end
    for _, moments in ipairs { saved.m or false, saved.v or false } do
        if type(moments) ~= "table" then return ("group %d lacks its moments"):format(i) end
        for j, p in ipairs(group.params) do
            local t = moments[j]
            if not check.is_tensor(t) or tostring(t.shape) ~= tostring(p.shape) then
                return ("parameter %d of group %d is %s here, and its moment %s"):format(j, i, tostring(p.shape),
                    check.describe(t))
            end
        end
    end
end

---nil and a message when the state is of other parameters.
---@return true|nil
---@return string? message
function AdamW:check_state_dict(state)
    if type(state) ~= "table" or math.type(state.steps) ~= "integer" or state.steps < 0 or type(state.groups) ~= "table" then
        return nil, "not the state of an optimiser"
    end
    if not settings_are_sound(state) or not (state.lr and state.eps and state.weight_decay and state.betas) then
        return nil, "the optimiser's settings are none"
    end
    if #state.groups ~= #self.groups then
        return nil, ("the state has %d groups of parameters, here are %d"):format(#state.groups, #self.groups)
    end
    for i, group in ipairs(self.groups) do
        local message = misfit(group, state.groups[i], i)
        if message then return nil, message end
    end
    return true
end

local function copies(tensors, params)
    local list = {}
    for i, t in ipairs(tensors) do list[i] = core.keep(core.zeros_like(params[i])):copy_(t) end
    return list
end

---Takes over what state_dict gave. An error when it is of other parameters; nothing is loaded then.
function AdamW:load_state_dict(state)
    local ok, message = self:check_state_dict(state)
    if not ok then errors.raise("%s: load_state_dict: %s", WHERE, message) end
    local moments = {} -- before anything changes: memory may run out
    for i, group in ipairs(self.groups) do
        local saved = state.groups[i]
        moments[i] = saved.m and { m = copies(saved.m, group.params), v = copies(saved.v, group.params) } or nil
    end
    self.steps, self.moments = state.steps, moments
    for _, name in ipairs(SETTINGS) do self[name] = state[name] end
    for i, group in ipairs(self.groups) do
        for _, name in ipairs(SETTINGS) do group[name] = state.groups[i][name] end
    end
end

function AdamW:__tostring()
    local count = 0
    for _, group in ipairs(self.groups) do count = count + #group.params end
    return ("heed.optim.AdamW(%d tensors, lr %g, %d steps)"):format(count, self.lr, self.steps)
end

return new
