--- Sizes of windows over one dimension or two: a number for all dimensions, or a list of one each.

local check = require "heed.check"
local errors = require "heed.errors"

local plane = {}

---A list of `dims` integers of at least `least`.
---@return integer[]
function plane.sizes(where, name, value, dims, least)
    if type(value) ~= "table" or check.is_tensor(value) then
        value = check.integer(where, name, value, least)
        local list = {}
        for d = 1, dims do list[d] = value end
        return list
    end
    if #value ~= dims then
        errors.raise("%s: %s: expected a number or a list of %d, got %s", where, name, dims,
            check.describe(value))
    end
    local list = {}
    for d = 1, dims do list[d] = check.integer(where, name, value[d], least) end
    return list
end

---As it is printed: one number where all are equal.
---@param list integer[]
---@return string
function plane.text(list)
    if #list == 1 or list[1] == list[2] then return ("%d"):format(list[1]) end
    return "{ " .. table.concat(list, ", ") .. " }"
end

return plane
