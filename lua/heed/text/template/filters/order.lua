--- Sorting by keys, as Python sorts: stable, and refused where there is no order.

local characters = require "heed.text.template.characters"
local values = require "heed.text.template.values"

local order = {}

---A string in lower case, unless its case counts; anything else as it is.
function order.folded(value, exact)
    local text = not exact and values.text(value)
    return text and characters.lower(text) or value
end

---The key of an item: one or several attributes, "a,b", or the item.
---@return fun(item: any): any
function order.keys(machine, attribute, exact)
    local getters = {}
    if type(attribute) == "string" then
        for name in (attribute .. ","):gmatch "([^,]*)," do
            getters[#getters + 1] = machine.getter(machine, name)
        end
    else
        getters[1] = machine.getter(machine, attribute)
    end
    return function(item)
        local key = values.list()
        for i, get in ipairs(getters) do key[i] = order.folded(get(item), exact) end
        return key
    end
end

-- Two runs, from first to middle - 1 and from middle to last, to one.
local function merge(from, to, first, middle, last, before)
    local left, right = first, middle
    for at = first, last do
        local take_right = left >= middle
            or right <= last and before(from[right].key, from[left].key)
        if take_right then
            to[at], right = from[right], right + 1
        else
            to[at], left = from[left], left + 1
        end
    end
end

---The items in the order of their keys; equal ones stay as they were, reversed or not.
---@param items any[]
---@param key fun(item: any): any
---@param reverse? boolean
---@return any[]
function order.sorted(machine, items, key, reverse)
    local from, to, count = {}, {}, #items
    for i, item in ipairs(items) do from[i] = { key = key(item), item = item } end
    local function before(a, b)
        machine.budget:step()
        if reverse then return values.less(b, a) end
        return values.less(a, b)
    end
    local width = 1
    while width < count do
        for first = 1, count, 2 * width do
            merge(from, to, first, math.min(first + width, count + 1),
                math.min(first + 2 * width - 1, count), before)
        end
        from, to, width = to, from, 2 * width
    end
    for i = 1, count do to[i] = from[i].item end
    for i = count + 1, #to do to[i] = nil end
    return to
end

return order
