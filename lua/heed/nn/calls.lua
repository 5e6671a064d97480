--- The calls of modules that are under way: a small stack for each coroutine, kept by the calls themselves. Messages take the
--- path of the running module from it (heed.errors), and a cache tells one step from the next (heed.nn.cache).
---
--- A call is noted in a variable that is closed when it returns or raises, so the stack is right wherever an error is caught.
--- A coroutine that is abandoned takes its stack along.

local errors = require "heed.errors"
local walk = require "heed.nn.walk"

local running, status = coroutine.running, coroutine.status
local getinfo, getlocal = debug and debug.getinfo, debug and debug.getlocal

local calls = {}

---A call under way. The object serves every call at its depth in turn; its number is the call's own.
---@class heed.nn.Call
---@field module any the module, or what the call is of
---@field name string the method: "forward" when the module itself was called
---@field number integer calls count up, those of all coroutines in one row
---@field depth integer
---@field stack heed.nn.Call[]
---@field steps table[]|nil the steps of caches that end with it
local Call = {}
Call.__index = Call

local stacks = setmetatable({}, { __mode = "k" }) -- of each coroutine: its calls, outermost first, `depth` of them
local count = 0

local function new_stack()
    local stack = { depth = 0 }
    stacks[running()] = stack
    return stack
end

local function new_call(stack, depth)
    stack[depth] = setmetatable({ stack = stack, depth = depth }, Call)
    return stack[depth]
end

---How many calls have begun.
---@return integer
function calls.count() return count end

---The calls under way in this coroutine, and in those that resumed it: an array, outermost first, and its length.
---@return heed.nn.Call[]
---@return integer
function calls.under_way()
    local here = running()
    local own, all = stacks[here], nil
    for thread, stack in next, stacks do
        if stack.depth > 0 and thread ~= here and status(thread) == "normal" then
            all = all or (own and table.move(own, 1, own.depth, 1, {}) or {})
            table.move(stack, 1, stack.depth, #all + 1, all)
        end
    end
    if not all then return own or {}, own and own.depth or 0 end
    table.sort(all, function(a, b) return a.number < b.number end)
    return all, #all
end

-- ---- the end of a call ---------------------------------------------------------------------------------------------

-- A coroutine that is closed while it waits ends its calls without an error, and without the function that was called.
local function was_abandoned() return getinfo ~= nil and getinfo(4, "l") == nil end

local function end_steps(call, complete)
    local steps = call.steps
    call.steps = nil
    for _, step in ipairs(steps) do step:finish(complete) end
end

-- What a call did to caches before it raised is undone, whoever catches the error.
local function undo(number)
    local levels, depth = calls.under_way()
    for i = 1, depth do
        for _, step in ipairs(levels[i].steps or {}) do step:undo(number) end
    end
end

function Call.__close(call, failure)
    call.stack.depth = call.depth - 1
    call.module = nil
    if call.steps then end_steps(call, failure == nil and not was_abandoned()) end
    if failure ~= nil then undo(call.number) end
end

-- ---- the calls -----------------------------------------------------------------------------------------------------

-- The functions behind methods.
local originals = setmetatable({}, { __mode = "k" })

---The function that was written, of a method (calls.method); any other function as it is.
---@param f function
---@return function
function calls.original(f) return originals[f] or f end

---method(owner, ...), noted as a call of the owner until it returns or raises.
---@param owner any
---@param name string of the method
---@param method function
---@return any ...
function calls.run(owner, name, method, ...)
    local stack = stacks[running()] or new_stack()
    local depth = stack.depth + 1
    local call <close> = stack[depth] or new_call(stack, depth)
    count = count + 1
    call.module, call.name, call.number, stack.depth = owner, name, count, depth
    return (originals[method] or method)(owner, ...)
end

---What runs when an instance is called. The same as calls.run, written out: every layer pays for it.
---@return any ...
function calls.forward(self, ...)
    local stack = stacks[running()] or new_stack()
    local depth = stack.depth + 1
    local call <close> = stack[depth] or new_call(stack, depth)
    count = count + 1
    call.module, call.name, call.number, stack.depth = self, "forward", count, depth
    local forward = self.forward
    return (originals[forward] or forward)(self, ...)
end

-- What only says something of a module.
local SILENT = { extra = true, is_stock = true }

---What is to stand under a name in a class or a module: a function whose first parameter is self, as the colon makes it, notes
---its calls. Anything else is as it was.
---@param name any
---@param value any
---@return any
function calls.method(name, value)
    if type(value) ~= "function" or originals[value] or not getlocal or getlocal(value, 1) ~= "self" then return value end
    if type(name) ~= "string" or name:sub(1, 2) == "__" or SILENT[name] then return value end
    local function method(self, ...) return calls.run(self, name, value, ...) end
    originals[method] = value
    return method
end

-- ---- for messages --------------------------------------------------------------------------------------------------

function errors.modules()
    local levels, depth = calls.under_way()
    local modules = {}
    for i = 1, depth do
        if walk.is_module(levels[i].module) then modules[#modules + 1] = levels[i].module end
    end
    return modules
end

return calls
