--- From a value or a name to what is written about it: the public names of heed, and the
--- annotations in its sources.

local annotations = require "heed.help.annotations"
local calls = require "heed.nn.calls"
local core = require "heed.core"
local source = require "heed.sources"

local index = {}

-- The stubs of heed.core, in the order in which one reads them.
local STUBS = {}
for name in ([[core creation query shapes indexing elementwise arithmetic reductions products networks in_place random gradients
    machine internal]]):gmatch "[%w_]+" do
    STUBS[#STUBS + 1] = "heed.types." .. name
end

-- ---- annotations by module ----------------------------------------------------------------------

local read = {}

local class_entry, read_aliases

-- The fields of a class and of what it extends, each once: a class's own takes its parent's place.
local function all_fields(entry)
    local list = entry.parent and all_fields(class_entry(entry.parent)) or {}
    local places = {}
    for i, field in ipairs(list) do places[field.name] = i end
    for _, field in ipairs(entry.fields) do list[places[field.name] or #list + 1] = field end
    return list
end

-- The fields of a class of options as a table type, and what is said of each.
local function fields_of_class(entry)
    local types, texts = {}, {}
    for _, field in ipairs(all_fields(entry)) do
        types[#types + 1] = ("%s%s: %s"):format(field.name, field.optional and "?" or "",
            field.type)
        if field.text ~= "" then texts[#texts + 1] = ("%s: %s"):format(field.name, field.text) end
    end
    return table.concat(types, ", "), table.concat(texts, "; ")
end

-- Options by the name of their class, and short names, as what they stand for.
local function write_out(param)
    param.written = param.type
    local class = param.type:match "^heed%.[%w_.]+Options$" and class_entry(param.type)
    if class then
        local types, texts = fields_of_class(class)
        param.type, param.text = "{ " .. types .. " }",
            param.text .. (param.text ~= "" and "; " or "") .. texts
    elseif param.type:find "Options" or param.type:find "heed%.Dims" then
        param.type = param.type:gsub("heed%.%u%w+", function(name)
            local alias = read_aliases()[name]
            return alias and (alias:find "^{" or name == "heed.Dims") and alias or nil
        end)
    end
end

-- What stands in a module's source: its header, and the entries, also by name, key and line.
local function module_entries(name)
    if read[name] then return read[name] end
    local text = source(name)
    local found = { list = text and annotations.read(text) or {}, by_name = {}, by_key = {},
        by_line = {},
        header = text and annotations.header(text) or {} }
    for _, entry in ipairs(found.list) do
        entry.module = name
        found.by_name[entry.name] = found.by_name[entry.name] or entry
        found.by_key[entry.key] = found.by_key[entry.key] or entry
        found.by_line[entry.line] = entry
    end
    read[name] = found
    for _, entry in ipairs(found.list) do
        for _, param in ipairs(entry.params) do write_out(param) end
    end
    return found
end

local by_alias

function read_aliases()
    if not by_alias then
        by_alias = {}
        for _, alias in ipairs(annotations.aliases(source(STUBS[1]) or "")) do
            by_alias[alias.name] = alias.type
        end
    end
    return by_alias
end

-- `both.exp_ = both.exp` says that exp_ is exp in place.
local function in_place(entry, name)
    local key = name:match "[^.:]+$"
    if key ~= entry.key .. "_" then return entry end
    return setmetatable({ name = name, key = key, in_place = true }, { __index = entry })
end

local function loaded() return package and package.loaded or {} end

-- `Class.method` of a class in another source.
local function method_elsewhere(name)
    for module in pairs(loaded()) do
        if type(module) == "string" and module:find "^heed" then
            local found = module_entries(module).by_name
            local entry = found[name:gsub("%.", ":")] or found[name]
            if entry and not entry.same_as then return entry end
        end
    end
end

-- The definition behind a chain of names.
local function follow(found, entry)
    local name = entry and entry.name
    for _ = 1, 8 do
        if not (entry and entry.same_as) then break end
        local local_one = found.by_name[entry.same_as]
            or found.by_key[entry.same_as:match "[^.:]+$"]
        entry = local_one ~= entry and local_one or method_elsewhere(entry.same_as)
    end
    return entry and in_place(entry, name)
end

-- Of a function of heed.core, which is a method too, a function only, or not for users.
local function stub_entry(key)
    for _, stub in ipairs(STUBS) do
        local found = module_entries(stub)
        for _, owner in ipairs { "both.", "core.", "inside." } do
            local entry = found.by_name[owner .. key]
            if entry then return follow(found, entry) end
        end
    end
end

-- ---- modules that are loaded --------------------------------------------------------------------

local function module_of_table(value)
    for name, module in pairs(loaded()) do
        if rawequal(module, value) and type(name) == "string" and name:find "^heed" then
            return name
        end
    end
end

-- heed/nn/linear.lua or heed/nn/init.lua, wherever it lies: heed.nn.linear, heed.nn.
local function module_of_function(f)
    local info = debug and debug.getinfo(calls.original(f), "S")
    local path = info and info.what ~= "C" and info.source:match "heed[%w_/]*%.lua$"
    if not path then return nil end
    -- The last folder of that name: the checkout may be called so too.
    path = info.source:match ".*(heed/lua/heed[%w_/]*%.lua)$"
        and info.source:match ".*heed/lua/(heed[%w_/]*%.lua)$" or path
    return (path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")), info.linedefined
end

-- Where a function that another one made has its name, and its annotations.
local function exported_entry(f, key)
    for name, module in pairs(loaded()) do
        if type(name) == "string" and name:find "^heed" and type(module) == "table"
            and rawequal(rawget(module, key), f) then
            local found = module_entries(name)
            if found.by_key[key] then return follow(found, found.by_key[key]) end
        end
    end
end

local function function_entry(f, key)
    if key and rawequal(core[key], f) then return stub_entry(key) end
    local name, line = module_of_function(f)
    local found = name and module_entries(name)
    local entry = found and (found.by_line[line] or key and found.by_key[key])
    if entry then return follow(found, entry) end
    return key and exported_entry(f, key)
end

-- ---- the public tree ----------------------------------------------------------------------------

local function is_class(value)
    return type(value) == "table" and (rawget(value, "is_heed_module") or rawget(value,
        "class_name")) and true or false
end

-- The annotated class of a name, found in the module that has it or in those that are loaded.
function class_entry(name)
    for module in pairs(loaded()) do
        if type(module) == "string" and module:find "^heed" then
            local found = module_entries(module).by_name[name]
            if found and found.kind == "class" then return found end
        end
    end
    for _, stub in ipairs(STUBS) do
        local found = module_entries(stub).by_name[name]
        if found and found.kind == "class" then return found end
    end
end

local function sorted_keys(t)
    local keys = {}
    for key in pairs(t) do
        if type(key) == "string" and not key:find "^_" then keys[#keys + 1] = key end
    end
    table.sort(keys)
    return keys
end

---@class heed.help.Doc
---@field path string heed.nn.Linear
---@field kind "function"|"class"|"module"|"value"
---@field value any
---@field entry heed.help.Entry|nil
---@field prose string[]|nil paragraphs, of a module
---@field members heed.help.Doc[]|nil of a module
---@field methods heed.help.Entry[]|nil of a class
---@field made heed.help.Doc|nil the class of what a function returns, if it is documented with that
---function

-- What is a function of heed and a method of tensors; then what is a method only.
local function tensor_methods()
    local list = {}
    for _, stub in ipairs(STUBS) do
        local found = module_entries(stub)
        for _, entry in ipairs(found.list) do
            if entry.name:find "^both%." then list[#list + 1] = follow(found, entry) end
        end
    end
    for _, entry in ipairs(module_entries(STUBS[1]).list) do
        if entry.name:find "^Tensor:" then list[#list + 1] = entry end
    end
    return list
end

-- What these have is said once, with them.
local PARENTS = { ["heed.nn.Module"] = true }

local function methods_of(entry)
    if entry.name == "heed.Tensor" then return tensor_methods() end
    local found, short, list = module_entries(entry.module),
        entry.owner or entry.name:match "[^.]+$", {}
    for _, e in ipairs(found.list) do
        if e.name:match("^" .. short .. "[.:]%a[%w_]*$") then
            local real = follow(found, e)
            if not real and e.same_as and e.same_as:find "^core%." then
                real = stub_entry(e.same_as:match "[^.]+$")
            end
            if real then
                list[#list + 1] = setmetatable({ name = e.name, key = e.key }, { __index = real })
            end
        end
    end
    local parent = entry.parent and not PARENTS[entry.parent] and class_entry(entry.parent)
    return parent and table.move(methods_of(parent), 1, 64, #list + 1, list) or list
end

-- The class of what a function returns.
local function made_by(entry)
    local name = entry and entry.returns[1] and entry.returns[1].type:match "^heed%.[%w_.]+"
    local found = name and name ~= "heed.Tensor" and class_entry(name)
    return found and { path = name, kind = "class", entry = found, methods = methods_of(found) }
        or nil
end

local function describe(path, value)
    if type(value) == "function" then
        local entry = function_entry(value, path:match "[^.:]+$")
        return { path = path, kind = "function", value = value, entry = entry,
            made = made_by(entry) }
    elseif is_class(value) then
        local entry = class_entry(path) or class_entry("heed.nn." .. tostring(value.class_name))
        return { path = path, kind = "class", value = value, entry = entry,
            methods = entry and methods_of(entry) }
    elseif type(value) == "table" then
        local name = module_of_table(value) or path
        local meta = getmetatable(value)
        local caller = meta and rawget(meta, "__call")
        local entry = caller and function_entry(caller)
        return { path = path, kind = "module", value = value, entry = entry,
            prose = module_entries(name).header }
    end
    return { path = path, kind = "value", value = value }
end

---What heed offers, by path: every function, class and table of functions, in alphabetical order
---below its table.
---@return heed.help.Doc
function index.tree()
    local seen = {}
    local function grow(path, value)
        local doc = describe(path, value)
        if doc.kind == "module" and not seen[value] then
            seen[value] = true
            doc.members = {}
            for _, key in ipairs(sorted_keys(value)) do
                local member = value[key]
                if type(member) == "function" or type(member) == "table" then
                    doc.members[#doc.members + 1] = grow(path .. "." .. key, member)
                end
            end
        end
        return doc
    end
    return grow("heed", require "heed")
end

-- The shortest public path of a value.
local function path_of(wanted)
    local best
    local function search(doc)
        if rawequal(doc.value, wanted) and (not best or #doc.path < #best) then best = doc.path end
        for _, member in ipairs(doc.members or {}) do search(member) end
    end
    search(index.tree())
    return best
end

-- ---- looking up ---------------------------------------------------------------------------------

local function tensor_doc()
    local entry = class_entry "heed.Tensor"
    return entry and { path = "heed.Tensor", kind = "class", value = core.methods, entry = entry,
        methods = methods_of(entry) }
end

local function class_doc(entry)
    return { path = entry.name, kind = "class", entry = entry, methods = methods_of(entry) }
end

-- A field, without running anybody's code: through tables that are somebody's __index.
local function field(value, key)
    for _ = 1, 16 do
        if type(value) ~= "table" then return nil end
        local found = rawget(value, key)
        if found ~= nil then return found end
        local meta = getmetatable(value)
        value = meta and rawget(meta, "__index")
    end
end

local function method_doc(owner, key)
    local doc = owner and index.lookup(owner)
    for _, entry in ipairs(doc and doc.methods or {}) do
        if entry.key == key then
            return { path = doc.path .. ":" .. key, kind = "function", entry = entry }
        end
    end
end

-- "heed.nn.Linear", "nn.Linear", "Tensor.softmax", "softmax".
local function by_name(name)
    name = name:gsub("^%s+", ""):gsub("[%s()]+$", ""):gsub("^heed[.:]", "")
    local heed = require "heed"
    if name == "heed" then return index.lookup(heed) end
    if name == "Tensor" then return tensor_doc() end
    local class = class_entry("heed." .. name)
    if class and not name:find "^nn%." then return class_doc(class) end
    local value, path = heed, "heed"
    for key in name:gmatch "[^.:]+" do
        local member = field(value, key)
        if member == nil then
            if path == "heed" and (key == "Tensor" or key == "tensor") then
                member = core.methods
            end
            if member == nil then return method_doc(is_class(value) and value or nil, key) end
        end
        value, path = member, path .. "." .. key
    end
    if path:find "^heed%.[Tt]ensor%." then
        return describe("heed." .. path:match "[^.]+$", value)
    end
    return index.lookup(value, path)
end

-- The class of an instance of something that is no module of layers: a mask, a vocabulary.
local function class_of_methods(meta)
    for _, f in pairs(meta) do
        local module, line
        if type(f) == "function" then module, line = module_of_function(f) end
        local found = module and module_entries(module)
        local short = found and found.by_line[line]
            and found.by_line[line].name:match "^([%w_]+)[.:]"
        for _, entry in ipairs(short and found.list or {}) do
            if entry.kind == "class" and entry.name:match "[^.]+$" == short then
                return class_doc(entry)
            end
        end
    end
end

---What is known of a value or a name.
---@param what any a function, class, module, tensor, or the name of one
---@param path? string under which it was found
---@return heed.help.Doc|nil
function index.lookup(what, path)
    if type(what) == "string" then
        return by_name(what) or (core.methods[what] and describe("heed." .. what,
            core.methods[what]))
    elseif core.is_tensor(what) or rawequal(what, core.methods) then
        return tensor_doc()
    elseif type(what) == "table" and not is_class(what) and is_class(getmetatable(what)) then
        return index.lookup(getmetatable(what)) -- an instance: its class
    end
    path = path or path_of(what)
    if not path and type(what) == "table" and getmetatable(what) then
        return class_of_methods(getmetatable(what))
    end
    local doc = path and describe(path, what) or nil
    if doc and doc.kind == "module" then doc.members = index.tree_at(path, what) end
    if doc or type(what) ~= "function" then return doc end
    local entry = function_entry(what)
    return entry and { path = entry.name:gsub(":", "."), kind = "function", value = what,
        entry = entry } or nil
end

---The members of one table of the tree.
function index.tree_at(path, value)
    local list = {}
    for _, key in ipairs(sorted_keys(value)) do
        if type(value[key]) == "function" or type(value[key]) == "table" then
            list[#list + 1] = describe(path .. "." .. key, value[key])
        end
    end
    return list
end

-- ---- for pages ----------------------------------------------------------------------------------

---What a module that is not part of `heed` itself defines, by its annotations: help.text,
---assert.is_close.
---@param module string
---@param prefix string of its paths
---@return heed.help.Doc[]
function index.exports(module, prefix)
    local list = {}
    for _, entry in ipairs(module_entries(module).list) do
        if entry.kind == "function" and entry.name:find "%." then
            list[#list + 1] = { path = prefix .. entry.name, kind = "function", entry = entry }
        end
    end
    return list
end

---The classes of what a function, or a method of a class, returns.
---@param doc heed.help.Doc
---@return heed.help.Doc[]
function index.made_by(doc)
    local list = {}
    local function look(entry)
        for _, result in ipairs(entry.returns) do
            for name in result.type:gmatch "heed%.[%w_.]*%w" do
                local class = name ~= "heed.Tensor" and not name:find "^heed%.nn%."
                    and class_entry(name)
                if class and #class.prose > 0 and not class.module:find "^heed%.types" then
                    list[#list + 1] = class_doc(class)
                end
            end
        end
    end
    if doc.entry then look(doc.entry) end
    for _, m in ipairs(doc.kind == "class" and doc.methods or {}) do look(m) end
    return list
end

---The classes of heed.core beside heed.Tensor, and heed.Tensor last.
---@return heed.help.Doc[]
function index.core_classes()
    local list = {}
    for _, stub in ipairs(STUBS) do
        for _, entry in ipairs(module_entries(stub).list) do
            if entry.kind == "class" and #entry.prose > 0 and entry.name ~= "heed.Tensor" then
                list[#list + 1] = class_doc(entry)
            end
        end
    end
    list[#list + 1] = tensor_doc()
    return list
end

---The paragraphs at the top of a module's source.
---@param module string
---@return string[]
function index.header(module)
    -- heed.nn.init is a table of functions, and heed/nn/init.lua is heed.nn's.
    local value = require "heed"
    for key in module:gsub("^heed", ""):gmatch "[%w_]+" do
        value = type(value) == "table" and value[key]
    end
    return module_entries(type(value) == "table" and module_of_table(value) or module).header
end

---The short names of types.
---@return heed.help.Param[]
function index.aliases() return annotations.aliases(source(STUBS[1]) or "") end

---Where a module stands among the stubs, in the order in which one reads them; 0 for others.
---@param module string
---@return integer
function index.stub_number(module)
    for i, stub in ipairs(STUBS) do
        if stub == module then return i end
    end
    return 0
end

return index
