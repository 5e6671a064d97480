--- Where an error is the user's: the line outside this library that led to it, and the path of the
--- module inside a model that was running. Both are found on the call stack when something has gone
--- wrong, so that nothing is paid before.

local errors = {}

local getinfo, getlocal = debug and debug.getinfo, debug and debug.getlocal

-- Chunks of this library share what comes before this file's name, whether read from files or
-- embedded.
local own = getinfo and getinfo(1, "S").source:match("^(.-)errors[%w.]*$")
local layers = own and own .. "nn/"

---Is this the source of a function of this library?
---@param source string as debug.getinfo gives it
---@return boolean
function errors.is_own(source)
    return own ~= nil and source:sub(1, #own) == own
end

---Is this a module? Set by heed.nn.
---@type fun(value: any): boolean
errors.is_module = function() return false end

---Is this function one that calls modules, whose first variable is the module? Set by heed.nn.
---@type fun(f: function): boolean
errors.is_call = function() return false end

---The path of one module inside another ("decoder.layers.2"), or nil. Set by heed.nn.
---@type fun(root: table, module: table): string|nil
errors.path_between = function() return nil end

-- "file:line: " of the innermost line that is not ours; the modules that run, outermost first; and
-- whether the innermost Lua function of all is one of ours for layers.
local function survey(level)
    local position, modules, stock = "", {}, nil
    while true do
        local info = getinfo(level, "Slf")
        if not info then break end
        if info.what ~= "C" then
            if stock == nil then stock = info.source:sub(1, #layers) == layers end
            if errors.is_call(info.func) then
                local _, module = getlocal(level, 1)
                if errors.is_module(module) then table.insert(modules, 1, module) end
            end
            if position == "" and info.currentline > 0 and not errors.is_own(info.source) then
                position = ("%s:%d: "):format(info.short_src, info.currentline)
            end
        end
        level = level + 1
    end
    return position, modules, stock and modules[1] ~= nil
end

-- What a message says after the name of a class ("heed.nn.Linear: in: ..."), or nil when it does
-- not begin with it.
local function after_class(message, class_name)
    local first, rest = message:match "^([%w_.]+): (.*)$"
    return (first == class_name or first == "heed.nn." .. class_name) and rest or nil
end

-- The outermost of the running modules that the innermost is a part of, and its path there; "" when
-- it is that one itself.
local function model_of(modules, leaf)
    for _, root in ipairs(modules) do
        local path = errors.path_between(root, leaf)
        if path then return root, path end
    end
end

local function with_path(modules, message)
    local leaf = modules[#modules]
    if not leaf then return message end
    message = message:gsub("^heed%.nn%.Module:", "") -- a method of the module that the path names
    local root, path = model_of(modules, leaf)
    local rest = after_class(message, leaf.class_name)
    if rest then
        -- A layer that is being made stands in no model yet, and one that is the model needs no
        -- path: its class says all.
        if path == "" then return message end
        message = rest
    end
    if path:find "^%d" then path = root.class_name .. "." .. path end
    -- A layer that runs whole names its part first: decoder.layers.2 and "multihead_attn: ..." are
    -- one path.
    local part = message:match "^([%a_][%w_]*)[%w_.]*: "
    if part and errors.is_module(leaf[part]) then
        return (path == "" and "" or path .. ".") .. message
    end
    return (path == "" and root.class_name or path) .. ": " .. message
end

---The message as the user should see it: position, module path, message.
---@param message string
---@param level? integer stack level to begin at; 1 (the default) is the caller
---@return string
function errors.locate(message, level)
    if not getinfo then return message end
    local position, modules = survey((level or 1) + 2)
    return position .. with_path(modules, message)
end

---The same for an error of heed.core: inside a stock layer the name of the C function says nothing
---and is left out.
---@param name string "heed.sum", "t[key]"
---@param message string
---@return string
function errors.locate_core(name, message)
    if not getinfo then return ("%s: %s"):format(name, message) end
    local position, modules, stock = survey(3)
    return position .. with_path(modules, stock and message or ("%s: %s"):format(name, message))
end

---Raises an error that names the user's line and the module path.
---@param format string
function errors.raise(format, ...)
    error(errors.locate(select("#", ...) > 0 and format:format(...) or format, 1), 0)
end

return errors
