--- What iterators say of themselves so that they can go on: plain tables, checked before they are
--- believed.

local check = require "heed.check"
local errors = require "heed.errors"

local state = {}

---nil and a message unless it is a table with whole numbers of at least so much under these names.
---@param what string whose state it should be
---@param value any
---@param least table<string, integer>
---@return true|nil
---@return string? message
function state.check(what, value, least)
    if type(value) ~= "table" then return nil, "not the state of " .. what end
    for name, low in pairs(least) do
        if math.type(value[name]) ~= "integer" or value[name] < low then
            return nil, ("not the state of %s: expected an integer of at least %d as %s, got %s")
                :format(what, low, name, check.describe(value[name]))
        end
    end
    return true
end

---Options that decide which batches come: nil and a message where the state has others.
---@param saved table what an option was; states of before lack some
---@param own table
---@return true|nil
---@return string? message
function state.same_options(saved, own)
    for _, name in ipairs { "size", "tokens", "shuffle", "bucket", "drop_last" } do
        local was_said = saved[name] ~= nil or (name == "size" or name == "tokens")
            and saved.shuffle ~= nil
        if was_said and saved[name] ~= own[name] then
            return nil, ("the state is of batches with %s = %s, these have %s"):format(name,
                tostring(saved[name]), tostring(own[name]))
        end
    end
    return true
end

---@param where string for the message
---@param ok true|nil what check_state_dict gave
---@param message string|nil
function state.must(where, ok, message)
    if not ok then errors.raise("%s:load_state_dict: %s", where, message) end
end

return state
