--- What could stand at the end of a text: for the Tab key. Nothing of the person's runs.

local inspect = require "heed.prompt.inspect"
local tokens = require "heed.prompt.tokens"

local lower, sub, find, match = string.lower, string.sub, string.find, string.match
local pcall, require, error = pcall, require, error
local sort = table.sort

---@class heed.prompt.Completion
---@field prefix string what is to be completed, the end of the text
---@field candidates string[] sorted
---@field files? boolean inside a string that may name a file

-- Names that begin with _ are for those who ask for them.
local function visible(name, prefix) return sub(name, 1, 1) ~= "_" or sub(prefix, 1, 1) == "_" end

local function matching(names, prefix)
    local exact, loose = {}, {}
    for _, name in ipairs(names) do
        if visible(name, prefix) then
            if inspect.begins(name, prefix) then exact[#exact + 1] = name end
            if inspect.begins(lower(name), lower(prefix)) then loose[#loose + 1] = name end
        end
    end
    return { prefix = prefix, candidates = #exact > 0 and exact or loose }
end

local function is_method(_, field) return type(field) == "function" end

local function members(value, after_colon)
    return inspect.names(value, after_colon and is_method or nil)
end

-- Variables, keywords, and the words of the text itself: parameters and locals of a function that
-- is being written.
local function words(list, last, scope)
    local seen, names = {}, {}
    local function add(name)
        if not seen[name] then
            seen[name] = true
            names[#names + 1] = name
        end
    end
    for _, name in ipairs(scope.names()) do add(name) end
    for name in next, tokens.keywords do add(name) end
    for i, token in ipairs(list) do
        if token.kind == "name" and i < last then add(token.text) end
    end
    sort(names)
    return names
end

local function in_string(list, token, text, scope)
    local at = #list - 1
    if list[at] and list[at].text == "(" then at = at - 1 end
    local caller, prefix = list[at] and list[at].text, sub(text, token.body)
    if caller == "require" then return matching(inspect.modules(), prefix) end
    if caller ~= "help" then return { prefix = prefix, candidates = {}, files = true } end
    local path, last = match(prefix, "^(.*)%.([%w_]*)$")
    if not path then return matching(scope.names(), prefix) end
    return matching(members(inspect.path(path, scope.get), false), last)
end

local OPENS, CLOSES = { ["("] = 1, ["{"] = 1, ["["] = 1 }, { [")"] = 1, ["}"] = 1, ["]"] = 1 }

-- The place of the bracket that is open around list[at]; whether a comma stands between.
local function opening(list, at)
    local depth, comma = 0, false
    for i = at, 1, -1 do
        local word = list[i].kind == "symbol" and list[i].text or ""
        if OPENS[word] and depth == 0 then return i, comma end
        if word == "," and depth == 0 then comma = true end
        depth = depth + (CLOSES[word] or 0) - (OPENS[word] or 0)
    end
    return nil
end

-- The names of options, where list[at] is what a key follows in a table that a call gets.
local function options_at(list, at, scope)
    local word = list[at] and list[at].text
    if word ~= "{" and word ~= "," and word ~= ";" then return {} end
    local brace = opening(list, at)
    if not brace or list[brace].text ~= "{" then return {} end
    local callee, first = brace - 1, true
    local before = list[callee] and list[callee].text
    if before == "(" or before == "," then
        local parenthesis, comma = opening(list, callee)
        if not parenthesis or list[parenthesis].text ~= "(" then return {} end
        callee, first = parenthesis - 1, not comma
    end
    local name = list[callee]
    if not name or name.kind ~= "name" and name.text ~= "]" then return {} end
    first = first and not (list[callee - 1] and list[callee - 1].text == ":")
    local ok, help = pcall(require, "heed.help")
    local found, names = pcall(ok and help.options or error, inspect.chain(list, callee, scope.get),
        first)
    return found and names or {}
end

---@class heed.prompt.Scope
---@field names fun(): string[] the variables
---@field get fun(name: string): any the value of one
---@field text? fun(): string what the person wrote so far

---@param text string an input up to the cursor
---@param scope heed.prompt.Scope
---@return heed.prompt.Completion
local function complete(text, scope)
    if find(text, "^%s*%?") then text = match(text, "^%s*%?%s*(.*)$") end
    local list = tokens.read(text)
    local token = list[#list]
    local touches = token ~= nil and token.last == #text
    if token and (token.open or (touches and token.kind == "comment")) then
        if token.kind == "comment" then return { prefix = "", candidates = {} } end
        return in_string(list, token, text, scope)
    end
    if touches and token.kind == "number" then return { prefix = "", candidates = {} } end
    local at, prefix = #list, ""
    if touches and (token.kind == "name" or token.kind == "keyword") then
        at, prefix = at - 1, token.text
    end
    local before = list[at] and list[at].text
    if before == "." or before == ":" then
        return matching(members(inspect.chain(list, at - 1, scope.get), before == ":"), prefix)
    end
    local options = matching(options_at(list, at, scope), prefix)
    if #options.candidates > 0 then return options end
    return matching(words(list, at + 1, scope), prefix)
end

return complete
