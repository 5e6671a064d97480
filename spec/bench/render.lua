-- What table.lua recorded, as Markdown.
--
-- A line of results is one of, tab-separated:
--     run      date  processor  rounds  set
--     about    side  text
--     limit    name  threads  value            once before and once after
--     heed     workload  threads  best  median  a line a round; milliseconds, or MB for memory_*; or "failed"
--     pytorch  the same

local function fields_of(line)
    local fields = {}
    for field in line:gmatch "[^\t]+" do fields[#fields + 1] = field end
    return fields
end

local function median_of(list)
    table.sort(list)
    local n = #list
    return n > 0 and (list[(n + 1) // 2] + list[n // 2 + 1]) / 2 or nil
end

-- { rows = { { name, threads, heed = { best, medians }, pytorch = … } }, limits, about, run }
local function read(lines)
    local results = { rows = {}, limits = {}, about = {} }
    local row_of = {}
    for _, line in ipairs(lines) do
        local f = fields_of(line)
        if f[1] == "run" then
            results.run = f
        elseif f[1] == "about" then
            results.about[#results.about + 1] = { f[2], f[3] }
        elseif f[1] == "limit" then
            local key = f[2] .. f[3]
            local limit = results.limits[key] or { name = f[2], threads = tonumber(f[3]), best = 0, values = {} }
            if not results.limits[key] then results.limits[#results.limits + 1] = limit end
            results.limits[key] = limit
            limit.values[#limit.values + 1] = f[4]
            limit.best = math.max(limit.best, tonumber(f[4]))
        else
            local key = f[2] .. f[3]
            local row = row_of[key]
            if not row then
                row = { name = f[2], threads = tonumber(f[3]) }
                row_of[key] = row
                results.rows[#results.rows + 1] = row
            end
            local side = row[f[1]] or { best = math.huge, medians = {} }
            row[f[1]] = side
            if tonumber(f[4]) then
                side.best = math.min(side.best, tonumber(f[4]))
                side.medians[#side.medians + 1] = tonumber(f[5])
            end
        end
    end
    for _, row in ipairs(results.rows) do
        for _, name in ipairs { "heed", "pytorch" } do
            local side = row[name]
            if side then side.median = median_of(side.medians) end
            if side and not side.median then row[name] = nil end
        end
    end
    return results
end

local function number(x)
    return (x >= 100 and "%.0f" or x >= 10 and "%.1f" or x >= 1 and "%.2f" or "%.3f"):format(x)
end

local function time(side) return side and ("%s (%s)"):format(number(side.best), number(side.median)) or "" end

local function ratio(row)
    if not (row.heed and row.pytorch) then return "" end
    return ("%.2f (%.2f)"):format(row.pytorch.best / row.heed.best, row.pytorch.median / row.heed.median)
end

local LIMIT_OF = { flop = "fma", byte = "update", read = "read" }

-- How near the processor's limit: of multiply-adds, or of memory in the optimiser's seven streams.
local function share(results, row, side)
    local known = require(results.run[5] or "workloads")[row.name:match "^[^+]*"]
    local limit = known and results.limits[LIMIT_OF[known.unit] .. row.threads]
    if not (side and limit) or row.name:find("+bf16", 1, true) then return "" end
    return ("%.0f%%"):format(100 * known.work / (side.best * 1e-3) / (limit.best * 1e9))
end

local function is_memory(row) return row.name:find "^memory_" ~= nil end

local function times(results, out)
    out[#out + 1] = "| work | threads | heed, ms | PyTorch, ms | PyTorch / heed | heed of the limit | PyTorch of the limit |"
    out[#out + 1] = "| --- | --: | --: | --: | --: | --: | --: |"
    for _, row in ipairs(results.rows) do
        if not is_memory(row) then
            out[#out + 1] = ("| %s | %d | %s | %s | %s | %s | %s |"):format(row.name, row.threads, time(row.heed),
                time(row.pytorch), ratio(row), share(results, row, row.heed), share(results, row, row.pytorch))
        end
    end
end

local function memory(results, out)
    local import
    for _, row in ipairs(results.rows) do
        if row.name == "memory_import" then import = row end
    end
    if not import then return end
    local function cell(row, side)
        return row[side] and import[side] and ("%.0f (%.0f)"):format(row[side].best, row[side].best - import[side].best) or ""
    end
    out[#out + 1] = ""
    out[#out + 1] = "| peak of the process | heed, MB | PyTorch, MB |"
    out[#out + 1] = "| --- | --: | --: |"
    for _, row in ipairs(results.rows) do
        if is_memory(row) then
            out[#out + 1] = ("| %s | %s | %s |"):format(row.name:gsub("^memory_", ""), cell(row, "heed"), cell(row, "pytorch"))
        end
    end
end

local UNITS = { fma = "GFLOPS of f32 multiply-adds", read = "GB/s read", update = "GB/s in four streams read and three written" }

local function heading(results, out)
    local run = results.run
    out[#out + 1] = ("Measured %s on %s, %s rounds."):format(run[2], run[3], run[4])
    out[#out + 1] = ""
    for _, about in ipairs(results.about) do out[#out + 1] = ("- %s: %s"):format(about[1], about[2]) end
    for _, limit in ipairs(results.limits) do
        out[#out + 1] = ("- limit, %d thread%s, %s: %s before%s"):format(limit.threads, limit.threads > 1 and "s" or "",
            UNITS[limit.name], limit.values[1], limit.values[2] and (", %s after"):format(limit.values[2]) or "")
    end
    out[#out + 1] = ""
end

---@param lines string[] results
---@return string Markdown
local function render(lines)
    local results, out = read(lines), {}
    heading(results, out)
    times(results, out)
    memory(results, out)
    return table.concat(out, "\n") .. "\n"
end

return render
