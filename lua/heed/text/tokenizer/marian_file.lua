--- The vocabulary of Marian's models as Hugging Face has them: source.spm cuts texts into pieces,
--- vocab.json says their ids, and target.spm how pieces become a text. What source.spm has no piece
--- for is unknown, and >>LANGUAGE<< is a token wherever it stands.

local json = require "heed.json"
local spm_file = require "heed.text.tokenizer.spm_file"
local unknown = require "heed.text.tokenizer.unknown"

local marian_file = {}

local NAN = 0 / 0

local function read_all(path)
    local file, message = io.open(path, "rb")
    if not file then unknown.refuse("%s", message) end
    local text = file:read "a"
    file:close()
    return text
end

-- Tokens in the order of their ids.
local function tokens_of(path)
    local ids, message = json.decode(read_all(path))
    if type(ids) ~= "table" then
        unknown.refuse("vocab.json: %s", message or "expected an object")
    end
    local list, count = {}, 0
    for token, id in pairs(ids) do
        if math.type(id) ~= "integer" or id < 0 or list[id + 1] then
            unknown.refuse("vocab.json: expected an id of its own for each token, got %s for %s",
                tostring(id), tostring(token))
        end
        list[id + 1], count = token, count + 1
    end
    if count ~= #list then unknown.refuse("vocab.json: expected ids 0..%d", count - 1) end
    return list, ids
end

-- The scores of the source's pieces, by the ids of vocab.json: others are never cut out.
local function scores_of(source, tokens, ids)
    local scores = {}
    for i = 1, #tokens do scores[i] = NAN end
    for i, piece in ipairs(source.vocabulary) do
        local score, id = source.model.scores[i], ids[piece]
        if score == score then
            if not id then unknown.refuse("vocab.json: expected the piece %s in it", piece) end
            scores[id + 1] = score
        end
    end
    return scores
end

local SPECIAL = { eos = "</s>", pad = "<pad>", unk = "<unk>" }

---@param bytes string source.spm
---@param directory string where vocab.json and target.spm are
---@return heed.text.tokenizer.Description
function marian_file.read(bytes, directory)
    local description = spm_file.read(bytes)
    local target = spm_file.read(read_all(directory .. "/target.spm"))
    local tokens, ids = tokens_of(directory .. "/vocab.json")
    description.model.scores = scores_of(description, tokens, ids)
    description.model.unknown = unknown.check(ids["<unk>"], "number", "vocab.json: <unk>")
    description.vocabulary, description.names, description.added = tokens, {}, {}
    for name, token in pairs(SPECIAL) do
        if ids[token] then
            description.names[name] = token
            table.insert(description.added, { text = token, id = ids[token], special = true })
        end
    end
    for i, token in ipairs(tokens) do -- the languages of models with several targets
        if token:find "^>>.+<<$" then
            table.insert(description.added, { text = token, id = i - 1, special = true })
        end
    end
    table.sort(description.added, function(a, b) return a.id < b.id end)
    local eos = unknown.check(ids["</s>"], "number", "vocab.json: </s>") + 1
    description.around = { single = { "A", eos }, pair = { "A", eos, "B", eos } }
    description.decode = target.decode
    return description
end

return marian_file
