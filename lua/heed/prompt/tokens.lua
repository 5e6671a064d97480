--- The words of a Lua text, also of one that is not finished or not right: where they begin and
--- end, and what they are.

local find, sub, match = string.find, string.sub, string.match

---@alias heed.prompt.kind "name"|"keyword"|"number"|"string"|"comment"|"symbol"

---@class heed.prompt.Token
---@field kind heed.prompt.kind
---@field text string
---@field first integer where it begins
---@field last integer where it ends
---@field open? boolean a string or a comment that does not end
---@field body? integer where the content of a string begins

local tokens = { keywords = {} }

for word in string.gmatch("and break do else elseif end false for function goto if in local nil "
    .. "not or repeat return then true "
    .. "until while", "%a+") do
    tokens.keywords[word] = true
end

-- The longest come first.
local SYMBOLS = { "...", "..", "==", "~=", "<=", ">=", "<<", ">>", "//", "::" }

-- The end of what a long bracket at `first` opens; nil without such a bracket. Then: is it open,
-- where its content begins.
local function long_bracket(text, first)
    local _, opened, level = find(text, "^%[(=*)%[", first)
    if not opened then return nil end
    local _, closed = find(text, "]" .. level .. "]", opened + 1, true)
    return closed or #text, closed == nil, opened + 1
end

local function comment(text, first)
    local last, open = long_bracket(text, first + 2)
    if last then return last, open end
    return (find(text, "\n", first, true) or #text + 1) - 1
end

-- A short string ends at its quote, or, without one, before the end of its line. An escaped line
-- end goes on, and so does \z.
local function short_string(text, first)
    local quote, at = sub(text, first, first), first + 1
    while at <= #text do
        local c = sub(text, at, at)
        if c == quote then return at, false end
        if c == "\n" then return at - 1, true end
        if c == "\\" and sub(text, at + 1, at + 1) == "z" then
            at = find(text, "%S", at + 2) or #text + 1
        else
            at = at + (c == "\\" and 2 or 1)
        end
    end
    return #text, true
end

local function number(text, first)
    local hexadecimal = find(text, "^0[xX]", first)
    local digits, exponent = hexadecimal and "^[%x.]*" or "^[%d.]*", hexadecimal and "^[pP][+-]?%d*"
        or "^[eE][+-]?%d*"
    local _, last = find(text, digits, first + (hexadecimal and 2 or 0))
    local _, longer = find(text, exponent, last + 1)
    return longer or last
end

local function symbol(text, first)
    for _, s in ipairs(SYMBOLS) do
        if sub(text, first, first + #s - 1) == s then return first + #s - 1 end
    end
    local _, last = find(text, "^" .. utf8.charpattern, first)
    return last or first
end

---@param text string
---@param first integer where something begins that is no blank
---@return heed.prompt.Token
local function read_one(text, first)
    local c = sub(text, first, first)
    local word = match(text, "^[%a_][%w_]*", first)
    local kind, last, open, body
    if word then
        kind, last = tokens.keywords[word] and "keyword" or "name", first + #word - 1
    elseif find(text, "^%.?%d", first) then
        kind, last = "number", number(text, first)
    elseif c == '"' or c == "'" then
        kind, body = "string", first + 1
        last, open = short_string(text, first)
    elseif find(text, "^%-%-", first) then
        kind = "comment"
        last, open = comment(text, first)
    else
        last, open, body = long_bracket(text, first)
        kind = last and "string" or "symbol"
        last = last or symbol(text, first)
    end
    return { kind = kind, text = sub(text, first, last), first = first, last = last,
        open = open or nil, body = body }
end

---@param text string
---@return heed.prompt.Token[]
function tokens.read(text)
    local list, at = {}, find(text, "%S")
    while at do
        local token = read_one(text, at)
        list[#list + 1] = token
        at = find(text, "%S", token.last + 1)
    end
    return list
end

---The words that mean something to Lua: without comments.
---@param text string
---@return heed.prompt.Token[]
function tokens.code(text)
    local list = {}
    for _, token in ipairs(tokens.read(text)) do
        if token.kind ~= "comment" then list[#list + 1] = token end
    end
    return list
end

local OPENS = { ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1, ["("] = 1, ["{"] = 1,
    ["["] = 1 }
local CLOSES = { ["end"] = 1, ["until"] = 1, [")"] = 1, ["}"] = 1, ["]"] = 1 }

---What a word adds to the depth of blocks and brackets: 1, -1 or 0.
---@param token heed.prompt.Token
---@return integer
function tokens.nesting(token)
    if token.kind ~= "keyword" and token.kind ~= "symbol" then return 0 end
    return (OPENS[token.text] or 0) - (CLOSES[token.text] or 0)
end

return tokens
