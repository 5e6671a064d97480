--- Which reader a path needs, and what the files beside it say of the special tokens.

local disk = require "heed.files"
local gguf_file = require "heed.text.tokenizer.gguf_file"
local json = require "heed.json"
local json_file = require "heed.text.tokenizer.json_file"
local spm_file = require "heed.text.tokenizer.spm_file"
local unknown = require "heed.unknown"
local vocab_file = require "heed.text.tokenizer.vocab_file"
local vocab_json_file = require "heed.text.tokenizer.vocab_json_file"

local files = {}

local IS_A_DIRECTORY = 21 -- EISDIR

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
        local text = disk.read(directory .. "/" .. name)
        local value, message
        if text then value, message = json.decode(text) end
        if text and type(value) ~= "table" then
            unknown.refuse("%s: %s", name, message or "expected an object")
        end
        if value then named(description.names, value) end
        local template = value and value.chat_template
        if not unknown.absent(template) then description.template = template end
    end
    local template = disk.read(directory .. "/chat_template.jinja")
    if template then description.template = template end
end

local function of_json(text, directory)
    local description = json_file.read(text)
    add_settings(description, directory)
    return description
end

local function of_vocab(text, directory, pattern)
    local settings = disk.read(directory .. "/tokenizer_config.json")
    local description = vocab_file.read(text, settings and json.decode(settings) or nil, pattern)
    add_settings(description, directory)
    return description
end

-- Files of SentencePiece's that have their ids in a vocab.json, where there is one.
local WITH_VOCAB_JSON = { ["source.spm"] = vocab_json_file.marian,
    ["sentencepiece.bpe.model"] = vocab_json_file.m2m }

local function is_beside(path, name)
    return disk.exists((path:match "^(.*/)[^/]*$" or "") .. name)
end

-- By a file's name, or the end of it.
local function reader_of(path)
    local name = path:match "[^/]*$"
    local numbered = WITH_VOCAB_JSON[name]
    if numbered and is_beside(path, "vocab.json") then return numbered end
    if name:find "%.model$" or name:find "%.spm$" then return spm_file.read end
    return name:find "%.txt$" and of_vocab or of_json
end

-- What a directory may hold, the most telling first.
local INSIDE = { "tokenizer.json", "vocab.txt", "tokenizer.model", "spiece.model",
    "sentencepiece.bpe.model", "source.spm" }

local function inside(directory)
    for _, name in ipairs(INSIDE) do
        local path = directory .. "/" .. name
        if disk.exists(path) then return path end
    end
    return nil, ("%s: expected one of %s in it"):format(directory, table.concat(INSIDE, ", "))
end

---@param path string a file, or a directory
---@param pattern? string of the tokens of a vocab.txt
---@param metadata? table of a GGUF file, when it was opened already
---@return heed.text.tokenizer.Description|nil
---@return string? message
function files.read(path, pattern, metadata)
    if metadata and not pattern then
        return unknown.attempt(path, gguf_file.describe, metadata)
    end
    local bytes, message, code = disk.beginning(path, #"GGUF")
    if code == IS_A_DIRECTORY then
        path, message = inside((path:gsub("/+$", "")))
        bytes = path and ""
    end
    if not bytes then return nil, message end
    if pattern and not path:find "%.txt$" then
        return nil, path .. ": expected a vocab.txt, which a pattern is for"
    end
    if bytes == "GGUF" then return gguf_file.read(path) end
    local text, problem = disk.read(path)
    if not text then return nil, problem end
    return unknown.attempt(path, reader_of(path), text, path:match "^(.*)/[^/]*$" or ".",
        pattern)
end

return files
