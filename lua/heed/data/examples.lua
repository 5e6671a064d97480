--- What an example is: a list of integers, several ({ source, target }), or several by name ({ src = ..., tgt = ... }).

local check = require "heed.check"
local errors = require "heed.errors"
local pad = require "heed.data.pad"

local examples = {}

---The names of an example's fields, in order; nil of a single list.
---@return (string|integer)[]|nil
function examples.fields(example)
    if type(example) ~= "table" then
        errors.raise("heed.data.batches: examples: expected tables, got %s%s", check.describe(example),
            type(example) == "string" and " (encode = a function of it to lists of integers)" or "")
    end
    if math.type(example[1]) == "integer" then return nil end
    local fields = {}
    for name, value in pairs(example) do
        if type(value) == "table" then fields[#fields + 1] = name end
    end
    table.sort(fields, function(a, b) return tostring(a) < tostring(b) end)
    if #fields == 0 then errors.raise("heed.data.batches: examples: expected lists of integers, got a table without any") end
    return fields
end

---The length of its longest field.
---@return integer
function examples.longest(example, fields, number)
    if type(example) ~= "table" then
        errors.raise("heed.data.batches: examples[%d]: expected a table, got %s", number, check.describe(example))
    end
    if not fields then return #example end
    local longest = 0
    for _, name in ipairs(fields) do
        local list = example[name]
        if type(list) ~= "table" then
            errors.raise("heed.data.batches: examples[%d]: expected a list of integers as %s, got %s", number, name, check.describe(list))
        end
        if #list > longest then longest = #list end
    end
    return longest
end

---One batch: { [1] = i64 [B, L], [2] = ..., lengths = { [1] = i64 [B], ... }, size = B } or, of named fields,
---{ src = ..., src_lengths = ..., ... }.
---@param list table[]
---@param indices integer[] which of the list
---@param fields (string|integer)[]|nil
---@param value integer|nil the padding
---@return table
function examples.collate(list, indices, fields, value)
    local batch = { size = #indices, lengths = {} }
    for _, name in ipairs(fields or { 1 }) do
        local rows = {}
        for i, index in ipairs(indices) do rows[i] = fields and list[index][name] or list[index] end
        local tensor, lengths = pad(rows, { value = value })
        batch[name] = tensor
        if math.type(name) == "integer" then batch.lengths[name] = lengths else batch[name .. "_lengths"] = lengths end
    end
    return batch
end

return examples
