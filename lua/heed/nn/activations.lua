--- Which calls of modules are under way: so that a cache knows where one forward ends and the next begins, also when a module is
--- used several times in one. Only modules that somebody watches are noted.

local activations = {}

local watched = setmetatable({}, { __mode = "k" })
local stacks = setmetatable({}, { __mode = "k" }) -- of each coroutine: { module, call, module, call, ... }, outermost first
local count = 0

activations.watched = watched

---@param module heed.nn.Module
function activations.watch(module) watched[module] = true end

---How many calls have begun.
---@return integer
function activations.count() return count end

-- A call under way. undo: what is run when it raises.
---@class heed.Activation
---@field number integer
---@field undo function|nil
local Activation = {}
Activation.__index = Activation

function Activation:__close(failure)
    local stack = self.stack
    for i = #stack, self.size + 1, -1 do stack[i] = nil end
    if failure ~= nil and self.undo then self.undo() end
end

---method(module, ...), noted as a call of the module until it returns or raises.
---@param module heed.nn.Module
---@param method function
---@return any ...
function activations.call(module, method, ...)
    local running = coroutine.running()
    local stack = stacks[running]
    if not stack then
        stack = {}
        stacks[running] = stack
    end
    count = count + 1
    local call <close> = setmetatable({ stack = stack, size = #stack, number = count }, Activation)
    stack[#stack + 1] = module
    stack[#stack + 1] = call
    return method(module, ...)
end

---The outermost call under way of one of some modules, of those that began behind call `after`.
---@param modules table<heed.nn.Module, boolean>
---@param after integer
---@return heed.Activation|nil
function activations.outermost(modules, after)
    local stack = stacks[coroutine.running()]
    for i = 1, stack and #stack or 0, 2 do
        if modules[stack[i]] and stack[i + 1].number > after then return stack[i + 1] end
    end
end

return activations
