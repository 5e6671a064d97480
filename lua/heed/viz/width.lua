--- How many columns of a terminal a text takes.

local width = {}

-- Combining marks take none; the blocks of East Asian scripts and of emoji take two.
local function columns(code)
    if (code >= 0x300 and code <= 0x36F) or (code >= 0x591 and code <= 0x5BD)
        or (code >= 0x64B and code <= 0x65F)
        or (code >= 0x200B and code <= 0x200F) or (code >= 0x2066 and code <= 0x2069)
            or (code >= 0xFE00 and code <= 0xFE0F) then
        return 0
    end
    if (code >= 0x1100 and code <= 0x115F) or (code >= 0x2E80 and code <= 0xA4CF)
        or (code >= 0xAC00 and code <= 0xD7A3)
        or (code >= 0xF900 and code <= 0xFAFF) or (code >= 0xFE30 and code <= 0xFE6F)
            or (code >= 0xFF00 and code <= 0xFF60)
        or (code >= 0x1F300 and code <= 0x1FAFF) or (code >= 0x20000 and code <= 0x3FFFD) then
        return 2
    end
    return 1
end

-- Control characters, and the two that XML forbids.
local function is_unprintable(code)
    return code < 32 or (code >= 0x7F and code <= 0x9F) or code == 0xFFFE or code == 0xFFFF
end

---The characters of a text (bytes where it is not UTF-8; control characters as ·), and what each
---takes.
---@param text string
---@return string[] characters
---@return integer[] columns
function width.characters(text)
    local list, taken = {}, {}
    local valid = utf8.len(text) ~= nil
    for character in text:gmatch(valid and utf8.charpattern or ".") do
        local code = valid and utf8.codepoint(character) or character:byte()
        if is_unprintable(code) or (not valid and code > 127) then character, code = "·", 0xB7 end
        list[#list + 1], taken[#taken + 1] = character, columns(code)
    end
    return list, taken
end

---The text in at most so many columns: what is too long ends in …
---@param text string
---@param size integer
---@return string
---@return integer taken its columns
function width.cut(text, size)
    local list, taken = width.characters(text)
    local total = 0
    for _, n in ipairs(taken) do total = total + n end
    if total <= size then return table.concat(list), total end
    local kept, used = {}, 0
    for i, character in ipairs(list) do
        if used + taken[i] > size - 1 then break end
        kept[#kept + 1], used = character, used + taken[i]
    end
    kept[#kept + 1] = "…"
    return table.concat(kept), used + 1
end

---The text in exactly so many columns: cut, or filled with spaces on the left or right.
---@param text string
---@param size integer
---@param left? boolean fill on the left
---@return string
function width.fit(text, size, left)
    local cut, taken = width.cut(text, size)
    local filler = (" "):rep(size - taken)
    return left and filler .. cut or cut .. filler
end

-- The letters of Hebrew, Arabic and their neighbours.
local function runs_to_the_left(code)
    return (code >= 0x590 and code <= 0x8FF) or (code >= 0xFB1D and code <= 0xFDFF)
        or (code >= 0xFE70 and code <= 0xFEFC)
end

---The text between marks that keep what stands beside it in its place, if it has letters that run
---to the left.
---@param text string UTF-8
---@return string
function width.isolated(text)
    for _, code in utf8.codes(text) do
        if runs_to_the_left(code) then return "\u{2068}" .. text .. "\u{2069}" end
    end
    return text
end

---@param text string
---@return integer
function width.of(text)
    local total = 0
    for _, n in ipairs(select(2, width.characters(text))) do total = total + n end
    return total
end

return width
