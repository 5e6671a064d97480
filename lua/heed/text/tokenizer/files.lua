--- Which reader a path needs, and what the files beside it say of the special tokens.

local gguf_file = require "heed.text.tokenizer.gguf_file"
local json = require "heed.json"
local json_file = require "heed.text.tokenizer.json_file"
local steps = require "heed.text.tokenizer.steps"
local unknown = require "heed.text.tokenizer.unknown"

local files = {}

local function read_all(path)
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    local text, problem = file:read "a"
    file:close()
    if not text then return nil, path .. ": " .. problem end
    return text
end

local NAMES = { bos = "bos_token", eos = "eos_token", unk = "unk_token", pad = "pad_token",
    mask = "mask_token", cls = "cls_token", sep = "sep_token" }

-- A token, as a string or as a table with its content.
local function named(names, described)
    for name, key in pairs(NAMES) do
        local token = described[key]
        if type(token) == "table" then token = token.content end
        if type(token) == "string" then names[name] = token end
    end
end

local function add_settings(description, directory)
    description.names = description.names or {}
    for _, name in ipairs { "special_tokens_map.json", "tokenizer_config.json" } do
        local text = read_all(directory .. "/" .. name)
        local value, message = text and json.decode(text)
        if text and type(value) ~= "table" then
            unknown.refuse("%s: %s", name, message or "expected an object")
        end
        if value then named(description.names, value) end
        local template = value and value.chat_template
        if not steps.absent(template) then description.template = template end
    end
    local template = read_all(directory .. "/chat_template.jinja")
    if template then description.template = template end
end

local function of_json(text, directory)
    local description = json_file.read(text)
    if directory then add_settings(description, directory) end
    return description
end

---@param path string a file, or a directory
---@return heed.text.tokenizer.Description|nil
---@return string? message
function files.read(path)
    local inside = path:gsub("/+$", "") .. "/tokenizer.json"
    local text = read_all(inside)
    if text then return unknown.attempt(inside, of_json, text, (path:gsub("/+$", ""))) end
    local file, message = io.open(path, "rb")
    if not file then return nil, message end
    local begin = file:read(4)
    file:close()
    if begin == "GGUF" then return gguf_file.read(path) end
    text, message = read_all(path)
    if not text then return nil, message end
    return unknown.attempt(path, of_json, text, path:match "^(.*)/[^/]*$")
end

return files
