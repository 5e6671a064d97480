--- Tables of named tensors, as files of them take.

local check = require "heed.check"
local errors = require "heed.errors"

local named = {}

---Pairs of name and tensor in the order of the names.
---@param where string the function that was called
---@return { [1]: string, [2]: heed.Tensor }[]
function named.list(where, tensors)
    check.type(where, "tensors", tensors, "table")
    local list = {}
    for name, t in pairs(tensors) do
        if type(name) ~= "string" or not check.is_tensor(t) then
            local hint = type(tensors.state_dict) == "function"
                and "; model:state_dict() gives them" or ""
            errors.raise("%s: tensors: expected names and tensors, got %s = %s%s", where,
                check.describe(name), check.describe(t), hint)
        end
        list[#list + 1] = { name, t }
    end
    table.sort(list, function(a, b) return a[1] < b[1] end)
    return list
end

return named
