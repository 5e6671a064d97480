--- The tokenizer of a GGUF file as the files of a Hugging Face directory: tokenizer.json, and
--- tokenizer_config.json.

local json = require "heed.json"
local tokenizer_files = require "heed.text.tokenizer.files"
local unknown = require "heed.unknown"

local null = json.null

local function refuse(what)
    unknown.refuse("tokenizer: %s of a GGUF file cannot be written to a directory; a GGUF file "
        .. "can hold it, and a directory be written without one", what)
end

-- ---- models -------------------------------------------------------------------------------------

local function vocabulary_of(description)
    local vocab = {}
    for i, token in ipairs(description.vocabulary) do vocab[token] = i - 1 end
    return vocab
end

local function merges_of(list)
    local pairs_of = {}
    for i, merge in ipairs(list) do
        local left, right = merge:match "^(.[^ ]*) (.+)$"
        if not left then
            unknown.refuse("tokenizer.ggml.merges: expected two parts, got %s", merge)
        end
        pairs_of[i] = { left, right }
    end
    return pairs_of
end

local models = {}

-- Text is cut by the patterns, and its bytes are written as letters.
function models.bpe(description)
    local model, cuts = description.model, {}
    if not model.byte_level or not model.merges then refuse "SentencePiece's byte pairs" end
    for i, step in ipairs(description.splitters) do
        cuts[i] = { type = "Split", pattern = { Regex = step.pattern }, behavior = "Isolated",
            invert = false }
    end
    cuts[#cuts + 1] = { type = "ByteLevel", add_prefix_space = false, trim_offsets = true,
        use_regex = false }
    return {
        normalizer = null, pre_tokenizer = { type = "Sequence", pretokenizers = cuts },
        decoder = { type = "ByteLevel", add_prefix_space = true, trim_offsets = true,
            use_regex = true },
        model = { type = "BPE", dropout = null, unk_token = null, fuse_unk = false,
            byte_fallback = false, ignore_merges = model.whole_first or false,
            continuing_subword_prefix = null, end_of_word_suffix = null,
            vocab = vocabulary_of(description), merges = merges_of(model.merges) },
    }
end

function models.wordpiece(description)
    local model = description.model
    return {
        normalizer = { type = "BertNormalizer", clean_text = true, handle_chinese_chars = true,
            strip_accents = null, lowercase = true },
        pre_tokenizer = { type = "BertPreTokenizer" },
        decoder = { type = "WordPiece", prefix = "##", cleanup = true },
        model = { type = "WordPiece", continuing_subword_prefix = "##",
            unk_token = description.vocabulary[model.unknown + 1],
            max_input_chars_per_word = model.most_chars, vocab = vocabulary_of(description) },
    }
end

-- ---- special tokens -----------------------------------------------------------------------------

local function added_of(description)
    local list = {}
    for i, token in ipairs(description.added) do
        list[i] = { id = token.id, content = token.text, special = token.special,
            single_word = false, lstrip = false, rstrip = false, normalized = false }
    end
    return list[1] and list
end

-- Ids and texts as TemplateProcessing has them.
local function template_of(around, tokenizer, specials)
    local list, of_type = {}, 0
    for i, what in ipairs(around) do
        if math.type(what) then
            local text = tokenizer:token(what)
            specials[text] = { id = text, ids = { what - 1 }, tokens = { text } }
            list[i] = { SpecialToken = { id = text, type_id = of_type } }
        else
            if what == "B" then of_type = 1 end
            list[i] = { Sequence = { id = what, type_id = of_type } }
        end
    end
    return list
end

local function post_processor(tokenizer)
    if #tokenizer.around.single == 1 then return null end
    local specials = {}
    return { type = "TemplateProcessing", special_tokens = specials,
        single = template_of(tokenizer.around.single, tokenizer, specials),
        pair = template_of(tokenizer.around.pair, tokenizer, specials) }
end

local function config_of(tokenizer)
    local config = { tokenizer_class = "PreTrainedTokenizerFast",
        clean_up_tokenization_spaces = false, chat_template = tokenizer.template }
    for _, name in ipairs { "bos", "eos", "unk", "pad", "mask", "cls", "sep" } do
        if tokenizer[name] then config[name .. "_token"] = tokenizer:token(tokenizer[name]) end
    end
    return config
end

-- ---- all of it ----------------------------------------------------------------------------------

---@param tokenizer heed.Tokenizer that came from a GGUF file
---@return table<string, string> texts by the files' names
return function(tokenizer)
    local description, message = tokenizer_files.read(tokenizer.path)
    if not description then unknown.refuse("%s", message) end
    local write = models[description.model.kind] or refuse(description.model.kind)
    local file = write(description)
    file.version, file.truncation, file.padding = "1.0", null, null
    file.added_tokens = added_of(description)
    file.post_processor = post_processor(tokenizer)
    return { ["tokenizer.json"] = json.encode(file, { indent = 1 }) .. "\n",
        ["tokenizer_config.json"] = json.encode(config_of(tokenizer), { indent = 2 }) .. "\n" }
end
