--- Saving and going on: one safetensors file with everything that a training run is.
---
--- The file: a tensor "PART.NAME" for every tensor in the state of PART; the metadata has
--- "heed.checkpoint" (the version), and for each part "heed.part.PART", its state as JSON, where
--- {"$tensor": "PART.NAME"} stands for a tensor.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local plain = require "heed.plain"

local checkpoint = {}

local VERSION = "1"
local MARK, PREFIX = "heed.checkpoint", "heed.part."

-- ---- the state of a part ------------------------------------------------------------------------

local function has_methods(part)
    local kind = type(part)
    if kind ~= "table" and kind ~= "userdata" then return false end
    local ok, get, set = pcall(function() return part.state_dict, part.load_state_dict end)
    return ok and get ~= nil and set ~= nil
end

-- A generator of random numbers; its state is a tensor.
local function is_generator(part)
    return type(part) == "userdata" and not check.is_tensor(part) and pcall(function()
        return part:state()
    end)
end

local function check_part(where, name, part)
    if has_methods(part) or is_generator(part) or type(part) == "function" then return end
    if type(part) == "table" and getmetatable(part) == nil then return end
    errors.raise("%s: parts.%s: expected something with state_dict and load_state_dict, a "
        .. "generator, a plain table, "
        .. "or a function like heed.rng_state, got %s", where, name, check.describe(part))
end

local function state_of(part)
    if has_methods(part) then return part:state_dict() end
    if is_generator(part) then return part:state() end
    if type(part) == "function" then return part() end
    return part
end

local function restore(part, state)
    if has_methods(part) then
        part:load_state_dict(state)
    elseif is_generator(part) then
        part:state(state)
    elseif type(part) == "function" then
        part(state)
    else
        for key in pairs(part) do part[key] = nil end
        for key, value in pairs(state) do part[key] = value end
    end
end

-- nil and a message when the state would not fit.
local function fits(part, state)
    if has_methods(part) then
        if part.check_state_dict then return part:check_state_dict(state) end
        return true
    end
    if type(part) == "table" then
        if type(state) ~= "table" then return nil, "not the state of a table" end
    elseif not check.is_tensor(state) or state.dtype ~= "i64" or tostring(state.shape) ~= "[2]" then
        return nil, "not the state of a stream of random numbers"
    end
    return true
end

local function names_of(where, parts)
    check.type(where, "parts", parts, "table")
    local names = {}
    for name in pairs(parts) do
        if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
            errors.raise("%s: parts: expected names of letters, digits and _, got %s", where,
                check.describe(name))
        end
        check_part(where, name, parts[name])
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

-- ---- saving -------------------------------------------------------------------------------------

local TWICE = "heed.checkpoint.save: parts: two tensors are called %q: expected a name of its "
    .. "own for each; "
    .. "rename a key"

-- A name in the file is UTF-8 without zero bytes, whatever the key is.
local function name_of(key)
    key = tostring(key)
    if utf8.len(key) and not key:find("\0", 1, true) then return key end
    return (key:gsub("[%z\x80-\xff]", function(c) return ("%%%02x"):format(c:byte()) end))
end

