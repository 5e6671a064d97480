--- A Transformer of OpenNMT's whose tensors have CTranslate2's names, in a safetensors file without
--- a config: its sizes are those of the tensors, and the number of its heads is in the metadata.

local disk = require "heed.files"
local huggingface = require "heed.models.files.huggingface"
local safetensors = require "heed.safetensors"
local unknown = require "heed.unknown"

local opennmt = {}

-- Every model has it.
local TELLING = "encoder/layer_0/self_attention/linear_0/weight"

---Is this a directory with such a file?
---@param directory string
---@return boolean
function opennmt.fits(directory)
    local path = directory .. "/model.safetensors"
    return not disk.exists(directory .. "/config.json") and disk.exists(path)
        and (safetensors.load(path, { map = true }) or {})[TELLING] ~= nil
end

local function layers_of(tensors, side)
    local count = 0
    while tensors[("%s/layer_%d/ffn/linear_0/weight"):format(side, count)] do count = count + 1 end
    return count
end

local function matrix(tensors, name)
    local t = tensors[name]
    if not t or t:dim() ~= 2 then
        unknown.refuse("model.safetensors: %s: expected a matrix, got %s", name,
            t and tostring(t.shape) or "none")
    end
    return t
end

local function rows_of(tensors, name) return matrix(tensors, name):size(1) end

local function columns_of(tensors, name) return matrix(tensors, name):size(2) end

-- Tokens of a vocabulary in the order of their ids; nil when there is no such file.
local function tokens_in(path)
    local file = io.open(path, "r")
    if not file then return nil end
    local list = {}
    for line in file:lines() do list[#list + 1] = line end
    file:close()
    return list
end

local function id_of(tokens, wanted)
    for id, token in ipairs(tokens or {}) do
        if token == wanted then return id end
    end
end

---@param directory string
---@param map boolean in the file's pages, where they can be
---@return table config with source_vocabulary and target_vocabulary, lists of tokens; where a model
---has one token more, that stands for what is unknown
---@return heed.models.File
function opennmt.open(directory, map)
    local tensors, metadata = safetensors.load(directory .. "/model.safetensors", { map = true })
    if not tensors then unknown.refuse("%s", metadata) end
    local heads = math.tointeger(tonumber(metadata.heads))
    if not heads then unknown.refuse "model.safetensors: expected the metadata heads, a number" end
    local target = tokens_in(directory .. "/target_vocabulary.txt")
    return {
        model_type = "opennmt", num_heads = heads, d_model = columns_of(tensors, TELLING),
        d_ff = rows_of(tensors, "encoder/layer_0/ffn/linear_0/weight"),
        encoder_layers = layers_of(tensors, "encoder"),
        decoder_layers = layers_of(tensors, "decoder"),
        source_vocab = rows_of(tensors, "encoder/embeddings/weight"),
        target_vocab = rows_of(tensors, "decoder/embeddings/weight"),
        pre_norm = tensors["encoder/layer_norm/gamma"] ~= nil,
        bos = id_of(target, "<s>"), eos = id_of(target, "</s>"),
        source_vocabulary = tokens_in(directory .. "/source_vocabulary.txt"),
        target_vocabulary = target,
    }, huggingface.of_tensors(tensors, not map)
end

return opennmt
