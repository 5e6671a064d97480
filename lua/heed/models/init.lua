--- Other people's models: their files, and the architectures that these hold.

local check = require "heed.check"
local configs = require "heed.models.settings.config"
local core = require "heed.core"
local errors = require "heed.errors"
local families = require "heed.models.families"
local fields = require "heed.models.settings.config_fields"
local files = require "heed.models.files"
local ImageProcessor = require "heed.models.parts.image_processor"
local origins = require "heed.models.weights.origins"
local Pooling = require "heed.models.parts.pooling"
local save = require "heed.models.save"
local sentences = require "heed.models.parts.sentences"
local open_tokenizer = require "heed.text.tokenizer"
local unknown = require "heed.unknown"
local weights = require "heed.models.weights.fill"

local models = { ImageProcessor = ImageProcessor, Pooling = Pooling }

for name, class in pairs(families.classes) do models[name] = class end

---The families that are known, as config.json calls them.
---
---```lua
---print(table.unpack(heed.models.families(), 1, 3)) --> albert bart bert
---```
---@return string[]
function models.families()
    local list = {}
    for name in pairs(families.by_type) do list[#list + 1] = name end
    table.sort(list)
    return list
end

local function family_of(name)
    local family = families.by_type[name]
    if not family then
        unknown.refuse("model_type: expected one of %s, got %s",
            table.concat(models.families(), ", "), tostring(name))
    end
    return family
end

local function in_generation(name) return "generation_config.json: " .. name end

local function check_config(config, family, file)
    fields.check(config, family.needs, #file.names, file.called)
    if config.generation_config then
        fields.check(config.generation_config, {}, 0, in_generation)
    end
end

local function check_trainable(model)
    for name, p in model:named_parameters() do
        if core.dtypes.halves[p.dtype] then
            unknown.refuse('grad: %s is %s, which has no gradients; dtype = "f32" loads all as f32',
                name, p.dtype)
        end
    end
end

-- SentencePiece's files do not say that a text has an end; translators read it.
local function with_end(model, reader)
    local eos = reader and reader.eos
    if eos and model.reads_end and #reader.around.single == 1 then
        reader.around = { single = { "A", eos }, pair = { "A", eos, "B", eos } }
    end
    return reader
end

-- Where configs name no token that ends an answer, the vocabulary may.
local function add_stop(generation, reader)
    if generation and not generation.stop[1] and reader and reader.eos then
        generation.stop[1] = reader.eos
    end
end

local function load(path, options)
    local given, file = files.open(path, options.map ~= false)
    local family = family_of(options.family or given.model_type)
    local config = configs.complete(family, given)
    config.of_sentences = sentences.are_in(path)
    check_config(config, family, file)
    local model, shapes = unknown.of_file("config", weights.bare, family, config)
    local prefix = weights.fill(model, shapes, file, family, config, options.dtype,
        not options.grad and (options.dtype == nil or options.dtype == "as stored"))
    origins.keep(model, { path = path, family = family, given = given, config = config,
        prefix = prefix, gguf = file.gguf })
    if options.grad then check_trainable(model) end
    local reader, problem = open_tokenizer(file.gguf or file.vocabulary or path)
    if model.read_beside then
        model:read_beside { path = path, config = config, tokenizer = reader,
            dtype = options.dtype ~= "as stored" and options.dtype or nil }
    end
    add_stop(model.generation, reader)
    return { model = model:eval():requires_grad_(options.grad or false), config = config,
        tokenizer = with_end(model, reader), problem = problem }
end

local OPTIONS = check.set("dtype", "family", "grad", "map")

---A model, its tokenizer, and its config: from a Hugging Face directory (config.json, safetensors
---in one or in shards), from a GGUF file, or from what CTranslate2, marian-nmt and OpenNMT write
---(docs/models.md). Quantised matrices of GGUF files stay quantised, unless `dtype` or `grad` asks for
---numbers. Weights that are used as the file has them are its pages: nothing is read before it is used, other processes use the same memory, and
---writing to a parameter does not reach the file. (heed.safetensors.load says what that asks of the
---file; `map = false` reads copies.) A model that needs more memory than there is left is refused
---before it is read.
---
---```lua
---print(heed.models.load "nowhere") --> nil nowhere: nowhere/config.json: No such file or directory
---```
---@param path string
---@param options? { dtype?: heed.DType|"as stored", family?: string, grad?: boolean, map?: boolean }
---dtype: of the parameters, default as stored, but f32 for f16 and bf16, in which layers do not
---compute; family: where config.json does not say it (heed.models.families); grad: to be trained,
---default false; map: the file's pages instead of copies, default true
---@return heed.nn.Module|nil model in eval mode; nil when something is missing, does not fit or is
---not known
---@return heed.Tokenizer|string|nil tokenizer nil when there is none that can be read; or the
---message
---@return table? config
---@return string? problem why there is no tokenizer
function models.load(path, options)
    local where = "heed.models.load"
    check.path(where, path)
    options = check.options(where, options, OPTIONS)
    check.flag(where, "map", options.map, true)
    if options.dtype ~= "as stored" and options.dtype then
        check.one_of(where, "dtype", options.dtype, core.dtypes.floats)
    end
    if options.family and not families.by_type[options.family] then
        errors.raise("%s: family: expected one of %s, got %s", where,
            table.concat(models.families(), ", "), check.describe(options.family))
    end
    local loaded, message = unknown.attempt(path, load, (path:gsub("/+$", "")), options)
    if not loaded then return nil, message end
    return loaded.model, loaded.tokenizer, loaded.config, loaded.problem
end

---Writes a model as what others load: where the path ends with ".gguf" a file for llama.cpp (models
---of the architectures llama and bert), else a directory for Hugging Face's transformers:
---config.json, model.safetensors under the names of the family's files, and the tokenizer's files as
---they were. Files are written whole or not at all. A model that was changed so that its config does
---not describe it any more needs one that does.
---
---```lua
---local config = { model_type = "llama", vocab_size = 20, hidden_size = 8, num_hidden_layers = 1,
---    num_attention_heads = 2, num_key_value_heads = 1, intermediate_size = 16 }
---local model, path = heed.models.Llama(config), os.tmpname() .. ".gguf"
---print(heed.models.save(path, model, nil, { config = config })) --> true
---print(#heed.gguf.open(path).tensors) --> 12
---os.remove(path)
---```
---@param path string
---@param model heed.nn.Module
---@param tokenizer? heed.Tokenizer
---@param options? { config?: table, type?: string } config: of a model that was not loaded, or was
---changed; type: of the matrices of a GGUF file, "F16" or "Q8_0" (heed.gguf.save has the list),
---default: as they are
---@return true|nil ok nil when a file cannot be written, or has no place for what is to be written
---@return string? message
function models.save(path, model, tokenizer, options)
    return save(path, model, tokenizer, options)
end

return models
