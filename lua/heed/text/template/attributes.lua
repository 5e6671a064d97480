--- value.name and value[key]: an attribute first with the dot, an item first with brackets, and
--- undefined when there is neither.

local failure = require "heed.text.template.failure"
local loops = require "heed.text.template.loops"
local methods = require "heed.text.template.methods"
local slices = require "heed.text.template.slices"
local values = require "heed.text.template.values"

local attributes = {}

-- What changes text that counts as escaped gives such a text.
local function as_markup(value)
    if type(value) == "string" then return values.markup(value) end
    if values.kind(value) == "list" or values.kind(value) == "tuple" then
        for i, item in ipairs(value) do value[i] = as_markup(item) end
    end
    return value
end

local function bound(method, value, name)
    local text = values.text(value)
    return values.callable(name, function(machine, args)
        local result = method(machine, text or value, args)
        return values.kind(value) == "markup" and as_markup(result) or result
    end)
end

-- nil when there is none.
local function attribute(machine, value, name)
    local kind = values.kind(value)
    local list = methods.of[kind]
    if list and list[name] then return bound(list[name], value, name) end
    if methods.denied[kind] and methods.denied[kind][name] then
        return values.undefined("'%s' would change a %s, which templates may not", name, kind)
    end
    if kind == "namespace" then return values.get(value.dict, name) end
    if kind == "loop" then return loops.attribute(machine, value, name) end
    if kind == "function" or kind == "tuple" then
        return value.attributes and value.attributes[name]
    end
    return nil
end

-- nil when there is none.
local function item(value, key)
    local kind = values.kind(value)
    if kind == "dict" then
        local key_kind = values.kind(key)
        if key_kind == "list" or key_kind == "dict" or key_kind == "view" then return nil end
        return values.get(value, key)
    end
    local at = values.number(key)
    if math.type(at) ~= "integer" or not (values.text(value) or values.is_sequence(value)) then
        return nil
    end
    local found = slices.at(value, at)
    return found and kind == "markup" and values.markup(found) or found
end

local function missing(value, key)
    local shown = type(key) == "string" and ("'%s'"):format(key)
        or type(key) == "number" and tostring(key) or "a " .. values.type_name(key)
    return values.undefined("a %s has no %s", values.type_name(value), shown)
end

---value.name
function attributes.attribute(machine, value, name)
    values.defined(value)
    local found = attribute(machine, value, name)
    if found == nil then found = item(value, name) end
    if found == nil then return missing(value, name) end
    return found
end

---value[key]
function attributes.item(machine, value, key)
    values.defined(value)
    local found = item(value, key)
    local name = values.text(key)
    if found == nil and name then found = attribute(machine, value, name) end
    if found == nil then return missing(value, key) end
    return found
end

---value|attr(name)
function attributes.only_attribute(machine, value, name)
    local found = attribute(machine, values.defined(value), name)
    if found == nil then return missing(value, name) end
    return found
end

---namespace.name = value
function attributes.assign(object, name, value)
    if values.kind(object) ~= "namespace" then
        failure.raise("only a namespace's attributes can be assigned to, got a %s",
            values.type_name(object))
    end
    if name:sub(1, 1) == "_" then failure.raise("'%s' begins with an underline", name) end
    values.put(object.dict, name, value)
end

return attributes
