--- Blocks of lines side by side in a terminal, and whether it has colours.

local core = require "heed.core"
local width = require "heed.viz.width"

local getenv = os and os.getenv -- a host may leave os out

local terminal = { COLUMNS = 80 }

local GAP = 3

---For a descriptor of the process: a terminal that is not dumb, and no NO_COLOR
---(https://no-color.org).
---@param descriptor integer 1 or 2
---@return boolean
function terminal.wants_colour(descriptor)
    if not getenv then return false end
    local kind, refused = getenv "TERM", getenv "NO_COLOR"
    if not kind or kind == "" or kind == "dumb" then return false end
    return (refused or "") == "" and core.isatty(descriptor)
end

-- A line is a text, or { text, columns } where escapes in it take none.
local function columns_of(line) return type(line) == "table" and line[2] or width.of(line) end

local function padded(line, size)
    if type(line) == "table" then return line[1] .. (" "):rep(size - line[2]) end
    return width.fit(line, size)
end

-- The blocks' lines joined, each block as wide as its widest line.
local function row_of(blocks, from, to, sizes)
    local height = 0
    for b = from, to do height = math.max(height, #blocks[b]) end
    local lines = {}
    for i = 1, height do
        local parts = {}
        for b = from, to do parts[#parts + 1] = padded(blocks[b][i] or "", sizes[b]) end
        lines[i] = (table.concat(parts, (" "):rep(GAP)):gsub("%s+$", ""))
    end
    return lines
end

---As many blocks in a row as fit, at least one; an empty line between rows.
---@param blocks (string|{ [1]: string, [2]: integer })[][] lists of lines: texts, or such with
---escapes and their columns
---@param columns integer
---@return string[] lines
function terminal.beside(blocks, columns)
    local sizes = {}
    for b, lines in ipairs(blocks) do
        sizes[b] = 0
        for _, line in ipairs(lines) do sizes[b] = math.max(sizes[b], columns_of(line)) end
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
