--- What a family's tensors are called here and in other people's files: one table, read both ways.
---
--- An entry is { ours, theirs, ... }. In names `#` stands for a layer's number, which counts from 1
--- here and from 0 there (`@` in theirs where it counts from 1 there too), and `*` for the rest of a
--- name ("weight", "bias").
---
---     { "in_proj_*", "query.*", "key.*", "value.*" }   theirs lie one behind the other in ours
---     { "in_proj_bias", "q.bias", false, "v.bias" }    files leave the second out: zeros here
---     { "linear1.*", "gate_up.*", part = 1, of = 2 }   ours is the first half of theirs
---     { "linear1.*", "c_fc.*", transposed = true }     theirs are ours transposed
---     { "head.*", "classifier.*", outside = true }     without the prefix ("bert.") that files of a
---                                                      task have before the names of the model

local names = {}

local function literally(text) return (text:gsub("%W", "%%%0")) end

-- "layers.#.norm.*" as a pattern of Lua.
local function pattern_of(template)
    local pattern = literally(template):gsub("%%#", "(%%d+)"):gsub("%%%*", "([%%w_]+)")
    return "^" .. pattern .. "$"
end

-- The template with these in its places, in order.
local function filled(template, found, shift)
    local i = 0
    return (template:gsub("[#@*]", function(place)
        i = i + 1
        return place == "#" and tostring(math.tointeger(tonumber(found[i])) + shift) or found[i]
    end))
end

---A family's table: for this config, where it depends on that.
---@param family heed.models.Family
---@param config table
---@return table[] entries
function names.entries(family, config)
    return family.names_of and family.names_of(config) or family.names
end

---The names in a file of what one of our tensors is made of; nil when the table says nothing of it.
---@param entries string[][]
---@param ours string
---@param prefix string what the file has before the names of the model itself
---@return (string|false)[]|nil theirs in order
---@return table? entry
function names.theirs(entries, ours, prefix)
    for _, entry in ipairs(entries) do
        local found = { ours:match(pattern_of(entry[1])) }
        if found[1] then
            local before, list = entry.outside and "" or prefix, {}
            for i = 2, #entry do
                list[i - 1] = entry[i] and before .. filled(entry[i], found, -1)
            end
            return list, entry
        end
    end
end

return names
