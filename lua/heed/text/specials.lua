--- The special tokens of a vocabulary: its first ids, under names that are fields of it too
--- (vocabulary.pad).

local check = require "heed.check"
local errors = require "heed.errors"

local specials = { DEFAULT = { "pad", "bos", "eos", "unk" } }

local MOST = 1000

---What is wrong with a list of names, which may come from a file; nil when nothing is.
---@param names any
---@param class table whose methods are no names
---@param reserved table<string, true> fields that are none either
---@return string|nil
function specials.problem(names, class, reserved)
    if type(names) ~= "table" or rawlen(names) > MOST then
        return ("expected a list of at most %d names"):format(MOST)
    end
    local seen = {}
    for _, name in ipairs(names) do
        if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" or seen[name] or class[name]
            or reserved[name] then
            return check.describe(name) .. " is not a new name of letters, digits and _"
        end
        seen[name] = true
    end
end

---The id of a special token that a caller wants.
---@param vocabulary { special: table<string, integer>, names: string[] }
---@param where string
---@param name string
---@return integer
function specials.id(vocabulary, where, name)
    local id = vocabulary.special[name]
    if not id then
        errors.raise("%s: %s: this vocabulary has no special token of that name (it has: %s)",
            where, name,
            table.concat(vocabulary.names, " "))
    end
    return id
end

---The tokens that decode was given, as a list.
---@param where string
---@param ids integer[]|heed.Tensor a list or a vector of integers
---@return integer[]
function specials.list(where, ids)
    if not check.is_tensor(ids) then return check.type(where, "ids", ids, "table") end
    if ids:dim() ~= 1 or ids.dtype == "bool" or ids.dtype:find "f" then
        errors.raise("%s: ids: expected a vector of integers (dtype = \"i64\"), got %s", where,
            check.describe(ids))
    end
    return ids:totable()
end

return specials
