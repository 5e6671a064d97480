--- White space beyond ASCII.

local spaces = {}

-- As UTF-8.
local SPACES = { "\u{85}", "\u{A0}", "\u{1680}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}",
    "\u{3000}" }
for code = 0x2000, 0x200A do SPACES[#SPACES + 1] = utf8.char(code) end

---The line with every kind of space as one that Lua's %s knows.
---@param line string
---@return string
function spaces.fold(line)
    if line:find("[\xC2\xE1\xE2\xE3]") then
        for _, space in ipairs(SPACES) do line = line:gsub(space, " ") end
    end
    return (line:gsub("[\x1C-\x1F]", " "))
end

---The characters that are white space, those of ASCII too.
---@return table<string, boolean>
function spaces.set()
    local set = {}
    for character in (" \t\n\v\f\r\x1C\x1D\x1E\x1F"):gmatch "." do set[character] = true end
    for _, character in ipairs(SPACES) do set[character] = true end
    return set
end

---The words between spaces.
---@param line string
---@return string[]
function spaces.split(line)
    local words = {}
    for word in spaces.fold(line):gmatch "%S+" do words[#words + 1] = word end
    return words
end

return spaces
