--- Macros, and what {% call %} gives to them: functions whose value is the text that they print.

local failure = require "heed.text.template.failure"
local values = require "heed.text.template.values"

local macros = {}

-- What is left over, for `varargs`; refused where the macro does not ask for it.
local function bind_rest(node, args, scope)
    local count = #node.parameters
    if node.uses.varargs then
        scope.varargs = values.tuple(table.move(args, count + 1, #args, 1, {}))
    elseif #args > count then
        failure.raise("%s: %d arguments at most, got %d", node.name, count, #args)
    end
end

-- Named arguments that are no parameters, for `caller` and `kwargs`.
local function bind_named(node, args, scope, known)
    local rest = values.dict()
    for _, name in ipairs(args.names) do
        if not known[name] then
            if name == "caller" and node.uses.caller then
                scope.caller = args.named.caller
            elseif node.uses.kwargs then
                values.put(rest, name, args.named[name])
            else
                failure.raise("%s: there is no argument '%s'", node.name, name)
            end
        end
    end
    if node.uses.kwargs then scope.kwargs = rest end
    if node.uses.caller and scope.caller == nil then
        scope.caller = values.undefined "the macro was not called by a call block"
    end
end

local function bind(machine, node, args, outer)
    local scope, known = setmetatable({}, { __index = outer }), {}
    if node.uses.caller then scope.caller = args.named.caller end
    for i, parameter in ipairs(node.parameters) do
        local name = parameter.name
        local value = args[i]
        known[name] = true
        if args.named[name] ~= nil then
            if value ~= nil then failure.raise("%s: two values for '%s'", node.name, name) end
            value = args.named[name]
        end
        if value == nil and parameter.default then
            value = machine.evaluate(machine, parameter.default, scope)
        end
        if value == nil then
            value = values.undefined("%s: no value was given for '%s'", node.name, name)
        end
        scope[name] = value
    end
    bind_rest(node, args, scope)
    bind_named(node, args, scope, known)
    return scope
end

---@param node table a macro, or the body of a call block
---@param outer table the scope that it sees
---@return any
function macros.new(node, outer)
    local macro = values.callable(node.name, function(machine, args)
        local scope = bind(machine, node, args, outer)
        return machine.captured(machine, node.body, scope)
    end)
    macro.attributes = { name = node.name }
    return macro
end

return macros
