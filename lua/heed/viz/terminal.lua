--- Blocks of lines side by side in a terminal.

local width = require "heed.viz.width"

local terminal = { COLUMNS = 80 }

local GAP = 3

-- The blocks' lines joined, each block as wide as its widest line.
local function row_of(blocks, from, to, sizes)
    local height = 0
    for b = from, to do height = math.max(height, #blocks[b]) end
    local lines = {}
    for i = 1, height do
        local parts = {}
        for b = from, to do parts[#parts + 1] = width.fit(blocks[b][i] or "", sizes[b]) end
        lines[i] = (table.concat(parts, (" "):rep(GAP)):gsub("%s+$", ""))
    end
    return lines
end

---As many blocks in a row as fit, at least one; an empty line between rows.
---@param blocks string[][] lists of lines
---@param columns integer
---@return string[] lines
function terminal.beside(blocks, columns)
    local sizes = {}
    for b, lines in ipairs(blocks) do
        sizes[b] = 0
        for _, line in ipairs(lines) do sizes[b] = math.max(sizes[b], width.of(line)) end
    end
    local result, from = {}, 1
    while from <= #blocks do
        local to, used = from, sizes[from]
        while to < #blocks and used + GAP + sizes[to + 1] <= columns do
            to = to + 1
            used = used + GAP + sizes[to]
        end
        if from > 1 then result[#result + 1] = "" end
        local lines = row_of(blocks, from, to, sizes)
        table.move(lines, 1, #lines, #result + 1, result)
        from = to + 1
    end
    return result
end

return terminal
