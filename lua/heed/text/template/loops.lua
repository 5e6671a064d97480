--- `loop`: what a for says of itself. Values are taken one ahead only when somebody asks.

local arguments = require "heed.text.template.arguments"
local failure = require "heed.text.template.failure"
local iteration = require "heed.text.template.iteration"
local values = require "heed.text.template.values"

local loops = {}

---@param over any what is iterated over
---@param depth integer 0 outside
---@param call? fun(machine, args): any of a recursive one
function loops.new(over, depth, call)
    local loop = setmetatable({ over = over, pull = iteration.of(over), index0 = -1, depth0 = depth,
        call = call, ahead = {} }, values.Loop)
    loop.next = function() return loops.advance(loop) end
    return loop
end

-- Takes n values ahead, or fewer when there are no more.
local function look(loop, n)
    while #loop.ahead < n do
        local value = loop.pull()
        if value == nil then break end
        loop.ahead[#loop.ahead + 1] = value
    end
    return loop.ahead[n]
end

---The next value; nil at the end.
function loops.advance(loop)
    local value = look(loop, 1)
    if value == nil then return nil end
    table.remove(loop.ahead, 1)
    loop.index0 = loop.index0 + 1
    loop.before, loop.current = loop.current, value
    return value
end

local function length(machine, loop)
    if loop.length then return loop.length end
    local known = values.length(loop.over)
    if not known then
        while look(loop, #loop.ahead + 1) ~= nil do machine.budget:step() end
        known = loop.index0 + 1 + #loop.ahead
    end
    loop.length = known
    return known
end

local function cycle(loop)
    return values.callable("cycle", function(_, args)
        if #args == 0 then failure.raise "loop.cycle: no values" end
        return args[loop.index0 % #args + 1]
    end)
end

local function changed(loop)
    return values.callable("changed", function(_, args)
        local now = values.tuple(arguments.from(args, 1))
        local same = loop.last_seen and values.equal(loop.last_seen, now)
        loop.last_seen = now
        return not same
    end)
end

local ATTRIBUTES = {
    index = function(_, loop) return loop.index0 + 1 end,
    index0 = function(_, loop) return loop.index0 end,
    first = function(_, loop) return loop.index0 == 0 end,
    last = function(_, loop) return look(loop, 1) == nil end,
    length = length,
    revindex = function(machine, loop) return length(machine, loop) - loop.index0 end,
    revindex0 = function(machine, loop) return length(machine, loop) - loop.index0 - 1 end,
    depth = function(_, loop) return loop.depth0 + 1 end,
    depth0 = function(_, loop) return loop.depth0 end,
    cycle = function(_, loop) return cycle(loop) end,
    changed = function(_, loop) return changed(loop) end,
}

function ATTRIBUTES.previtem(_, loop)
    if loop.index0 == 0 then return values.undefined "there is no previous item" end
    return loop.before
end

function ATTRIBUTES.nextitem(_, loop)
    local value = look(loop, 1)
    if value == nil then return values.undefined "there is no next item" end
    return value
end

---nil when there is none.
function loops.attribute(machine, loop, name)
    local attribute = ATTRIBUTES[name]
    return attribute and attribute(machine, loop)
end

return loops
