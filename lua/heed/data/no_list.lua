--- Iterators used as lists: an error that says how one goes through them, in place of nil.

local check = require "heed.check"
local errors = require "heed.errors"

---Makes keys that nothing is found under raise, and `#` where the class has none.
---@param class table whose __index it is itself
---@param where string for messages: "heed.data.Rows"
---@param loop string how one goes through it: "for row in rows do ... end"
---@param hint string what else may have been meant
---@param names? boolean names that it has not raise too, not only numbers
local function no_list(class, where, loop, hint, names)
    local function refuse(got)
        errors.raise("%s: expected a loop, %s, got %s; %s", where, loop, got, hint)
    end
    class.__len = class.__len or function() refuse "#" end
    setmetatable(class, { __index = function(_, key)
        if math.type(key) or names and type(key) == "string" then
            refuse("the key " .. check.describe(key))
        end
        return nil
    end })
end

return no_list
