--- The names that somebody may have meant who wrote another one.

local lower, gsub, byte, sub, find = string.lower, string.gsub, string.byte, string.sub, string.find
local min, abs, huge = math.min, math.abs, math.huge
local sort = table.sort

-- Letters changed, left out, put in, or swapped with a neighbour.
local function distance(a, b, most)
    if abs(#a - #b) > most then return huge end
    local before, above = {}, {}
    for j = 0, #b do above[j] = j end
    for i = 1, #a do
        local row = { [0] = i }
        for j = 1, #b do
            local same = byte(a, i) == byte(b, j)
            row[j] = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (same and 0 or 1))
            if i > 1 and j > 1 and byte(a, i) == byte(b, j - 1) and byte(a, i - 1) == byte(b,
                j) then
                row[j] = min(row[j], before[j - 2] + 1)
            end
        end
        before, above = above, row
    end
    return above[#b]
end

-- "layers" in "num_layers", "retain" in "retain_graph"
local function is_word_of(name, candidate)
    if #name > #candidate then name, candidate = candidate, name end
    return #name >= 4 and find("_" .. candidate .. "_", "_" .. name .. "_", 1, true) ~= nil
end

local function plain(name) return (gsub(lower(name), "_", "")) end

local function badness(name, candidate)
    local a, b = plain(name), plain(candidate)
    if a == b then return 0 end
    local most = #a <= 2 and 0 or #a <= 4 and 1 or #a <= 8 and 2 or 3
    local d = distance(a, b, most)
    if d <= most then return d + (sub(a, 1, 1) == sub(b, 1, 1) and 0 or 0.5) end
    return is_word_of(lower(name), candidate) and 3 or huge
end

---@param name string
---@param candidates string[]
---@param count? integer at most so many, default 2
---@return string[] the best first
local function nearest(name, candidates, count)
    local found = {}
    for _, candidate in ipairs(candidates) do
        local bad = candidate ~= name and badness(name, candidate) or huge
        if bad < huge then found[#found + 1] = { name = candidate, bad = bad } end
    end
    sort(found, function(a, b)
        if a.bad ~= b.bad then return a.bad < b.bad end
        if #a.name ~= #b.name then return #a.name < #b.name end
        return a.name < b.name
    end)
    local list = {}
    for i = 1, min(count or 2, #found) do
        if found[i].bad <= found[1].bad + 1 then list[#list + 1] = found[i].name end
    end
    return list
end

return nearest
