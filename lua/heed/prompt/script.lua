--- The hint for an error of a script that the command runs: what the prompt says, from the line of the file and its variables.

local hints = require "heed.prompt.hints"

local getinfo, getlocal, getupvalue = debug.getinfo, debug.getlocal, debug.getupvalue
local match, sub = string.match, string.sub
local open = io.open
local pairs, type = pairs, type

local own = match(getinfo(1, "S").source, "^(.-)prompt/script[%w.]*$") or "@heed/"

-- The level, as the caller counts, of the innermost function that is a script's; and what is known of it.
local function innermost()
    for level = 2, 200 do
        local info = getinfo(level, "Slf")
        if not info then return nil end
        if info.currentline > 0 and sub(info.source, 1, #own) ~= own then return level - 1, info end
    end
    return nil
end

local function line_of(info)
    local path = match(info.source, "^@(.*)$")
    local file <close> = path and open(path)
    if not file then return nil end
    local number = 0
    for line in file:lines() do
        number = number + 1
        if number == info.currentline then return line end
    end
    return nil
end

-- What the function sees at its level: globals, upvalues, locals; the later hides the earlier.
---@return heed.prompt.Scope
local function scope_at(level, f)
    local values = {}
    for name, value in pairs(_G) do
        if type(name) == "string" then values[name] = value end
    end
    local function add(get, from)
        local index = 1
        repeat
            local name, value = get(from, index)
            if name then values[name] = value end
            index = index + 1
        until not name
    end
    add(getupvalue, f)
    add(getlocal, level + 2)
    return {
        get = function(name) return values[name] end,
        names = function()
            local names = {}
            for name in pairs(values) do names[#names + 1] = name end
            return names
        end,
    }
end

local script = {}

---For a message handler, which it must be called from.
---@param message string
---@return string|nil
function script.hint(message)
    local level, info = innermost()
    if not level then return nil end
    return hints.runtime(message, line_of(info), scope_at(level, info.func))
end

return script
