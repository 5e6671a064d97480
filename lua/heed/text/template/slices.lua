--- Parts of sequences: one item by its number, from either end, and slices.

local arguments = require "heed.text.template.arguments"
local characters = require "heed.text.template.characters"
local failure = require "heed.text.template.failure"
local values = require "heed.text.template.values"

local slices = {}

---The item at a place that counts from 0, or from -1 at the end; nil when there is none.
---@param sequence any string, list, tuple or range
---@param at integer
function slices.at(sequence, at)
    local text = values.text(sequence)
    local list = text and characters.list(text) or sequence
    return list[at < 0 and #list + at + 1 or at + 1]
end

-- Python's rules for what is missing or outside.
local function bound(value, default, length, lowest, highest)
    if value == nil then return default end
    if value < 0 then value = value + length end
    return math.max(lowest, math.min(value, highest))
end

---sequence[first:stop:step]; nil for what is left out.
---@return any
function slices.part(machine, sequence, first, stop, step)
    local kind, text = values.kind(values.defined(sequence)), values.text(sequence)
    if not text and not values.is_sequence(sequence) then
        failure.raise("a %s cannot be sliced", values.type_name(sequence))
    end
    first = arguments.integer("slice", arguments.optional(first))
    stop = arguments.integer("slice", arguments.optional(stop))
    step = arguments.integer("slice", arguments.optional(step)) or 1
    if step == 0 then failure.raise "a slice with the step 0" end
    local list = text and characters.list(text) or sequence
    local length, part = #list, {}
    machine.budget:step(length)
    local back = step < 0
    local low, high = back and -1 or 0, back and length - 1 or length
    local from = bound(first, back and high or low, length, low, high)
    local to = bound(stop, back and low or high, length, low, high)
    for i = from, back and to + 1 or to - 1, step do part[#part + 1] = list[i + 1] end
    if text then
        text = machine.budget:text(table.concat(part))
        return kind == "markup" and values.markup(text) or text
    end
    return kind == "tuple" and values.tuple(part) or values.list(part)
end

return slices
