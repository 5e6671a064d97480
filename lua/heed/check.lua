--- Argument checks that teach: the function, the argument, what was expected and what came.

local errors = require "heed.errors"
local suggest = require "heed.suggest"

local check = {}

local raise = errors.raise
local mathtype = math.type

local function with_article(name) return (name:find "^[AEIOUaeiou]" and "an " or "a ") .. name end

local function dtype_of(tensor) return tensor.dtype end

local function text_of(tensor)
    return ("%s tensor %s"):format(tensor.dtype, tostring(tensor.shape))
end

---A short description of a value for messages, as csrc/lua/runtime/check.c has it: `"abc"`, `2.5`,
---`f32 tensor [2, 3]`, `a table of length 3`, `a Linear`.
---@return string
function check.describe(value)
    local kind = type(value)
    if kind == "string" then
        return #value > 40 and ("%q..."):format(value:sub(1, 37)) or ("%q"):format(value)
    elseif kind == "number" or kind == "boolean" or kind == "nil" then
        return tostring(value)
    elseif kind == "userdata" and check.is_tensor(value) then
        local alive, text = pcall(text_of, value)
        return alive and text or "a dropped tensor"
    end
    local class = debug and debug.getmetatable(value)
    local name = type(class) == "table" and rawget(class, "__name")
    if type(name) == "string" then return with_article(name) end
    return kind == "table" and ("a table of length %d"):format(rawlen(value)) or "a " .. kind
end

---Is this a tensor? Replaced by heed.core's own test when it loads.
---@return boolean
function check.is_tensor(_) return false end

---Is this a tensor that was not dropped? For arguments: describe says what came instead.
---@return boolean
function check.is_live(value) return check.is_tensor(value) and (pcall(dtype_of, value)) end

---An integer of at least `least` (default 1), and at most `most` if that is given: sizes, counts,
---indices. A float that is one will do.
---@return integer
function check.integer(where, name, value, least, most)
    least = least or 1
    if mathtype(value) == "float" then value = math.tointeger(value) or value end
    if mathtype(value) ~= "integer" or value < least or most and value > most then
        local range = most and ("from %d to %d"):format(least, most)
            or ("of at least %d"):format(least)
        raise("%s: %s: expected an integer %s, got %s", where, name, range, check.describe(value))
    end
    return value
end

---A number from low to high (either may be nil: open).
function check.number(where, name, value, low, high)
    local range = low and high and (" from %g to %g"):format(low, high) or low
        and (" of at least %g"):format(low) or ""
    if type(value) ~= "number" or value ~= value or (low and value < low)
        or (high and value > high) then
        raise("%s: %s: expected a number%s, got %s", where, name, range, check.describe(value))
    end
    return value
end

---The object of a method, which model.train() leaves out.
---@param value any what came as self
---@param class string "heed.nn.Module"
---@param method string "train"
---@param object string what the message calls it: "model"
function check.object(value, class, method, object)
    if type(value) == "table" then return end
    raise("%s:%s: expected a colon, %s:%s(...), got %s for %s", class, method, object, method,
        check.describe(value), object)
end

---A value of one of Lua's types.
function check.type(where, name, value, kind)
    if type(value) ~= kind then
        raise("%s: %s: expected %s, got %s", where, name, with_article(kind), check.describe(value))
    end
    return value
end

---The path of a file.
---@return string
function check.path(where, path)
    check.type(where, "path", path, "string")
    if path == "" or path:find("\0", 1, true) then
        raise("%s: path: expected one without zero bytes, and not empty, got %s", where,
            check.describe(path))
    end
    return path
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
    local list = table.concat(quoted, ", ", 1, math.max(#quoted - 1, 1))
    if #quoted > 1 then list = list .. " or " .. quoted[#quoted] end
    local hint = type(value) == "string" and suggest.choice(value, choices) or ""
    return raise("%s: %s: expected %s, got %s%s", where, name, list, check.describe(value), hint)
end

---What came behind the last argument; an empty table there is no options.
---@param where string
---@param last integer how many there may be
function check.no_more(where, last, ...)
    for i = 1, select("#", ...) do
        local value = (select(i, ...))
        if value ~= nil and not (type(value) == "table" and next(value) == nil) then
            raise("%s: arguments: expected at most %d, the first counted, got one more: %s", where,
                last, check.describe(value))
        end
    end
end

-- The first name of each set.
local first_of = setmetatable({}, { __mode = "k" })

local function names_of(known)
    local names = {}
    for name in pairs(known) do names[#names + 1] = name end
    table.sort(names)
    return names
end

---An options table: nil is an empty one, and a name that is not among `known` (a set) is refused.
---@param where string
---@param options any
---@param known table<string, true>
---@param elsewhere? table<string, string> what to say of names that it has elsewhere
---@return table options
function check.options(where, options, known, elsewhere)
    if options == nil then return {} end
    -- A number where { lr = ... } was meant; a mask where { mask = ... } was.
    if type(options) ~= "table" or getmetatable(options) ~= nil then
        local got = check.describe(options)
        local meant = known[got:match "%a+$"] and got:match "%a+$" or known.lr and "lr"
            or first_of[known] or names_of(known)[1]
        raise("%s: options: expected a table of named options, { %s = ... }, got %s", where, meant,
            got)
    end
    for name in pairs(options) do
        if not known[name] then
            local hint = type(name) == "string" and suggest.near(name, known) or ""
            if elsewhere and elsewhere[name] then hint = "; " .. elsewhere[name] end
            if hint == "" then hint = "; there are: " .. table.concat(names_of(known), ", ") end
            raise("%s: options: there is no option %s%s", where, check.describe(name), hint)
        end
    end
    return options
end

---A set of names for check.options, the most used first.
function check.set(...)
    local set = {}
    for _, name in ipairs { ... } do set[name] = true end
    first_of[set] = (...)
    return set
end

return check
