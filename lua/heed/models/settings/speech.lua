--- What a speech model's files say of writing: which tokens never come, and which heads look at the
--- sound of the token that they write.

local check = require "heed.check"
local unknown = require "heed.unknown"

---Tokens, layers and heads count from 1.
---@class heed.models.Speech
---@field suppress integer[] tokens that never come
---@field suppress_first integer[] tokens that no text begins with
---@field heads integer[][] { layer, head } of the attention over the sound, that tell which word is
---where; when the files say nothing all heads of the upper half of the layers
---@field multilingual boolean is it told a language and a task?
---@field last_start? integer how many steps of 20 ms the first words come after, at most

local speech = {}

-- Numbers of a list, counted from 1.
local function from_one(list, name)
    local result = {}
    for i, value in ipairs(unknown.check(list, "table", name)) do
        local number = type(value) == "number" and math.tointeger(value)
        if not number then
            unknown.refuse("%s: expected integers, got %s", name, check.describe(value))
        end
        result[i] = number + 1
    end
    return result
end

local function heads_of(pairs_given, c)
    local list = {}
    if unknown.absent(pairs_given) then
        for layer = c.decoder_layers // 2 + 1, c.decoder_layers do
            for head = 1, c.decoder_attention_heads do list[#list + 1] = { layer, head } end
        end
        return list
    end
    for i, pair in ipairs(unknown.check(pairs_given, "table", "alignment_heads")) do
        local layer, head = table.unpack(from_one(pair, "alignment_heads"))
        if not head or layer < 1 or layer > c.decoder_layers or head < 1
            or head > c.decoder_attention_heads then
            unknown.refuse("alignment_heads: expected a layer below %d and a head below %d, got %s",
                c.decoder_layers, c.decoder_attention_heads, table.concat(pair, ", "))
        end
        list[i] = { layer, head }
    end
    return list
end

-- Where files do not say it: the models of English alone have one token less than the others.
local ENGLISH = 51864
local function multilingual(said, c)
    if said ~= nil then return unknown.check(said, "boolean", "is_multilingual") end
    return c.vocab_size > ENGLISH
end

---@param c table config.json, and generation_config.json in its field generation_config
---@return heed.models.Speech
function speech.of(c)
    local own = unknown.absent(c.generation_config) and {} or c.generation_config
    local function value(name)
        if not unknown.absent(own[name]) then return own[name] end
        if not unknown.absent(c[name]) then return c[name] end
    end
    return {
        suppress = from_one(value "suppress_tokens" or {}, "suppress_tokens"),
        suppress_first = from_one(value "begin_suppress_tokens" or {}, "begin_suppress_tokens"),
        multilingual = multilingual(value "is_multilingual", c),
        heads = heads_of(own.alignment_heads, c),
        last_start = value "max_initial_timestamp_index",
    }
end

return speech
