--- Hugging Face's directories: JSON, and tensors in safetensors, whole or in shards.

local disk = require "heed.files"
local json = require "heed.json"
local safetensors = require "heed.safetensors"
local unknown = require "heed.unknown"

local huggingface, NOT_A_DIRECTORY = {}, 20 -- errno's ENOTDIR

local function is_other_file(directory)
    local file, _, number = io.open(directory .. "/config.json")
    if file then file:close() end
    return number == NOT_A_DIRECTORY
end

---A JSON object from a file of a directory.
---@param path string
---@return table
function huggingface.object(path)
    local text, message = disk.read(path)
    if not text then unknown.refuse("%s", message) end
    local value
    value, message = json.decode(text)
    if type(value) ~= "table" then
        unknown.refuse("%s: %s", path, message or "expected an object")
    end
    return value
end

---The same, or nil when there is no such file.
---@param path string
---@return table|nil
function huggingface.object_if_there(path)
    return disk.exists(path) and huggingface.object(path) or nil
end

---Tensors by name as what a file holds.
---@param tensors table<string, heed.Tensor>
---@param copied? boolean each when it is asked for; default: they are given as they are
---@return heed.models.File
function huggingface.of_tensors(tensors, copied)
    local list = {}
    for name in pairs(tensors) do list[#list + 1] = name end
    table.sort(list)
    return { names = list, has = function(name) return tensors[name] ~= nil end,
        tensor = function(name) return copied and tensors[name]:clone() or tensors[name] end,
        into = function(name, t) t:copy_(tensors[name]) end,
        info = function(name)
            local t = tensors[name]
            return t.dtype, { t:size() }, not copied
        end }
end

local function loaded(path)
    local tensors, message = safetensors.load(path, { map = true })
    if not tensors then unknown.refuse("%s", message) end
    return tensors
end

-- Shards, by the index that says which holds what.
local function of_shards(directory, index, map)
    local all, read, absent = {}, {}, {}
    for name, shard in pairs(unknown.check(index.weight_map, "table", "weight_map")) do
        unknown.check(shard, "string", "weight_map: " .. name)
        if shard:find "[/\\]" then
            unknown.refuse("weight_map: expected a file's name, got %s", shard)
        end
        if not read[shard] then read[shard] = loaded(directory .. "/" .. shard) end
        all[name] = read[shard][name]
        if not all[name] then absent[#absent + 1] = ("%s in %s"):format(name, shard) end
    end
    if #absent > 0 then
        table.sort(absent)
        unknown.refuse("weight_map: %d tensors are not where it says: %s", #absent,
            table.concat(absent, ", ", 1, math.min(#absent, 3)))
    end
    return huggingface.of_tensors(all, not map)
end

local function refuse_pickle(directory)
    if disk.exists(directory .. "/model.safetensors") then return end
    for _, name in ipairs { "pytorch_model.bin", "pytorch_model.bin.index.json" } do
        if disk.exists(directory .. "/" .. name) then
            unknown.refuse("expected model.safetensors in it, got %s: pickles are not read; "
                .. "docs/models.md says how to turn them into safetensors", name)
        end
    end
end

---The tensors of a Hugging Face directory.
---@param directory string
---@param map? boolean in the file's pages, where they can be
---@return heed.models.File
function huggingface.of_directory(directory, map)
    local index = huggingface.object_if_there(directory .. "/model.safetensors.index.json")
    if index then return of_shards(directory, index, map) end
    refuse_pickle(directory)
    return huggingface.of_tensors(loaded(directory .. "/model.safetensors"), not map)
end

---A Hugging Face directory. How its model is to write, where it says so, is the config's
---generation_config.
---@param directory string
---@param map boolean in the file's pages, where they can be
---@return table config
---@return heed.models.File
function huggingface.open(directory, map)
    if is_other_file(directory) then
        unknown.refuse "expected a directory, a GGUF file, or one that marian-nmt wrote"
    end
    local config = huggingface.object(directory .. "/config.json")
    config.generation_config = huggingface.object_if_there(directory .. "/generation_config.json")
    local file = huggingface.of_directory(directory, map)
    function file.called(name) return "config.json: " .. name end
    return config, file
end

return huggingface
