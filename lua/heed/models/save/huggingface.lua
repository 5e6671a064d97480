--- Writes a model as a directory that Hugging Face's transformers loads.

local core = require "heed.core"
local disk = require "heed.files"
local json = require "heed.json"
local parts = require "heed.models.save.tensors"
local rows = require "heed.models.save.rotary_rows"
local safetensors = require "heed.safetensors"
local sentences = require "heed.models.parts.sentences"
local tokenizer_json = require "heed.models.save.tokenizer_json"
local unknown = require "heed.unknown"

-- What a directory may have for its tokenizer.
local TOKENIZER = { "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "chat_template.jinja",
    "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "source.spm", "target.spm" }

local function write(path, text)
    local ok, message = disk.write(path, text)
    if not ok then unknown.refuse("%s", message) end
end

-- ---- config.json --------------------------------------------------------------------------------

local DTYPES = { f32 = "float32", f64 = "float64", f16 = "float16", bf16 = "bfloat16" }

-- What all tensors have; nil of several.
local function common_dtype(tensors)
    local dtype
    for _, t in pairs(tensors) do
        if dtype and t.dtype ~= dtype then return nil end
        dtype = t.dtype
    end
    return dtype
end

-- What is heed's own in a config, or said elsewhere.
local OWN = { rope_interleaved = true, generation_config = true, of_sentences = true }

local function config_text(given, dtype)
    local config = {}
    for key, value in pairs(given) do
        if not OWN[key] then config[key] = value end
    end
    if dtype then
        config[config.torch_dtype ~= nil and "torch_dtype" or "dtype"] = DTYPES[dtype]
    end
    return json.encode(config, { indent = 2 }) .. "\n"
end

-- As the file stands there, when it says the same.
local function write_config(path, origin, tensors)
    local dtype = common_dtype(tensors)
    local said = origin.given.dtype or origin.given.torch_dtype or DTYPES.f32
    local as_it_was = origin.path and not origin.gguf and not origin.changed
    local text = as_it_was and disk.read(origin.path .. "/config.json")
    if not text or dtype and said ~= DTYPES[dtype] then
        text = config_text(origin.given, dtype)
    end
    write(path .. "/config.json", text)
end

-- ---- what lies beside it ------------------------------------------------------------------------

-- The texts of those files that there are.
local function texts_in(folder, list)
    local texts = {}
    for _, name in ipairs(list) do texts[name] = disk.read(folder .. "/" .. name) end
    return texts
end

-- What is to be written for a tokenizer, by names; of a file also what lies beside it, where that
-- belongs to it.
local function tokenizer_files(tokenizer)
    local from = tokenizer.path
    if tokenizer.is_gguf then return tokenizer_json(tokenizer) end
    local text, name = disk.read(from), from:match "[^/]*$"
    if text and not (name == "tokenizer.json" or name == "vocab.txt") then
        return { [name] = text }
    end
    local texts = texts_in(text and (from:match "^(.*)/[^/]*$" or ".") or from, TOKENIZER)
    if not next(texts) then unknown.refuse("tokenizer: its files in %s are gone", from) end
    return texts
end

-- What the model's own directory says of its answers, of images, and of vectors of texts.
local function other_files(origin)
    local list = sentences.files(origin.path, origin.given.model_type)
    for _, name in ipairs { "generation_config.json", "preprocessor_config.json",
        "processor_config.json" } do
        list[#list + 1] = name
    end
    return texts_in(origin.path, list)
end

local function write_into(path, name, text)
    local folder = name:match "^(.*)/"
    if folder then
        local ok, message = core.make_directory(path .. "/" .. folder)
        if not ok then unknown.refuse("%s", message) end
    end
    write(path .. "/" .. name, text)
end

-- ---- all of it ----------------------------------------------------------------------------------

---@param path string made when it is not there
---@param model heed.nn.Module
---@param tokenizer heed.Tokenizer|nil
---@param origin heed.models.Origin
return function(path, model, tokenizer, origin)
    local tensors = parts(model, origin.family, origin.config, origin.prefix)
    if origin.config.rope_interleaved then rows.apart(tensors, origin.config) end
    local beside = tokenizer and tokenizer_files(tokenizer) or {}
    local ok, message = core.make_directory(path)
    if not ok then unknown.refuse("%s", message) end
    ok, message = safetensors.save(path .. "/model.safetensors", tensors,
        { metadata = { format = "pt" } })
    if not ok then unknown.refuse("%s", message) end
    write_config(path, origin, tensors)
    if origin.path and not origin.gguf then
        for name, text in pairs(other_files(origin)) do beside[name] = text end
    end
    for name, text in pairs(beside) do write_into(path, name, text) end
    return true
end
