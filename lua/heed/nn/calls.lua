--- The calls of modules that are under way.
---
--- Every call of a module, and of a method of one, goes through a function of this file, whose
--- frame on Lua's stack shows the module: messages take the path from there (heed.errors), and
--- nothing is paid before. Modules that somebody watches note their calls in a small stack for each
--- coroutine too, by which a cache tells one step from the next (heed.nn.cache). A call is noted in
--- a variable that is closed when it returns or raises, so the stack is right wherever an error is
--- caught; a coroutine that is abandoned takes its stack along.

local check = require "heed.check"
local errors = require "heed.errors"

local running, status = coroutine.running, coroutine.status
local getinfo, getlocal = debug and debug.getinfo, debug and debug.getlocal

local calls = {}

local watched = setmetatable({}, { __mode = "k" })

---A call that is noted. The object serves every call at its depth in turn; its number is the call's
---own.
---@class heed.nn.Call
---@field module any the module, or what the call is of
---@field name string the method: "forward" when the module itself was called
---@field number integer calls count up, those of all coroutines in one row
---@field depth integer
---@field stack heed.nn.Call[]
---@field steps table[]|nil the steps of caches that end with it
local Call = {}
Call.__index = Call

-- Of each coroutine: its calls, outermost first, `depth` of them.
local stacks = setmetatable({}, { __mode = "k" })
local count = 0

-- When an interrupt comes while a call ends, its caller's end mends the stack, and for the
-- outermost call the stack itself.
local Stack = { __close = function(stack) stack.depth = 0 end }

local function new_stack()
    local stack = setmetatable({ depth = 0 }, Stack)
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

local NONE = { depth = 0 }

---The calls under way in this coroutine, behind those of the coroutines that it was resumed from:
---an array, outermost first, and its length.
---@return heed.nn.Call[]
---@return integer
function calls.under_way()
    local here = running()
    local own, all = stacks[here] or NONE, nil
    for thread, stack in next, stacks do
        if stack.depth > 0 and thread ~= here and status(thread) == "normal" then
            all = all or {}
            table.move(stack, 1, stack.depth, #all + 1, all)
        end
    end
    if not all then return own, own.depth end
    table.sort(all, function(a, b) return a.number < b.number end)
    table.move(own, 1, own.depth, #all + 1, all)
    return all, #all
end

-- ---- the end of a call --------------------------------------------------------------------------

-- A coroutine that is closed while it waits ends its calls without an error, and without the
-- function that was called.
local function was_abandoned() return getinfo ~= nil and getinfo(3, "l") == nil end

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

-- ---- the calls ----------------------------------------------------------------------------------

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
    local _ <close> = depth == 1 and stack
    local call <close> = stack[depth] or new_call(stack, depth)
    count = count + 1
    call.module, call.name, call.number, call.steps, stack.depth = owner, name, count, nil, depth
    return (originals[method] or method)(owner, ...)
end

local run = calls.run

-- Around a call that must stay on Lua's stack.
local function pass(...) return ... end

---What runs when an instance is called: self:forward(...).
---@return any ...
function calls.forward(self, ...)
    local forward = self.forward
    if watched[self] then return run(self, "forward", forward, ...) end
    return pass((originals[forward] or forward)(self, ...))
end

-- What only says something of a module.
local SILENT = { extra = true, is_stock = true }

---What is to stand under a name in a class or a module: a function whose first parameter is self,
---as the colon makes it, becomes a method, whose calls are known. Anything else stays as it is.
---@param name any
---@param value any
---@return any
function calls.method(name, value)
    if type(value) ~= "function" or originals[value] then return value end
    if not getlocal or getlocal(value, 1) ~= "self" then return value end
    if type(name) ~= "string" or name:sub(1, 2) == "__" or SILENT[name] then return value end
    local function method(self, ...)
        if type(self) ~= "table" then -- model.forward(x)
            check.object(self, "heed.nn.Module", name, "model")
        end
        if watched[self] then return run(self, name, value, ...) end
        return pass(value(self, ...))
    end
    originals[method] = value
    return method
end

-- A method that was defined a second time stands there as it was written.
local function renew_methods(t)
    for name, value in next, t do rawset(t, name, calls.method(name, value)) end
end

---From now on the module's calls are noted.
---@param module heed.nn.Module
function calls.watch(module)
    watched[module] = true
    renew_methods(module)
    local class = getmetatable(module)
    while class do
        renew_methods(class)
        class = class.super
    end
end

-- The first variable of these functions is the module.
function errors.is_call(f) return f == calls.forward or f == run or originals[f] ~= nil end

return calls
