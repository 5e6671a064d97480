--- What every layer and model is: parameters, buffers and other modules under names, in the order
--- in which they came.

local calls = require "heed.nn.calls"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local check_name = require("heed.nn.names").check
local on_shapes = require "heed.nn.on_shapes"
local positional = require "heed.nn.positional"
local printing = require "heed.nn.printing"
local states = require "heed.nn.states"
local walk = require "heed.nn.walk"

local getinfo = debug and debug.getinfo
local each_member, each_module, each_tensor, is_module = walk.each_member, walk.each_module,
    walk.each_tensor, walk.is_module

---What every layer and every model is. A class of one's own has `init`, which assigns parameters
---(nn.parameter), other modules and lists of them to fields, and `forward`; calling an instance
---runs forward. Fields are registered in the order in which they came. A parameter that is assigned
---to two fields (tied weights: nn.Linear) is one. For editors, `---@class Block: heed.nn.Module`
---above the class says what it has from here.
---
---```lua
---local Block = nn.Module:extend "Block"
---function Block:init(width)
---    self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)
---    self.scale = nn.parameter(heed.ones(1))
---end
---function Block:forward(x) return x + self.scale * self.linear(self.norm(x)) end
---local block = Block(4)
---print(block)
---print(block(heed.randn(2, 4)).shape) --> [2, 4]
---for name, p in block:named_parameters() do print(name, p.shape) end
---```
---@class heed.nn.Module
---@field training boolean dropout acts; set by train and eval
---@field class_name string
---@field private _buffers table<string, string>
---@field private gives_attention boolean?
local Module = { is_heed_module = true, class_name = "Module" }

-- ---- parameters ---------------------------------------------------------------------------------

local FLOATS, HALVES = core.dtypes.floats, core.dtypes.halves

---Makes a tensor a parameter: assigned to a field of a module it is trained, saved and named.
---
---```lua
---local Scale = nn.Module:extend "Scale"
---function Scale:init(width) self.weight = nn.parameter(heed.ones(width)) end
---function Scale:forward(x) return x * self.weight end
---print(Scale(3)) --> Scale() 3 3 parameters
---```
---@param t heed.Tensor floats; its values are shared, not copied
---@return heed.Tensor parameter a leaf that wants a gradient; of f16 and bf16, which are for storing,
---one that wants none; a quantised weight as it is
local function parameter(t)
    if core.is_quantized(t) then
        walk.is_parameter[t] = true
        return t
    end
    if not check.is_live(t) or not FLOATS[t.dtype] then
        errors.raise("heed.nn.parameter: t: expected a tensor of floats, got %s", check.describe(t))
    end
    local p = t:detach()
    p.requires_grad = not HALVES[t.dtype]
    walk.is_parameter[p] = true
    return p
end

-- ---- classes ------------------------------------------------------------------------------------

