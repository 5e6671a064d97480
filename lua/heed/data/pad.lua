local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local mathtype, pack, rep, unpack = math.type, string.pack, string.rep, table.unpack

-- string.pack's formats of so many integers or floats, at most AT_ONCE.
local AT_ONCE = 128
local function formats_of(item)
    return setmetatable({}, { __index = function(self, n)
        self[n] = "<" .. rep(item, n)
        return self[n]
    end })
end
local KINDS = {
    integer = { formats = formats_of "i8", item = "<i8", dtype = "i64" },
    float = { formats = formats_of "f", item = "<f", dtype = "f32" },
}

local function bytes_of(row, formats)
    if #row <= AT_ONCE then return pack(formats[#row], unpack(row)) end
    local parts = {}
    for first = 1, #row, AT_ONCE do
        local last = math.min(first + AT_ONCE - 1, #row)
        parts[#parts + 1] = pack(formats[last - first + 1], unpack(row, first, last))
    end
    return table.concat(parts)
end

-- "integer" when all numbers of the row are, else "float".
local function kind_of(row, number)
    local kind = "integer"
    for j = 1, #row do
        local item = mathtype(row[j])
        if not item then
            errors.raise("heed.data.pad: list[%d][%d]: expected a number, got %s", number, j,
                check.describe(row[j]))
        end
        if item == "float" then kind = "float" end
    end
    return kind
end

local DTYPES = { i64 = "integer", f32 = "float" }

---Lists of different lengths as one tensor: of integers, or of floats where one is among them.
---
---```lua
---print(heed.data.pad({ { 5, 6, 7 }, { 8 } }, { value = 0 })) --> [[5, 6, 7], [8, 0, 0]] i64 [2, 3] [3, 1] i64 [2]
---print(heed.data.pad { { 0.5 }, { 1.5, 2 } }) --> [[0.5000, 0.0000], [1.5000, 2.0000]] f32 [2, 2] [1, 2] i64 [2]
---```
---@param list number[][] n lists of numbers
---@param options? { value?: number, dtype?: "i64"|"f32" } value: what stands after a list's end,
---default 1, of floats 0; dtype: default by what the lists hold
---@return heed.Tensor padded i64 or f32 [n, longest]
---@return heed.Tensor lengths i64 [n]
local function pad(list, options)
    options = check.options("heed.data.pad", options, { value = true, dtype = true })
    check.type("heed.data.pad", "list", list, "table")
    local wanted = options.dtype and DTYPES[check.one_of("heed.data.pad", "dtype", options.dtype,
        { "i64", "f32" })]
    local longest, lengths, kind = 0, {}, wanted or "integer"
    for i, row in ipairs(list) do
        if check.is_tensor(row) then
            errors.raise("heed.data.pad: list: expected tables of numbers, got %s at %d",
                check.describe(row), i)
        end
        check.type("heed.data.pad", "list[" .. i .. "]", row, "table")
        lengths[i] = #row
        if #row > longest then longest = #row end
        if kind_of(row, i) == "float" then
            if wanted == "integer" then
                errors.raise("heed.data.pad: list[%d]: expected integers, got a float among them",
                    i)
            end
            kind = "float"
        end
    end
    local value = options.value
    if kind == "integer" then
        value = check.integer("heed.data.pad", "value", value or 1, math.mininteger)
    else
        value = check.number("heed.data.pad", "value", value or 0)
    end
    local numbers = KINDS[kind]
    local rows, filler = {}, pack(numbers.item, value)
    for i, row in ipairs(list) do
        rows[i] = bytes_of(row, numbers.formats) .. rep(filler, longest - #row)
    end
    return core.frombytes(table.concat(rows), numbers.dtype, { #list, longest }),
        core.tensor(lengths, { dtype = "i64" })
end

return pad
