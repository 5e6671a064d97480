--- The value of an expression.

local arguments = require "heed.text.template.arguments"
local arithmetic = require "heed.text.template.arithmetic"
local attributes = require "heed.text.template.attributes"
local failure = require "heed.text.template.failure"
local iteration = require "heed.text.template.iteration"
local slices = require "heed.text.template.slices"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local evaluate

local expressions = {}

-- ---- values -------------------------------------------------------------------------------------

function expressions.const(_, node) return node.value end

function expressions.name(machine, node, scope)
    local value = scope[node.name]
    if value == nil then value = machine.globals[node.name] end
    if value == nil then return values.undefined("'%s' is undefined", node.name) end
    return value
end

local function all(machine, nodes, scope)
    local list = {}
    for i, node in ipairs(nodes) do list[i] = evaluate(machine, node, scope) end
    return list
end

function expressions.list(machine, node, scope)
    return values.list(all(machine, node.items, scope))
end

function expressions.tuple(machine, node, scope)
    return values.tuple(all(machine, node.items, scope))
end

function expressions.dict(machine, node, scope)
    local dict = values.dict()
    for _, pair in ipairs(node.pairs) do
        local key = evaluate(machine, pair.key, scope)
        values.put(dict, key, evaluate(machine, pair.value, scope))
    end
    return dict
end

-- ---- parts of values ----------------------------------------------------------------------------

function expressions.getattr(machine, node, scope)
    return attributes.attribute(machine, evaluate(machine, node.object, scope), node.name)
end

local function optional(machine, node, scope)
    if node then return evaluate(machine, node, scope) end
    return nil
end

function expressions.getitem(machine, node, scope)
    local object, key = evaluate(machine, node.object, scope), node.key
    if key.kind ~= "slice" then
        return attributes.item(machine, object, evaluate(machine, key, scope))
    end
    return slices.part(machine, object, optional(machine, key.first, scope),
        optional(machine, key.stop, scope), optional(machine, key.step, scope))
end

function expressions.slice() return failure.raise "a slice among several keys is not known" end

-- ---- calls, filters, tests ----------------------------------------------------------------------

local function spread_named(args, dict)
    if values.kind(values.defined(dict)) ~= "dict" then
        failure.raise("a dict is needed behind **, got %s", values.type_name(dict))
    end
    for _, key in ipairs(dict.keys) do
        local name = values.text(key)
        if not name then failure.raise "arguments have strings as names" end
        arguments.add(args, name, values.get(dict, key))
    end
end

local function arguments_of(machine, nodes, scope)
    local args = arguments.new(all(machine, nodes, scope))
    for _, each in ipairs(nodes.named) do
        arguments.add(args, each.name, evaluate(machine, each.value, scope))
    end
    if nodes.spread then
        for item in iteration.of(evaluate(machine, nodes.spread, scope)) do
            machine.budget:step()
            args[#args + 1] = item
        end
    end
    if nodes.spread_named then spread_named(args, evaluate(machine, nodes.spread_named, scope)) end
    return args
end

function expressions.call(machine, node, scope)
    local callee = evaluate(machine, node.callee, scope)
    return machine.call(machine, callee, arguments_of(machine, node.args, scope))
end

function expressions.filter(machine, node, scope)
    local value = evaluate(machine, node.object, scope)
    return machine.filter(machine, node.name, value, arguments_of(machine, node.args, scope))
end

function expressions.test(machine, node, scope)
    local value = evaluate(machine, node.object, scope)
    return machine.test(machine, node.name, value, arguments_of(machine, node.args, scope))
end

-- ---- operators ----------------------------------------------------------------------------------

function expressions.binary(machine, node, scope)
    local left = evaluate(machine, node.left, scope)
    return arithmetic.binary(machine, node.operator, left, evaluate(machine, node.right, scope))
end

function expressions.negative(machine, node, scope)
    return arithmetic.negative(evaluate(machine, node.object, scope))
end

function expressions.positive(machine, node, scope)
    return arithmetic.positive(evaluate(machine, node.object, scope))
end

function expressions.concat(machine, node, scope)
    local parts = all(machine, node.items, scope)
    for i, part in ipairs(parts) do parts[i] = text_of.str(machine, part) end
    return machine.budget:text(table.concat(parts))
end

function expressions.compare(machine, node, scope)
    local left = evaluate(machine, node.first, scope)
    for _, each in ipairs(node.others) do
        local right = evaluate(machine, each.value, scope)
        if not arithmetic.compare(machine, each.operator, left, right) then return false end
        left = right
    end
    return true
end

expressions["and"] = function(machine, node, scope)
    local left = evaluate(machine, node.left, scope)
    if not values.truth(left) then return left end
    return evaluate(machine, node.right, scope)
end

expressions["or"] = function(machine, node, scope)
    local left = evaluate(machine, node.left, scope)
    if values.truth(left) then return left end
    return evaluate(machine, node.right, scope)
end

expressions["not"] = function(machine, node, scope)
    return not values.truth(evaluate(machine, node.object, scope))
end

function expressions.cond(machine, node, scope)
    if values.truth(evaluate(machine, node.test, scope)) then
        return evaluate(machine, node.yes, scope)
    end
    if node.no then return evaluate(machine, node.no, scope) end
    return values.undefined "an if without else was false"
end

---@param machine heed.text.template.Machine
---@param node table
---@param scope table
---@return any
function evaluate(machine, node, scope)
    machine.budget:step()
    return expressions[node.kind](machine, node, scope)
end

return { value = evaluate, arguments = arguments_of }
