--- Methods of strings that make another one: strip, replace, upper, join, center ...

local arguments = require "heed.text.template.arguments"
local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local format = require "heed.text.template.format"
local iteration = require "heed.text.template.iteration"
local values = require "heed.text.template.values"

local bind, text_at, optional = arguments.bind, arguments.text, arguments.optional

local change = {}

local function stripping(where, left, right)
    return function(machine, text, args)
        local chosen = text_at(where, optional((bind(where, args, 0, "chars"))))
        machine.budget:bytes_of(#text)
        return characters.strip(text, chosen, left, right)
    end
end

change.strip = stripping("strip", true, true)
change.lstrip = stripping("lstrip", true, false)
change.rstrip = stripping("rstrip", false, true)

---text.replace(old, new, count); a count below 0 is all.
function change.replaced(machine, text, old, new, count)
    local limit = (count == nil or count < 0) and math.huge or count
    local parts, from, made = {}, 1, 0
    if old == "" then -- between all characters, and around
        local list = characters.list(text)
        for i = 1, #list + 1 do
            if made < limit then parts[#parts + 1], made = new, made + 1 end
            parts[#parts + 1] = list[i]
        end
    else
        while made < limit do
            local at = text:find(old, from, true)
            if not at then break end
            parts[#parts + 1] = text:sub(from, at - 1)
            parts[#parts + 1] = new
            from, made = at + #old, made + 1
        end
        parts[#parts + 1] = text:sub(from)
    end
    machine.budget:bytes_of(#text + made * #new)
    return table.concat(parts)
end

function change.replace(machine, text, args)
    local old, new, count = bind("replace", args, 2, "old", "new", "count")
    return change.replaced(machine, text, text_at("replace", old), text_at("replace", new),
        arguments.integer("replace", count))
end

local function without_arguments(name, f)
    change[name] = function(machine, text, args)
        bind(name, args, 0)
        return machine.budget:text(f(text))
    end
end

without_arguments("upper", characters.upper)
without_arguments("lower", characters.lower)
without_arguments("casefold", characters.lower)
without_arguments("title", characters.title)
without_arguments("capitalize", characters.capitalize)
without_arguments("swapcase", function(text)
    local list = characters.list(text)
    for i, character in ipairs(list) do
        local lower = characters.lower(character)
        list[i] = lower ~= character and lower or characters.upper(character)
    end
    return table.concat(list)
end)

function change.removeprefix(_, text, args)
    local prefix = text_at("removeprefix", bind("removeprefix", args, 1, "prefix"))
    return text:sub(1, #prefix) == prefix and text:sub(#prefix + 1) or text
end

function change.removesuffix(_, text, args)
    local suffix = text_at("removesuffix", bind("removesuffix", args, 1, "suffix"))
    if suffix == "" or text:sub(-#suffix) ~= suffix then return text end
    return text:sub(1, -#suffix - 1)
end

---The text between blanks, as wide as asked for.
---@param share fun(missing: integer, width: integer): integer how many of them on the left
function change.padded(machine, text, width, fill, share)
    local missing = width - characters.count(text)
    if missing <= 0 then return text end
    machine.budget:bytes_of(math.min(width, 1 << 40) * #fill + #text)
    local left = share(missing, width)
    return fill:rep(left) .. text .. fill:rep(missing - left)
end

local function padding(name, share)
    change[name] = function(machine, text, args)
        local width, fill = bind(name, args, 1, "width", "fillchar")
        fill = text_at(name, fill) or " "
        if characters.count(fill) ~= 1 then
            failure.raise("%s: one character to fill with", name)
        end
        return change.padded(machine, text, arguments.integer(name, width), fill, share)
    end
end

---As Python centers.
function change.center_share(missing, width) return missing // 2 + (missing & width & 1) end

padding("center", change.center_share)
padding("ljust", function() return 0 end)
padding("rjust", function(missing) return missing end)

function change.zfill(machine, text, args)
    local width = arguments.integer("zfill", bind("zfill", args, 1, "width"))
    local sign = text:match "^[+-]?"
    return sign .. change.padded(machine, text:sub(#sign + 1), width - #sign, "0",
        function(missing) return missing end)
end

function change.join(machine, text, args)
    local parts = iteration.all(machine, (bind("join", args, 1, "iterable")))
    local size = 0
    for i, part in ipairs(parts) do
        parts[i] = text_at("join", part)
        size = size + #parts[i] + #text
    end
    machine.budget:bytes_of(size)
    return table.concat(parts, text)
end

change.format = format.braces

function change.format_map(machine, text, args)
    local dict = bind("format_map", args, 1, "mapping")
    local named = arguments.new()
    if values.kind(dict) ~= "dict" then failure.raise "format_map: a dict is needed" end
    for _, key in ipairs(dict.keys) do arguments.add(named, key, values.get(dict, key)) end
    return format.braces(machine, text, named)
end

return change
