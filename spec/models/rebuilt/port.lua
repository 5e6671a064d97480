--- Weights of somebody else's model under the names of ours.

local heed = require "heed"

-- The parts of one tensor, one below the other.
local function stack(parts) return #parts == 1 and parts[1] or heed.cat(parts, 1) end

---Each rule { pattern, replacement } is a gsub on the name, in their order. A name that then ends
---in "^T" is of a matrix that stands the other way round there, and one that ends in "[i]" is of
---the i-th part of a tensor: W^Q, W^K and W^V of in_proj_weight.
---@param state table<string, heed.Tensor>
---@param rules string[][]
---@return table<string, heed.Tensor>
local function port(state, rules)
    local parts = {}
    for name, t in pairs(state) do
        for _, rule in ipairs(rules) do name = name:gsub(rule[1], rule[2]) end
        local whole, part = name:match "^(.*)%[(%d)%]$"
        local upright = name:match "^(.*)%^T$"
        name = whole or upright or name
        parts[name] = parts[name] or {}
        parts[name][tonumber(part) or 1] = upright and t:t() or t
    end
    local ported = {}
    for name, list in pairs(parts) do ported[name] = stack(list) end
    return ported
end

return port
