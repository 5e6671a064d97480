--- tokenizer.json (Hugging Face's tokenizers) as a description of a tokenizer.

local decoders = require "heed.text.tokenizer.decoders"
local json = require "heed.json"
local post = require "heed.text.tokenizer.post"
local steps = require "heed.text.tokenizer.steps"
local unknown = require "heed.unknown"

local absent, flag = unknown.absent, unknown.flag

-- Files before a certain version say nothing of the model's type.
local function kind_of(model)
    if not absent(model.type) then return model.type end
    if model.merges then return "BPE" end
    return type(model.vocab) == "table" and model.vocab[1] and "Unigram" or "WordPiece"
end

local function vocabulary_of(m) return unknown.field(m, "vocab", "table", "model") end

local function unknown_id(m)
    local token = unknown.optional(m, "unk_token", "string", "model")
    return token and unknown.optional(vocabulary_of(m), token, "integer", "model: vocab")
end

-- "" is none.
local function text_of(m, name)
    local text = unknown.optional(m, name, "string", "model")
    return text ~= "" and text or nil
end

local models = {
    BPE = function(m)
        local dropout = unknown.optional(m, "dropout", "number", "model")
        if dropout and dropout > 0 then unknown.kind("model: BPE", "dropout") end
        return { kind = "bpe", merges = unknown.field(m, "merges", "table", "model"),
            unknown = unknown_id(m), fuse_unknown = flag(m.fuse_unk, false),
            byte_fallback = flag(m.byte_fallback, false),
            whole_first = flag(m.ignore_merges, false),
            prefix = text_of(m, "continuing_subword_prefix"),
            suffix = text_of(m, "end_of_word_suffix") }, vocabulary_of(m)
    end,
    Unigram = function(m)
        local vocabulary, scores = {}, {}
        for i, pair in ipairs(vocabulary_of(m)) do
            unknown.check(pair, "table", "model: vocab")
            vocabulary[i], scores[i] = pair[1], pair[2]
        end
        return { kind = "unigram", scores = scores,
            unknown = unknown.optional(m, "unk_id", "integer", "model"),
            byte_fallback = flag(m.byte_fallback, false) }, vocabulary
    end,
    WordPiece = function(m)
        return { kind = "wordpiece", unknown = unknown_id(m),
            prefix = unknown.optional(m, "continuing_subword_prefix", "string", "model") or "##",
            most_chars = unknown.optional(m, "max_input_chars_per_word", "integer", "model")
                or 100 }, vocabulary_of(m)
    end,
    WordLevel = function(m)
        return { kind = "wordpiece", whole = true, unknown = unknown_id(m) }, vocabulary_of(m)
    end,
}

local function added_tokens(list)
    local added = {}
    if absent(list) then return added end
    for i, token in ipairs(unknown.check(list, "table", "added_tokens")) do
        unknown.check(token, "table", "added_tokens")
        added[i] = { text = unknown.field(token, "content", "string", "added_tokens"),
            id = unknown.field(token, "id", "integer", "added_tokens"),
            special = flag(token.special, false),
            left = flag(token.lstrip, false), right = flag(token.rstrip, false),
            single_word = flag(token.single_word, false),
            normalized = flag(token.normalized, not flag(token.special, false)) }
    end
    return added
end

local json_file = {}

---@param text string the file
---@return heed.text.tokenizer.Description
function json_file.read(text)
    local file, message = json.decode(text)
    if file == nil then unknown.refuse("%s", message) end
    unknown.check(file, "table", "tokenizer.json")
    local m = unknown.check(file.model, "table", "model")
    local read = models[kind_of(m)]
    if not read then unknown.kind("model", m.type) end
    local model, vocabulary = read(m)
    return {
        vocabulary = vocabulary, model = model,
        normalizers = steps.normalizers(file.normalizer),
        splitters = steps.splitters(file.pre_tokenizer, model),
        added = added_tokens(file.added_tokens),
        decode = decoders.read(file.decoder),
        around = post.read(file.post_processor),
    }
end

return json_file
