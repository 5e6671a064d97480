--- BERT's vocab.txt, a token a line, as a description of a tokenizer: lower case, unless the
--- directory's tokenizer_config.json says otherwise.

local decoders = require "heed.text.tokenizer.decoders"
local steps = require "heed.text.tokenizer.steps"
local unknown = require "heed.text.tokenizer.unknown"

local SPECIAL = { unk = "[UNK]", sep = "[SEP]", pad = "[PAD]", cls = "[CLS]", mask = "[MASK]" }

local vocab_file = {}

---@param text string the file
---@param settings? table tokenizer_config.json
---@return heed.text.tokenizer.Description
function vocab_file.read(text, settings)
    local vocabulary, id = {}, {}
    for line in text:gmatch "([^\n]*)\n?" do
        vocabulary[#vocabulary + 1] = (line:gsub("\r$", ""))
    end
    while vocabulary[#vocabulary] == "" do vocabulary[#vocabulary] = nil end
    for i, token in ipairs(vocabulary) do id[token] = id[token] or i end
    if not id["[UNK]"] then unknown.refuse "expected a vocabulary with [UNK], a token a line" end
    settings = settings or {}
    local lowercase = steps.flag(settings.do_lower_case, true)
    local added = {}
    for _, name in ipairs { "unk", "sep", "pad", "cls", "mask" } do
        local token = SPECIAL[name]
        if id[token] then
            added[#added + 1] = { text = token, id = id[token] - 1, special = true }
        end
    end
    local cls, sep = id["[CLS]"], id["[SEP]"]
    return {
        vocabulary = vocabulary, added = added, names = SPECIAL,
        normalizers = { { kind = "bert", clean = true, in_lowercase = lowercase,
            spaced_han = steps.flag(settings.tokenize_chinese_chars, true),
            without_accents = steps.flag(settings.strip_accents, lowercase) } },
        splitters = { { kind = "class", class = "space", behavior = "removed" },
            { kind = "class", class = "punctuation", behavior = "isolated" } },
        model = { kind = "wordpiece", prefix = "##", most_chars = 100, unknown = id["[UNK]"] - 1 },
        decode = decoders.read { type = "WordPiece", prefix = "##", cleanup = true },
        around = cls and sep and { single = { cls, "A", sep }, pair = { cls, "A", sep, "B", sep } }
            or { single = { "A" }, pair = { "A", "B" } },
    }
end

return vocab_file