-- The JSON of a state; its tensors go to `tensors` (a list of { name, tensor }), each once.
local function encode(name, state, tensors, names_by_tensor)
    local paths, taken, visited = {}, {}, {}
    local function name_tensors(value, path, depth)
        if check.is_tensor(value) then
            if not paths[value] then
                if taken[path] then errors.raise(TWICE, path) end
                paths[value], taken[path] = path, true
            end
        elseif type(value) == "table" and depth < 100 and not visited[value] then
            visited[value] = true
            for _, key in ipairs(plain.sorted_keys(value)) do
                name_tensors(value[key], path .. "." .. name_of(key), depth + 1)
            end
        end
    end
    name_tensors(state, name, 0)
    return plain.encode(state, function(value)
        if not check.is_tensor(value) then return nil end
        if not names_by_tensor[value] then
            names_by_tensor[value] = paths[value]
            tensors[#tensors + 1] = { paths[value], value }
        end
        return (plain.encode({ tensor = names_by_tensor[value] }):gsub('"tensor"', '"$tensor"', 1))
    end)
end

---Writes the state of every part into one file, whole or not at all.
---
---```lua
---local model = nn.Linear(3, 1)
---local opt, progress = heed.optim.AdamW(model:parameters()), { step = 100 }
---local path = os.tmpname()
---local parts = { model = model, opt = opt, progress = progress, random = heed.rng_state }
---assert(heed.checkpoint.save(path, parts))
---progress.step = 0
---assert(heed.checkpoint.load(path, parts))
---print(progress.step) --> 100
---os.remove(path)
---```
---@param path string
---@param parts table<string, any> names of letters, digits and _; each part has state_dict and
---load_state_dict, or is a generator, a plain table (of numbers, strings, booleans, tensors and
---tables of these), or a function like heed.rng_state
---@return true|nil ok
---@return string? message
function checkpoint.save(path, parts)
    local where = "heed.checkpoint.save"
    check.type(where, "path", path, "string")
    local tensors, names_by_tensor, metadata = {}, {}, { [MARK] = VERSION }
    for _, name in ipairs(names_of(where, parts)) do
        local text, message = encode(name, state_of(parts[name]), tensors, names_by_tensor)
        if not text then errors.raise("%s: parts.%s: %s", where, name, message) end
        metadata[PREFIX .. name] = text
    end
    table.sort(tensors, function(a, b) return a[1] < b[1] end)
    return core.safetensors_save(path, tensors, metadata)
end

-- ---- loading ------------------------------------------------------------------------------------

local function decode(text, tensors)
    return plain.decode(text, function(object)
        local name = object["$tensor"]
        return type(name) == "string" and tensors[name] or nil
    end)
end

-- The states of all parts, or nil and what is wrong with the file.
local function read(path, names)
    local tensors, metadata = core.safetensors_load(path)
    if not tensors then return nil, metadata end
    if type(metadata) ~= "table" or not metadata[MARK] then
        return nil, path .. ": not a checkpoint of heed"
    end
    if metadata[MARK] ~= VERSION then
        return nil, ("%s: a checkpoint of version %s; this is for version %s"):format(path,
            metadata[MARK], VERSION)
    end
    local states = {}
    for _, name in ipairs(names) do
        local text = metadata[PREFIX .. name]
        if not text then return nil, ("%s: it has no part %s"):format(path, name) end
        local state, message = decode(text, tensors)
        if state == nil then
            return nil, ("%s: part %s: %s"):format(path, name, message or "no state")
        end
        states[name] = state
    end
    return states
end

---Loads what save wrote into the same parts (or some of them). Either all of them are loaded, or
---none: a file that is truncated, foreign or of another model gives nil and a message.
---
---```lua
---local first, again = nn.Linear(3, 1), nn.Linear(3, 1)
---local path = os.tmpname()
---assert(heed.checkpoint.save(path, { model = first }))
---assert(heed.checkpoint.load(path, { model = again }))
---print(again.weight:equal(first.weight)) --> true
---print(heed.checkpoint.load(path, { model = nn.Linear(4, 1) }) == nil) -- of another model
---os.remove(path)
---```
---@param path string
---@param parts table<string, any>
---@return true|nil ok
---@return string? message
function checkpoint.load(path, parts)
    local where = "heed.checkpoint.load"
    check.type(where, "path", path, "string")
    local names = names_of(where, parts)
    local states, message = read(path, names)
    if not states then return nil, message end
    for _, name in ipairs(names) do
        local ok, problem = fits(parts[name], states[name])
        if not ok then return nil, ("%s: %s: %s"):format(path, name, problem) end
    end
    for _, name in ipairs(names) do restore(parts[name], states[name]) end
    return true
end

return checkpoint
