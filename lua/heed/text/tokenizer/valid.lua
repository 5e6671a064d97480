--- Bytes that may be no UTF-8, as text: what is none of a character becomes U+FFFD, a maximal part
--- at a time, as Unicode advises.

local valid = {}

-- The least and greatest second byte, where not every one follows.
local SECOND = { [0xE0] = { 0xA0, 0xBF }, [0xED] = { 0x80, 0x9F }, [0xF0] = { 0x90, 0xBF },
    [0xF4] = { 0x80, 0x8F } }

---How many bytes a character that begins with this one has; 0 when none does.
---@param first integer
---@return integer
function valid.size(first)
    if first < 0x80 then return 1 end
    if first < 0xC2 or first > 0xF4 then return 0 end
    return first < 0xE0 and 2 or first < 0xF0 and 3 or 4
end

-- The bytes from i on that begin a character, and whether they are the whole of it.
local function part(bytes, i)
    local first = bytes:byte(i)
    local size = valid.size(first)
    if size == 0 then return 1, false end
    for k = 1, size - 1 do
        local byte = bytes:byte(i + k)
        local ends = k == 1 and SECOND[first]
        local least, greatest = ends and ends[1] or 0x80, ends and ends[2] or 0xBF
        if not byte or byte < least or byte > greatest then return k, false end
    end
    return size, true
end

---@param bytes string
---@return string
function valid.text(bytes)
    local _, bad = utf8.len(bytes)
    if not bad then return bytes end
    local list, done = {}, 1
    while bad do
        list[#list + 1] = bytes:sub(done, bad - 1)
        local size, whole = part(bytes, bad)
        list[#list + 1] = whole and bytes:sub(bad, bad + size - 1) or "\u{FFFD}"
        done = bad + size
        if done > #bytes then break end
        bad = select(2, utf8.len(bytes, done))
    end
    list[#list + 1] = bytes:sub(done)
    return table.concat(list)
end

return valid
