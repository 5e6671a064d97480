--- Models as files that other programs load.

local agree = require "heed.models.save.agreement"
local check = require "heed.check"
local configs = require "heed.models.settings.config"
local directory = require "heed.models.save.huggingface"
local errors = require "heed.errors"
local families = require "heed.models.families"
local gguf_write = require "heed.models.save.gguf"
local origins = require "heed.models.weights.origins"
local fields = require "heed.models.settings.config_fields"
local suggest = require "heed.suggest"
local unknown = require "heed.unknown"
local walk = require "heed.nn.walk"

local WHERE = "heed.models.save"
local OPTIONS = check.set("config", "type")
local TYPES = check.set("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")

-- Where the model comes from, and what it is: as it was loaded, or as the given config says.
local function origin_of(model, given)
    local loaded = origins.of(model)
    if given == nil then
        return loaded or errors.raise("%s: options: expected the config, { config = ... }: this "
            .. "model was not loaded from files", WHERE)
    end
    check.type(WHERE, "config", given, "table")
    local family = families.by_type[given.model_type]
    if not family then
        errors.raise("%s: config: model_type: expected a family that is known, got %s", WHERE,
            check.describe(given.model_type))
    end
    local config = configs.complete(family, given)
    if not loaded then
        return { family = family, given = given, config = config,
            prefix = family.prefixes and family.prefixes[1] or "" }
    end
    config.of_sentences = loaded.config.of_sentences
    config.rope_interleaved = loaded.config.rope_interleaved -- the order of the model's rows
    return { path = loaded.path, family = family, given = given, config = config,
        prefix = loaded.prefix, changed = true }
end

local function check_type(type, path)
    if type == nil then return end
    if not path:find "%.gguf$" then
        errors.raise("%s: type: expected a path that ends with .gguf, got %s", WHERE,
            check.describe(path))
    end
    if not TYPES[type] then
        errors.raise("%s: type: expected a type that is written, got %s%s", WHERE,
            check.describe(type), suggest.near(tostring(type), TYPES))
    end
end

local function checked(write, path, model, tokenizer, origin, type)
    fields.check(origin.config, origin.family.needs, 0)
    agree(model, origin.family, origin.config)
    return write(path, model, tokenizer, origin, type)
end

---heed.models.save.
---@param path string
---@param model heed.nn.Module
---@param tokenizer? heed.Tokenizer
---@param options? { config?: table, type?: string }
---@return true|nil ok
---@return string? message
return function(path, model, tokenizer, options)
    check.path(WHERE, path)
    if not walk.is_module(model) then
        errors.raise("%s: model: expected a model, got %s", WHERE, check.describe(model))
    end
    if tokenizer ~= nil and (type(tokenizer) ~= "table" or not tokenizer.around) then
        errors.raise("%s: tokenizer: expected a tokenizer of heed.text.tokenizer, got %s", WHERE,
            check.describe(tokenizer))
    end
    options = check.options(WHERE, options, OPTIONS)
    check_type(options.type, path)
    local origin = origin_of(model, options.config)
    if path:find "%.gguf$" then
        return unknown.attempt(path, checked, gguf_write, path, model, tokenizer, origin,
            options.type)
    end
    path = path:gsub("(.)/+$", "%1")
    return unknown.attempt(path, checked, directory, path, model, tokenizer, origin)
end
