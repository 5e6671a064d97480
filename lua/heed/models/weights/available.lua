--- How much memory there is for a model, so that one that is too large is refused before it is
--- tried: the kernel would end the process, or stop the machine, in the middle of it.

local core = require "heed.core"
local disk = require "heed.files"
local unknown = require "heed.unknown"

local available = {}

local function number_in(path) return tonumber((disk.read(path) or ""):match "^%d+") end

-- What a control group of this process may still take, and those around it; v2 and v1.
local function least_of_groups(root, path, most, used, least)
    while true do
        local limit, taken = number_in(root .. path .. most), number_in(root .. path .. used)
        if limit and taken and limit < 2 ^ 60 then
            local stat = disk.read(root .. path .. "/memory.stat") or ""
            local reclaimed = tonumber(stat:match "inactive_file (%d+)") or 0
            least = math.min(least, limit - taken + reclaimed)
        end
        if path == "" then return least end
        path = path:match "^(.*)/[^/]*$" or ""
    end
end

local function of_groups(least)
    local groups = disk.read "/proc/self/cgroup" or ""
    local v2, v1 = groups:match "0::(/[^\n]*)", groups:match "%d+:memory:(/[^\n]*)"
    if v2 then
        least = least_of_groups("/sys/fs/cgroup", (v2:gsub("/$", "")), "/memory.max",
            "/memory.current", least)
    end
    if v1 then
        least = least_of_groups("/sys/fs/cgroup/memory", (v1:gsub("/$", "")),
            "/memory.limit_in_bytes", "/memory.usage_in_bytes", least)
    end
    return least
end

---The bytes that this process may still take, as far as the system says: of the machine, of the
---control groups it runs in, and of heed.memory_limit. The second is what sets the bound.
---@return number bytes math.huge when nothing is known
---@return string what
function available.bytes()
    local least, what = math.huge, "the machine"
    local free = (disk.read "/proc/meminfo" or ""):match "MemAvailable:%s*(%d+) kB"
    if free then least = tonumber(free) * 1024 end
    local of_group = of_groups(math.huge)
    if of_group < least then least, what = of_group, "its control group" end
    local memory = core.memory()
    if memory.limit > 0 and memory.limit - memory.live < least then
        least, what = memory.limit - memory.live, "heed.memory_limit"
    end
    return least, what
end

local function in_megabytes(bytes) return ("%d MB"):format(math.ceil(bytes / 2 ^ 20)) end

---Refuses what would take more.
---@param wanted number bytes
function available.check(wanted)
    if wanted < 2 ^ 24 and core.memory().limit == 0 then return end -- not worth a look
    local bytes, what = available.bytes()
    if wanted <= bytes then return end
    unknown.refuse('memory: its parameters take %s, %s has %s left; dtype = "bf16" halves what '
        .. "is f32, and float weights that are loaded as stored stay in the file's pages",
        in_megabytes(wanted), what, in_megabytes(math.max(0, bytes)))
end

return available
