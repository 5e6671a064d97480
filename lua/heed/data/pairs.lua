local check = require "heed.check"
local lines_of = require "heed.data.lines"

---The pairs of a file of two columns, `source<TAB>target` a line. Empty lines are passed over.
---@param path string
---@return { [1]: string, [2]: string }[]|nil
---@return string? message names the first line that is not two columns
local function pairs_of(path)
    check.type("pairs", "path", path, "string")
    local list, message = lines_of(path)
    if not list then return nil, message end
    local examples = {}
    for number, line in ipairs(list) do
        if line ~= "" then
            local source, target = line:match "^([^\t]*)\t([^\t]*)$"
            if not source then
                return nil, ("%s:%d: expected source<TAB>target, got %s"):format(path, number, check.describe(line))
            end
            examples[#examples + 1] = { source, target }
        end
    end
    return examples
end

return pairs_of
