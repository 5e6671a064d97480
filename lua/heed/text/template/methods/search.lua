--- Methods of strings that look for something: startswith, find, count, split, partition ...

local arguments = require "heed.text.template.arguments"
local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local slices = require "heed.text.template.slices"
local values = require "heed.text.template.values"

local bind, text_at, optional = arguments.bind, arguments.text, arguments.optional

local search = {}

-- The part between two places, which count from 0; all without them.
local function part(machine, text, first, stop)
    if optional(first) == nil and optional(stop) == nil then return text end
    return slices.part(machine, text, first, stop)
end

-- Is it so for the string, or for one of a tuple?
local function any_of(where, value, holds)
    if values.kind(value) ~= "tuple" then return holds(text_at(where, value)) end
    for _, each in ipairs(value) do
        if holds(text_at(where, each)) then return true end
    end
    return false
end

function search.startswith(machine, text, args)
    local prefix, first, stop = bind("startswith", args, 1, "prefix", "start", "end")
    text = part(machine, text, first, stop)
    return any_of("startswith", prefix, function(s) return text:sub(1, #s) == s end)
end

function search.endswith(machine, text, args)
    local suffix, first, stop = bind("endswith", args, 1, "suffix", "start", "end")
    text = part(machine, text, first, stop)
    return any_of("endswith", suffix, function(s) return s == "" or text:sub(-#s) == s end)
end

-- The first byte of the last occurrence.
local function find_last(text, what)
    if what == "" then return #text + 1 end
    local last, from = nil, 1
    while true do
        local at = text:find(what, from, true)
        if not at then return last end
        last, from = at, at + 1
    end
end

-- The place, counted in characters from 0; -1.
local function find(machine, where, text, args, from_end)
    local what, first, stop = bind(where, args, 1, "sub", "start", "end")
    what = text_at(where, what)
    local inside = part(machine, text, first, stop)
    local at
    if from_end then at = find_last(inside, what) else at = inside:find(what, 1, true) end
    if not at then return -1 end
    local skipped = 0
    if optional(first) ~= nil then
        skipped = arguments.integer(where, first)
        local length = characters.count(text)
        skipped = skipped < 0 and math.max(skipped + length, 0) or skipped
    end
    return skipped + characters.count(inside:sub(1, at - 1))
end

function search.find(machine, text, args) return find(machine, "find", text, args) end

function search.rfind(machine, text, args) return find(machine, "rfind", text, args, true) end

local function needed(at)
    if at < 0 then failure.raise "index: it is not there" end
    return at
end

function search.index(machine, text, args) return needed(find(machine, "index", text, args)) end

function search.rindex(machine, text, args)
    return needed(find(machine, "rindex", text, args, true))
end

function search.count(machine, text, args)
    local what, first, stop = bind("count", args, 1, "sub", "start", "end")
    what, text = text_at("count", what), part(machine, text, first, stop)
    if what == "" then return characters.count(text) + 1 end
    local count, from = 0, 1
    while true do
        local at = text:find(what, from, true)
        if not at then return count end
        count, from = count + 1, at + #what
    end
end

-- ---- parting ------------------------------------------------------------------------------------

-- Positions of the separator from the left, `most` at most.
local function places(text, separator, most)
    local list, from = {}, 1
    while #list < most do
        local at = text:find(separator, from, true)
        if not at then break end
        list[#list + 1], from = at, at + #separator
    end
    return list
end

local function at_places(text, separator, list)
    local parts, from = {}, 1
    for i, at in ipairs(list) do
        parts[i], from = text:sub(from, at - 1), at + #separator
    end
    parts[#parts + 1] = text:sub(from)
    return parts
end

-- Words, but what is behind the `most`th stays together.
local function words(text, most)
    local list = {}
    text = characters.strip(text, nil, true, false)
    while text ~= "" and #list < most do
        local word = characters.words(text)[1]
        list[#list + 1] = word
        text = characters.strip(text:sub(#word + 1), nil, true, false)
    end
    if text ~= "" then list[#list + 1] = text end
    return list
end

local function last_words(text, most)
    local list = {}
    text = characters.strip(text, nil, false, true)
    while text ~= "" and #list < most do
        local all = characters.words(text)
        local word = all[#all]
        table.insert(list, 1, word)
        text = characters.strip(text:sub(1, -#word - 1), nil, false, true)
    end
    if text ~= "" then table.insert(list, 1, text) end
    return list
end

local function split(machine, where, text, args, from_end)
    local separator, most = bind(where, args, 0, "sep", "maxsplit")
    separator, most = text_at(where, optional(separator)), arguments.integer(where, most) or -1
    machine.budget:bytes_of(#text)
    if separator == "" then failure.raise("%s: an empty separator", where) end
    if not separator then
        if most < 0 then return values.list(characters.words(text)) end
        machine.budget:bytes_of(#text * math.min(most, #text))
        return values.list((from_end and last_words or words)(text, most))
    end
    if most < 0 or not from_end then
        local list = places(text, separator, most < 0 and math.huge or most)
        return values.list(at_places(text, separator, list))
    end
    -- from the right: the same as from the left of the text turned round
    local list = places(text:reverse(), separator:reverse(), most)
    local turned = {}
    for i, at in ipairs(list) do turned[#list - i + 1] = #text - at - #separator + 2 end
    return values.list(at_places(text, separator, turned))
end

function search.split(machine, text, args) return split(machine, "split", text, args) end

function search.rsplit(machine, text, args) return split(machine, "rsplit", text, args, true) end

function search.splitlines(machine, text, args)
    local keep = bind("splitlines", args, 0, "keepends")
    machine.budget:bytes_of(#text)
    return values.list(characters.lines(text, keep ~= nil and values.truth(keep)))
end

local function separator_of(where, args)
    local separator = text_at(where, bind(where, args, 1, "sep"))
    if separator == "" then failure.raise("%s: an empty separator", where) end
    return separator
end

function search.partition(machine, text, args)
    local separator = separator_of("partition", args)
    machine.budget:bytes_of(#text)
    local at = text:find(separator, 1, true)
    if not at then return values.tuple { text, "", "" } end
    return values.tuple { text:sub(1, at - 1), separator, text:sub(at + #separator) }
end

function search.rpartition(machine, text, args)
    local separator = separator_of("rpartition", args)
    machine.budget:bytes_of(#text)
    local at = find_last(text, separator)
    if not at then return values.tuple { "", "", text } end
    return values.tuple { text:sub(1, at - 1), separator, text:sub(at + #separator) }
end

return search
