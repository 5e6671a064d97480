--- Where an error is the user's: the line outside this library that led to it, found on the call stack when something has gone
--- wrong, and the path of the module inside a model that was running.

local errors = {}

local getinfo = debug and debug.getinfo

-- Chunks of this library share what comes before this file's name, whether read from files or embedded.
local own = getinfo and getinfo(1, "S").source:match("^(.-)errors[%w.]*$")
local layers = own and own .. "nn/"

local function is_own(source)
    return own ~= nil and source:sub(1, #own) == own
end

---Is this a module? Set by heed.nn.
---@type fun(value: any): boolean
errors.is_module = function() return false end

---The modules that are running, outermost first. Set by heed.nn.
---@type fun(): table[]
errors.modules = function() return {} end

---The path of one module inside another ("decoder.layers.2"), or nil. Set by heed.nn.
---@type fun(root: table, module: table): string|nil
errors.path_between = function() return nil end

-- "file:line: " of the innermost line that is not ours; and whether the innermost Lua function of all is one of ours for layers.
local function survey(level)
    local position, stock = "", nil
    while position == "" do
        local info = getinfo(level, "Sl")
        if not info then break end
        if info.what ~= "C" then
            if stock == nil then stock = info.source:sub(1, #layers) == layers end
            if info.currentline > 0 and not is_own(info.source) then
                position = ("%s:%d: "):format(info.short_src, info.currentline)
            end
        end
        level = level + 1
    end
    return position, stock
end

-- What a message says after the name of a class ("heed.nn.Linear: in: ..."), or nil when it does not begin with it.
local function after_class(message, class_name)
    local first, rest = message:match "^([%w_.]+): (.*)$"
    return (first == class_name or first == "heed.nn." .. class_name) and rest or nil
end

local function with_path(message)
    local modules = errors.modules()
    local root, leaf = modules[1], modules[#modules]
    if not root then return message end
    message = message:gsub("^heed%.nn%.Module:", "") -- a method of the module that the path names
    local path = errors.path_between(root, leaf)
    local rest = after_class(message, leaf.class_name)
    if rest then
        -- A layer that is being made stands in no model yet, and one that is the model needs no path: its class says all.
        if path == nil or path == "" then return message end
        message = rest
    end
    if path == nil then path = leaf.class_name end
    if path:find "^%d" then path = root.class_name .. "." .. path end
    -- A layer that runs whole names its part first: decoder.layers.2 and "multihead_attn: ..." are one path.
    local part = message:match "^([%a_][%w_]*)[%w_.]*: "
    if part and errors.is_module(leaf[part]) then return (path == "" and "" or path .. ".") .. message end
    return (path == "" and root.class_name or path) .. ": " .. message
end

---The message as the user should see it: position, module path, message.
---@param message string
---@param level? integer stack level to begin at; 1 (the default) is the caller
---@return string
function errors.locate(message, level)
    local position = getinfo and survey((level or 1) + 2) or ""
    return position .. with_path(message)
end

---The same for an error of heed.core: inside a stock layer the name of the C function says nothing and is left out.
---@param name string "heed.sum", "t[key]"
---@param message string
---@return string
function errors.locate_core(name, message)
    local position, stock = "", false
    if getinfo then position, stock = survey(3) end
    stock = stock and errors.modules()[1] ~= nil
    return position .. with_path(stock and message or ("%s: %s"):format(name, message))
end

---Raises an error that names the user's line and the module path.
---@param format string
function errors.raise(format, ...)
    error(errors.locate(select("#", ...) > 0 and format:format(...) or format, 1), 0)
end

return errors
