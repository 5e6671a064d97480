--- What a model's files say of writing: with what answers begin, what ends them, what never comes.

local check = require "heed.check"
local unknown = require "heed.unknown"

---What heed.generate does with a model where its options say nothing. Tokens count from 1.
---@class heed.models.Generation
---@field prefix integer[]|nil of an encoder-decoder: what each target begins with
---@field stop integer[] tokens that end an answer
---@field suppress integer[] tokens that never come
---@field changes_at integer|nil the length behind which all positions turn by other angles, so that
---what a cache holds is read again

local generation = {}

-- generation_config.json before config.json; and what a message calls it.
local function value_of(c, name)
    local own = c.generation_config and c.generation_config[name]
    if not unknown.absent(own) then return own, "generation_config.json: " .. name end
    if not unknown.absent(c[name]) then return c[name], "config.json: " .. name end
end

local function token(value, name)
    local id = type(value) == "number" and math.tointeger(value)
    if not id then
        unknown.refuse("%s: expected an integer, got %s", name, check.describe(value))
    end
    return id + 1
end

-- One that the model has.
local function own_token(value, name, c)
    local id = token(value, name)
    if id < 1 or id > c.vocab_size then
        unknown.refuse("%s: expected a token below %d (vocab_size), got %d", name, c.vocab_size,
            id - 1)
    end
    return id
end

-- One token, or a list of them. -1 stands for none.
local function tokens(value, name)
    local list = {}
    for _, each in ipairs(type(value) == "table" and value or { value }) do
        local id = token(each, name)
        if id > 0 then list[#list + 1] = id end
    end
    return list
end

-- Of lists of tokens those that are one token long: longer ones name what may not come in a row.
local function bad_words(c)
    local words, name = value_of(c, "bad_words_ids")
    local list = {}
    for _, word in ipairs(unknown.check(words or {}, "table", name)) do
        if #unknown.check(word, "table", name) ~= 1 then
            unknown.kind(name, "a word of several tokens")
        end
        list[#list + 1] = own_token(word[1], name, c)
    end
    return list
end

-- What a target begins with. (Of a model that only continues it is not asked for.)
local function prefix_of(c)
    local start, name = value_of(c, "decoder_start_token_id")
    local forced, forced_name = value_of(c, "forced_bos_token_id")
    if forced then forced = own_token(forced, forced_name, c) end
    if start then return { own_token(start, name, c), forced } end
    start, name = value_of(c, "bos_token_id")
    if start then return { token(start, name), forced } end
end

---@param c table config.json, and generation_config.json in its field generation_config
---@return heed.models.Generation
function generation.of(c)
    local list, name = value_of(c, "suppress_tokens")
    local suppress = tokens(list, name)
    for _, id in ipairs(suppress) do own_token(id - 1, name, c) end
    for _, each in ipairs(bad_words(c)) do suppress[#suppress + 1] = each end
    return { prefix = prefix_of(c), stop = tokens(value_of(c, "eos_token_id")),
        suppress = suppress }
end

return generation
