--- Tensors of as many rows as examples: { x, y } or { x = x, y = y }.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local tensors = {}

---Is this a table of tensors and nothing else?
---@return boolean
function tensors.are_rows(value)
    for _, item in pairs(value) do
        if not check.is_live(item) then return false end
    end
    return next(value) ~= nil
end

---How many rows they have, all the same.
---@param held table<string|integer, heed.Tensor>
---@return integer
function tensors.count(held)
    local count, first
    local names = {}
    for name in pairs(held) do names[#names + 1] = name end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    for _, name in ipairs(names) do
        local t = held[name]
        if t:dim() == 0 then
            errors.raise("heed.data.batches: examples.%s: expected a tensor of rows, [N, ...], "
                .. "got %s",
                name, check.describe(t))
        end
        if count and t:size(1) ~= count then
            errors.raise("heed.data.batches: examples.%s: expected %d rows as examples.%s has, "
                .. "got %s",
                name, count, first, tostring(t.shape))
        end
        count, first = count or t:size(1), first or name
    end
    return count
end

---The chosen rows of each.
---@param held table<string|integer, heed.Tensor>
---@param indices integer[]
---@return table
function tensors.collate(held, indices)
    local batch, rows = { size = #indices, lengths = {} }, core.tensor(indices, { dtype = "i64" })
    for name, t in pairs(held) do batch[name] = t:index_select(1, rows) end
    return batch
end

return tensors
