--- What is written about a function, class, module or tensor, as text. The prompt prints it:
--- `help(heed.softmax)`.

local check = require "heed.check"
local errors = require "heed.errors"
local index = require "heed.help.index"
local search = require "heed.help.search"
local text = require "heed.help.text"

local help = {}

local function method_of(doc, name)
    for _, entry in ipairs(doc.methods or {}) do
        if entry.key == name then return entry end
    end
end

-- What a call of the value runs: a function, the init of a class, the forward of an instance.
local function called(value, doc)
    if doc.kind ~= "class" then return doc.entry end
    return method_of(doc, rawequal(doc.value, value) and "init" or "forward")
end

---The names of the options that a function, a class or a model takes in a table.
---
---```lua
---print(table.concat(require("heed.help").options(heed.nn.Linear), " ")) --> bias
---print(table.concat(require("heed.help").options(heed.nn.RMSNorm), " "))
---```
---@param value any
---@param first? boolean of the first argument: none where that is required and no table of options
---@return string[] # sorted
function help.options(value, first)
    local doc = value ~= nil and index.lookup(value)
    local entry = doc and called(value, doc)
    if not entry or #entry.params == 0 then return {} end
    local param = entry.params[1]
    local is_data = first and not param.optional and #text.option_names { param } == 0
    return is_data and {} or text.option_names(entry.params)
end

local function nothing(what)
    if type(what) == "string" then
        return ("heed has nothing called %s"):format(check.describe(what))
    end
    return ("heed knows nothing about %s; help(heed) lists what there is"):format(
        check.describe(what))
end

-- Where the words of a text are, which is no name.
local function found(what, options)
    local docs = type(what) == "string" and search.find(what) or {}
    return #docs > 0 and text.list(check.describe(what) .. " is in", docs, options) or nil
end

-- A name may be that of something else elsewhere: torch.utils.checkpoint.
local function elsewhere(what, doc)
    local paths = {}
    for _, path in ipairs(type(what) == "string" and search.called(what) or {}) do
        local near = path:sub(1, #doc.path) == doc.path
        if not near then paths[#paths + 1] = path end
    end
    if #paths == 0 then return "" end
    return ("\n\n  Elsewhere %s is also a name of %s"):format(check.describe(what),
        table.concat(paths, ", "))
end

---The documentation of a value of heed's, or of a name: `heed.attention`, "nn.Linear", "softmax", a
---tensor, a model. Other words are searched in names, in descriptions and in PyTorch's names.
---
---```lua
---local help = require "heed.help"
---print(help.text(heed.softmax))
---print(help.text "label smoothing")
---print(help.text "no such thing") --> nil heed has nothing called "no such thing"
---```
---@param what any
---@param options? { width?: integer, color?: boolean } width: columns, at least 40, default 80;
---color: for a terminal, default false
---@return string|nil text
---@return string? message when there is none
function help.text(what, options)
    if what == nil then
        errors.raise "heed.help.text: what: expected a value or the name of one, got nil"
    end
    options = check.options("heed.help.text", options, check.set("width", "color"))
    local doc = index.lookup(what)
    if not doc or (doc.kind ~= "module" and not doc.entry) then
        local list = found(what, options)
        return list, not list and nothing(what) or nil
    end
    return text.render(doc, options) .. elsewhere(what, doc)
end

return help
