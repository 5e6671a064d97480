--- What a reader of other people's files meets and does not know: it ends the reading, and the
--- caller gets nil and the message. Never a guess.

local errors = require "heed.errors"
local null = require("heed.json").null

local unknown = {}

local Refusal = {}
Refusal.__index = Refusal
Refusal.__tostring = function(refusal) return refusal.message end

local reading = 0 -- how many attempts are under way

---Ends the reading. Where nothing is read (a family is made of a config by hand) it is misuse.
---@param message string
function unknown.refuse(message, ...)
    if reading == 0 then errors.raise(message, ...) end
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

-- Without the user's line, which is not what is wrong.
local function without_position(message)
    return (message:gsub("^[^\n]-:%d+: ", "", 1))
end

---What build(...) gives, of what a file says. What other functions refuse there is the file's fault.
---@param what string of the file
---@param build function
function unknown.of_file(what, build, ...)
    local result = table.pack(pcall(build, ...))
    if result[1] then return table.unpack(result, 2, result.n) end
    local problem = result[2]
    return unknown.refuse("%s: %s", what, getmetatable(problem) == Refusal and problem.message
        or without_position(tostring(problem)))
end

---What read(...) gives; or nil and the message, when it refused or what it gave to C was refused.
---@param path string before the message
---@param read function
---@return any value
---@return string? message
function unknown.attempt(path, read, ...)
    reading = reading + 1
    local ok, value = pcall(read, ...)
    reading = reading - 1
    if ok then return value end
    if getmetatable(value) == Refusal then return nil, path .. ": " .. value.message end
    local message = type(value) == "string" and value:match "heed%.text%.tokenizer: (.*)"
    if message then return nil, path .. ": " .. message end
    error(value, 0)
end

return unknown
