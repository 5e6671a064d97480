--- What ends a template: a mistake in it, what it does not find in its data, or its own
--- raise_exception. The caller gets nil and the message.

local failure = {}

local Failure = {}
Failure.__index = Failure
Failure.__tostring = function(self) return self.message end

---Ends the template.
---@param message string with % only where arguments follow
function failure.raise(message, ...)
    if select("#", ...) > 0 then message = message:format(...) end
    error(setmetatable({ message = message }, Failure), 0)
end

---Ends the template by its own will: with its own words alone.
---@param message string
function failure.by_template(message)
    error(setmetatable({ message = message, own = true }, Failure), 0)
end

---What f(...) gives; or nil and the message when it ended by failure.raise.
---@param line_of fun(): integer|nil the line of the template that was at work
---@return any value
---@return string? message
function failure.attempt(line_of, f, ...)
    local ok, value = pcall(f, ...)
    if ok then return value end
    if getmetatable(value) ~= Failure then error(value, 0) end
    local line = not value.own and line_of()
    return nil, line and ("line %d: %s"):format(line, value.message) or value.message
end

return failure
