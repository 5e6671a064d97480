--- Argument checks that teach: the function, the argument, what was expected and what came.

local errors = require "heed.errors"

local check = {}

local raise = errors.raise
local mathtype = math.type

---A short description of a value for messages: `"abc"`, `2.5`, `a table`.
---@return string
function check.describe(value)
    local kind = type(value)
    if kind == "string" then
        return #value > 40 and ("%q..."):format(value:sub(1, 37)) or ("%q"):format(value)
    elseif kind == "number" or kind == "boolean" or kind == "nil" then
        return tostring(value)
    elseif kind == "userdata" and check.is_tensor(value) then
        return ("a tensor %s %s"):format(value.dtype, tostring(value.shape))
    end
    return "a " .. kind
end

---Is this a tensor? Replaced by heed.core's own test when it loads.
---@return boolean
function check.is_tensor(_) return false end

---An integer of at least `least` (default 1): sizes, counts, indices. A float that is one will do.
---@return integer
function check.integer(where, name, value, least)
    least = least or 1
    if mathtype(value) == "float" then value = math.tointeger(value) or value end
    if mathtype(value) ~= "integer" or value < least then
        raise("%s: %s: expected an integer of at least %d, got %s", where, name, least, check.describe(value))
    end
    return value
end

---A number from low to high (either may be nil: open).
function check.number(where, name, value, low, high)
    local range = low and high and (" from %g to %g"):format(low, high) or low and (" of at least %g"):format(low) or ""
    if type(value) ~= "number" or value ~= value or (low and value < low) or (high and value > high) then
        raise("%s: %s: expected a number%s, got %s", where, name, range, check.describe(value))
    end
    return value
end

---A value of one of Lua's types.
function check.type(where, name, value, kind)
    if type(value) ~= kind then
        raise("%s: %s: expected a %s, got %s", where, name, kind, check.describe(value))
    end
    return value
end

---A value, or when there is none (nil; not false) its default.
function check.default(value, default)
    if value == nil then return default end
    return value
end

---true or false; nil is the default. Anything else is refused: a string like "false" would be true.
---@return boolean
function check.flag(where, name, value, default)
    if value == nil then return default end
    return check.type(where, name, value, "boolean")
end

---One of a few strings.
function check.one_of(where, name, value, choices)
    for _, choice in ipairs(choices) do
        if value == choice then return value end
    end
    local quoted = {}
    for i, choice in ipairs(choices) do quoted[i] = ("%q"):format(choice) end
    return raise("%s: %s: expected %s, got %s", where, name, table.concat(quoted, " or "), check.describe(value))
end

---An options table: nil is an empty one, and a name that is not among `known` (a set) is refused.
---@return table options
function check.options(where, options, known)
    if options == nil then return {} end
    check.type(where, "options", options, "table")
    for name in pairs(options) do
        if not known[name] then
            -- A mask, or some other object, where { mask = ... } was meant.
            if getmetatable(options) ~= nil then
                raise("%s: options: expected a table of named options, got %s", where, tostring(options))
            end
            local names = {}
            for n in pairs(known) do names[#names + 1] = n end
            table.sort(names)
            raise("%s: there is no option %s (there are: %s)", where, check.describe(name), table.concat(names, ", "))
        end
    end
    return options
end

---A set of names for check.options.
function check.set(...)
    local set = {}
    for _, name in ipairs { ... } do set[name] = true end
    return set
end

return check
