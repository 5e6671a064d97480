--- Dots in a terminal: a cell of braille is two wide and four high.

local braille = {}

local DOTS = { [0] = { [0] = 0x01, 0x02, 0x04, 0x40 }, { [0] = 0x08, 0x10, 0x20, 0x80 } }

---An empty grid of so many cells.
---@param columns integer
---@param rows integer
---@return { wide: integer, high: integer, columns: integer, rows: integer } grid with the numbers
---of the last dots
function braille.new(columns, rows)
    return { columns = columns, rows = rows, wide = columns * 2 - 1, high = rows * 4 - 1 }
end

---Sets the dot nearest to a place.
---@param grid table
---@param x number 0 to grid.wide
---@param y number 0 to grid.high, from above
function braille.dot(grid, x, y)
    local i, j = math.floor(x + 0.5), math.floor(y + 0.5)
    local cell = (j // 4) * grid.columns + i // 2
    grid[cell] = (grid[cell] or 0) | DOTS[i % 2][j % 4]
end

---Sets the dots of a line.
function braille.line(grid, x, y, to_x, to_y)
    local dx, dy = to_x - x, to_y - y
    local steps = math.max(1, math.ceil(math.abs(dx)), math.ceil(math.abs(dy)))
    for s = 0, steps do braille.dot(grid, x + dx * s / steps, y + dy * s / steps) end
end

---The grid's rows as texts.
---@param grid table
---@return string[]
function braille.rows(grid)
    local rows = {}
    for row = 0, grid.rows - 1 do
        local cells = {}
        for column = 0, grid.columns - 1 do
            local bits = grid[row * grid.columns + column]
            cells[column + 1] = bits and utf8.char(0x2800 | bits) or " "
        end
        rows[row + 1] = table.concat(cells)
    end
    return rows
end

return braille
