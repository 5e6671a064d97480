--- What a reader of other people's files meets and does not know: it ends the reading, and the
--- caller gets nil and the message. Never a guess.

local null = require("heed.json").null

local unknown = {}

local Refusal = {}
Refusal.__index = Refusal
Refusal.__tostring = function(refusal) return refusal.message end

---Ends the reading.
---@param message string
function unknown.refuse(message, ...)
    error(setmetatable({ message = message:format(...) }, Refusal), 0)
end

---A part of a kind that is not known.
---@param part string "normalizer"
---@param name any
function unknown.kind(part, name) unknown.refuse("%s: unknown: %s", part, tostring(name)) end

---Is it left out? Files leave settings out by JSON's null too.
---@param value any
---@return boolean
function unknown.absent(value) return value == nil or value == null end

---A flag of a file.
---@param value any
---@param otherwise boolean where it is left out
---@return boolean
function unknown.flag(value, otherwise)
    if unknown.absent(value) then return otherwise end
    return value == true
end

---The value, when it has the type.
---@generic T
---@param value T
---@param kind string
---@param where string
---@return T
function unknown.check(value, kind, where)
    if type(value) ~= kind then
        unknown.refuse("%s: expected a %s, got a %s", where, kind, type(value))
    end
    return value
end

---A field that a table of a file may have: nil when it has not, or has null.
---@param described table
---@param name string
---@param kind string a type, or "integer"
---@param where string
---@return any
function unknown.optional(described, name, kind, where)
    local value = described[name]
    if unknown.absent(value) then return nil end
    if kind == "integer" and math.type(value) == "integer" then return value end
    return unknown.check(value, kind, ("%s: %s"):format(where, name))
end

---A field that it must have.
function unknown.field(described, name, kind, where)
    local value = unknown.optional(described, name, kind, where)
    if value == nil then unknown.refuse("%s: %s: expected a %s, got none", where, name, kind) end
    return value
end

---What read(...) gives; or nil and the message, when it refused or what it gave to C was refused.
---@param path string before the message
---@param read function
---@return any value
---@return string? message
function unknown.attempt(path, read, ...)
    local ok, value = pcall(read, ...)
    if ok then return value end
    if getmetatable(value) == Refusal then return nil, path .. ": " .. value.message end
    local message = type(value) == "string" and value:match "heed%.text%.tokenizer: (.*)"
    if message then return nil, path .. ": " .. message end
    error(value, 0)
end

return unknown
