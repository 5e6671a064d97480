--- A text's characters.

---Characters of UTF-8; of what is not UTF-8, bytes.
---@param text string
---@return string[]
local function characters(text)
    local list = {}
    for character in text:gmatch(utf8.len(text) and utf8.charpattern or ".") do
        list[#list + 1] = character
    end
    return list
end

return characters
