--- What an example is: a list of numbers, or fields in order ({ source, target }) or by name
--- ({ src = ..., label = 3 }). A field is a list of numbers, a number, a truth value, a text or a
--- tensor.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local pad = require "heed.data.pad"

local examples = {}

local FIELD = check.set("table", "number", "boolean", "string")

local function is_field(value) return FIELD[type(value)] or check.is_live(value) end

local function check_example(example, number)
    if type(example) == "table" then return end
    errors.raise("heed.data.batches: examples[%d]: expected a table, got %s%s", number,
        check.describe(example),
        type(example) == "string" and " (encode = a function of it to lists of integers)" or "")
end

-- The names of one example's fields, in order; false of a single list; nil of {}, which tells
-- neither.
local function fields_of(example, number)
    check_example(example, number)
    if next(example) == nil then return nil end
    if math.type(example[1]) and #example > 0 then return false end
    local fields = {}
    for name, value in pairs(example) do
        if is_field(value) then fields[#fields + 1] = name end
    end
    table.sort(fields, function(a, b) return tostring(a) < tostring(b) end)
    if #fields == 0 then
        errors.raise("heed.data.batches: examples[%d]: expected lists of numbers, got a table "
            .. "without any",
            number)
    end
    return fields
end

---The names of the examples' fields, in order; false when each is a single list. An empty example
---does not tell; nil when none does.
---@param list table[]
---@return (string|integer)[]|false|nil
function examples.fields(list)
    for number, example in ipairs(list) do
        local fields = fields_of(example, number)
        if fields ~= nil then return fields end
    end
    return nil
end

local function field(example, name, number)
    local value = example[name]
    if not is_field(value) then
        errors.raise("heed.data.batches: examples[%d]: expected a list of numbers as %s, got %s",
            number, name, check.describe(value))
    end
    return value
end

---The length of its longest list.
---@return integer
function examples.longest(example, fields, number)
    check_example(example, number)
    if not fields then return #example end
    local longest = 0
    for _, name in ipairs(fields) do
        local value = field(example, name, number)
        if type(value) == "table" and #value > longest then longest = #value end
    end
    return longest
end

local function has_float(value)
    if type(value) ~= "table" then return math.type(value) == "float" end
    for _, item in ipairs(value) do
        if math.type(item) == "float" then return true end
    end
    return false
end

---Which fields hold floats, of all examples: every batch then gives them as f32, and the others as
---i64.
---@param list table[]
---@param fields (string|integer)[]|false|nil
---@return table<string|integer, "f32"|"i64">
function examples.dtypes(list, fields)
    local dtypes = {}
    for _, name in ipairs(fields or { 1 }) do
        dtypes[name] = "i64"
        for _, example in ipairs(list) do
            local value = example
            if fields then value = example[name] end
            if has_float(value) then
                dtypes[name] = "f32"
                break
            end
        end
    end
    return dtypes
end

-- ---- batches ------------------------------------------------------------------------------------

-- What the examples have in one field, as the batch gives it, and the lengths of lists.
local GATHER = {
    table = function(rows, dtype, value) return pad(rows, { value = value, dtype = dtype }) end,
    number = function(rows, dtype) return core.tensor(rows, { dtype = dtype }) end,
    boolean = function(rows) return core.tensor(rows, { dtype = "bool" }) end,
    string = function(rows) return rows end,
    userdata = function(rows) return core.stack(rows, 1) end,
}

local function gather(rows, indices, name, dtype, value)
    local kind = type(rows[1])
    for i, row in ipairs(rows) do
        if type(row) ~= kind then
            errors.raise("heed.data.batches: examples[%d]: expected %s as the batch's others, "
                .. "got %s",
                indices[i], ("field %s: a %s"):format(name, kind), check.describe(row))
        end
        if kind == "userdata" and row.shape ~= rows[1].shape then
            errors.raise("heed.data.batches: examples[%d]: field %s: expected the shape %s of "
                .. "the batch's "
                .. "others, got %s", indices[i], name, tostring(rows[1].shape), tostring(row.shape))
        end
    end
    return GATHER[kind](rows, dtype, value)
end

---One batch: { [1] = i64 [B, L], [2] = ..., lengths = { [1] = i64 [B], ... }, size = B } or, of
---named fields, { src = ..., src_lengths = ..., ... }. Numbers become [B], texts a list.
---@param list table[]
---@param indices integer[] which of the list
---@param fields (string|integer)[]|false|nil
---@param dtypes table<string|integer, string>
---@param value number|nil the padding
---@return table
function examples.collate(list, indices, fields, dtypes, value)
    local batch = { size = #indices, lengths = {} }
    for _, name in ipairs(fields or { 1 }) do
        local rows = {}
        for i, index in ipairs(indices) do
            rows[i] = fields and field(list[index], name, index) or list[index]
        end
        local gathered, lengths = gather(rows, indices, name, dtypes[name], value)
        batch[name] = gathered
        if math.type(name) == "integer" then
            batch.lengths[name] = lengths
        elseif lengths then
            batch[name .. "_lengths"] = lengths
        end
    end
    return batch
end

return examples
