--- tokenizer:chat: messages to text, by the template of the tokenizer's own file.

local check = require "heed.check"
local errors = require "heed.errors"
local json = require "heed.json"
local template = require "heed.text.template"

local WHERE = "tokenizer:chat"

local chat = {}

-- ---- the template -------------------------------------------------------------------------------

-- Of several templates: the one asked for, or the one for tools when there are some.
local function chosen(list, name, with_tools)
    local named = {}
    for _, each in ipairs(list) do
        if type(each) == "table" and type(each.template) == "string" then
            named[each.name] = each.template
        end
    end
    if name then return named[name] end
    return with_tools and named.tool_use or named.default
end

local function source_of(tokenizer, name, with_tools)
    local held = tokenizer.template
    if type(held) == "string" and name == nil then return held end
    if type(held) == "table" then return chosen(held, name, with_tools) end
    return nil
end

-- Parsed once.
local function template_of(tokenizer, name, with_tools)
    local source = source_of(tokenizer, name, with_tools)
    if not source then
        return nil, ("%s: the tokenizer's file has no template%s for chats"):format(WHERE,
            name and (" %q"):format(name) or "")
    end
    tokenizer.templates = tokenizer.templates or {}
    local made, message = tokenizer.templates[source], nil
    if not made then
        made, message = template.new(source)
        tokenizer.templates[source] = made
    end
    return made, message and ("%s: template: %s"):format(WHERE, message)
end

-- ---- what it is given ---------------------------------------------------------------------------

-- A list, as a Lua table or as JSON text.
local function list_of(name, value)
    if type(value) == "string" then
        local list, message = template.json(value)
        if list == nil then errors.raise("%s: %s: expected JSON, got %s", WHERE, name, message) end
        if not template.is_list(list) then
            errors.raise("%s: %s: expected a list, got other JSON", WHERE, name)
        end
        return list
    end
    check.type(WHERE, name, value, "table")
    if next(value) == nil and getmetatable(value) == nil then value = json.array {} end
    local list = template.value(WHERE, name, value)
    if not template.is_list(list) then
        errors.raise("%s: %s: expected a list, got a table with names; a message alone goes in {}",
            WHERE, name)
    end
    return list
end

local LISTS = { tools = true, documents = true }
local OWN = { template = true, now = true }

local function variables_of(tokenizer, messages, options)
    local variables = { messages = list_of("messages", messages), tools = template.none,
        documents = template.none, add_generation_prompt = true }
    for name, token in pairs(tokenizer.names) do variables[name .. "_token"] = token end
    for name, value in pairs(options) do
        check.type(WHERE, "options", name, "string")
        if LISTS[name] and value ~= json.null then
            variables[name] = list_of(name, value)
        elseif not OWN[name] then
            variables[name] = template.value(WHERE, name, value)
        end
    end
    return variables
end

---tokenizer:chat
---@param tokenizer heed.Tokenizer
---@param messages table[]|string
---@param options? table
---@return string|nil text
---@return string? message
function chat.text(tokenizer, messages, options)
    if options == nil then options = {} end
    check.type(WHERE, "options", options, "table")
    local name, now = options.template, options.now
    if name ~= nil then check.type(WHERE, "template", name, "string") end
    if now ~= nil then now = check.integer(WHERE, "now", now, math.mininteger) end
    check.flag(WHERE, "add_generation_prompt", options.add_generation_prompt)
    local variables = variables_of(tokenizer, messages, options)
    local made, message = template_of(tokenizer, name, variables.tools ~= template.none)
    if not made then return nil, message end
    local text, problem = made:render(variables, now)
    if not text then return nil, ("%s: template: %s"):format(WHERE, problem) end
    return text
end

return chat
