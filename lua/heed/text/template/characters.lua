--- Strings as Python has them, made of characters: lists of these, slices, white space.

local core = require "heed.core"
local spaces = require "heed.text.spaces"

local characters = {}

local CHARACTER = "[^\x80-\xBF][\x80-\xBF]*"

---@param text string
---@return string[]
function characters.list(text)
    local list = {}
    for character in text:gmatch(CHARACTER) do list[#list + 1] = character end
    return list
end

---@return integer
function characters.count(text) return (select(2, text:gsub("[^\x80-\xBF]", ""))) end

-- The set of white space that Python strips.
local SPACES = spaces.set()

---@param character string
function characters.is_space(character) return SPACES[character] or false end

local function in_set(set) return function(character) return set[character] end end

---Which characters to strip.
---@param chosen string|nil a string of them; nil: white space
local function stripped(chosen)
    if not chosen then return characters.is_space end
    local set = {}
    for _, character in ipairs(characters.list(chosen)) do set[character] = true end
    return in_set(set)
end

-- The byte behind the leading ones to strip.
local function first_kept(text, strip)
    local first = 1
    while first <= #text do
        local character = text:match("^" .. CHARACTER, first)
        if not character or not strip(character) then break end
        first = first + #character
    end
    return first
end

local function last_kept(text, strip, first)
    local last = #text
    while last >= first do
        local begin = last
        while begin > first and text:byte(begin) & 0xC0 == 0x80 do begin = begin - 1 end
        if not strip(text:sub(begin, last)) then break end
        last = begin - 1
    end
    return last
end

---@param text string
---@param chosen? string the characters to strip; default: white space
---@param left? boolean default true
---@param right? boolean default true
---@return string
function characters.strip(text, chosen, left, right)
    local strip = stripped(chosen)
    local first = left == false and 1 or first_kept(text, strip)
    local last = right == false and #text or last_kept(text, strip, first)
    return text:sub(first, last)
end

---The position behind white space.
---@param text string
---@param at integer
---@return integer
function characters.behind_spaces(text, at)
    while at <= #text do
        local character = text:match("^" .. CHARACTER, at)
        if not character or not SPACES[character] then return at end
        at = at + #character
    end
    return at
end

---The name that begins here: letters, digits and underlines, and no digit first.
---@return string|nil
function characters.name_at(text, at)
    local name = text:match("^[%a_\x80-\xFF][%w_\x80-\xFF]*", at)
    if not name or not name:find "[\x80-\xFF]" then return name end
    local size = 0
    for character in name:gmatch(CHARACTER) do
        local is_part = character == "_" or core.text_category(character):find "^[LMN]"
        if not is_part then break end
        size = size + #character
    end
    return size > 0 and name:sub(1, size) or nil
end

---The words between white space.
---@return string[]
function characters.words(text)
    local words, begin = {}, nil
    local at = 1
    for character in text:gmatch(CHARACTER) do
        if SPACES[character] then
            if begin then words[#words + 1] = text:sub(begin, at - 1) end
            begin = nil
        else
            begin = begin or at
        end
        at = at + #character
    end
    if begin then words[#words + 1] = text:sub(begin) end
    return words
end

---Where characters of Python's str.splitlines end a line.
local LINE_ENDS = { ["\n"] = true, ["\r"] = true, ["\v"] = true, ["\f"] = true, ["\x1C"] = true,
    ["\x1D"] = true, ["\x1E"] = true, ["\u{85}"] = true, ["\u{2028}"] = true, ["\u{2029}"] = true }

---@param keep? boolean with their ends
---@return string[]
function characters.lines(text, keep)
    local lines, begin, at = {}, 1, 1
    while at <= #text do
        local character = text:match("^" .. CHARACTER, at) or text:sub(at, at)
        local size = #character
        if LINE_ENDS[character] then
            if character == "\r" and text:sub(at + 1, at + 1) == "\n" then size = 2 end
            lines[#lines + 1] = text:sub(begin, at - 1 + (keep and size or 0))
            begin = at + size
        end
        at = at + size
    end
    if begin <= #text then lines[#lines + 1] = text:sub(begin) end
    return lines
end

---@return string
function characters.upper(text) return core.text_case(text, "upper") end

---@return string
function characters.lower(text) return core.text_case(text, "lower") end

---The first character in upper case (title case where there is one), the rest in lower.
---@return string
function characters.capitalize(text)
    local first = text:match("^" .. CHARACTER) or ""
    return core.text_case(first, "title") .. core.text_case(text:sub(#first + 1), "lower")
end

---Each run of letters capitalized, as Python's str.title.
---@return string
function characters.title(text)
    local out, inside = {}, false
    for i, character in ipairs(characters.list(text)) do
        local cased = characters.is_cased(character)
        out[i] = cased and core.text_case(character, inside and "lower" or "title") or character
        inside = cased
    end
    return table.concat(out)
end

local CASED = { Lu = true, Ll = true, Lt = true }

---Has the character a case?
---@return boolean
function characters.is_cased(character) return CASED[core.text_category(character)] or false end

---Unicode's category of a character: "Lu", "Nd" ...
---@return string
function characters.category(character) return core.text_category(character) end

return characters
