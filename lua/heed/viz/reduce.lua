--- Large matrices as smaller ones, for screens that have not so many cells.

local reduce = {}

-- What stands for a block: what is no number if there is one, else the number that is strongest.
local function strongest(rows, top, bottom, left, right, scale)
    local best, most = nil, -1
    for i = top, bottom do
        for j = left, right do
            local strength = scale:level(rows[i][j])
            if not strength then return rows[i][j] end
            if strength > most then best, most = rows[i][j], strength end
        end
    end
    return best
end

local function first_of_each(labels, step)
    local list = {}
    for i = 1, #labels, step do list[#list + 1] = labels[i] end
    return list
end

---A picture of matrices in at most so many rows and columns: itself, or one whose cells stand for
---blocks, and which says so.
---@param picture heed.viz.Heatmap
---@param rows integer
---@param columns integer
---@return heed.viz.Heatmap
function reduce.to(picture, rows, columns)
    local L, S = #picture.y, #picture.x
    local down, across = math.ceil(L / math.max(1, rows)), math.ceil(S / math.max(1, columns))
    if down <= 1 and across <= 1 then return picture end
    local list = {}
    for p, panel in ipairs(picture.panels) do
        local small = {}
        for top = 1, L, down do
            local row = {}
            for left = 1, S, across do
                row[#row + 1] = strongest(panel.rows, top, math.min(L, top + down - 1), left,
                    math.min(S, left + across - 1), picture.scale)
            end
            small[#small + 1] = row
        end
        list[p] = { rows = small, title = panel.title }
    end
    local note = ("each cell is the strongest of %d x %d"):format(down, across)
    local left_out = picture.note or picture.numbers and "numbers are left out"
    if left_out then note = note .. "; " .. left_out end
    return setmetatable({
        panels = list, x = first_of_each(picture.x, across), y = first_of_each(picture.y, down),
        numbers = false, note = note,
    }, { __index = picture })
end

return reduce
