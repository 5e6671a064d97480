--- Looking at values without running anybody's code: raw fields, and those behind __index where
--- that is a table.

local core = require "heed.core"

local rawget, type, next, pcall, getmetatable = rawget, type, next, pcall, debug.getmetatable
local find, match, sub = string.find, string.match, string.sub
local sort = table.sort

local inspect = {}

local DEEPEST = 32    -- tables behind tables
local MOST = 100000   -- keys of one table that are looked at

-- The tables in which a field of the value is looked for, in Lua's order.
local function places(value)
    local list, seen = {}, {}
    if core.is_tensor(value) then return { core.methods } end
    while #list < DEEPEST do
        if type(value) == "table" then
            if seen[value] then break end
            seen[value] = true
            list[#list + 1] = value
        end
        local meta = getmetatable(value)
        local behind = type(meta) == "table" and rawget(meta, "__index")
        if type(behind) ~= "table" then break end
        value = behind
    end
    return list
end

local function read_property(t, name) return t[name] end

---@param value any
---@param key any
---@return any field nil also where only code could tell
function inspect.get(value, key)
    if key == nil then return nil end
    for _, place in ipairs(places(value)) do
        local field = rawget(place, key)
        if field ~= nil then
            -- The number stands for a property of tensors, which C reads.
            if place == core.methods and core.is_tensor(value) and type(field) == "number" then
                local ok, read = pcall(read_property, value, key)
                return ok and read or nil
            end
            return field
        end
    end
    return nil
end

---Calls visit(name, field) for every field whose key could be written after a dot.
---@param value any
---@param visit fun(name: string, field: any)
function inspect.each(value, visit)
    for _, place in ipairs(places(value)) do
        local count = 0
        for key, field in next, place do
            count = count + 1
            if count > MOST then break end
            if type(key) == "string" and find(key, "^[%a_][%w_]*$") then visit(key, field) end
        end
    end
end

---@param value any
---@param accept? fun(name: string, field: any): boolean
---@return string[] # sorted, each once
function inspect.names(value, accept)
    local seen, list = {}, {}
    inspect.each(value, function(name, field)
        if not seen[name] and (not accept or accept(name, field)) then
            seen[name] = true
            list[#list + 1] = name
        end
    end)
    sort(list)
    return list
end

-- ---- names of modules and functions -------------------------------------------------------------

---@return string[] every module that require finds without looking for files, sorted
function inspect.modules()
    local seen, list = {}, {}
    for _, place in ipairs { package.loaded, package.preload } do
        for name in next, type(place) == "table" and place or {} do
            if type(name) == "string" and not seen[name] then
                seen[name] = true
                list[#list + 1] = name
            end
        end
    end
    sort(list)
    return list
end

---@param value table
---@return string|nil name under which require gives the table
function inspect.module_name(value)
    local best
    for name, module in next, package.loaded do
        if type(name) == "string" and rawequal(module, value) and (not best or #name < #best) then
            best = name
        end
    end
    return best
end

-- heed.core is the inside of heed, and what is global needs no module before it.
local function qualified(module, name)
    if module == "_G" then return name end
    return (module == "heed.core" and "heed" or module) .. "." .. name
end

---The shortest name that loaded modules have for a function or a class: `string.rep`,
---`heed.nn.Linear`.
---@param value any
---@return string|nil
function inspect.name_of(value)
    local best
    local function offer(name)
        if not best or #name < #best or (#name == #best and name < best) then best = name end
    end
    for module, fields in next, package.loaded do
        if type(module) == "string" and type(fields) == "table" and not find(module,
            "^heed%.prompt") then
            for name, field in next, fields do
                if rawequal(field, value) and type(name) == "string" then
                    offer(qualified(module, name))
                end
            end
        end
    end
    if best then return best end
    for name, method in next, core.methods do
        if rawequal(method, value) then offer("tensor:" .. name) end
    end
    return best
end

-- ---- what an expression at the end of a text means ----------------------------------------------

local function constant(token)
    if token.kind == "number" then return tonumber(token.text) end
    if token.kind == "string" and not token.open and not find(token.text, "\\", 1, true) then
        return match(token.text, "^[\"'](.*)[\"']$")
    end
    return nil
end

local function is(list, at, text) return list[at] ~= nil and list[at].text == text end

-- The value that a chain begins with, whose last token is list[at]; the place before it.
local function beginning(list, at, root)
    local token = list[at]
    if token.kind == "name" then return root(token.text), at - 1 end
    local closed = token.text == ")"
    local inner = closed and list[at - 1] or token
    if not inner or inner.kind ~= "string" or (closed and not is(list, at - 2, "(")) then
        return nil, 0
    end
    local before = closed and at - 3 or at - 1
    if is(list, before, "require") then return package.loaded[constant(inner) or ""], before - 1 end
    -- a string in parentheses: its methods are those of any other
    return closed and "" or nil, before
end

---The value of the chain of names, fields and constant indices that ends with list[at], as far as
---looking tells.
---@param list heed.prompt.Token[]
---@param at integer
---@param root fun(name: string): any the variables
---@return any
function inspect.chain(list, at, root)
    local keys = {}
    while list[at] do
        local token = list[at]
        if token.text == "]" and is(list, at - 2, "[") then
            keys[#keys + 1] = constant(list[at - 1])
            if keys[#keys] == nil then return nil end
            at = at - 3
        elseif token.kind == "name" and (is(list, at - 1, ".") or is(list, at - 1, ":")) then
            keys[#keys + 1] = token.text
            at = at - 2
        else
            break
        end
    end
    if not list[at] then return nil end
    local value = beginning(list, at, root)
    for i = #keys, 1, -1 do
        if value == nil then return nil end
        value = inspect.get(value, keys[i])
    end
    return value
end

---What of a dotted name, written in a string, a variable means: "heed.nn.Linear".
---@param name string
---@param root fun(name: string): any
---@return any
function inspect.path(name, root)
    local value, first = nil, true
    for part in string.gmatch(name, "[^.]+") do
        if first then value = root(part) else value = inspect.get(value, part) end
        if value == nil then return nil end
        first = false
    end
    return value
end

---@param text string
---@param prefix string
---@return boolean
function inspect.begins(text, prefix) return sub(text, 1, #prefix) == prefix end

return inspect
