--- Arguments of calls, filters and tests: those without names in [1], [2] ..., `named` from names
--- to values, and `names` in their order.

local failure = require "heed.text.template.failure"
local values = require "heed.text.template.values"

local arguments = {}

local function find(list, name)
    for i, each in ipairs(list) do
        if each == name then return i end
    end
    return nil
end

---The arguments in the order of the parameters; nil where there is none.
---@param where string for messages
---@param args table
---@param required integer how many must be there
---@param ... string the parameters
function arguments.bind(where, args, required, ...)
    local parameters, bound = { ... }, {}
    if #args > #parameters then
        failure.raise("%s: %d arguments at most, got %d", where, #parameters, #args)
    end
    table.move(args, 1, #args, 1, bound)
    for _, name in ipairs(args.names) do
        local at = find(parameters, name)
        if not at then failure.raise("%s: there is no argument '%s'", where, name) end
        if bound[at] ~= nil then failure.raise("%s: two values for '%s'", where, name) end
        bound[at] = args.named[name]
    end
    for i = 1, required do
        if bound[i] == nil then failure.raise("%s: no value for '%s'", where, parameters[i]) end
    end
    return table.unpack(bound, 1, #parameters)
end

---@param list? any[]
function arguments.new(list)
    local args = list or {}
    args.named, args.names = {}, {}
    return args
end

---Adds a named one.
function arguments.add(args, name, value)
    if args.named[name] ~= nil then failure.raise("two values for '%s'", name) end
    args.names[#args.names + 1] = name
    args.named[name] = value
end

---Those from `first` on, and the named ones.
function arguments.from(args, first)
    local rest = table.move(args, first, #args, 1, {})
    rest.named, rest.names = args.named, args.names
    return rest
end

---An integer, where one is needed; booleans count as such. nil stays nil.
---@return integer|nil
function arguments.integer(where, value)
    if value == nil then return nil end
    local number = values.number(values.defined(value))
    if math.type(number) ~= "integer" then
        failure.raise("%s: an integer is needed, got %s", where, values.type_name(value))
    end
    return number
end

---A string, where one is needed. nil stays nil.
---@return string|nil
function arguments.text(where, value)
    if value == nil then return nil end
    local text = values.text(values.defined(value))
    if not text then
        failure.raise("%s: a string is needed, got %s", where, values.type_name(value))
    end
    return text
end

---nil for None too.
function arguments.optional(value)
    if value == values.none then return nil end
    return value
end

return arguments
