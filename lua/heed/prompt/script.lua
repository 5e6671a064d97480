--- What stands below the error of a script that the command runs: its line, and the hint that the
--- prompt would give, from the text of the file and its variables.

local explain = require "heed.prompt.explain"
local hints = require "heed.prompt.hints"
local style = require "heed.prompt.style"
local tokens = require "heed.prompt.tokens"

local getinfo, getlocal, getupvalue = debug.getinfo, debug.getlocal, debug.getupvalue
local find, format, gmatch, match, sub = string.find, string.format, string.gmatch, string.match,
    string.sub
local concat = table.concat
local open = io.open
local load, loadfile, rawset = load, loadfile, rawset
local pairs, tonumber, type = pairs, tonumber, type

local PLAIN = style.new(false)

local own = match(getinfo(1, "S").source, "^(.-)prompt/script[%w.]*$") or "@heed/"

-- The level, as the caller counts, of the innermost function that is a script's; and what is known
-- of it.
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

-- The variables of the function at a level, as the caller counts: { name, value } of each, the
-- later hides the earlier.
local function locals_at(level)
    local list, index = {}, 1
    repeat
        local name, value = getlocal(level + 1, index)
        if name and find(name, "^[%a_]") then list[#list + 1] = { name, value } end
        index = index + 1
    until not name
    return list
end

local script = {}

-- ---- scripts before a prompt --------------------------------------------------------------------

-- Where the outermost block of a text ends: at its `return`, or behind all.
local function end_of(text)
    local depth = 0
    for _, token in ipairs(tokens.code(text)) do
        depth = depth + tokens.nesting(token)
        if depth == 0 and token.kind == "keyword" and token.text == "return" then
            return token.first
        end
    end
    return #text + 1
end

local NOTE = "heed_prompt_notes_locals"

---A script whose outermost locals are handed over when it has run, or has failed. It is the script
---as it is, with a call where it ends. (A variable that is no longer there then, or a script that
---returns earlier, hands over nothing.)
---@param path string
---@param declare fun(list: any[][]) gets { name, value } of each
---@return function|nil
---@return string? message
function script.load(path, declare)
    local text = text_of("@" .. path)
    local plain, message = loadfile(path)
    if not (plain and text) or find(text, "_ENV", 1, true) or sub(text, 1, 1) == "\27" then
        return plain, message
    end
    if sub(text, 1, 1) == "#" then text = "--" .. text end
    local at = end_of(text)
    local before, after = sub(text, 1, at - 1), sub(text, at)
    local noting = load(format("%s%s %s() %s", before, at > #text and "\n;" or ";", NOTE, after),
        "@" .. path, "t")
    if not noting then return plain end
    script.watched = { source = "@" .. path, declare = declare }
    rawset(_G, NOTE, function()
        rawset(_G, NOTE, nil)
        declare(locals_at(2))
    end)
    return noting
end

-- The script has failed: hands over what its outermost block has.
local function note_failure()
    local watched = script.watched
    if not watched then return end
    rawset(_G, NOTE, nil)
    for level = 2, 200 do
        local info = getinfo(level, "S")
        if not info then return end
        if info.what == "main" and info.source == watched.source then
            return watched.declare(locals_at(level))
        end
    end
end

---For a message handler, which it must be called from: the script was interrupted.
function script.stopped() note_failure() end

-- ---- errors -------------------------------------------------------------------------------------

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
    note_failure()
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
