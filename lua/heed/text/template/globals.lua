--- The names that every template knows.

local arguments = require "heed.text.template.arguments"
local failure = require "heed.text.template.failure"
local iteration = require "heed.text.template.iteration"
local text_of = require "heed.text.template.text_of"
local values = require "heed.text.template.values"

local bind = arguments.bind

local globals = {}

local LONGEST_RANGE = 100000

function globals.range(machine, args)
    if #args.names > 0 or #args < 1 or #args > 3 then failure.raise "range: 1 to 3 numbers" end
    local first, stop = arguments.integer("range", args[1]), arguments.integer("range", args[2])
    local step = arguments.integer("range", args[3]) or 1
    if not stop then first, stop = 0, first end
    if step == 0 then failure.raise "range: a step of 0" end
    local count = (stop - first + step - (step > 0 and 1 or -1)) // step
    if count > LONGEST_RANGE then
        failure.raise("range: %d numbers at most, got %d", LONGEST_RANGE, count)
    end
    machine.budget:step(math.max(count, 0))
    local range = setmetatable({ first = first, stop = stop, step = step }, values.Range)
    for i = 1, count do range[i] = first + (i - 1) * step end
    return range
end

-- A dict of a dict or pairs, and of named values.
local function dict_of(machine, where, args)
    local dict = values.dict()
    if #args > 1 then failure.raise("%s: 1 argument at most", where) end
    local source = values.defined(args[1])
    if values.kind(source) == "dict" then
        for _, key in ipairs(source.keys) do values.put(dict, key, values.get(source, key)) end
    elseif source ~= nil then
        for pair in iteration.of(source) do
            local both = iteration.all(machine, pair)
            if #both ~= 2 then failure.raise("%s: pairs are needed", where) end
            values.put(dict, both[1], both[2])
        end
    end
    for _, name in ipairs(args.names) do values.put(dict, name, args.named[name]) end
    return dict
end

function globals.dict(machine, args) return dict_of(machine, "dict", args) end

function globals.namespace(machine, args)
    local dict = dict_of(machine, "namespace", args)
    for _, key in ipairs(dict.keys) do
        if type(key) == "string" and key:sub(1, 1) == "_" then
            failure.raise("namespace: '%s' begins with an underline", key)
        end
    end
    return setmetatable({ dict = dict }, values.Namespace)
end

function globals.cycler(_, args)
    if #args == 0 then failure.raise "cycler: no values" end
    local at = 0
    local cycler = values.callable("cycler")
    local function current() return args[at % #args + 1] end
    cycler.attributes = setmetatable({
        next = values.callable("next", function()
            local value = current()
            at = at + 1
            return value
        end),
        reset = values.callable("reset", function()
            at = 0
            return values.none
        end),
    }, { __index = function(_, name) return name == "current" and current() or nil end })
    return cycler
end

function globals.joiner(_, args)
    local between, used = bind("joiner", args, 0, "sep"), false
    return values.callable("joiner", function()
        local text = used and (between == nil and ", " or between) or ""
        used = true
        return text
    end)
end

function globals.raise_exception(machine, args)
    failure.by_template(text_of.str(machine, (bind("raise_exception", args, 1, "message"))))
end

local LETTERS = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%"

-- One conversion of strftime; %-d and its like without the zeros in front.
local function of_time(letter, time)
    local plain = letter:match "^%-(.)$"
    local text = os.date("%" .. (plain or letter), time)
    return plain and (text:gsub("^[0 ]+(.)", "%1")) or text
end

function globals.strftime_now(machine, args)
    local text = arguments.text("strftime_now", (bind("strftime_now", args, 1, "format")))
    return machine.budget:text((text:gsub("%%(%-?)(.?)", function(minus, letter)
        if letter == "" or not LETTERS:find(letter, 1, true) then
            failure.raise("strftime_now: %%%s is not known", minus .. letter)
        end
        return of_time(minus .. letter, machine.now)
    end)))
end

local functions = {}
for name, call in pairs(globals) do functions[name] = values.callable(name, call) end

return functions
