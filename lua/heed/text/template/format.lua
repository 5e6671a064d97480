--- Strings with places to fill: "%s" % value, and "{}".format(value).

local arguments = require "heed.text.template.arguments"
local failure = require "heed.text.template.failure"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local format = {}

local WIDEST = 10000

local function size_of(digits, what)
    if digits == "." then return 0 end
    local size = math.tointeger(tonumber((digits:gsub("^%.", ""))))
    if size and size > WIDEST then failure.raise("format: %s %s is too much", what, digits) end
    return size
end

local function pad(text, width, left, fill)
    local missing = (width or 0) - select(2, text:gsub("[^\x80-\xBF]", ""))
    if missing <= 0 then return text end
    if left then return text .. (" "):rep(missing) end
    local sign = fill == "0" and text:match "^[+-]" or ""
    return sign .. fill:rep(missing) .. text:sub(#sign + 1)
end

local function signed(text, flags)
    if text:sub(1, 1) == "-" then return text end
    return (flags:find("+", 1, true) and "+" or flags:find(" ", 1, true) and " " or "") .. text
end

local function whole(value, kind)
    local number = values.number(values.defined(value))
    if not number or number ~= number or math.abs(number) >= 2 ^ 63 then
        failure.raise("format: %%%s needs a number, got %s", kind, values.type_name(value))
    end
    return math.type(number) == "integer" and number
        or math.tointeger(number < 0 and math.ceil(number) or math.floor(number))
end

local function in_base(number, letter)
    local text = ("%" .. letter):format(math.abs(number))
    return number < 0 and "-" .. text or text
end

local function real(value, letter, precision)
    local number = values.number(values.defined(value))
    if not number then
        failure.raise("format: %%%s needs a number, got %s", letter, values.type_name(value))
    end
    if number ~= number then return "nan" end
    if number == math.huge or number == -math.huge then return number < 0 and "-inf" or "inf" end
    precision = precision or 6
    if precision > 99 then failure.raise("format: %d digits are too many", precision) end
    return (("%." .. precision .. letter):format(number):gsub(",", "."))
end

local function cut(text, precision)
    if not precision then return text end
    local stop = utf8.offset(text, precision + 1)
    return stop and text:sub(1, stop - 1) or text
end

-- What %flags.precision letter makes of a value, before it is padded.
local function converted(machine, letter, value, flags, precision)
    if letter == "s" then return cut(text_of.str(machine, value), precision) end
    if letter == "r" then return cut(text_of.repr(machine, value), precision) end
    if letter == "d" or letter == "i" or letter == "u" then
        return signed(("%d"):format(whole(value, letter)), flags)
    end
    if letter == "x" or letter == "X" or letter == "o" then
        return signed(in_base(whole(value, letter), letter), flags)
    end
    if ("eEfFgG"):find(letter, 1, true) and letter ~= "" then
        return signed(real(value, letter == "F" and "f" or letter, precision), flags)
    end
    return failure.raise("format: %%%s is not known", letter)
end

-- What Python takes for a dict here, which may be more than is asked for.
local HAS_ITEMS = { dict = true, list = true, range = true, undefined = true }

-- What the next place is filled with, and whether there is more.
local function source_of(value)
    local list = values.kind(value) == "tuple" and value or { value }
    local used, kind = 0, values.kind(value)
    local dict = kind == "dict" and value
    return function(name)
        if name then
            if not dict then failure.raise("format: a dict is needed for '%s'", name) end
            local found = values.get(dict, name)
            if found == nil then failure.raise("format: there is no '%s'", name) end
            return found
        end
        used = used + 1
        if list[used] == nil then failure.raise "format: not enough values" end
        return list[used]
    end, function() return not HAS_ITEMS[kind] and used < #list end
end

---text % value, where value is a tuple of values, one, or a dict.
---@param machine heed.text.template.Machine
function format.percent(machine, template, value)
    local text, escapes = values.text(template), values.kind(template) == "markup"
    local next_value, has_more = source_of(value)
    local parts, at = {}, 1
    while true do
        local percent = text:find("%", at, true)
        if not percent then break end
        parts[#parts + 1] = text:sub(at, percent - 1)
        local name, flags, width, precision, letter, behind =
            text:match("^(%b())([-+ 0#]*)(%d*)(%.?%d*)[hlL]?(.)()", percent + 1)
        if not name then
            flags, width, precision, letter, behind =
                text:match("^([-+ 0#]*)(%d*)(%.?%d*)[hlL]?(.)()", percent + 1)
        end
        if not letter then failure.raise "format: what ends with a %" end
        if letter == "%" then
            parts[#parts + 1] = "%"
        else
            local made = converted(machine, letter, next_value(name and name:sub(2, -2)), flags,
                size_of(precision, "precision"))
            if escapes then made = text_of.escaped(made) end
            local zeros = flags:find("0", 1, true) and letter ~= "s" and letter ~= "r"
            parts[#parts + 1] = pad(made, size_of(width, "width"), flags:find("-", 1, true),
                zeros and "0" or " ")
        end
        at = behind
    end
    if has_more() then failure.raise "format: more values than places" end
    parts[#parts + 1] = text:sub(at)
    local made = machine.budget:text(table.concat(parts))
    return escapes and values.markup(made) or made
end

-- ---- "{}".format() ------------------------------------------------------------------------------

-- [[fill]align][sign][0][width][,][.precision][letter], as of format().
local function by_spec(machine, value, spec)
    if spec == "" then return text_of.str(machine, value) end
    local align, rest = spec:match "^([<>^])(.*)$"
    local fill = " "
    if spec:find "^.[<>^]" then fill, align, rest = spec:match "^(.)([<>^])(.*)$" end
    local flags, zero, width, precision, letter =
        (rest or spec):match "^([-+ ]?)(0?)(%d*)%.?(%d*)([dxXofFeEgGs]?)$"
    if not flags or precision == "" and (rest or spec):find(".", 1, true) then
        failure.raise("format: '%s' is not known", spec)
    end
    local is_text = values.text(value) ~= nil
    if letter == "" then
        letter = is_text and "s" or math.type(values.number(value)) == "integer" and "d" or "s"
        if precision ~= "" and type(value) == "number" then
            failure.raise("format: '%s' is not known", spec)
        end
    elseif is_text ~= (letter == "s") then
        failure.raise("format: '%s' does not go with %s", letter, values.type_name(value))
    end
    local text = converted(machine, letter, value, flags, size_of(precision, "precision"))
    if zero == "0" and not align then align, fill = ">", "0" end
    align = align or (is_text and "<" or ">")
    local wide = size_of(width, "width") or 0
    if align == "^" then
        local missing = math.max(wide - select(2, text:gsub("[^\x80-\xBF]", "")), 0)
        return fill:rep(missing // 2) .. text .. fill:rep(missing - missing // 2)
    end
    if align == "<" then
        return text .. fill:rep(math.max(wide - select(2, text:gsub("[^\x80-\xBF]", "")), 0))
    end
    return pad(text, wide, false, fill)
end

-- The value of a field: a number, a name or nothing, then .names and [keys].
local function field_value(machine, field, args, used)
    local first, path = field:match "^([^.%[]*)(.*)$"
    local value
    if first == "" or first:find "^%d+$" then
        local counted = first == ""
        if used.counted ~= nil and used.counted ~= counted then
            failure.raise "format: either {} or {0}, not both"
        end
        used.counted, used.count = counted, used.count + 1
        value = args[counted and used.count or tonumber(first) + 1]
    else
        value = args.named[first]
    end
    if value == nil then failure.raise("format: there is no value for '{%s}'", field) end
    while path ~= "" do
        local name, rest = path:match "^%.([^.%[]+)(.*)$"
        if name then
            value = machine.attribute(machine, value, name)
        else
            name, rest = path:match "^%[([^%]]+)%](.*)$"
            if not name then failure.raise("format: '{%s}' is not known", field) end
            value = machine.item(machine, value, math.tointeger(tonumber(name)) or name)
        end
        value, path = values.defined(value), rest
    end
    return value
end

---text.format(...).
function format.braces(machine, text, args)
    args = args or arguments.new()
    local parts, at, used = {}, 1, { count = 0 }
    while true do
        local brace = text:find("[{}]", at)
        if not brace then break end
        parts[#parts + 1] = text:sub(at, brace - 1)
        local twice = text:sub(brace, brace + 1)
        if twice == "{{" or twice == "}}" then
            parts[#parts + 1], at = twice:sub(1, 1), brace + 2
        else
            local inside, behind = text:match("^{([^{}]*)}()", brace)
            if not inside then failure.raise "format: a single brace" end
            local field, spec = inside:match "^([^:]*):?(.*)$"
            local conversion = field:match "!([rs])$"
            if conversion then field = field:sub(1, -3) end
            local value = field_value(machine, field, args, used)
            if conversion == "r" then value = text_of.repr(machine, value) end
            if conversion == "s" then value = text_of.str(machine, value) end
            parts[#parts + 1], at = by_spec(machine, value, spec), behind
        end
    end
    parts[#parts + 1] = text:sub(at)
    return machine.budget:text(table.concat(parts))
end

return format
