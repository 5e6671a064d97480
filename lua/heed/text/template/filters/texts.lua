--- Filters that make texts.

local arguments = require "heed.text.template.arguments"
local change = require "heed.text.template.methods.change"
local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local format = require "heed.text.template.format"
local iteration = require "heed.text.template.iteration"
local json_text = require "heed.text.template.json_text"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local bind, optional, str = arguments.bind, arguments.optional, text_of.str

local texts = {}

-- Filters of the text of any value; escaped text stays so.
local function of_text(name, f)
    texts[name] = function(machine, value, args)
        local text = machine.budget:text(f(machine, str(machine, value), args))
        return values.kind(value) == "markup" and values.markup(text) or text
    end
end

of_text("upper", change.upper)
of_text("lower", change.lower)
of_text("capitalize", change.capitalize)

function texts.trim(machine, value, args)
    local chosen = optional((bind("trim", args, 0, "chars")))
    local text = characters.strip(str(machine, value), arguments.text("trim", chosen))
    return values.kind(value) == "markup" and values.markup(text) or text
end

-- Words begin after white space and some signs.
of_text("title", function(_, text, args)
    bind("title", args, 0)
    local parts, begins = {}, true
    for i, character in ipairs(characters.list(text)) do
        parts[i] = begins and characters.upper(character) or characters.lower(character)
        begins = characters.is_space(character) or character:find "^[-({%[<]$" ~= nil
    end
    return table.concat(parts)
end)

of_text("center", function(machine, text, args)
    local width = arguments.integer("center", (bind("center", args, 0, "width"))) or 80
    return change.padded(machine, text, width, " ", change.center_share)
end)

function texts.string(machine, value, args)
    bind("string", args, 0)
    return values.kind(value) == "markup" and value or str(machine, value)
end

function texts.safe(machine, value, args)
    bind("safe", args, 0)
    return values.markup(str(machine, value))
end

function texts.forceescape(machine, value, args)
    bind("forceescape", args, 0)
    return values.markup(machine.budget:text(text_of.escaped(str(machine, value))))
end

function texts.escape(machine, value, args)
    if values.kind(value) == "markup" then return value end
    return texts.forceescape(machine, value, args)
end
texts.e = texts.escape

function texts.replace(machine, value, args)
    local old, new, count = bind("replace", args, 2, "old", "new", "count")
    return change.replaced(machine, str(machine, value), str(machine, old), str(machine, new),
        arguments.integer("replace", optional(count)))
end

function texts.format(machine, value, args)
    if #args > 0 and #args.names > 0 then
        failure.raise "format: either values or named values"
    end
    local given = values.tuple(table.move(args, 1, #args, 1, {}))
    if #args.names > 0 then
        given = values.dict()
        for _, name in ipairs(args.names) do values.put(given, name, args.named[name]) end
    end
    local template = values.kind(value) == "markup" and value or str(machine, value)
    return format.percent(machine, template, given)
end

-- Each line behind the indent, but the first and empty ones unless asked for.
local function indented(lines, indent, first, blank)
    for i, line in ipairs(lines) do
        local wanted = line ~= "" or blank
        if i == 1 then wanted = first end
        if wanted then lines[i] = indent .. line end
    end
    return table.concat(lines, "\n")
end

function texts.indent(machine, value, args)
    local width, first, blank = bind("indent", args, 0, "width", "first", "blank")
    local indent = values.text(width)
    local text = arguments.text("indent", value)
    if not indent then
        local count = arguments.integer("indent", width) or 4
        machine.budget:bytes_of(math.max(0, math.min(count, 1 << 40)))
        indent = (" "):rep(count)
    end
    local lines = characters.lines(text .. "\n")
    machine.budget:bytes_of(#text + #lines * #indent)
    local made = indented(lines, indent, first ~= nil and values.truth(first),
        blank ~= nil and values.truth(blank))
    return values.kind(value) == "markup" and values.markup(made) or made
end

function texts.truncate(machine, value, args)
    local length, whole, ending, leeway = bind("truncate", args, 0, "length", "killwords", "end",
        "leeway")
    length = arguments.integer("truncate", length) or 255
    ending = arguments.text("truncate", ending) or "..."
    leeway = arguments.integer("truncate", optional(leeway)) or 5
    local kept = length - characters.count(ending)
    if kept < 0 or leeway < 0 then failure.raise "truncate: too short" end
    local size = values.length(value) or failure.raise "truncate: it has no length"
    if size <= length + leeway then return value end
    local list = characters.list(machine.budget:text(arguments.text("truncate", value)))
    local text = table.concat(list, "", 1, kept)
    if not (whole ~= nil and values.truth(whole)) then text = text:match "^(.*) [^ ]*$" or text end
    return text .. ending
end

function texts.wordcount(machine, value, args)
    bind("wordcount", args, 0)
    local count, inside = 0, false
    for _, character in ipairs(characters.list(machine.budget:text(str(machine, value)))) do
        local is_word = character == "_" or characters.category(character):find "^[LN]" ~= nil
        if is_word and not inside then count = count + 1 end
        inside = is_word
    end
    return count
end

local function quoted(text, slash)
    return (text:gsub("[^%w_.~-]", function(c)
        return c == "/" and slash and "/" or ("%%%02X"):format(c:byte())
    end))
end

function texts.urlencode(machine, value, args)
    bind("urlencode", args, 0)
    if values.text(value) or not iteration.possible(value) then
        return quoted(machine.budget:text(str(machine, value)), true)
    end
    local parts = {}
    local source = value
    if values.kind(value) == "dict" then source = values.view(value, "items") end
    for _, pair in ipairs(iteration.all(machine, source)) do
        local both = iteration.all(machine, pair)
        if #both ~= 2 then failure.raise "urlencode: pairs are needed" end
        parts[#parts + 1] = quoted(str(machine, both[1])) .. "=" .. quoted(str(machine, both[2]))
    end
    return (table.concat(parts, "&"):gsub("%%20", "+"))
end

function texts.tojson(machine, value, args)
    local ascii, indent, separators, sorted = bind("tojson", args, 0, "ensure_ascii", "indent",
        "separators", "sort_keys")
    indent, separators = optional(indent), optional(separators)
    local style = { comma = indent and "," or ", ", colon = ": ",
        ascii = ascii ~= nil and values.truth(ascii),
        sorted = sorted ~= nil and values.truth(sorted) }
    if indent ~= nil then
        local text = values.text(indent)
        local width = text and 0 or math.max(0, arguments.integer("tojson", indent))
        if width > 1000 then failure.raise("tojson: an indent of %d", width) end
        style.indent = text or (" "):rep(width)
    end
    if separators then
        local both = iteration.all(machine, separators)
        if #both ~= 2 then failure.raise "tojson: two separators are needed" end
        style.comma = arguments.text("tojson", both[1])
        style.colon = arguments.text("tojson", both[2])
    end
    return json_text.write(machine, value, style)
end

---The text between other values.
function texts.join(machine, value, args)
    local between, attribute = bind("join", args, 0, "d", "attribute")
    between = between == nil and "" or str(machine, between)
    local get = machine.getter(machine, optional(attribute))
    local parts, size = {}, 0
    for item in iteration.of(value) do
        machine.budget:step()
        parts[#parts + 1] = str(machine, get(item))
        size = size + #parts[#parts] + #between
    end
    machine.budget:bytes_of(size)
    return table.concat(parts, between)
end

return texts
