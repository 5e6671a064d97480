--- Tiny models of every family and form as files: { name of a file = its bytes } by the name of the model. What
--- heed.models.load is given is the folder they are in, or in it the file that `path` names.

local families = require "spec.support.families"
local heed = require "heed"
local marian = require "spec.support.marian"
local names = require "heed.models.weights.names"
local shell = require "spec.support.shell"

local on_disk = {}

-- Files of a folder, but for what was recorded of the model.
local function folder_files(folder)
    local files = {}
    for _, path in ipairs(shell.files(folder, "*")) do
        local name = path:match "[^/]*$"
        if name ~= "values.safetensors" and name ~= "texts.json" then files[name] = shell.read(path) end
    end
    return files
end

local function saved(write)
    local path = os.tmpname()
    assert(write(path))
    local bytes = shell.read(path)
    os.remove(path)
    return bytes
end

-- BERT with a tokenizer and all that sentence-transformers has beside it.
local function sentences()
    local files = folder_files(families.FOLDER .. "bert_tokens")
    files["vocab.txt"] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" .. ("abcdefghij"):gsub(".", "%0\n")
    files["tokenizer_config.json"] = [[{"model_max_length": 20, "do_lower_case": true}]]
    files["sentence_bert_config.json"] = [[{"max_seq_length": 8, "do_lower_case": false}]]
    files["modules.json"] = heed.json.encode {
        { idx = 0, name = "0", path = "", type = "sentence_transformers.models.Transformer" },
        { idx = 1, name = "1", path = "1_Pooling", type = "sentence_transformers.models.Pooling" },
        { idx = 2, name = "2", path = "2_Dense", type = "sentence_transformers.models.Dense" },
        { idx = 3, name = "3", path = "3_Normalize", type = "sentence_transformers.models.Normalize" } }
    files["1_Pooling/config.json"] =
        [[{"word_embedding_dimension": 8, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}]]
    files["2_Dense/config.json"] = [[{"in_features": 8, "out_features": 4, "bias": true,
        "activation_function": "torch.nn.modules.activation.Tanh"}]]
    files["2_Dense/model.safetensors"] = saved(function(path)
        return heed.safetensors.save(path, { ["linear.weight"] = heed.ones(4, 8), ["linear.bias"] = heed.ones(4) })
    end)
    return files
end

local function opennmt()
    local model, tensors = heed.models.OpenNMT { source_vocab = 60, target_vocab = 60, d_model = 8, num_heads = 2,
        d_ff = 12, encoder_layers = 2, decoder_layers = 1 }, {}
    for ours, parameter in model:named_parameters() do
        local theirs, row = names.theirs(heed.models.OpenNMT.names, ours, ""), 1
        local parts = #theirs == 2 and { 8, 16 } or { parameter:size(1) } -- queries; keys and values
        for i, their in ipairs(theirs) do
            tensors[their], row = parameter:detach():narrow(1, row, parts[i]), row + parts[i]
        end
    end
    return { ["target_vocabulary.txt"] = "<s>\n<blank>\nx\n</s>\n", ["source_vocabulary.txt"] = "x\ny\n",
        ["model.safetensors"] = saved(function(path)
            return heed.safetensors.save(path, tensors, { metadata = { heads = "2" } })
        end) }
end

local function marian_files(as_bytes)
    local _, items = marian.tiny(as_bytes)
    return { ["model.bin"] = nil, ["tiny.bin"] = marian.file(items),
        ["config.yml"] = "models:\n  - tiny.bin\nvocabs:\n  - vocab.spm\n" }
end

local function gguf(name)
    local model = assert(heed.models.load(families.FOLDER .. name))
    local path = os.tmpname() .. ".gguf"
    assert(heed.models.save(path, model))
    local bytes = shell.read(path)
    os.remove(path)
    return { ["tiny.gguf"] = bytes }
end

--- All of them.
--- @return table<string, table<string, string>>
function on_disk.all()
    local all = { sentences = sentences(), opennmt = opennmt(), marian_f32 = marian_files(false),
        marian_int8 = marian_files(true), gguf_llama = gguf "llama", gguf_bert = gguf "bert",
        ctranslate2_int8 = folder_files "spec/fixtures/ctranslate2/whisper_int8",
        ctranslate2_float16 = folder_files "spec/fixtures/ctranslate2/whisper_float16" }
    for _, path in ipairs(shell.lines("ls " .. families.FOLDER)) do
        all[path] = folder_files(families.FOLDER .. path)
    end
    return all
end

--- What of a folder with such files is to be loaded.
--- @param folder string
--- @param files table<string, string>
--- @return string
function on_disk.path(folder, files)
    return files["tiny.gguf"] and folder .. "/tiny.gguf" or folder
end

return on_disk
