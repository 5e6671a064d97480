local check = require "heed.check"
local pair_format = require "heed.data.pair_format"
local lines_of = require "heed.data.lines"

local KNOWN = check.set("max_line")

local function of_two_files(path, target, options)
    local sources, message = lines_of(path, options)
    if not sources then return nil, message end
    local targets
    targets, message = lines_of(target, options)
    if not targets then return nil, message end
    if #sources ~= #targets then
        return nil, pair_format.unequal(path, #sources, target, #targets)
    end
    local examples = {}
    for i, source in ipairs(sources) do examples[i] = { source, targets[i] } end
    return examples
end

---The pairs of a file of two columns, `source<TAB>target` a line, or of two files, line by line, as
---a list in memory.
---
---Empty lines of a file of two columns are passed over; of two files every line counts. Files
---larger than memory: heed.data.pair_index, heed.data.pair_stream.
---
---```lua
---local path = os.tmpname()
---local file <close> = assert(io.open(path, "w"))
---file:write "eins\tone\nzwei\ttwo\n"
---file:flush()
---for i, pair in ipairs(heed.data.pairs(path)) do print(i, pair[1], pair[2]) end
---os.remove(path)
---```
---@param path string
---@param target? string the file of the targets
---@param options? { max_line?: integer } bytes of the longest line there may be, default 2^20
---@return { [1]: string, [2]: string }[]|nil
---@return string? message names the first line that is not two columns, or how many lines each file
---has
local function pairs_of(path, target, options)
    target, options = pair_format.arguments("heed.data.pairs", path, target, options, KNOWN)
    if target then return of_two_files(path, target, options) end
    local list, message = lines_of(path, options)
    if not list then return nil, message end
    local examples = {}
    for number, line in ipairs(list) do
        if line ~= "" then
            local pair = pair_format.split(line)
            if not pair then return nil, pair_format.misfit(path, number, line) end
            examples[#examples + 1] = pair
        end
    end
    return examples
end

return pairs_of
