--- What marian-nmt writes, as what Hugging Face's directories are: the binary file of a model,
--- whose settings are the config; and the file of settings of its decoder, or a directory with one.

local core = require "heed.core"
local disk = require "heed.files"
local unknown = require "heed.unknown"

local marian = {}

local SETTINGS = "special:model.yml"
local VERSION = string.pack("<I8", 1)

-- ---- settings -----------------------------------------------------------------------------------

local function value_of(text)
    if text == "true" or text == "false" then return text == "true" end
    if text == "[]" or text == "~" then return {} end
    local quoted = text:match '^"(.*)"$' or text:match "^'(.*)'$"
    return quoted or tonumber(text) or text
end

-- "key: value", and lists of "- value" below "key:".
local function settings_of(text)
    local settings, list = {}, nil
    for line in text:gmatch "[^\r\n]+" do
        local key, value = line:match "^([%w_-]+):%s*(.-)%s*$"
        local item = line:match "^%s*-%s+(.-)%s*$"
        if key then
            list = {}
            settings[key] = value == "" and list or value_of(value)
        elseif item and list then
            list[#list + 1] = value_of(item)
        elseif line:find "%S" and not line:find "^%s*#" and not line:find "^%z+$" then
            unknown.refuse("settings: expected KEY: VALUE, got %q", line)
        end
    end
    return settings
end

-- ---- paths --------------------------------------------------------------------------------------

local function folder_of(path) return path:match "^(.*/)[^/]*$" or "" end

-- A decoder's settings in a directory of marian's.
local function settings_in(directory)
    if disk.exists(directory .. "/config.json") then return nil end
    local names = core.directory_names(directory) or {}
    table.sort(names)
    for _, name in ipairs(names) do
        if name:find "%.ya?ml$" then return directory .. "/" .. name end
    end
end

---Is this a file of marian-nmt's, or a directory with one?
---@param path string
---@return boolean
function marian.fits(path)
    return path:find "%.ya?ml$" ~= nil or disk.beginning(path, #VERSION) == VERSION
        or settings_in(path) ~= nil
end

-- The model, and the vocabulary, by the decoder's settings, where paths are relative to them.
local function named_in(path)
    local text, message = disk.read(path)
    local settings = settings_of(text or unknown.refuse("%s", message))
    local function file_of(key)
        local name = type(settings[key]) == "table" and settings[key][1]
        if type(name) ~= "string" then unknown.refuse("%s: expected %s in it", path, key) end
        return name:sub(1, 1) == "/" and name or folder_of(path) .. name
    end
    return file_of "models", file_of "vocabs"
end

-- Beside a model that is given alone: the vocabulary of the same name, or the only one.
local function vocabulary_beside(path)
    local folder, found = folder_of(path), {}
    for _, name in ipairs(core.directory_names(folder == "" and "." or folder) or {}) do
        if name:find "%.spm$" then found[#found + 1] = folder .. name end
    end
    return #found == 1 and found[1] or nil
end

-- ---- the model ----------------------------------------------------------------------------------

-- Vectors are matrices of one row there.
local function plain(t)
    return t:dim() == 2 and t:size(1) == 1 and t:view(t:size(2)) or t
end

---@param path string
---@return table config the model's settings
---@return heed.models.File
function marian.open(path)
    local model, vocabulary = path, nil
    local settings = path:find "%.ya?ml$" and path or settings_in(path)
    if settings then model, vocabulary = named_in(settings) end
    local items, message = core.marian_load(model)
    if not items then unknown.refuse("%s", message) end
    local config = settings_of(unknown.check(items[SETTINGS], "string", SETTINGS):gsub("%z+$", ""))
    config.model_type = "marian-nmt"
    items[SETTINGS] = nil
    local names = {}
    for name in pairs(items) do names[#names + 1] = name end
    table.sort(names)
    return config, {
        called = function(name) return SETTINGS .. ": " .. name end,
        names = names, vocabulary = vocabulary or vocabulary_beside(model),
        has = function(name) return items[name] ~= nil end,
        tensor = function(name) return plain(items[name]) end,
        into = function(name, t) t:copy_(plain(items[name])) end,
        info = function(name) return "f32", { plain(items[name]):size() }, false end,
    }
end

return marian
