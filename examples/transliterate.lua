-- Arabic names in Latin letters, by a model that others trained: OpenNMT's Transformer.
--
--     heed examples/transliterate.lua FOLDER WORD...
--
-- FOLDER has model.safetensors, whose tensors have CTranslate2's names, source_vocabulary.txt and
-- target_vocabulary.txt. For each word a line: word, transliteration, log probability.

local heed = require "heed"

local LONGEST = 64

local folder = arg[1]
if not folder or not arg[2] then
    io.stderr:write "usage: heed examples/transliterate.lua FOLDER WORD...\n"
    os.exit(2, true)
end

local model, message, config = heed.models.load(folder)
if model and not (config.source_vocabulary and config.target_vocabulary) then
    model, message = nil, folder .. ": expected source_vocabulary.txt and target_vocabulary.txt"
end
if not model then
    io.stderr:write("transliterate.lua: ", message, "\n")
    os.exit(1, true)
end

local letters, ids = config.target_vocabulary, {}
for id, letter in ipairs(config.source_vocabulary) do ids[letter] = id end

-- The model has one token more than the file: the last stands for every other character.
local function encode(word)
    local list = {}
    for character in word:gmatch(utf8.charpattern) do
        list[#list + 1] = ids[character] or config.source_vocab
    end
    return list
end

-- The most probable letter at each step, and the sum of their log probabilities, the end's too.
local function transliterate(word)
    local written, info = heed.generate(model, encode(word),
        { max_new_tokens = LONGEST, scores = true })
    for i, id in ipairs(written) do written[i] = letters[id] or "<unk>" end
    return table.concat(written), info.score
end

local missed = false
for i = 2, #arg do
    local length = utf8.len(arg[i])
    if length and length >= 1 and length <= LONGEST then
        print(("%s\t%s\t%.6f"):format(arg[i], transliterate(arg[i])))
    else
        missed = true
        local why = length and ("it has %d characters, the model takes 1 to %d"):format(length,
            LONGEST) or "it is not UTF-8"
        io.stderr:write(("transliterate.lua: '%s': %s\n"):format(arg[i], why))
    end
end
if missed then os.exit(1, true) end
