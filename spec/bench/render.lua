-- What table.lua recorded (results.lua says how), as Markdown.

local results = require "results"

local time = results.time

local function ratio(row)
    if not (row.heed and row.pytorch) then return "" end
    return ("%.2f (%.2f)"):format(row.pytorch.best / row.heed.best,
        row.pytorch.median / row.heed.median)
end

local LIMIT_OF = { flop = "fma", byte = "update", read = "read" }

-- How near the processor's limit: of multiply-adds, or of memory in the optimiser's seven streams.
local function share(found, row, side)
    local known = require(found.run[5] or "workloads")[row.name:match "^[^+]*"]
    local limit = known and found.limits[LIMIT_OF[known.unit] .. row.threads]
    if not (side and limit) or row.name:find("+bf16", 1, true) then return "" end
    return ("%.0f%%"):format(100 * known.work / (side.best * 1e-3) / (limit.best * 1e9))
end

local function is_memory(row) return row.name:find "^memory_" ~= nil end

local function times(found, out)
    out[#out + 1] = "| work | threads | heed, ms | PyTorch, ms | PyTorch / heed | heed of the "
        .. "limit | PyTorch of the limit |"
    out[#out + 1] = "| --- | --: | --: | --: | --: | --: | --: |"
    for _, row in ipairs(found.rows) do
        if not is_memory(row) then
            out[#out + 1] = ("| %s | %d | %s | %s | %s | %s | %s |"):format(row.name, row.threads,
                time(row.heed),
                time(row.pytorch), ratio(row), share(found, row, row.heed),
                    share(found, row, row.pytorch))
        end
    end
end

local function memory(found, out)
    local import
    for _, row in ipairs(found.rows) do
        if row.name == "memory_import" then import = row end
    end
    if not import then return end
    local function cell(row, side)
        return row[side] and import[side] and ("%.0f (%.0f)"):format(row[side].best,
            row[side].best - import[side].best) or ""
    end
    out[#out + 1] = ""
    out[#out + 1] = "| peak of the process | heed, MB | PyTorch, MB |"
    out[#out + 1] = "| --- | --: | --: |"
    for _, row in ipairs(found.rows) do
        if is_memory(row) then
            out[#out + 1] = ("| %s | %s | %s |"):format(row.name:gsub("^memory_", ""),
                cell(row, "heed"), cell(row, "pytorch"))
        end
    end
end

---@param lines string[] results
---@return string Markdown
local function render(lines)
    local found, out = results.read(lines), {}
    results.heading(found, out)
    times(found, out)
    memory(found, out)
    return table.concat(out, "\n") .. "\n"
end

return render
