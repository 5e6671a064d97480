--- Templates of chats: programs in the language of Jinja, with the values of Python. A template
--- sees what it is given and nothing else, and ends: its steps and its text are bounded.

local failure = require "heed.text.template.failure"
local from_lua = require "heed.text.template.from_lua"
local json_text = require "heed.text.template.json_text"
local machine = require "heed.text.template.machine"
local parser = require "heed.text.template.parser"
local values = require "heed.text.template.values"

---@class heed.text.Template
local Template = {}
Template.__index = Template
Template.__name = "heed.text.Template"

local template = {}

local function nowhere() return nil end

---The template of a source.
---@param source string
---@return heed.text.Template|nil template nil when it is none
---@return string? message
function template.new(source)
    local tree, message = failure.attempt(nowhere, parser, source)
    if not tree then return nil, message end
    return setmetatable({ tree = tree }, Template)
end

---The value of a JSON text, as templates see it: objects keep the order of their keys.
---@param text string
---@return any value
---@return string? message
function template.json(text) return failure.attempt(nowhere, json_text.read, text) end

template.value = from_lua

template.none = values.none

---@return boolean
function template.is_list(value) return values.kind(value) == "list" end

---What it makes of variables.
---@param variables table<string, any> values of template.json and template.value
---@param now? integer the time that it is told, in seconds as os.time(); default: now
---@return string|nil text nil when the template ends with an error, its own or not
---@return string? message
function Template:render(variables, now) return machine(self.tree, variables, now or os.time()) end

return template
