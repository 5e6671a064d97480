--- What a model's files say of writing: with what answers begin, what ends them, what never comes.

local unknown = require "heed.unknown"

---What heed.generate does with a model where its options say nothing. Tokens count from 1.
---@class heed.models.Generation
---@field prefix integer[]|nil of an encoder-decoder: what each target begins with
---@field stop integer[] tokens that end an answer
---@field suppress integer[] tokens that never come
---@field changes_at integer|nil the length behind which all positions turn by other angles, so that
---what a cache holds is read again

local generation = {}

-- generation_config.json before config.json.
local function value_of(c, name)
    local own = c.generation_config and c.generation_config[name]
    if not unknown.absent(own) then return own end
    if not unknown.absent(c[name]) then return c[name] end
end

local function token(value, name) return unknown.check(value, "number", name) + 1 end

-- One token, or a list of them.
local function tokens(value, name)
    local list = {}
    for i, each in ipairs(type(value) == "table" and value or { value }) do
        list[i] = token(each, name)
    end
    return list
end

-- Of lists of tokens those that are one token long: longer ones name what may not come in a row.
local function bad_words(c)
    local list = {}
    for _, word in ipairs(unknown.check(value_of(c, "bad_words_ids") or {}, "table",
        "bad_words_ids")) do
        if #unknown.check(word, "table", "bad_words_ids") ~= 1 then
            unknown.kind("bad_words_ids", "a word of several tokens")
        end
        list[#list + 1] = token(word[1], "bad_words_ids")
    end
    return list
end

---@param c table config.json, and generation_config.json in its field generation_config
---@return heed.models.Generation
function generation.of(c)
    local start = value_of(c, "decoder_start_token_id") or value_of(c, "bos_token_id")
    local forced = value_of(c, "forced_bos_token_id")
    local suppress = tokens(value_of(c, "suppress_tokens"), "suppress_tokens")
    for _, each in ipairs(bad_words(c)) do suppress[#suppress + 1] = each end
    local prefix
    if start then
        prefix = { token(start, "decoder_start_token_id"),
            forced and token(forced, "forced_bos_token_id") }
    end
    return { prefix = prefix, stop = tokens(value_of(c, "eos_token_id"), "eos_token_id"),
        suppress = suppress }
end

return generation
