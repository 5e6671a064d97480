--- BERT's vocab.txt, a token a line, as a description of a tokenizer: lower case, unless the
--- directory's tokenizer_config.json says otherwise. Or a vocabulary of tokens that a regular
--- expression finds in texts, as those of SMILES.

local decoders = require "heed.text.tokenizer.decoders"
local unknown = require "heed.unknown"

local SPECIAL = { unk = "[UNK]", sep = "[SEP]", pad = "[PAD]", cls = "[CLS]", mask = "[MASK]" }

-- How texts become words, and words tokens.
local function of_words(settings)
    local lowercase = unknown.flag(settings.do_lower_case, true)
    return {
        normalizers = { { kind = "bert", clean = true, in_lowercase = lowercase,
            spaced_han = unknown.flag(settings.tokenize_chinese_chars, true),
            without_accents = unknown.flag(settings.strip_accents, lowercase) } },
        splitters = { { kind = "class", class = "space", behavior = "removed" },
            { kind = "class", class = "punctuation", behavior = "isolated" } },
        model = { kind = "wordpiece", prefix = "##", most_chars = 100 },
        decode = decoders.read { type = "WordPiece", prefix = "##", cleanup = true },
    }
end

-- What the pattern finds are the tokens, and nothing else is.
local function of_pattern(pattern)
    return {
        normalizers = {},
        splitters = { { kind = "pattern", pattern = pattern, behavior = "removed",
            inverted = true } },
        model = { kind = "wordpiece", whole = true },
        decode = decoders.read { type = "Fuse" },
    }
end

local vocab_file = {}

---@param text string the file
---@param settings? table tokenizer_config.json
---@param pattern? string of the tokens
---@return heed.text.tokenizer.Description
function vocab_file.read(text, settings, pattern)
    local vocabulary, id = {}, {}
    for line in text:gmatch "([^\n]*)\n?" do
        vocabulary[#vocabulary + 1] = (line:gsub("\r$", ""))
    end
    while vocabulary[#vocabulary] == "" do vocabulary[#vocabulary] = nil end
    for i, token in ipairs(vocabulary) do id[token] = id[token] or i end
    if not id["[UNK]"] then unknown.refuse "expected a vocabulary with [UNK], a token a line" end
    local added = {}
    for _, name in ipairs { "unk", "sep", "pad", "cls", "mask" } do
        local token = SPECIAL[name]
        if id[token] then
            added[#added + 1] = { text = token, id = id[token] - 1, special = true }
        end
    end
    local cls, sep = id["[CLS]"], id["[SEP]"]
    local description = pattern and of_pattern(pattern) or of_words(settings or {})
    description.vocabulary, description.added, description.names = vocabulary, added, SPECIAL
    description.model.unknown = id["[UNK]"] - 1
    description.around = cls and sep
        and { single = { cls, "A", sep }, pair = { cls, "A", sep, "B", sep } }
        or { single = { "A" }, pair = { "A", "B" } }
    return description
end

return vocab_file
