--- What a config.json says, and what it leaves out.

local check = require "heed.check"
local unknown = require "heed.unknown"

local config = {}

local function add(to, from)
    for key, value in pairs(from or {}) do
        if not unknown.absent(value) then
            to[key] = value
        elseif to[key] ~= nil then
            to[key] = false -- null is none, not what the family has otherwise
        end
    end
end

---What the file says, and what it leaves out as the family has it, or files of its model_type.
---@param family heed.models.Family
---@param given table
---@return table
function config.complete(family, given)
    local complete = {}
    add(complete, family.config)
    add(complete, family.types and family.types[given.model_type])
    add(complete, given)
    return complete
end

---A config that a model is made of, completed as its family says.
---@param model heed.nn.Module
---@param given any
---@return table
function config.of(model, given)
    check.type("heed.models." .. model.class_name, "config", given, "table")
    return config.complete(model, given)
end

return config
