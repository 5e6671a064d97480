--- Iterators used as lists: an error that says how one goes through them, in place of nil.

local check = require "heed.check"
local errors = require "heed.errors"
local suggest = require "heed.suggest"

---Makes keys that nothing is found under raise, and `#` where the class has none.
---@param class table whose __index it is itself
---@param where string for messages: "heed.data.Rows"
---@param loop string how one goes through it: "for row in rows do ... end"
---@param hint string what else may have been meant
---@param names? boolean names that it has not raise too, not only numbers
local function no_list(class, where, loop, hint, names)
    local function refuse(got, meant)
        errors.raise("%s: expected a loop, %s, got %s; %s%s", where, loop, got, hint, meant or "")
    end
    class.__len = class.__len or function() refuse "#" end
    setmetatable(class, { __index = function(_, key)
        local is_name = names and type(key) == "string"
        if is_name or math.type(key) then
            refuse("the key " .. check.describe(key), is_name and suggest.near(key, class))
        end
        return nil
    end })
end

return no_list
