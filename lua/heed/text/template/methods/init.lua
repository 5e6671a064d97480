--- What values of each kind have as attributes: methods, and those that the sandbox of chat
--- templates denies because they would change what was given.

local arguments = require "heed.text.template.arguments"
local change = require "heed.text.template.methods.change"
local classes = require "heed.text.template.methods.classes"
local failure = require "heed.text.template.failure"
local search = require "heed.text.template.methods.search"
local values = require "heed.text.template.values"

local bind = arguments.bind

local texts = {}
for _, each in ipairs { change, search, classes.methods } do
    for name, method in pairs(each) do texts[name] = method end
end
texts.replaced, texts.padded, texts.center_share = nil, nil, nil

local lists = {}

function lists.count(machine, list, args)
    local value = bind("count", args, 1, "value")
    machine.budget:step(#list)
    local count = 0
    for _, item in ipairs(list) do count = count + (values.equal(item, value) and 1 or 0) end
    return count
end

function lists.index(machine, list, args)
    local value, first = bind("index", args, 1, "value", "start")
    machine.budget:step(#list)
    for i = 1 + (arguments.integer("index", first) or 0), #list do
        if values.equal(list[i], value) then return i - 1 end
    end
    return failure.raise "index: it is not in the list"
end

local function copy_list(_, list, args)
    bind("copy", args, 0)
    return values.list(table.move(list, 1, #list, 1, {}))
end

local dicts = {}

function dicts.get(_, dict, args)
    local key, default = bind("get", args, 1, "key", "default")
    local value = values.get(dict, key)
    if value ~= nil then return value end
    return default == nil and values.none or default
end

for _, of in ipairs { "keys", "values", "items" } do
    dicts[of] = function(_, dict, args)
        bind(of, args, 0)
        return values.view(dict, of)
    end
end

function dicts.copy(_, dict, args)
    bind("copy", args, 0)
    local copy = values.dict()
    for _, key in ipairs(dict.keys) do values.put(copy, key, values.get(dict, key)) end
    return copy
end

local integers = {}

function integers.bit_length(_, value, args)
    bind("bit_length", args, 0)
    local number, bits = math.abs(values.number(value)), 0
    while number > 0 do number, bits = number >> 1, bits + 1 end
    return bits
end

local floats = {}

function floats.is_integer(_, value, args)
    bind("is_integer", args, 0)
    return value == math.floor(value) and math.abs(value) < math.huge
end

local function set(text)
    local names = {}
    for name in text:gmatch "%S+" do names[name] = true end
    return names
end

local methods = {
    of = { string = texts, markup = texts,
        list = setmetatable({ copy = copy_list }, { __index = lists }), tuple = lists,
        range = lists, dict = dicts, integer = integers, boolean = integers, float = floats },
    denied = { list = set "append clear pop reverse insert sort extend remove",
        dict = set "clear pop popitem setdefault update" },
}

return methods
