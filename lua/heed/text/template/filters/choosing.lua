--- Filters that apply a filter or a test to every item: map, select, reject and their like. They
--- give iterators, which are read once.

local arguments = require "heed.text.template.arguments"
local failure = require "heed.text.template.failure"
local iteration = require "heed.text.template.iteration"
local values = require "heed.text.template.values"

local choosing = {}

-- What is false has no items, and nothing is asked of the arguments then.
local function over(value, prepare)
    return iteration.lazy(function()
        if not values.truth(value) then return function() end end
        local apply, next_value = prepare(), iteration.of(value)
        return function() return apply(next_value) end
    end)
end

local function mapper(machine, args)
    if #args == 0 and args.named.attribute ~= nil then
        local attribute, default = arguments.bind("map", args, 0, "attribute", "default")
        return machine.getter(machine, attribute, arguments.optional(default))
    end
    if #args == 0 then failure.raise "map: a filter or an attribute is needed" end
    local name, rest = arguments.text("map", args[1]), arguments.from(args, 2)
    return function(item) return machine.filter(machine, name, item, rest) end
end

function choosing.map(machine, value, args)
    return over(value, function()
        local map = mapper(machine, args)
        return function(next_value)
            local item = next_value()
            machine.budget:step()
            if item == nil then return nil end
            return map(item)
        end
    end)
end

-- Does an item fulfil the test that the arguments name? Without one: is it true?
local function condition(machine, where, args, by_attribute)
    local first, get = 1, function(item) return item end
    if by_attribute then
        if #args == 0 then failure.raise("%s: an attribute is needed", where) end
        first, get = 2, machine.getter(machine, args[1])
    end
    if #args < first then return function(item) return values.truth(get(item)) end end
    local name, rest = arguments.text(where, args[first]), arguments.from(args, first + 1)
    return function(item) return machine.test(machine, name, get(item), rest) end
end

local function chooser(name, wanted, by_attribute)
    choosing[name] = function(machine, value, args)
        return over(value, function()
            local holds = condition(machine, name, args, by_attribute)
            return function(next_value)
                for item in next_value do
                    machine.budget:step()
                    if values.truth(holds(item)) == wanted then return item end
                end
            end
        end)
    end
end

chooser("select", true)
chooser("reject", false)
chooser("selectattr", true, true)
chooser("rejectattr", false, true)

return choosing
