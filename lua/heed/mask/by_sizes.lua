--- What is made of a mask for sizes, kept for those that were asked for last.

local by_sizes = {}

local MOST = 8

---The value that a list keeps for these sizes, or nil.
---@param list table[] { B, H, L, S, value } each
function by_sizes.find(list, B, H, L, S)
    for _, entry in ipairs(list) do
        if entry[4] == S and entry[3] == L and entry[1] == B and entry[2] == H then return entry end
    end
end

---Puts an entry into the list, where the oldest one makes place for it.
---@param list table[]
---@param entry table { B, H, L, S, value }
---@return table entry
function by_sizes.keep(list, entry)
    table.insert(list, 1, entry)
    list[MOST + 1] = nil
    return entry
end

return by_sizes
