--- Statements. Each gives nil, or "break" or "continue" when it ends a loop's round.

local attributes = require "heed.text.template.attributes"
local evaluate = require "heed.text.template.evaluate"
local failure = require "heed.text.template.failure"
local iteration = require "heed.text.template.iteration"
local loops = require "heed.text.template.loops"
local macros = require "heed.text.template.macros"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local value_of = evaluate.value

local execute, captured

local statements = {}

local function inner(scope) return setmetatable({}, { __index = scope }) end

-- ---- printing -----------------------------------------------------------------------------------

function statements.data(machine, node) machine:write(node.text) end

function statements.print(machine, node, scope)
    for _, item in ipairs(node.items) do
        machine:write(text_of.str(machine, value_of(machine, item, scope)))
    end
end

-- ---- assignments --------------------------------------------------------------------------------

local function assign(machine, target, value, scope)
    if target.kind == "name" then
        scope[target.name] = value
    elseif target.kind == "attribute" then
        local object = scope[target.object]
        if object == nil then object = values.undefined("'%s' is undefined", target.object) end
        attributes.assign(object, target.name, value)
    else
        local list = iteration.all(machine, value)
        if #list ~= #target.items then
            failure.raise("%d values are needed, got %d", #target.items, #list)
        end
        for i, item in ipairs(target.items) do assign(machine, item, list[i], scope) end
    end
end

function statements.set(machine, node, scope)
    assign(machine, node.target, value_of(machine, node.value, scope), scope)
end

local function filtered(machine, nodes, text, scope)
    local value = text
    for _, node in ipairs(nodes) do
        local args = evaluate.arguments(machine, node.args, scope)
        value = machine.filter(machine, node.name, value, args)
    end
    return value
end

function statements.set_block(machine, node, scope)
    local body = inner(scope)
    local text = captured(machine, node.body, body)
    assign(machine, node.target, filtered(machine, node.filters, text, body), scope)
end

function statements.with(machine, node, scope)
    local body = inner(scope)
    for _, each in ipairs(node.assignments) do
        assign(machine, each.target, value_of(machine, each.value, scope), body)
    end
    return execute(machine, node.body, body)
end

-- ---- what has a body ----------------------------------------------------------------------------

statements["if"] = function(machine, node, scope)
    for _, branch in ipairs(node.branches) do
        if not branch.test or values.truth(value_of(machine, branch.test, scope)) then
            return execute(machine, branch.body, scope)
        end
    end
end

-- What blocks make is printed when it is a string, and nothing else.
local function write_text(machine, value)
    local text = values.text(value)
    if not text then failure.raise("a string is needed, got %s", values.type_name(value)) end
    machine:write(text)
end

function statements.filter_block(machine, node, scope)
    local body = inner(scope)
    local text = captured(machine, node.body, body)
    write_text(machine, filtered(machine, node.filters, text, body))
end

function statements.generation(machine, node, scope)
    machine:write(captured(machine, node.body, inner(scope)))
end

function statements.macro(_, node, scope) scope[node.name] = macros.new(node, scope) end

function statements.call_block(machine, node, scope)
    local callee = value_of(machine, node.call.callee, scope)
    local args = evaluate.arguments(machine, node.call.args, scope)
    if args.named.caller ~= nil then failure.raise "two values for 'caller'" end
    args.names[#args.names + 1] = "caller"
    args.named.caller = macros.new(node.caller, scope)
    write_text(machine, machine.call(machine, callee, args))
end

-- ---- loops --------------------------------------------------------------------------------------

statements["break"] = function() return "break" end

statements.continue = function() return "continue" end

-- The values for which the condition holds; asked when they are needed.
local function selected(machine, node, value, scope)
    if not node.condition then return value end
    local next_value = iteration.of(value)
    return values.iterator(function()
        for item in next_value do
            machine.budget:step()
            local round = inner(scope)
            assign(machine, node.target, item, round)
            round.loop = values.undefined "'loop' is undefined in the condition of a loop"
            if values.truth(value_of(machine, node.condition, round)) then return item end
        end
    end)
end

local run_loop

local function recursive_call(node, scope, depth)
    if not node.recursive then return nil end
    return function(machine, args)
        if #args ~= 1 then failure.raise("loop: 1 argument, got %d", #args) end
        return machine:capture(run_loop, machine, node, scope, args[1], depth + 1)
    end
end

function run_loop(machine, node, scope, value, depth)
    local loop = loops.new(selected(machine, node, value, scope), depth,
        recursive_call(node, scope, depth))
    local finished = 0 -- rounds that came to their end: with none the else is taken, as in Jinja
    for item in loop.next do
        machine.budget:step()
        local round = inner(scope)
        round.loop = loop
        assign(machine, node.target, item, round)
        local ending = execute(machine, node.body, round)
        if ending == "break" then break end
        if not ending then finished = finished + 1 end
    end
    if finished == 0 and node.otherwise then
        return execute(machine, node.otherwise, inner(scope))
    end
end

statements["for"] = function(machine, node, scope)
    return run_loop(machine, node, scope, value_of(machine, node.over, scope), 0)
end

-- ---- all of them --------------------------------------------------------------------------------

function execute(machine, nodes, scope)
    for _, node in ipairs(nodes) do
        machine.line = node.line
        machine.budget:step()
        local ending = statements[node.kind](machine, node, scope)
        if ending then return ending end
    end
end

---The text that statements print.
---@return string
function captured(machine, nodes, scope)
    return machine:capture(execute, machine, nodes, scope)
end

return { run = execute, captured = captured }
