--- Colours: on terminals that have them, for people who want them.

local terminal = require "heed.viz.terminal"

local CODES = { bold = "1", dim = "2", red = "31", green = "32", yellow = "33", blue = "34",
    cyan = "36" }

---@class heed.prompt.Style
---@field bold fun(text: string): string
---@field dim fun(text: string): string
---@field red fun(text: string): string
---@field green fun(text: string): string
---@field yellow fun(text: string): string
---@field blue fun(text: string): string
---@field cyan fun(text: string): string
---@field enabled boolean

local style = {}

---@param enabled boolean
---@return heed.prompt.Style
function style.new(enabled)
    local made = { enabled = enabled }
    for name, code in next, CODES do
        made[name] = enabled and function(text) return "\27[" .. code .. "m" .. text .. "\27[0m" end
            or function(text) return text end
    end
    return made
end

---For a descriptor of the process: a terminal that has them, and a person who has not refused them.
---@param descriptor integer 1 or 2
---@return boolean
style.wanted = terminal.wants_colour

return style
