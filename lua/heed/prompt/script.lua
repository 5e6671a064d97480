--- What stands below the error of a script that the command runs: its line, and the hint that the prompt would give, from
--- the text of the file and its variables.

local explain = require "heed.prompt.explain"
local hints = require "heed.prompt.hints"
local style = require "heed.prompt.style"

local getinfo, getlocal, getupvalue = debug.getinfo, debug.getlocal, debug.getupvalue
local format, gmatch, match, sub = string.format, string.gmatch, string.match, string.sub
local concat = table.concat
local open = io.open
local pairs, tonumber, type = pairs, tonumber, type

local PLAIN = style.new(false)

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

-- The text of a chunk's file, if it has one.
local function text_of(source)
    local path = match(source, "^@(.*)$")
    local file <close> = path and open(path)
    return file and file:read "a"
end

local function line_of(text, number)
    if not text then return nil end
    local at = 0
    for line in gmatch(text .. "\n", "(.-)\r?\n") do
        at = at + 1
        if at == number then return line end
    end
    return nil
end

-- What the function sees at its level: globals, upvalues, locals; the later hides the earlier.
---@return heed.prompt.Scope
local function scope_at(level, f, text)
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
        text = function() return text or "" end,
    }
end

local script = {}

-- The line, and the hint below it.
local function told(message, where, line, hint)
    local parts = {}
    if line then parts[1] = explain.line(PLAIN, match(message, "^[^\n]*"), where, line) end
    if hint then parts[#parts + 1] = "hint: " .. hint end
    return #parts > 0 and concat(parts, "\n") or nil
end

---For a message handler, which it must be called from.
---@param message string
---@return string|nil
function script.explain(message)
    local level, info = innermost()
    if not level then return nil end
    local text = text_of(info.source)
    local line = line_of(text, info.currentline)
    local hint = hints.runtime(message, line, scope_at(level, info.func, text))
    return told(message, format("%s:%d", info.short_src, info.currentline), line, hint)
end

---For a script that does not parse.
---@param message string of load
---@param path string
---@return string|nil
function script.explain_syntax(message, path)
    local number = tonumber(match(message, ":(%d+):"))
    local text = text_of("@" .. path)
    local line = number and line_of(text, number)
    if not line then return nil end
    return told(message, format("%s:%d", path, number), line, hints.syntax(message, line, text))
end

return script
