local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local pack, rep = string.pack, string.rep

---Lists of different lengths as one tensor.
---@param list integer[][] n lists of integers
---@param options? { value?: integer } what stands after a list's end; default 1
---@return heed.Tensor padded i64 [n, longest]
---@return heed.Tensor lengths i64 [n]
local function pad(list, options)
    options = check.options("pad", options, { value = true })
    check.type("pad", "list", list, "table")
    local value = check.integer("pad", "value", options.value or 1, math.mininteger)
    local longest, lengths = 0, {}
    for i, row in ipairs(list) do
        if check.is_tensor(row) then
            errors.raise("pad: list: expected tables of integers, got %s at %d", check.describe(row), i)
        end
        check.type("pad", "list[" .. i .. "]", row, "table")
        lengths[i] = #row
        if #row > longest then longest = #row end
    end
    local rows, filler = {}, pack("<i8", value)
    for i, row in ipairs(list) do
        local n = #row
        local cells = {}
        for j = 1, n do
            local cell = row[j]
            if math.type(cell) ~= "integer" then
                errors.raise("pad: list[%d][%d]: expected an integer, got %s", i, j, check.describe(cell))
            end
            cells[j] = pack("<i8", cell)
        end
        cells[n + 1] = rep(filler, longest - n)
        rows[i] = table.concat(cells)
    end
    return core.frombytes(table.concat(rows), "i64", { #list, longest }), core.tensor(lengths, { dtype = "i64" })
end

return pad
