--- What runs a tree: its output, its bounds, and the way from a name to a filter, test or function.

local attributes = require "heed.text.template.attributes"
local budget = require "heed.text.template.budget"
local evaluate = require "heed.text.template.evaluate"
local execute = require "heed.text.template.execute"
local failure = require "heed.text.template.failure"
local filters = require "heed.text.template.filters"
local globals = require "heed.text.template.globals"
local iteration = require "heed.text.template.iteration"
local tests = require "heed.text.template.tests"
local values = require "heed.text.template.values"

---@class heed.text.template.Machine
---@field budget heed.text.template.Budget
---@field globals table<string, any>
---@field now integer seconds: what strftime_now says
---@field line integer of the statement at work
local Machine = {
    attribute = attributes.attribute, item = attributes.item, filters = filters, globals = globals,
    only_attribute = attributes.only_attribute, evaluate = evaluate.value,
    captured = execute.captured, iterate = iteration.of,
}
Machine.__index = Machine

---Prints.
---@param text string
function Machine:write(text)
    local out = self.out
    out[#out + 1] = self.budget:text(text)
end

---What run(...) prints.
---@return string
function Machine:capture(run, ...)
    local outer = self.out
    self.out = {}
    self.budget:enter()
    run(...)
    self.budget:leave()
    local text = table.concat(self.out)
    self.out = outer
    return text
end

---callee(args)
function Machine.call(machine, callee, args)
    values.defined(callee)
    if type(callee) ~= "table" or not callee.call then
        failure.raise("a %s cannot be called", values.type_name(callee))
    end
    return callee.call(machine, args)
end

---value|name(args)
function Machine.filter(machine, name, value, args)
    local filter = filters[name]
    if not filter then failure.raise("the filter '%s' is not known", name) end
    return filter(machine, value, args)
end

---value is name(args)
function Machine.test(machine, name, value, args)
    local test = tests[name]
    if not test then failure.raise("the test '%s' is not known", name) end
    return test(machine, value, args)
end

-- "a.0.b" to the keys one after the other.
local function path_of(attribute)
    if type(attribute) ~= "string" then return { attribute } end
    local path = {}
    for name in (attribute .. "."):gmatch "([^.]*)%." do
        path[#path + 1] = name:find "^%d+$" and math.tointeger(tonumber(name)) or name
    end
    return path
end

---What gets an attribute, or one of an attribute, from an item; the item itself without one.
---@param default? any where it is missing
---@return fun(item: any): any
function Machine.getter(machine, attribute, default)
    local path = path_of(attribute)
    return function(item)
        for _, key in ipairs(path) do
            item = attributes.item(machine, item, key)
            if default ~= nil and values.kind(item) == "undefined" then item = default end
        end
        return item
    end
end

---The text of a tree.
---@param tree table
---@param variables table<string, any>
---@param now integer
---@return string|nil
---@return string? message
return function(tree, variables, now)
    local machine = setmetatable({ budget = budget.new(), now = now, line = 1 }, Machine)
    return failure.attempt(function() return machine.line end, function()
        local scope = setmetatable({}, { __index = variables })
        return machine:capture(execute.run, machine, tree, scope)
    end)
end
