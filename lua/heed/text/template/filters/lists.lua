--- Filters that take lists apart, put them in order, count and choose.

local arguments = require "heed.text.template.arguments"
local arithmetic = require "heed.text.template.arithmetic"
local failure = require "heed.text.template.failure"
local iteration = require "heed.text.template.iteration"
local order = require "heed.text.template.filters.order"
local slices = require "heed.text.template.slices"
local values = require "heed.text.template.values"

local bind, optional, all = arguments.bind, arguments.optional, iteration.all

local lists = {}

local function flag(value) return value ~= nil and values.truth(value) end

-- Python's `reverse` is a number.
local function reversed(where, value) return (arguments.integer(where, value) or 0) ~= 0 end

function lists.length(_, value, args)
    bind("length", args, 0)
    return values.length(value) or failure.raise("a %s has no length", values.type_name(value))
end
lists.count = lists.length

function lists.list(machine, value, args)
    bind("list", args, 0)
    return values.list(all(machine, value))
end

function lists.items(_, value, args)
    bind("items", args, 0)
    return iteration.lazy(function()
        local kind = values.kind(value)
        if kind == "undefined" then return function() end end
        if kind ~= "dict" then
            failure.raise("items: a dict is needed, got %s", values.type_name(value))
        end
        return iteration.of(values.view(value, "items"))
    end)
end

function lists.first(_, value, args)
    bind("first", args, 0)
    local item = iteration.of(value)()
    if item == nil then return values.undefined "first: it is empty" end
    return item
end

function lists.last(machine, value, args)
    bind("last", args, 0)
    if not values.length(value) then
        failure.raise("last: a %s cannot be read from its end", values.type_name(value))
    end
    local list = all(machine, value)
    if #list == 0 then return values.undefined "last: it is empty" end
    return list[#list]
end

function lists.reverse(machine, value, args)
    bind("reverse", args, 0)
    if values.text(value) then return slices.part(machine, value, nil, nil, -1) end
    local list = all(machine, value)
    local turned = {}
    for i = #list, 1, -1 do turned[#turned + 1] = list[i] end
    if not values.length(value) then return values.list(turned) end
    return values.iterator(iteration.of(values.list(turned)))
end

-- ---- order --------------------------------------------------------------------------------------

function lists.sort(machine, value, args)
    local reverse, exact, attribute = bind("sort", args, 0, "reverse", "case_sensitive",
        "attribute")
    local key = order.keys(machine, optional(attribute), flag(exact))
    local backwards = reversed("sort", reverse)
    return values.list(order.sorted(machine, all(machine, value), key, backwards))
end

function lists.dictsort(machine, value, args)
    local exact, by, reverse = bind("dictsort", args, 0, "case_sensitive", "by", "reverse")
    by = by == nil and "key" or by
    if by ~= "key" and by ~= "value" then failure.raise "dictsort: by 'key' or 'value'" end
    if values.kind(values.defined(value)) ~= "dict" then
        failure.raise("dictsort: a dict is needed, got %s", values.type_name(value))
    end
    local list = all(machine, values.view(value, "items"))
    local at = by == "key" and 1 or 2
    local function key(pair) return order.folded(pair[at], flag(exact)) end
    return values.list(order.sorted(machine, list, key, reversed("dictsort", reverse)))
end

function lists.unique(machine, value, args)
    local exact, attribute = bind("unique", args, 0, "case_sensitive", "attribute")
    return iteration.lazy(function()
        local get, seen = machine.getter(machine, optional(attribute)), {}
        local next_value = iteration.of(value)
        return function()
            for item in next_value do
                machine.budget:step()
                local at = values.hash(order.folded(get(item), flag(exact)))
                if not seen[at] then
                    seen[at] = true
                    return item
                end
            end
        end
    end)
end

function lists.groupby(machine, value, args)
    local attribute, default, exact = bind("groupby", args, 1, "attribute", "default",
        "case_sensitive")
    local get = machine.getter(machine, attribute, optional(default))
    local function key(item) return order.folded(get(item), flag(exact)) end
    local groups, last = values.list(), nil
    for _, item in ipairs(order.sorted(machine, all(machine, value), key)) do
        local now = key(item)
        if #groups == 0 or not values.equal(now, last) then
            local shown = flag(exact) and now or get(item)
            local group = values.tuple { shown, values.list() }
            group.attributes = { grouper = shown, list = group[2] }
            groups[#groups + 1] = group
        end
        table.insert(groups[#groups][2], item)
        last = now
    end
    return groups
end

local function extreme(name, is_better)
    lists[name] = function(machine, value, args)
        local exact, attribute = bind(name, args, 0, "case_sensitive", "attribute")
        local get = machine.getter(machine, optional(attribute))
        local best, best_key
        for item in iteration.of(value) do
            machine.budget:step()
            local key = order.folded(get(item), flag(exact))
            if best == nil or is_better(key, best_key) then best, best_key = item, key end
        end
        if best == nil then return values.undefined("%s: it is empty", name) end
        return best
    end
end

extreme("min", function(a, b) return values.less(a, b) end)
extreme("max", function(a, b) return values.less(b, a) end)

function lists.sum(machine, value, args)
    local attribute, start = bind("sum", args, 0, "attribute", "start")
    local get, total = machine.getter(machine, optional(attribute)), start == nil and 0 or start
    if values.text(total) then failure.raise "sum: strings are joined, not added" end
    for item in iteration.of(value) do
        machine.budget:step()
        total = arithmetic.binary(machine, "+", total, get(item))
    end
    return total
end

-- ---- in parts -----------------------------------------------------------------------------------

local function batches(machine, list, size, fill)
    local parts = values.list()
    for _, item in ipairs(list) do
        local last = parts[#parts]
        if not last or #last == size then
            last = values.list()
            parts[#parts + 1] = last
        end
        last[#last + 1] = item
    end
    local last = parts[#parts]
    if last and fill ~= nil then
        machine.budget:step(math.max(0, size - #last))
        while #last < size do last[#last + 1] = fill end
    end
    return parts
end

function lists.batch(machine, value, args)
    local size, fill = bind("batch", args, 1, "linecount", "fill_with")
    return iteration.lazy(function()
        local list, count = all(machine, value), arguments.integer("batch", size)
        return iteration.of(batches(machine, list, count, optional(fill)))
    end)
end

local function columns(machine, list, count, fill)
    local parts, at = values.list(), 1
    if count == 0 then failure.raise "slice: into 0 parts" end
    machine.budget:step(math.max(count, 0))
    local size, larger = #list // count, #list % count
    for i = 1, count do
        local part = values.list()
        for _ = 1, size + (i <= larger and 1 or 0) do
            part[#part + 1], at = list[at], at + 1
        end
        if fill ~= nil and i > larger then part[#part + 1] = fill end
        parts[i] = part
    end
    return parts
end

function lists.slice(machine, value, args)
    local count, fill = bind("slice", args, 1, "slices", "fill_with")
    return iteration.lazy(function()
        local list, parts = all(machine, value), arguments.integer("slice", count)
        return iteration.of(columns(machine, list, parts, optional(fill)))
    end)
end

return lists