-- The order of fields is that of their first assignment; later ones replace in place.
local function assign(self, key, value)
    if walk.is_parameter[value] or is_module(value) then check_name(self, key) end
    if value ~= nil and type(key) == "string" then
        local order = rawget(self, "_order")
        if not order[key] then
            order[key] = true
            order[#order + 1] = key
        end
    end
    rawset(self, key, type(value) == "function" and calls.method(key, value) or value)
end

local function define(class, key, value) rawset(class, key, calls.method(key, value)) end

-- How many arguments the init of a class takes; nil where anybody's may take what it likes.
local function most_arguments(class)
    local info = getinfo and getinfo(calls.original(class.init), "Su")
    if not info or info.isvararg or not errors.is_own(info.source) then return nil end
    return info.nparams - 1
end

local function construct(class, ...)
    local most = most_arguments(class)
    if most then positional.refuse(class, ...) end
    if most and select("#", ...) > most then
        check.no_more(class.class_name, most, select(most + 1, ...))
    end
    local self = setmetatable({ _order = {}, _buffers = {}, training = true }, class)
    self:init(...)
    return self
end

---A new class of modules: give it `init(self, ...)` and `forward(self, ...)`. Called, the class
---makes an instance; called, an instance runs forward. Messages and caches know the calls of
---forward and of other methods (functions whose first parameter is self).
---
---```lua
---local Twice = nn.Module:extend "Twice"
---function Twice:init(inner) self.inner = inner end
---function Twice:forward(x) return self.inner(self.inner(x)) end
---print(Twice(nn.Linear(2, 2))(heed.ones(1, 2)).shape) --> [1, 2]
---```
---@param name string as it prints
---@return table class
function Module:extend(name)
    check.type("heed.nn.Module:extend", "name", name, "string")
    local class = { class_name = name, super = self }
    for key, value in pairs(self) do
        if type(key) == "string" and key:sub(1, 2) == "__" then class[key] = value end
    end
    class.__index = class
    class.__name = name -- what messages call an instance
    class.is_heed_module = true
    return setmetatable(class, { __index = self, __call = construct, __newindex = define })
end

Module.__index = Module
Module.__newindex = assign
Module.__call = calls.forward
setmetatable(Module, { __call = construct })

-- Runs when an instance is made, with the arguments given to the class. This one takes none.
function Module:init(...)
    if select("#", ...) > 0 then
        positional.refuse(getmetatable(self), ...)
        errors.raise("%s: expected no arguments (it has no init), got %s", self.class_name,
            check.describe((...)))
    end
end

---Runs when an instance is called.
function Module:forward()
    errors.raise("%s: it has no forward: define function %s:forward(...)", self.class_name,
        self.class_name)
end

-- Methods begin so: model.train() has no model.
local function method(self, name) check.object(self, "heed.nn.Module", name, "model") end

---A tensor that is saved and moved with the module, and not trained.
---
---```lua
---local Counter = nn.Module:extend "Counter"
---function Counter:init() self:buffer("count", heed.ids { 0 }) end
---function Counter:forward(x) self.count:add_(1) return x end
---local counter = Counter()
---counter(1)
---print(counter:state_dict().count) --> [1] i64 [1]
---```
---@param name string the field
---@param t heed.Tensor
---@param options? { persistent?: boolean } false leaves it out of state_dict
---@return heed.Tensor t
function Module:buffer(name, t, options)
    method(self, "buffer")
    check.type("heed.nn.Module:buffer", "name", name, "string")
    if not check.is_live(t) then
        errors.raise("heed.nn.Module:buffer: t: expected a tensor, got %s", check.describe(t))
    end
    check_name(self, name)
    options = check.options("heed.nn.Module:buffer", options, { persistent = true })
    self._buffers[name] = options.persistent == false and "temporary" or "persistent"
    self[name] = core.keep(t) -- like a parameter it outlives the scope that its module was made in
    return t
end

-- ---- walking ------------------------------------------------------------------------------------

-- { name, tensor } of each parameter, or of each buffer, in order; a shared one once, under its
-- first name.
local function tensors_of(self, parameters)
    local list, seen = {}, {}
    each_tensor(self, 1, function(name, t, _, _, kind)
        if (kind == "parameter") == parameters and not seen[t] then
            seen[t] = true
            list[#list + 1] = { name, t }
        end
    end)
    return list
end

local function seconds(pairs_list)
    local list = {}
    for i, pair in ipairs(pairs_list) do list[i] = pair[2] end
    return list
end

local function iterate(list)
    local i = 0
    return function()
        i = i + 1
        if list[i] then return table.unpack(list[i], 1, 2) end
    end
end

---All parameters, in order: a module's own as its fields came, then those of the modules in it. One
---that several modules share comes once.
---
---```lua
---print(#nn.Linear(2, 3):parameters()) --> 2
---```
---@return heed.Tensor[]
function Module:parameters()
    method(self, "parameters")
    return seconds(tensors_of(self, true))
end

---An iterator of name, parameter, in order; a shared one comes once, under its first name.
---
---```lua
---for name, p in nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3)):named_parameters() do
---    print(name, p.shape)
---end
---```
---@return fun(): string?, heed.Tensor?
function Module:named_parameters()
    method(self, "named_parameters")
    return iterate(tensors_of(self, true))
end

---All buffers (Module:buffer), in order.
---
---```lua
---print(#nn.SinusoidalPositions(4, 2):buffers()) --> 1
---```
---@return heed.Tensor[]
function Module:buffers()
    method(self, "buffers")
    return seconds(tensors_of(self, false))
end

---An iterator of name, buffer, in order.
---
---```lua
---for name, t in nn.SinusoidalPositions(4, 2):named_buffers() do print(name, t.shape) end
---```
---@return fun(): string?, heed.Tensor?
function Module:named_buffers()
    method(self, "named_buffers")
    return iterate(tensors_of(self, false))
end

-- { name, module } of the modules in fields and lists of this one, not of theirs; each once.
local function children_of(self)
    local list, seen = {}, {}
    each_member(self, 1, function(name, _, _, value)
        if is_module(value) and not seen[value] then
            seen[value] = true
            list[#list + 1] = { name, value }
        end
    end)
    return list
end

---The modules that are a field of this one, or in a list that is.
---
---```lua
---print(#nn.Sequential(nn.Linear(2, 3), nn.ReLU()):children()) --> 2
---```
---@return heed.nn.Module[]
function Module:children()
    method(self, "children")
    return seconds(children_of(self))
end

---An iterator of name, module of those.
---
---```lua
---for name, child in nn.Sequential(nn.Linear(2, 3), nn.ReLU()):named_children() do
---    print(name, child.class_name)
---end
---```
---@return fun(): string?, heed.nn.Module?
function Module:named_children()
    method(self, "named_children")
    return iterate(children_of(self))
end

---All modules, this one first, each once.
---
---```lua
---print(#nn.Sequential(nn.Linear(2, 2), nn.ReLU()):modules()) --> 3
---```
---@return heed.nn.Module[]
function Module:modules()
    method(self, "modules")
    local list = {}
    each_module(self, 1, function(_, module) list[#list + 1] = module end)
    return list
end

---An iterator of path, module; this one's path is "".
---
---```lua
---for path, part in nn.Sequential(nn.Linear(2, 2), nn.ReLU()):named_modules() do
---    print(path, part.class_name)
---end
---```
---@return fun(): string?, heed.nn.Module?
function Module:named_modules()
    method(self, "named_modules")
    local list = {}
    each_module(self, 1, function(path, module) list[#list + 1] = { path, module } end)
    return iterate(list)
end

-- ---- caches -------------------------------------------------------------------------------------

---A cache for reading token after token: of keys and values of every MultiHeadAttention in the
---model that it will be given to. Memory is taken when they are first written, of max_len tokens at
---once.
---
---```lua
---local model = nn.Transformer { src_vocab = 10, tgt_vocab = 12, d_model = 8, num_heads = 2,
---    num_layers = 1, d_ff = 16 }:eval()
---heed.no_grad(function()
---    local memory = model:encode { { 1, 2, 3 } }
---    local cache = model:new_cache { batch = 1, max_len = 8 }
---    for _, token in ipairs { 4, 5, 6 } do
---        print(model:decode({ { token } }, memory, { cache = cache }).shape, cache)
---    end
---end)
---```
---@param options { batch?: integer, max_len: integer, dtype?: heed.dtype } batch: rows, default 1;
---max_len: the most tokens that a row will hold; dtype: what they are kept as, default that of the
---keys
---@return heed.Cache
function Module:new_cache(options)
    method(self, "new_cache")
    return require("heed.nn.cache").new(self, options)
end

-- ---- modes --------------------------------------------------------------------------------------

---Calls fn with every module, this one last.
---
---```lua
---local model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
---model:apply(function(part)
---    if part.weight then nn.init.ones_(part.weight) end
---end)
---print(model[2].weight) --> [[1., 1.], [1., 1.]] f32 [2, 2], requires_grad
---```
---@param fn fun(module: heed.nn.Module)
---@return heed.nn.Module self
function Module:apply(fn)
    method(self, "apply")
    check.type("heed.nn.Module:apply", "fn", fn, "function")
    local list = self:modules()
    for i = #list, 1, -1 do fn(list[i]) end
    return self
end

---Training mode: dropout acts.
---
---```lua
---print(nn.Dropout(0.5):train().training) --> true
---```
---@param on? boolean default true
---@return heed.nn.Module self
function Module:train(on)
    method(self, "train")
    for _, module in ipairs(self:modules()) do module.training = on ~= false end
    return self
end

---Evaluation mode: dropout rests.
---
---```lua
---print(nn.Dropout(0.5):eval()(heed.ones(3))) --> [1., 1., 1.] f32 [3]
---```
---@return heed.nn.Module self
function Module:eval()
    method(self, "eval")
    return self:train(false)
end

---Drops the gradients of all parameters: optimisers do the same with theirs.
---
---```lua
---local layer = nn.Linear(2, 1)
---layer(heed.ones(1, 2)):sum():backward()
---print(layer:zero_grad().weight.grad) --> nil
---```
---@return heed.nn.Module self
function Module:zero_grad()
    method(self, "zero_grad")
    core.zero_grads(self:parameters())
    return self
end

---Whether parameters want gradients: false freezes them.
---
---```lua
---local model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
---model[1]:requires_grad_(false)
---```
---@param wanted? boolean default true
---@return heed.nn.Module self
function Module:requires_grad_(wanted)
    method(self, "requires_grad_")
    wanted = check.flag("heed.nn.Module:requires_grad_", "wanted", wanted, true)
    for _, p in ipairs(self:parameters()) do p.requires_grad = wanted end
    return self
end

---Turns every float parameter and buffer into another dtype. They are new tensors: make the
---optimiser afterwards.
---
---```lua
---print(nn.Linear(2, 2):to("f64").weight.dtype) --> f64
---```
---@param dtype string
---@return heed.nn.Module self
function Module:to(dtype)
    method(self, "to")
    local made = {}
    local changes = {}
    each_tensor(self, 1, function(_, t, owner, key, kind)
        changes[#changes + 1] = { t, owner, key, kind }
    end)
    for _, change in ipairs(changes) do
        local t, owner, key, kind = table.unpack(change)
        if FLOATS[t.dtype] and t.dtype ~= dtype then
            if not made[t] then
                made[t] = core.keep(t:detach():to(dtype))
                if kind == "parameter" then
                    made[t] = parameter(made[t])
                    made[t].requires_grad = t.requires_grad and not HALVES[dtype]
                end
            end
            owner[key] = made[t]
        end
    end
    return self
end

-- ---- saving -------------------------------------------------------------------------------------

---Every parameter and persistent buffer by name. The tensors share the module's memory; a shared
---one is the same tensor under each of its names.
---
---```lua
---local model = nn.Sequential(nn.Linear(2, 2, { bias = false }))
---print(next(model:state_dict()), next(model:state_dict { names = "torch" }))
---```
---@param options? { names?: "heed"|"torch" } "torch" counts lists from 0, as PyTorch's files do
---@return table<string, heed.Tensor>
function Module:state_dict(options)
    method(self, "state_dict")
    local where = "heed.nn.Module:state_dict"
    options = check.options(where, options, states.OPTIONS)
    local tensors, detached = {}, {}
    each_tensor(self, states.list_base(where, options), function(name, t, _, _, kind)
        if kind == "temporary" then return end
        detached[t] = detached[t] or t:detach()
        tensors[name] = detached[t]
    end)
    return tensors
end

---nil and a message that lists what is missing, unexpected or of another shape; true when all fits.
---
---```lua
---print(nn.Linear(2, 2):check_state_dict { weight = heed.zeros(2, 3) })
---```
---@param state table<string, heed.Tensor>
---@param options? { names?: "heed"|"torch", strict?: boolean } names: "torch" counts lists from 0,
---default "heed"; strict: default true, false lets names be missing or unexpected
---@return true|nil
---@return string? message
function Module:check_state_dict(state, options)
    method(self, "check_state_dict")
    if type(state) ~= "table" then return nil, "not the state of a module" end
    local message = states.differences(self, state, options)
    if message then return nil, message end
    return true
end

---Copies the tensors of a state into the module's own (cast to their dtype). When anything is
---missing, unexpected or of another shape an error lists it and nothing is loaded.
---
---```lua
---local a, b = nn.Linear(2, 2), nn.Linear(2, 2)
---b:load_state_dict(a:state_dict())
---print(heed.equal(a.weight, b.weight)) --> true
---```
---@param state table<string, heed.Tensor>
---@param options? { names?: "heed"|"torch", strict?: boolean } names: "torch" counts lists from 0,
---default "heed"; strict: default true, false lets names be missing or unexpected
---@return heed.nn.Module self
---@return { missing: string[], unexpected: string[] } found names, empty unless strict is false
function Module:load_state_dict(state, options)
    method(self, "load_state_dict")
    local message, copies, found = states.differences(self, state, options)
    if message then
        errors.raise("%s: load_state_dict: the state does not fit:\n  %s", self.class_name, message)
    end
    core.no_grad(function() states.copy(copies) end)
    return self, found
end

-- ---- shapes alone -------------------------------------------------------------------------------

---Runs the model on shapes alone: tensors of floats have no numbers, nothing is computed from them
---and they take no memory. What is wrong is reported as the real run would report it. A model that
---looks at its own numbers (t:item(), nonzero, indices by argmax) finds zeros.
---
---```lua
---local model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))
---print(model:check(heed.zeros(8, 64))) --> [8, 64]
---print(select(2, pcall(model.check, model, heed.zeros(8, 63)))) --> Sequential.1: x: expected 64 features, got [8, 63]
---```
---@param ... any what the model would be called with
---@return any ... what it gives, with shapes in place of tensors
function Module:check(...)
    method(self, "check")
    return on_shapes(self, ...)
end

-- ---- printing -----------------------------------------------------------------------------------

---What stands in the parentheses after the class name. A class may give its own.
---@return string
function Module:extra() return "" end -- luacheck: ignore self

Module.__tostring = printing.text

for name, value in pairs(Module) do Module[name] = calls.method(name, value) end

return { Module = Module, parameter = parameter, is_module = is_module }
