--- A tiny Whisper of random numbers, and a tokenizer of letters with the special tokens that it needs:
--- for specs of what is written with such a model.

local heed = require "heed"
local names = require "heed.models.weights.names"
local shell = require "spec.support.shell"

local SPECIALS = { "<|endoftext|>", "<|startoftranscript|>", "<|de|>", "<|en|>", "<|translate|>",
    "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>" }
local LETTERS = "abcdefghijklmnopqrstuvwxyz.,\"!"

local tiny = { PLACES = 20 } -- of a window's memory: 0.4 s

local function write(path, text)
    local file <close> = assert(io.open(path, "w"))
    file:write(text):close()
end

local function write_tokenizer(folder)
    local vocabulary, added, count = { ["\u{120}"] = 0 }, {}, 1
    for letter in LETTERS:gmatch "." do vocabulary[letter], count = count, count + 1 end
    for i, text in ipairs(SPECIALS) do
        added[i] = { id = count + i - 1, content = text, special = true, single_word = false,
            lstrip = false, rstrip = false, normalized = false }
    end
    write(folder .. "/tokenizer.json", heed.json.encode { version = "1.0", added_tokens = added,
        pre_tokenizer = { type = "ByteLevel", add_prefix_space = false, use_regex = true },
        decoder = { type = "ByteLevel" },
        model = { type = "BPE", vocab = vocabulary, merges = heed.json.array {} } })
end

---@return heed.Tokenizer
function tiny.tokenizer()
    local folder = shell.lines "mktemp -d"[1]
    write_tokenizer(folder)
    local tokenizer = assert(heed.text.tokenizer(folder))
    os.execute("rm -r " .. folder)
    return tokenizer
end

-- Tokens, and the times behind them.
local VOCABULARY = 1 + #LETTERS + #SPECIALS + tiny.PLACES + 1

local CONFIG = { model_type = "whisper", vocab_size = VOCABULARY, num_mel_bins = 80, d_model = 16,
    encoder_layers = 1, decoder_layers = 2, encoder_attention_heads = 2,
    decoder_attention_heads = 2, encoder_ffn_dim = 16, decoder_ffn_dim = 16,
    max_source_positions = tiny.PLACES, max_target_positions = 48, activation_function = "gelu",
    dropout = 0, attention_dropout = 0, tie_word_embeddings = true, is_multilingual = false,
    suppress_tokens = { 0, 1 } }

---@param seed integer
---@return heed.models.Whisper
function tiny.model(seed)
    heed.manual_seed(seed)
    local model = heed.models.Whisper(CONFIG)
    for _, p in model:named_parameters() do
        if p:dim() > 1 then heed.no_grad(function() p:normal_(0, 0.7) end) end
    end
    return model
end

---A Hugging Face directory of it.
---@param folder string
---@param seed integer
function tiny.write(folder, seed)
    write_tokenizer(folder)
    write(folder .. "/config.json", heed.json.encode(CONFIG))
    local tensors = {}
    for ours, parameter in tiny.model(seed):named_parameters() do
        local theirs = names.theirs(heed.models.Whisper.names, ours, "")
        local rows = parameter:size(1) // #theirs
        for i, their in ipairs(theirs) do
            local part = parameter:detach():narrow(1, (i - 1) * rows + 1, rows)
            if their then tensors[their] = part end
        end
    end
    assert(heed.safetensors.save(folder .. "/model.safetensors", tensors))
end

return tiny
