--- The tensors of other people's files under one door: safetensors, whole or in shards, and GGUF.

local json = require "heed.json"
local safetensors = require "heed.safetensors"
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

---A JSON object from a file of a directory.
---@param path string
---@return table
function files.object(path)
    local text, message = read_all(path)
    if not text then unknown.refuse("%s", message) end
    local value
    value, message = json.decode(text)
    if type(value) ~= "table" then
        unknown.refuse("%s: %s", path, message or "expected an object")
    end
    return value
end

---Tensors by name as what a file holds.
---@param tensors table<string, heed.Tensor>
---@return heed.models.File
function files.of_tensors(tensors)
    local list = {}
    for name in pairs(tensors) do list[#list + 1] = name end
    table.sort(list)
    return { names = list, has = function(name) return tensors[name] ~= nil end,
        tensor = function(name) return tensors[name] end }
end

local function loaded(path)
    local tensors, message = safetensors.load(path)
    if not tensors then unknown.refuse("%s", message) end
    return tensors
end

-- Shards, by the index that says which holds what.
local function of_shards(directory, index)
    local all, read = {}, {}
    for name, shard in pairs(unknown.check(index.weight_map, "table", "weight_map")) do
        unknown.check(shard, "string", "weight_map: " .. name)
        if shard:find "[/\\]" then
            unknown.refuse("weight_map: expected a file's name, got %s", shard)
        end
        if not read[shard] then read[shard] = loaded(directory .. "/" .. shard) end
        all[name] = read[shard][name]
        if not all[name] then unknown.refuse("%s: expected the tensor %s in it", shard, name) end
    end
    return files.of_tensors(all)
end

local function of_directory(directory)
    local index = io.open(directory .. "/model.safetensors.index.json", "rb")
    if index then
        index:close()
        return of_shards(directory, files.object(directory .. "/model.safetensors.index.json"))
    end
    return files.of_tensors(loaded(directory .. "/model.safetensors"))
end

local function exists(path)
    local file = io.open(path, "rb")
    if file then file:close() end
    return file ~= nil
end

---A Hugging Face directory. How its model is to write, where it says so, is the config's
---generation_config.
---@param directory string
---@return table config
---@return heed.models.File
function files.open(directory)
    local config = files.object(directory .. "/config.json")
    local generation = directory .. "/generation_config.json"
    if exists(generation) then config.generation_config = files.object(generation) end
    return config, of_directory(directory)
end

return files
