--- How a module prints: its parts, with the number of parameters in each.

local walk = require "heed.nn.walk"

local printing = {}

local function grouped(n)
    local text = tostring(n):reverse():gsub("(%d%d%d)", "%1,"):reverse()
    return (text:gsub("^,", ""))
end

-- Neighbours in a list that read the same are one part, layers.2 to layers.30.
local function add_part(parts, name, text)
    local list, number = ("." .. name):match "^(.*%.)(%d+)$"
    number = tonumber(number)
    local previous = parts[#parts]
    if number and previous and previous.list == list and previous.last == number - 1
        and previous.text == text then
        previous.last = number
    else
        parts[#parts + 1] = { name = name, list = list, first = number, last = number, text = text }
    end
end

local function line_of(part, indent)
    if part.first == part.last then return ("%s  (%s): %s"):format(indent, part.name, part.text) end
    return ("%s  (%s-%d): %d x %s"):format(indent, part.name, part.last, part.last - part.first + 1,
        part.text)
end

---A module's class and parts. Each parameter is counted once, where it comes first.
---@param self heed.nn.Module
---@return string
function printing.text(self)
    local counted, visited = {}, {}
    local total = 0
    local function describe(module, indent)
        if visited[module] then return module.class_name .. " (shown above)" end
        visited[module] = true
        local parts, own = {}, 0
        walk.each_member(module, 1, function(name, _, _, value)
            if walk.is_module(value) then
                add_part(parts, name, describe(value, indent .. "  "))
            elseif not counted[value] then
                counted[value] = true
                own = own + value:numel()
            end
        end)
        total = total + own
        local head = ("%s(%s)"):format(module.class_name, module:extra())
        if own > 0 then head = head .. "  " .. grouped(own) end
        if #parts == 0 then return head end
        local lines = { head .. " {" }
        for _, part in ipairs(parts) do lines[#lines + 1] = line_of(part, indent) end
        return table.concat(lines, "\n") .. "\n" .. indent .. "}"
    end
    local text = describe(self, "")
    return ("%s\n%s parameters"):format(text, grouped(total))
end

return printing
