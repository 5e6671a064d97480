--- What could stand at the end of a text: for the Tab key. Nothing of the person's runs.

local inspect = require "heed.prompt.inspect"
local tokens = require "heed.prompt.tokens"

local lower, sub, find, match = string.lower, string.sub, string.find, string.match
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

local function members(value, after_colon) return inspect.names(value, after_colon and is_method or nil) end

-- Variables, keywords, and the words of the text itself: parameters and locals of a function that is being written.
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
    if touches and (token.kind == "name" or token.kind == "keyword") then at, prefix = at - 1, token.text end
    local before = list[at] and list[at].text
    if before == "." or before == ":" then
        return matching(members(inspect.chain(list, at - 1, scope.get), before == ":"), prefix)
    end
    return matching(words(list, at + 1, scope), prefix)
end

return complete
