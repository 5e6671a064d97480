--- What encoders of texts share: a head on their hidden states where files have one, and a vector
--- of each text.

local check = require "heed.check"
local config = require "heed.models.settings.config"
local errors = require "heed.errors"
local heed = require "heed.core"
local nn = require "heed.nn"
local pad = require "heed.data.pad"
local Pooling = require "heed.models.parts.pooling"
local sentences = require "heed.models.parts.sentences"
local unknown = require "heed.unknown"

local BATCH = 32 -- texts at a time

---An encoder of texts, whose families have `hidden` and `max_tokens`.
---@class heed.models.TextEncoder: heed.nn.Module
---@field head heed.nn.Module|nil of a task, where config.json's architectures names one
---@field pooling heed.models.Pooling|nil what modules.json says of vectors of texts; nil: their
---mean, of length 1
---@field tokenizer heed.Tokenizer|nil
---@field max_tokens integer that it has positions for
local TextEncoder = nn.Module:extend "TextEncoder"

-- A config, completed; refused when it asks for what is not built.
function TextEncoder:config_of(given)
    local c = config.of(self, given)
    if c.is_decoder == true then unknown.kind("config.json", "is_decoder") end
    local positions = c.position_embedding_type
    if not unknown.absent(positions) and positions ~= "absolute" then
        unknown.kind("config.json: position_embedding_type", positions)
    end
    return c
end

-- Are there positions behind that of the padding token, where they begin?
function TextEncoder:check_positions(c, padding)
    local where = "heed.models." .. self.class_name
    local count = check.integer(where, "config.max_position_embeddings",
        c.max_position_embeddings)
    if padding >= 1 and padding < count then return end
    unknown.refuse("config.json: max_position_embeddings: expected more than pad_token_id and 1 "
        .. "(%d), got %d", padding, count)
end

---@param ids heed.Ids [B, L]
---@param options? { lengths?: heed.Ids, types?: heed.Ids } lengths: of the texts, what is behind
---them is not seen; types: [B, L], 1 of the first text (default) and 2 of the second, where the
---family knows them
---@return heed.Tensor hidden [B, L, E]; or, with a head, its logits
function TextEncoder:forward(ids, options)
    local hidden = self:hidden(ids, options)
    return self.head and self.head(hidden) or hidden
end

local OPTIONS = check.set("lengths", "types")

-- The options of a call, of which there are no others.
function TextEncoder:checked_options(options)
    return check.options(self.class_name, options, OPTIONS)
end

local by_default

local function pooling_of(self)
    by_default = by_default or Pooling()
    return self.pooling or by_default
end

-- What reads a model's texts.
function TextEncoder.tokenizer_of(model, where)
    if model.tokenizer then return model.tokenizer end
    return errors.raise("%s: texts: expected ids, as the model has no tokenizer; "
        .. "model.tokenizer = heed.text.tokenizer(path)", where)
end

-- The lists of ids of texts, truncated to what the files say, and no longer than there are
-- positions.
local function encoded(self, texts)
    local reader, pooling = TextEncoder.tokenizer_of(self, "embed"), pooling_of(self)
    local lists = {}
    local most = math.min(pooling.max_tokens or math.maxinteger, self.max_tokens)
    for i, text in ipairs(texts) do
        check.type("embed", ("texts[%d]"):format(i), text, "string")
        lists[i] = reader:encode(pooling:prepared(text), { truncate = most })
    end
    return lists
end

-- Those of like length go together, so that little is padded.
local function embed_texts(self, texts)
    local lists, order, place, vectors = encoded(self, texts), {}, {}, {}
    for i in ipairs(lists) do order[i] = i end
    table.sort(order, function(a, b)
        return #lists[a] < #lists[b] or #lists[a] == #lists[b] and a < b
    end)
    for first = 1, #order, BATCH do
        local batch = {}
        for i = first, math.min(first + BATCH - 1, #order) do
            batch[#batch + 1], place[order[i]] = lists[order[i]], i
        end
        local ids, lengths = pad(batch, { value = self.tokenizer.pad or 1 })
        vectors[#vectors + 1] = self:embed(ids, lengths)
    end
    return heed.cat(vectors, 1):index_select(1, place)
end

---A vector of each text, pooled and normalised as the model's files say: the mean over its tokens,
---of length 1, where they say nothing.
---@param texts string|string[]|heed.Ids a text or a list of them, which the model's tokenizer reads
---and the files' max_seq_length cuts; or ids [B, L]
---@param lengths? heed.Ids of the texts, with ids; default: all L
---@return heed.Tensor [B, E]
function TextEncoder:embed(texts, lengths)
    if type(texts) == "string" then texts = { texts } end
    local are_texts = type(texts) == "table" and type(texts[1]) == "string"
    if are_texts then return embed_texts(self, texts) end
    if type(texts) == "table" and texts[1] == nil then
        errors.raise "embed: texts: expected at least one, got none"
    end
    return pooling_of(self)(self:hidden(texts, { lengths = lengths }), lengths)
end

-- Of what is beside the weights: the tokenizer, and what makes vectors of texts.
function TextEncoder:read_beside(beside)
    self.tokenizer = beside.tokenizer
    self.pooling = sentences.pooling(beside.path, beside.config.model_type)
    if beside.dtype then self.pooling:to(beside.dtype) end
end

return TextEncoder
