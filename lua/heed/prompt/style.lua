--- Colours: on terminals that have them, for people who want them.

local core = require "heed.core"

local getenv = os.getenv

local CODES = { bold = "1", dim = "2", red = "31", green = "32", yellow = "33", blue = "34", cyan = "36" }

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

---For a descriptor of the process: a terminal that is not dumb, and no NO_COLOR (https://no-color.org).
---@param descriptor integer 1 or 2
---@return boolean
function style.wanted(descriptor)
    local terminal, refused = getenv "TERM", getenv "NO_COLOR"
    if not terminal or terminal == "" or terminal == "dumb" then return false end
    return (refused or "") == "" and core.isatty(descriptor)
end

return style
