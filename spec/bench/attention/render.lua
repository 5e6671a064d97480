-- What table.lua recorded (../results.lua says how), as Markdown: where a rival is ahead, and all
-- rows.

local cases = require "cases"
local results = require "results"

local RIVALS = { { "pytorch", "PyTorch" }, { "onnxruntime", "ONNX Runtime" } }

-- rival / heed, best (median); bold when the rival is ahead in either.
local function ratio(row, rival)
    if not (row.heed and rival) then return "" end
    local best, median = rival.best / row.heed.best, rival.median / row.heed.median
    local text = ("%.2f (%.2f)"):format(best, median)
    return (best < 1 or median < 1) and "**" .. text .. "**" or text
end

-- How far a rival's results were from heed's, when that is more than rounding, and how it computed
-- them.
local TOLERANCE = 1e-4

local function way_of(row, rival)
    local apart, way = (row.ways[rival[1]] or ""):match "^(%S+) (.*)"
    return way, tonumber(apart or 0) > TOLERANCE and apart or nil
end

local function time(row, rival)
    local _, apart = way_of(row, rival)
    return results.time(row[rival[1]]) .. (apart and " differs by " .. apart or "")
end

-- The least time that the processor needs, in milliseconds, and whether it is memory's:
-- multiply-adds at their peak, or what has to be moved.
local function least(found, row)
    local case = cases.parse(row.name)
    local fma, read = found.limits["fma" .. row.threads], found.limits["read" .. row.threads]
    if not (case and fma and read) then return nil end
    local computing, moving = cases.work(case) / (fma.best * 1e6),
        cases.bytes(case) / (read.best * 1e6)
    return math.max(computing, moving), moving > computing
end

local function share(found, row, side)
    local milliseconds, memory = least(found, row)
    if not (side and milliseconds) then return "" end
    return ("%.0f%%%s"):format(100 * milliseconds / side.best, memory and " m" or "")
end

local function cells_of(found, row)
    local cells = { row.name, row.threads, results.time(row.heed) }
    for _, rival in ipairs(RIVALS) do cells[#cells + 1] = time(row, rival) end
    for _, rival in ipairs(RIVALS) do cells[#cells + 1] = ratio(row, row[rival[1]]) end
    cells[#cells + 1] = share(found, row, row.heed)
    for _, rival in ipairs(RIVALS) do cells[#cells + 1] = share(found, row, row[rival[1]]) end
    return cells
end

local HEAD = "| attention | threads | heed, ms | PyTorch, ms | ONNX Runtime, ms | PyTorch / heed "
    .. "| ONNX Runtime / heed "
    .. "| heed of the limit | PyTorch | ONNX Runtime |\n| --- | --: | --: | --: | --: | --: | "
        .. "--: | --: | --: | --: |"

local function rows_of(found, rows, out)
    out[#out + 1] = HEAD
    for _, row in ipairs(rows) do
        out[#out + 1] = "| " .. table.concat(cells_of(found, row), " | ") .. " |"
    end
    out[#out + 1] = ""
end

-- How far behind the best rival's best: below 1 when heed is.
local function standing(row)
    local worst = math.huge
    for _, rival in ipairs(RIVALS) do
        local side = row[rival[1]]
        if side and row.heed then worst = math.min(worst, side.best / row.heed.best) end
    end
    return worst
end

local function behind(found)
    local rows = {}
    for _, row in ipairs(found.rows) do
        if standing(row) < 1 then rows[#rows + 1] = row end
    end
    table.sort(rows, function(a, b) return standing(a) < standing(b) end)
    return rows
end

-- Ways that were taken, and failures.
local function remarks(found, out)
    for _, row in ipairs(found.rows) do
        local said = {}
        for _, rival in ipairs(RIVALS) do
            local way = way_of(row, rival)
            if row.failed[rival[1]] and row.failed[rival[1]] ~= "failed no way" then
                way = row.failed[rival[1]]
            end
            if way and way ~= "" then said[#said + 1] = rival[2] .. ": " .. way end
        end
        if row.failed.heed then said[#said + 1] = "heed: " .. row.failed.heed end
        if #said > 0 then
            out[#out + 1] = ("- %s, %d: %s"):format(row.name, row.threads, table.concat(said, "; "))
        end
    end
end

---@param lines string[] results
---@return string Markdown
local function render(lines)
    local found, out = results.read(lines), {}
    results.heading(found, out)
    local late = behind(found)
    out[#out + 1] = ("heed is behind in %d of %d rows.\n"):format(#late, #found.rows)
    if #late > 0 then
        rows_of(found, late, out)
        out[#out + 1] = "All rows:\n"
    end
    rows_of(found, found.rows, out)
    out[#out + 1] = "How the rivals did it (the fastest of the ways they have):\n"
    remarks(found, out)
    return table.concat(out, "\n") .. "\n"
end

return render
