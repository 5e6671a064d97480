--- Whether a config says what a model is. What was changed after loading (a layer taken out, more
--- tokens, a matrix of its own where one was shared) would be lost in a file, or not be loaded.

local unknown = require "heed.unknown"
local walk = require "heed.nn.walk"
local weights = require "heed.models.weights.fill"

local HINT = "heed.models.save(path, model, tokenizer, { config = ... }) takes one that does"

-- By name: what is there first where the same tensor stands, and its sizes as text.
local function places_of(model, shapes)
    local first, places, order = {}, {}, {}
    walk.each_tensor(model, 1, function(name, tensor, _, _, kind)
        if kind == "temporary" then return end
        first[tensor] = first[tensor] or name
        places[name] = { first = first[tensor],
            shape = tostring(shapes and shapes[tensor] or tensor.shape) }
        order[#order + 1] = name
    end)
    return places, order
end

local function refuse(name, ours, theirs)
    unknown.refuse("%s: the model has %s, and its config says %s; %s", name, ours, theirs, HINT)
end

local function compare(name, own, said)
    if not own then refuse(name, "none", said.shape) end
    if not said then refuse(name, own.shape, "none") end
    if own.shape ~= said.shape then refuse(name, own.shape, said.shape) end
    if own.first == said.first then return end
    refuse(name, own.first == name and "its own" or own.first,
        said.first == name and "its own" or said.first)
end

---Refuses a model that its config does not describe.
---@param model heed.nn.Module
---@param family heed.models.Family
---@param config table
return function(model, family, config)
    local bare, shapes = unknown.of_file("config", weights.bare, family, config)
    local own, order = places_of(model)
    local said, also = places_of(bare, shapes)
    for _, name in ipairs(order) do compare(name, own[name], said[name]) end
    for _, name in ipairs(also) do compare(name, own[name], said[name]) end
end
