local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local mathtype, pack, rep, unpack = math.type, string.pack, string.rep, table.unpack

-- string.pack's format of so many integers, at most AT_ONCE.
local AT_ONCE = 128
local formats = setmetatable({}, { __index = function(self, n)
    self[n] = "<" .. rep("i8", n)
    return self[n]
end })

local function bytes_of(row, number)
    for j = 1, #row do
        if mathtype(row[j]) ~= "integer" then
            errors.raise("heed.data.pad: list[%d][%d]: expected an integer, got %s", number, j, check.describe(row[j]))
        end
    end
    if #row <= AT_ONCE then return pack(formats[#row], unpack(row)) end
    local parts = {}
    for first = 1, #row, AT_ONCE do
        local last = math.min(first + AT_ONCE - 1, #row)
        parts[#parts + 1] = pack(formats[last - first + 1], unpack(row, first, last))
    end
    return table.concat(parts)
end

---Lists of different lengths as one tensor.
---
---```lua
---print(heed.data.pad({ { 5, 6, 7 }, { 8 } }, { value = 0 })) --> [[5, 6, 7], [8, 0, 0]] i64 [2, 3] [3, 1] i64 [2]
---```
---@param list integer[][] n lists of integers
---@param options? { value?: integer } what stands after a list's end; default 1
---@return heed.Tensor padded i64 [n, longest]
---@return heed.Tensor lengths i64 [n]
local function pad(list, options)
    options = check.options("heed.data.pad", options, { value = true })
    check.type("heed.data.pad", "list", list, "table")
    local value = check.integer("heed.data.pad", "value", options.value or 1, math.mininteger)
    local longest, lengths = 0, {}
    for i, row in ipairs(list) do
        if check.is_tensor(row) then
            errors.raise("heed.data.pad: list: expected tables of integers, got %s at %d", check.describe(row), i)
        end
        check.type("heed.data.pad", "list[" .. i .. "]", row, "table")
        lengths[i] = #row
        if #row > longest then longest = #row end
    end
    local rows, filler = {}, pack("<i8", value)
    for i, row in ipairs(list) do rows[i] = bytes_of(row, i) .. rep(filler, longest - #row) end
    return core.frombytes(table.concat(rows), "i64", { #list, longest }), core.tensor(lengths, { dtype = "i64" })
end

return pad
