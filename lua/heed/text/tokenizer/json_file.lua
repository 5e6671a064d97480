--- tokenizer.json (Hugging Face's tokenizers) as a description of a tokenizer.

local decoders = require "heed.text.tokenizer.decoders"
local json = require "heed.json"
local post = require "heed.text.tokenizer.post"
local steps = require "heed.text.tokenizer.steps"
local unknown = require "heed.text.tokenizer.unknown"

local absent, flag = steps.absent, steps.flag

-- Files before a certain version say nothing of the model's type.
local function kind_of(model)
    if not absent(model.type) then return model.type end
    if model.merges then return "BPE" end
    return type(model.vocab) == "table" and model.vocab[1] and "Unigram" or "WordPiece"
end

local function id_of(vocabulary, token)
    if absent(token) then return nil end
    return vocabulary[token]
end

local models = {
    BPE = function(m)
        if not absent(m.dropout) and m.dropout > 0 then unknown.kind("model: BPE", "dropout") end
        return { kind = "bpe", merges = unknown.check(m.merges, "table", "model: merges"),
            unknown = id_of(m.vocab, m.unk_token), fuse_unknown = flag(m.fuse_unk, false),
            byte_fallback = flag(m.byte_fallback, false),
            whole_first = flag(m.ignore_merges, false),
            prefix = not absent(m.continuing_subword_prefix) and m.continuing_subword_prefix or nil,
            suffix = not absent(m.end_of_word_suffix) and m.end_of_word_suffix or nil }, m.vocab
    end,
    Unigram = function(m)
        local vocabulary, scores = {}, {}
        for i, pair in ipairs(unknown.check(m.vocab, "table", "model: vocab")) do
            vocabulary[i], scores[i] = pair[1], pair[2]
        end
        return { kind = "unigram", scores = scores,
            unknown = not absent(m.unk_id) and m.unk_id or nil,
            byte_fallback = flag(m.byte_fallback, false) }, vocabulary
    end,
    WordPiece = function(m)
        return { kind = "wordpiece", unknown = id_of(m.vocab, m.unk_token),
            prefix = m.continuing_subword_prefix or "##",
            most_chars = m.max_input_chars_per_word or 100 }, m.vocab
    end,
    WordLevel = function(m)
        return { kind = "wordpiece", whole = true, unknown = id_of(m.vocab, m.unk_token) }, m.vocab
    end,
}

local function added_tokens(list)
    local added = {}
    if absent(list) then return added end
    for i, token in ipairs(list) do
        added[i] = { text = token.content, id = token.id, special = flag(token.special, false),
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
    unknown.check(vocabulary, "table", "model: vocab")
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
