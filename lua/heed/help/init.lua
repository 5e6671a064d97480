--- What is written about a function, class, module or tensor, as text. The prompt prints it: `help(heed.softmax)`.

local check = require "heed.check"
local errors = require "heed.errors"
local index = require "heed.help.index"
local text = require "heed.help.text"

local help = {}

local function nothing(what)
    if type(what) == "string" then return ("heed has nothing called %s"):format(check.describe(what)) end
    return ("heed knows nothing about %s; help(heed) lists what there is"):format(check.describe(what))
end

---The documentation of a value of heed's, or of a name: `heed.attention`, "nn.Linear", "softmax", a tensor, a model.
---
---```lua
---local help = require "heed.help"
---print(help.text(heed.softmax))
---print(help.text "no such thing") --> nil heed has nothing called "no such thing"
---```
---@param what any
---@param options? { width?: integer, color?: boolean } width: columns, at least 40, default 80; color: for a
---terminal, default false
---@return string|nil text
---@return string? message when there is none
function help.text(what, options)
    if what == nil then errors.raise "heed.help.text: what: expected a value or the name of one, got nil" end
    options = check.options("heed.help.text", options, check.set("width", "color"))
    local doc = index.lookup(what)
    if not doc or (doc.kind ~= "module" and not doc.entry) then return nil, nothing(what) end
    return text.render(doc, options)
end

return help
