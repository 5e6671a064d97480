-- What a run recorded, and how its numbers are written.
--
-- A line of results is one of, tab-separated:
--     run     date  processor  rounds  set
--     about   side  text
--     limit   name  threads  value              once before and once after
--     way     workload  threads  side  text     how that side computes it
--     SIDE    workload  threads  best  median   a line a round; milliseconds, or MB for memory_*; or "failed" and why

local results = {}

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

-- found.list[i] and found[key] are the same; made when it is not there.
local function entry_of(list, key, make)
    if not list[key] then
        list[key] = make()
        list[#list + 1] = list[key]
    end
    return list[key]
end

local take = {}

function take.run(found, f) found.run = f end

function take.about(found, f)
    entry_of(found.about, f[2] .. f[3], function() return { f[2], f[3] } end)
end

function take.limit(found, f)
    local limit = entry_of(found.limits, f[2] .. f[3], function()
        return { name = f[2], threads = tonumber(f[3]), best = 0, values = {} }
    end)
    limit.values[#limit.values + 1] = f[4]
    limit.best = math.max(limit.best, tonumber(f[4]))
end

local function row_of(found, f)
    return entry_of(found.rows, f[2] .. "\t" .. f[3], function()
        return { name = f[2], threads = tonumber(f[3]), ways = {}, failed = {} }
    end)
end

function take.way(found, f) row_of(found, f).ways[f[4]] = f[5] end

local function take_times(found, f)
    local row, best, median = row_of(found, f), tonumber(f[4]), tonumber(f[5])
    if not best then
        row.failed[f[1]] = f[5]
        return
    end
    local side = row[f[1]] or { best = math.huge, medians = {} }
    row[f[1]] = side
    side.best = math.min(side.best, best)
    side.medians[#side.medians + 1] = median
    side.median = median_of(side.medians)
end

---@param lines string[]
---@return table found { run, about = { { side, text } }, limits, rows = { { name, threads, heed = {
---best, median }, ... } } }
function results.read(lines)
    local found = { rows = {}, limits = {}, about = {} }
    for _, line in ipairs(lines) do
        local f = fields_of(line)
        local taken = take[f[1]] or take_times
        taken(found, f)
    end
    return found
end

-- ---- writing ------------------------------------------------------------------------------------

---@param x number
---@return string three digits or so
function results.number(x)
    return (x >= 100 and "%.0f" or x >= 10 and "%.1f" or x >= 1 and "%.2f" or "%.3f"):format(x)
end

---Best (median), or nothing.
function results.time(side)
    return side and ("%s (%s)"):format(results.number(side.best), results.number(side.median)) or ""
end

local UNITS = { fma = "GFLOPS of f32 multiply-adds", read = "GB/s read",
    update = "GB/s in four streams read and three written" }

---What was measured where, beside which limits, as lines of Markdown.
function results.heading(found, out)
    local run = found.run
    out[#out + 1] = ("Measured %s on %s, %s rounds."):format(run[2], run[3], run[4])
    out[#out + 1] = ""
    for _, about in ipairs(found.about) do
        out[#out + 1] = ("- %s: %s"):format(about[1], about[2])
    end
    for _, limit in ipairs(found.limits) do
        out[#out + 1] = ("- limit, %d thread%s, %s: %s before%s"):format(limit.threads,
            limit.threads > 1 and "s" or "",
            UNITS[limit.name], limit.values[1],
                limit.values[2] and (", %s after"):format(limit.values[#limit.values]) or "")
    end
    out[#out + 1] = ""
end

return results
