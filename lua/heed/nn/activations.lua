--- Which calls of modules are under way: so that a cache knows where one forward ends and the next begins, also when a module is
--- used several times in one. Only modules that somebody watches are noted.

local activations = {}

local watched = setmetatable({}, { __mode = "k" })
local stacks = setmetatable({}, { __mode = "k" }) -- of each coroutine: { module, number, module, number, ... }, outermost first
local count = 0

activations.watched = watched

---@param module heed.nn.Module
function activations.watch(module) watched[module] = true end

---How many calls have begun.
---@return integer
function activations.count() return count end

local Left = {}
function Left.__close(held)
    local stack = held.stack
    for i = #stack, held.size + 1, -1 do stack[i] = nil end
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
    local _ <close> = setmetatable({ stack = stack, size = #stack }, Left)
    count = count + 1
    stack[#stack + 1] = module
    stack[#stack + 1] = count
    return method(module, ...)
end

---The number of the outermost call under way of one of some modules, of those that began behind call `after`.
---@param modules table<heed.nn.Module, boolean>
---@param after integer
---@return integer|nil
function activations.outermost(modules, after)
    local stack = stacks[coroutine.running()]
    for i = 1, stack and #stack or 0, 2 do
        if modules[stack[i]] and stack[i + 1] > after then return stack[i + 1] end
    end
end

return activations
