--- Models as files that other programs load.

local check = require "heed.check"
local configs = require "heed.models.settings.config"
local directory = require "heed.models.save.huggingface"
local errors = require "heed.errors"
local families = require "heed.models.families"
local gguf_write = require "heed.models.save.gguf"
local origins = require "heed.models.weights.origins"
local suggest = require "heed.suggest"
local unknown = require "heed.unknown"
local walk = require "heed.nn.walk"

local WHERE = "heed.models.save"
local OPTIONS = check.set("config", "type")
local TYPES = check.set("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")

-- Of a model that no file was loaded for: what its config and its class say.
local function origin_of(given)
    if given == nil then
        errors.raise("%s: options: expected the config, { config = ... }: this model was not "
            .. "loaded from files", WHERE)
    end
    check.type(WHERE, "config", given, "table")
    local family = families.by_type[given.model_type]
    if not family then
        errors.raise("%s: config: model_type: expected a family that is known, got %s", WHERE,
            check.describe(given.model_type))
    end
    return { family = family, given = given, config = configs.complete(family, given),
        prefix = family.prefixes and family.prefixes[1] or "" }
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

---heed.models.save.
---@param path string
---@param model heed.nn.Module
---@param tokenizer? heed.Tokenizer
---@param options? { config?: table, type?: string }
---@return true|nil ok
---@return string? message
return function(path, model, tokenizer, options)
    check.type(WHERE, "path", path, "string")
    if not walk.is_module(model) then
        errors.raise("%s: model: expected a model, got %s", WHERE, check.describe(model))
    end
    if tokenizer ~= nil and (type(tokenizer) ~= "table" or not tokenizer.around) then
        errors.raise("%s: tokenizer: expected a tokenizer of heed.text.tokenizer, got %s", WHERE,
            check.describe(tokenizer))
    end
    options = check.options(WHERE, options, OPTIONS)
    check_type(options.type, path)
    local origin = origins.of(model) or origin_of(options.config)
    if path:find "%.gguf$" then
        return unknown.attempt(path, gguf_write, path, model, tokenizer, origin, options.type)
    end
    return unknown.attempt(path, directory, (path:gsub("(.)/+$", "%1")), model, tokenizer, origin)
end
