--- SentencePiece models whose ids are in a vocab.json beside them: those of Marian as Hugging Face
--- has it (source.spm cuts texts into pieces, target.spm says how pieces become a text), and of
--- M2M-100 (sentencepiece.bpe.model does both). What the model has no piece for is unknown, and the
--- token of a language is one wherever it stands.

local disk = require "heed.files"
local json = require "heed.json"
local spm_file = require "heed.text.tokenizer.spm_file"
local unknown = require "heed.unknown"

local vocab_json_file = {}

local NAN = 0 / 0

local function read_all(path)
    local text, message = disk.read(path)
    return text or unknown.refuse("%s", message)
end

local function object(directory, name)
    local value, message = json.decode(read_all(directory .. "/" .. name))
    if type(value) == "table" then return value end
    return unknown.refuse("%s: %s", name, message or "expected an object")
end

-- Tokens in the order of their ids.
local function tokens_of(ids)
    local list, count = {}, 0
    for token, id in pairs(ids) do
        if math.type(id) ~= "integer" or id < 0 or list[id + 1] then
            unknown.refuse("vocab.json: expected an id of its own for each token, got %s for %s",
                tostring(id), tostring(token))
        end
        list[id + 1], count = token, count + 1
    end
    if count ~= #list then unknown.refuse("vocab.json: expected ids 0..%d", count - 1) end
    return list
end

-- The scores of a model's pieces by the ids of vocab.json: other tokens are never cut out.
local function scores_of(description, tokens, ids)
    local scores = {}
    for i = 1, #tokens do scores[i] = NAN end
    for i, piece in ipairs(description.vocabulary) do
        local score, id = description.model.scores[i], ids[piece]
        if score == score then
            if not id then unknown.refuse("vocab.json: expected the piece %s in it", piece) end
            scores[id + 1] = score
        end
    end
    return scores
end

local SPECIAL = { bos = "<s>", eos = "</s>", pad = "<pad>", unk = "<unk>" }

-- The model's pieces under these ids, and the tokens of languages that match.
local function read(bytes, directory, languages, is_language)
    local description, ids = spm_file.read(bytes), object(directory, "vocab.json")
    local tokens = tokens_of(ids)
    for _, token in ipairs(languages) do
        ids[token], tokens[#tokens + 1] = #tokens, token
    end
    description.model.scores = scores_of(description, tokens, ids)
    description.model.unknown = unknown.check(ids[SPECIAL.unk], "number", "vocab.json: <unk>")
    description.vocabulary, description.names, description.added = tokens, {}, {}
    for name, token in pairs(SPECIAL) do
        if ids[token] then
            description.names[name] = token
            table.insert(description.added, { text = token, id = ids[token], special = true })
        end
    end
    for i, token in ipairs(tokens) do
        if token:find(is_language) then
            table.insert(description.added, { text = token, id = i - 1, special = true })
        end
    end
    table.sort(description.added, function(a, b) return a.id < b.id end)
    local eos = unknown.check(ids[SPECIAL.eos], "number", "vocab.json: </s>") + 1
    description.around = { single = { "A", eos }, pair = { "A", eos, "B", eos } }
    return description
end

---@param bytes string source.spm
---@param directory string where vocab.json and target.spm are
---@return heed.text.tokenizer.Description
function vocab_json_file.marian(bytes, directory)
    local description = read(bytes, directory, {}, "^>>.+<<$")
    description.decode = spm_file.read(read_all(directory .. "/target.spm")).decode
    return description
end

---The tokens of languages stand behind those of vocab.json, in the order of special_tokens_map.json.
---@param bytes string sentencepiece.bpe.model
---@param directory string where vocab.json and special_tokens_map.json are
---@return heed.text.tokenizer.Description
function vocab_json_file.m2m(bytes, directory)
    local map, languages = object(directory, "special_tokens_map.json"), {}
    local more = map.additional_special_tokens
    for i, token in ipairs(unknown.absent(more) and {}
        or unknown.check(more, "table", "additional_special_tokens")) do
        languages[i] = type(token) == "table" and token.content or token
        unknown.check(languages[i], "string", "additional_special_tokens")
    end
    return read(bytes, directory, languages, "^__.+__$")
end

return vocab_json_file
