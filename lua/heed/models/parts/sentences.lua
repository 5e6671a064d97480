--- What a directory of sentence-transformers says of vectors of texts: modules.json, and what it
--- names.

local disk = require "heed.files"
local huggingface = require "heed.models.files.huggingface"
local nn = require "heed.nn"
local Pooling = require "heed.models.parts.pooling"
local unknown = require "heed.unknown"

local sentences = {}

---Is the directory an encoder of sentences? Its config.json may name a head that is not there. (One
---module alone is a model with its head: a cross-encoder.)
---@param directory string
---@return boolean
function sentences.are_in(directory)
    local path = directory .. "/modules.json"
    return disk.exists(path) and #huggingface.object(path) > 1
end

-- pooling_mode_mean_tokens = true, and its like.
local KEYS = { cls = "pooling_mode_cls_token", max = "pooling_mode_max_tokens",
    mean = "pooling_mode_mean_tokens", mean_sqrt_len = "pooling_mode_mean_sqrt_len_tokens",
    weightedmean = "pooling_mode_weightedmean_tokens", lasttoken = "pooling_mode_lasttoken" }

-- Newer files have one name, or a list of them.
local function named_modes(given)
    local list = {}
    for i, name in ipairs(type(given) == "table" and given or { given }) do
        list[i] = name == "mean_sqrt_len_tokens" and "mean_sqrt_len" or name
        if not KEYS[list[i]] then unknown.kind("Pooling: pooling_mode", name) end
    end
    return list
end

local function modes_of(c)
    if not unknown.absent(c.pooling_mode) then return named_modes(c.pooling_mode) end
    local list, known = {}, {}
    for _, mode in ipairs(Pooling.MODES) do
        known[KEYS[mode]] = true
        if unknown.flag(c[KEYS[mode]], false) then list[#list + 1] = mode end
    end
    for key, value in pairs(c) do
        if key:find "^pooling_mode" and value == true and not known[key] then
            unknown.kind("Pooling", key)
        end
    end
    return #list > 0 and list or { "mean" }
end

local ACTIVATIONS = { Tanh = nn.Tanh, Identity = nn.Identity, ReLU = nn.ReLU, GELU = nn.GELU }

local MOST_FEATURES = 1 << 20

local function features(c, name, path)
    local count = unknown.field(c, name, "integer", path)
    if count < 1 or count > MOST_FEATURES then
        unknown.refuse("%s: %s: expected an integer from 1 to %d, got %d", path, name,
            MOST_FEATURES, count)
    end
    return count
end

local function dense(directory)
    local path = directory:match "[^/]*$" .. "/config.json"
    local c = huggingface.object(directory .. "/config.json")
    if unknown.flag(c.use_residual, false) then unknown.kind("Dense", "use_residual") end
    if (c.module_input_name or "sentence_embedding") ~= "sentence_embedding" then
        unknown.kind("Dense: module_input_name", c.module_input_name)
    end
    local name = tostring(c.activation_function):match "[%w_]+$"
    if not ACTIVATIONS[name] then unknown.kind("Dense: activation_function", name) end
    local tensors = huggingface.of_directory(directory)
    local layer = nn.Linear(features(c, "in_features", path), features(c, "out_features", path),
        { bias = unknown.flag(c.bias, true) })
    for _, part in ipairs { "weight", layer.bias and "bias" } do
        local t = tensors.has("linear." .. part) and tensors.tensor("linear." .. part)
        if not t or t.shape ~= layer[part].shape then
            unknown.refuse("Dense: linear.%s: expected %s, got %s", part,
                tostring(layer[part].shape), t and tostring(t.shape) or "none")
        end
        layer[part] = nn.parameter(t)
    end
    return nn.Sequential(layer, ACTIVATIONS[name]())
end

-- A count that a file may have.
local function limit(c, name, file)
    local most = unknown.optional(c, name, "integer", file)
    if most and most < 1 then
        unknown.refuse("%s: %s: expected an integer of at least 1, got %d", file, name, most)
    end
    return most
end

-- How many tokens of a text are read: what the sentence encoder says, before the tokenizer.
local function limits(directory, model_type)
    for _, name in ipairs { "bert", model_type } do
        local file = ("sentence_%s_config.json"):format(name)
        if disk.exists(directory .. "/" .. file) then
            local c = huggingface.object(directory .. "/" .. file)
            return limit(c, "max_seq_length", file),
                unknown.flag(c.do_lower_case, false)
        end
    end
end

local LONGEST = 1 << 30 -- tokenizers without a limit have one of 10^30

local function limit_of_tokenizer(directory)
    local path = directory .. "/tokenizer_config.json"
    local most = disk.exists(path) and huggingface.object(path).model_max_length
    return type(most) == "number" and most >= 1 and most < LONGEST and math.tointeger(most) or nil
end

-- What comes behind the first module, by the last word of its type.
local readers = {
    Pooling = function(list, directory)
        if list.modes then unknown.kind("modules.json", "a second Pooling") end
        list.modes = modes_of(huggingface.object(directory .. "/config.json"))
    end,
    Dense = function(list, directory) list[#list + 1] = dense(directory) end,
    Normalize = function(list) list[#list + 1] = Pooling.Normalize() end,
}

-- The folder of a module in the directory.
local function folder_of(entry)
    local path = unknown.check(entry.path, "string", "modules.json: path")
    if path:find "[/\\]" or path == ".." then
        unknown.refuse("modules.json: path: expected a folder's name, got %s", path)
    end
    return path
end

-- The first is the model itself.
local function read_modules(directory)
    local list = {}
    for i, entry in ipairs(huggingface.object(directory .. "/modules.json")) do
        local kind = unknown.check(entry.type, "string", "modules.json: type"):match "[%w_]+$"
        if i == 1 and kind ~= "Transformer" or i > 1 and not readers[kind] then
            unknown.kind("modules.json: type", entry.type)
        end
        if i > 1 then readers[kind](list, directory .. "/" .. folder_of(entry)) end
    end
    if not list.modes then unknown.refuse "modules.json: expected a Pooling" end
    return list
end

---The files of a directory that say it, by their names in it.
---@param directory string
---@param model_type string
---@return string[]
function sentences.files(directory, model_type)
    local list = { "sentence_bert_config.json", ("sentence_%s_config.json"):format(model_type) }
    if not disk.exists(directory .. "/modules.json") then return list end
    table.move({ "modules.json", "config_sentence_transformers.json" }, 1, 2, #list + 1, list)
    for i, entry in ipairs(huggingface.object(directory .. "/modules.json")) do
        if i > 1 then list[#list + 1] = folder_of(entry) .. "/config.json" end
    end
    return list
end

---What the files of a directory say; without modules.json, the mean, of length 1.
---@param directory string
---@param model_type string
---@return heed.models.Pooling
function sentences.pooling(directory, model_type)
    local most, lowercase = limits(directory, model_type)
    local options = { max_tokens = most or limit_of_tokenizer(directory), lowercase = lowercase }
    if not sentences.are_in(directory) then return Pooling(options) end
    local modules = read_modules(directory)
    options.modes, options.normalize = modules.modes, false
    local pooling = Pooling(options)
    for i, step in ipairs(modules) do pooling.steps[i] = step end
    return pooling
end

return sentences
