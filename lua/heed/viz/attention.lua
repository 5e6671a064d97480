--- Attention weights as a picture in the terminal: a row for each query, a column for each key, the darker the more.

local check = require "heed.check"
local errors = require "heed.errors"
local width = require "heed.viz.width"

local SHADES = { [0] = "  ", "░░", "▒▒", "▓▓", "██" }
local LONGEST_LABEL = 18

---@class heed.viz.Attention
local Attention = {}
Attention.__index = Attention

-- Below 1/8 is blank, then a shade for each quarter.
local function shade(weight)
    if weight ~= weight then return "??" end
    return SHADES[math.max(0, math.min(4, math.floor(weight * 4 + 0.5)))]
end

-- [H][L][S] nested tables of any of [L, S], [H, L, S], [1, H, L, S].
local function heads_of(weights)
    if not check.is_tensor(weights) then
        errors.raise("viz.attention: weights: expected a tensor, got %s", check.describe(weights))
    end
    local dims = weights:dim()
    if dims == 4 and weights:size(1) == 1 then return weights:select(1, 1):totable() end
    if dims == 3 then return weights:totable() end
    if dims == 2 then return { weights:totable() } end
    return errors.raise("viz.attention: weights: expected [L, S], [H, L, S] or [1, H, L, S], got %s", tostring(weights.shape))
end

local function labels_of(name, labels, count)
    local texts = {}
    if labels == nil then
        for i = 1, count do texts[i] = tostring(i) end
        return texts
    end
    if type(labels) == "string" then labels = width.characters(labels) end
    check.type("viz.attention", name, labels, "table")
    if #labels ~= count then
        errors.raise("viz.attention: %s: expected %d labels, got %d", name, count, #labels)
    end
    for i, label in ipairs(labels) do texts[i] = tostring(label) end
    return texts
end

-- The labels of the columns, read from top to bottom.
local function header(labels, indent)
    local columns, height = {}, 0
    for i, label in ipairs(labels) do
        local characters, taken = width.characters(label)
        if #characters > LONGEST_LABEL then
            characters[LONGEST_LABEL] = "…"
            taken[LONGEST_LABEL] = 1
        end
        columns[i] = { characters = characters, taken = taken, height = math.min(#characters, LONGEST_LABEL) }
        height = math.max(height, columns[i].height)
    end
    local lines = {}
    for row = 1, height do
        local cells = {}
        for i, column in ipairs(columns) do
            local at = row - (height - column.height)
            cells[i] = at < 1 and "  " or column.characters[at] .. (" "):rep(2 - column.taken[at])
        end
        lines[row] = ((" "):rep(indent) .. table.concat(cells)):gsub("%s+$", "")
    end
    return lines
end

function Attention:__tostring()
    local indent = 0
    for _, label in ipairs(self.y) do indent = math.max(indent, math.min(width.of(label), LONGEST_LABEL)) end
    local lines = {}
    for h, rows in ipairs(self.heads) do
        if #self.heads > 1 then lines[#lines + 1] = ("%shead %d"):format(h > 1 and "\n" or "", h) end
        for _, line in ipairs(header(self.x, indent + 1)) do lines[#lines + 1] = line end
        for i, row in ipairs(rows) do
            local cells = {}
            for j, weight in ipairs(row) do cells[j] = shade(weight) end
            lines[#lines + 1] = (width.fit(self.y[i], indent, true) .. " " .. table.concat(cells)):gsub("%s+$", "")
        end
    end
    return table.concat(lines, "\n")
end

---A picture of attention weights; print it.
---@param weights heed.Tensor [L, S], [H, L, S] (a picture a head) or [1, H, L, S], from 0 to 1
---@param options? { x?: string[]|string, y?: string[]|string } labels of the keys (columns) and queries (rows): a list, or a
---string whose characters they are; default their numbers
---@return heed.viz.Attention
local function attention(weights, options)
    options = check.options("viz.attention", options, check.set("x", "y"))
    local heads = heads_of(weights)
    local rows = heads[1] or {}
    return setmetatable({
        heads = heads, x = labels_of("x", options.x, rows[1] and #rows[1] or 0), y = labels_of("y", options.y, #rows),
    }, Attention)
end

return attention
