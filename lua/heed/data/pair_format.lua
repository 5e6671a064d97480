--- What a pair is, in a line of two columns and in two files, and what is said of one that is none.

local check = require "heed.check"

local pair_format = {}

---(path, target?, options?) as they came: the target's path, or nil, and the options.
---@return string|nil target
---@return table options
function pair_format.arguments(where, path, target, options, known)
    check.type(where, "path", path, "string")
    if type(target) == "table" then target, options = nil, target end
    if target ~= nil then check.type(where, "target", target, "string") end
    return target, check.options(where, options, known)
end

---@param line string
---@return { [1]: string, [2]: string }|nil
function pair_format.split(line)
    local source, target = line:match "^([^\t]*)\t([^\t]*)$"
    return source and { source, target } or nil
end

---@return string message
function pair_format.misfit(path, number, line)
    return ("%s:%d: expected source<TAB>target, got %s"):format(path, number, check.describe(line))
end

---@return string message
function pair_format.unequal(path, count, target, target_count)
    return ("expected as many lines in both files: %s has %d, %s has %d"):format(path, count,
        target, target_count)
end

return pair_format
