--- From the tensors of a file to a model's parameters, and back.

local core = require "heed.core"
local module = require "heed.nn.module"
local names = require "heed.models.names"
local unknown = require "heed.text.tokenizer.unknown"
local walk = require "heed.nn.walk"

local weights = {}

local SHOWN = 3

local function listed(list)
    local text = table.concat(list, ", ", 1, math.min(#list, SHOWN))
    return #list > SHOWN and ("%s and %d more"):format(text, #list - SHOWN) or text
end

-- What stands before all names of a file, of those that files of the family put there.
local function prefix_of(entries, prefixes, file)
    for _, prefix in ipairs(prefixes) do
        for _, entry in ipairs(entries) do
            local first = entry[2]:gsub("#", "0"):gsub("%*", "weight")
            if not entry.outside and file.has(prefix .. first) then return prefix end
        end
    end
    return ""
end

local function joined(name, parts, shape, entry)
    local t = #parts == 1 and parts[1] or core.cat(parts, 1)
    if entry.transposed and t:dim() == 2 then t = t:transpose(1, 2):contiguous() end
    if tostring(t.shape) ~= tostring(shape) then
        unknown.refuse("%s: expected %s, got %s; do config and weights belong together?", name,
            tostring(shape), tostring(t.shape))
    end
    return t
end

-- Files of the first converters call a norm's weight gamma and its bias beta.
local function old_name(name)
    return (name:gsub("LayerNorm%.weight$", "LayerNorm.gamma"):gsub("LayerNorm%.bias$",
        "LayerNorm.beta"))
end

-- The tensor of one of our names: what the file has for it, in one.
local function read(file, prefix, name, shape, entries, missing, used)
    local theirs, entry = names.theirs(entries, name, prefix)
    if not theirs then unknown.refuse("%s: the family's table does not name it", name) end
    local parts = {}
    for i, their in ipairs(theirs) do
        if not file.has(their) then their = old_name(their) end
        if not file.has(their) then
            missing[#missing + 1] = theirs[i]
            return nil
        end
        used[file.name_of and file.name_of(their) or their] = true
        parts[i] = file.tensor(their)
    end
    return joined(name, parts, shape, entry)
end

local function check_missing(missing)
    if #missing == 0 then return end
    unknown.refuse("expected %d more tensors: %s; is a file of the model missing?", #missing,
        listed(missing))
end

local function check_extra(file, used, passed_over)
    local extra = {}
    for _, name in ipairs(file.names) do
        local known = used[name]
        for _, pattern in ipairs(passed_over) do known = known or name:find(pattern) end
        if not known then extra[#extra + 1] = name end
    end
    if #extra == 0 then return end
    table.sort(extra)
    unknown.refuse("%d tensors are none of this family's: %s", #extra, listed(extra))
end

---A file's tensors, whatever its form.
---@class heed.models.File
---@field names string[]
---@field has fun(name: string): boolean
---@field tensor fun(name: string): heed.Tensor
---@field name_of? fun(name: string): string what `names` call it, where that is another name

---A model without numbers: no memory is taken and nothing is drawn for what a file will give.
---@param family table
---@param config table
---@return heed.nn.Module model
---@return table<heed.Tensor, heed.Shape> shapes of its parameters
function weights.bare(family, config)
    local shapes = {}
    return core.shapes_only(function()
        local model = family(config)
        walk.each_tensor(model, 1, function(_, tensor) shapes[tensor] = tensor.shape end)
        return model, shapes
    end)
end

---Gives a model of weights.bare its parameters.
---@param model heed.nn.Module
---@param shapes table<heed.Tensor, heed.Shape>
---@param file heed.models.File
---@param family table names, prefixes, passed_over (patterns of names in files that say nothing)
---@param dtype? heed.DType of parameters; default: as stored
function weights.fill(model, shapes, file, family, dtype)
    local prefix = prefix_of(family.names, family.prefixes or { "" }, file)
    local made, missing, used = {}, {}, {}
    walk.each_tensor(model, 1, function(name, tensor, owner, key, kind)
        if kind ~= "parameter" then return end
        if not made[tensor] then
            local t = read(file, prefix, name, shapes[tensor], family.names, missing, used)
            if not t then return end
            made[tensor] = module.parameter(dtype and t:to(dtype) or t)
        end
        owner[key] = made[tensor]
    end)
    check_missing(missing)
    check_extra(file, used, family.passed_over or {})
end

return weights
