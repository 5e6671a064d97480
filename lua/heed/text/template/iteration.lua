--- What can be iterated over, one value at a time or all into a list.

local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local values = require "heed.text.template.values"

local iteration = {}

local function of_items(items)
    local i = 0
    return function()
        i = i + 1
        return items[i]
    end
end

local VIEWS = {
    keys = function(key) return key end,
    values = function(key, dict) return values.get(dict, key) end,
    items = function(key, dict) return values.tuple { key, values.get(dict, key) } end,
}

local function of_view(dict, of)
    local next_key, view = of_items(dict.keys), VIEWS[of]
    return function()
        local key = next_key()
        if key ~= nil then return view(key, dict) end
    end
end

local function of_text(text) return of_items(characters.list(text)) end

local iterators = {
    list = of_items, tuple = of_items, range = of_items, string = of_text,
    markup = function(value) return of_text(value.text) end,
    dict = function(value) return of_items(value.keys) end,
    view = function(value) return of_view(value.dict, value.of) end,
    iterator = function(value) return value.next end,
    undefined = function() return function() end end,
    loop = function(value) return value.next end,
}

function iteration.possible(value) return iterators[values.kind(value)] ~= nil end

---A function that gives the next value, nil at the end.
---@return fun(): any
function iteration.of(value)
    local iterator = iterators[values.kind(value)]
    if not iterator then failure.raise("a %s cannot be iterated over", values.type_name(value)) end
    return iterator(value)
end

---An iterator whose work, and whose mistakes, begin when it is first read.
---@param begin fun(): (fun(): any) gives what gives the next value
---@return any
function iteration.lazy(begin)
    local next_value
    return values.iterator(function()
        next_value = next_value or begin()
        return next_value()
    end)
end

---All of them, in a Lua table that is the caller's.
---@param machine heed.text.template.Machine
---@return any[]
function iteration.all(machine, value)
    local list, next_value = {}, iteration.of(value)
    for item in next_value do
        machine.budget:step()
        list[#list + 1] = item
    end
    return list
end

---Is it in the container?
---@return boolean
function iteration.contains(machine, container, value)
    local text = values.text(container)
    if text then
        local part = values.text(value)
        if not part then
            failure.raise("'in <string>' needs a string on its left, got %s",
                values.type_name(value))
        end
        machine.budget:bytes_of(#text)
        return text:find(part, 1, true) ~= nil
    end
    if values.kind(container) == "dict" then return values.get(container, value) ~= nil end
    for item in iteration.of(container) do
        machine.budget:step()
        if item == value or values.equal(item, value) then return true end
    end
    return false
end

return iteration
