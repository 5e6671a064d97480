--- Damage of files, for fuzzing: by math.random, so that a seed replays it.

local heed = require "heed"

local damage = {}

local JUNK = { function() return heed.json.null end, function() return -1 end, function() return 0 end,
    function() return 1 << 40 end, function() return 0.5 end, function() return "" end,
    function() return "\u{10FFFF}(" end, function() return {} end, function() return { {} } end,
    function() return true end, function() return "▁" end, function() return { type = "Sequence" } end }

-- In the order that a seed replays.
local function keys_of(place)
    local keys = {}
    for key in pairs(place) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    return keys
end

--- One place of a tree of JSON gets a value of another kind, or none.
---@param tree table
---@param more? (fun(): any)[] values of which it may be
---@return string|integer|nil key of the tree's own under which it lies
function damage.tree(tree, more)
    local place, first = tree, nil
    for _ = 1, 12 do
        local keys = keys_of(place)
        if #keys == 0 then return first end
        local key = keys[math.random(#keys)]
        local inner = place[key]
        first = first or key
        if type(inner) ~= "table" or math.random(4) == 1 then
            local pick = math.random(#JUNK + (more and #more or 0))
            local value = pick <= #JUNK and JUNK[pick] or more[pick - #JUNK]
            if math.random(5) == 1 and math.type(key) ~= "integer" then
                place[key] = nil
            else
                place[key] = value()
            end
            return first
        end
        place = inner
    end
    return first
end

--- Some bytes change, go, or come twice.
---@param text string
---@return string
function damage.bytes(text)
    for _ = 1, math.random(4) do
        local at, count = math.random(#text), math.random(16)
        local way, middle = math.random(3), ""
        if way == 1 then middle = string.char(math.random(0, 255)) end
        if way == 2 then middle = text:sub(at, at + count):rep(2) end
        text = text:sub(1, at - 1) .. middle .. text:sub(at + (way == 1 and 1 or count))
        if text == "" then text = " " end
    end
    return text
end

return damage
