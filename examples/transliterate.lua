-- Rebuilds a model that others trained from the parts of heed.nn: it writes Arabic names in Latin
-- letters.
--
--     heed examples/transliterate.lua FOLDER WORD...
--
-- FOLDER has model.safetensors (6 + 6 layers, named as in CTranslate2), source_vocabulary.txt and
-- target_vocabulary.txt. For each word a line: word, transliteration, log probability.

local heed = require "heed"
local nn = heed.nn

local LAYERS, D_MODEL, HEADS, D_FF, LONGEST = 6, 32, 8, 128, 64

-- ---- the model ----------------------------------------------------------------------------------

local Transliterator = nn.Module:extend "Transliterator"

function Transliterator:init(source_size, target_size)
    local rates = {}
    for i = 0, 15 do rates[i + 1] = 10000 ^ (-i / 15) end
    local layer = { norm_first = true, activation = "relu", eps = 1e-5, dropout = 0 }
    self.src_embedding = nn.Embedding(source_size, D_MODEL, { scale = math.sqrt(D_MODEL) })
    self.tgt_embedding = nn.Embedding(target_size, D_MODEL, { scale = math.sqrt(D_MODEL) })
    self.positions = nn.SinusoidalPositions(LONGEST + 1, D_MODEL,
        { first_position = 1, layout = "halves", rates = rates })
    self.encoder = nn.TransformerEncoder(LAYERS, D_MODEL, HEADS, D_FF, layer)
    self.decoder = nn.TransformerDecoder(LAYERS, D_MODEL, HEADS, D_FF, layer)
    self.output = nn.Linear(D_MODEL, target_size)
end

function Transliterator:encode(src) return self.encoder(self.positions(self.src_embedding(src))) end

function Transliterator:decode(tgt, memory)
    return self.output(self.decoder(self.positions(self.tgt_embedding(tgt)), memory,
        { mask = heed.mask.causal() }))
end

-- ---- its weights --------------------------------------------------------------------------------

local function fail(format, ...)
    io.stderr:write("transliterate.lua: ", format:format(...), "\n")
    os.exit(1, true)
end

local function norm(names, ours, theirs)
    names[ours .. ".weight"], names[ours .. ".bias"] = theirs .. "/gamma", theirs .. "/beta"
end

local function linear(names, ours, theirs)
    names[ours .. ".weight"], names[ours .. ".bias"] = theirs .. "/weight", theirs .. "/bias"
end

-- Parameters of every layer: heed's names by those in the file. The norm before the feed-forward
-- network is norm2 or norm3 in heed.
local function layer_names(names, ours, theirs, last_norm)
    norm(names, ours .. ".norm1", theirs .. "/self_attention/layer_norm")
    names[ours .. ".self_attn.in_proj_weight"] = theirs .. "/self_attention/linear_0/weight"
    names[ours .. ".self_attn.in_proj_bias"] = theirs .. "/self_attention/linear_0/bias"
    linear(names, ours .. ".self_attn.out_proj", theirs .. "/self_attention/linear_1")
    norm(names, ours .. last_norm, theirs .. "/ffn/layer_norm")
    linear(names, ours .. ".linear1", theirs .. "/ffn/linear_0")
    linear(names, ours .. ".linear2", theirs .. "/ffn/linear_1")
end

local function all_names()
    local names = { ["src_embedding.weight"] = "encoder/embeddings/weight",
        ["tgt_embedding.weight"] = "decoder/embeddings/weight" }
    linear(names, "output", "decoder/projection")
    norm(names, "encoder.norm", "encoder/layer_norm")
    norm(names, "decoder.norm", "decoder/layer_norm")
    for i = 1, LAYERS do
        local encoder, decoder = ("encoder.layers.%d"):format(i), ("decoder.layers.%d"):format(i)
        layer_names(names, encoder, ("encoder/layer_%d"):format(i - 1), ".norm2")
        layer_names(names, decoder, ("decoder/layer_%d"):format(i - 1), ".norm3")
        norm(names, decoder .. ".norm2", ("decoder/layer_%d/attention/layer_norm"):format(i - 1))
        linear(names, decoder .. ".multihead_attn.out_proj",
            ("decoder/layer_%d/attention/linear_2"):format(i - 1))
    end
    return names
end

-- The file has one matrix for queries and one for keys and values; heed stacks them in one.
local function stack_cross_attention(weights)
    for i = 0, LAYERS - 1 do
        local from = ("decoder/layer_%d/attention/"):format(i)
        local to = ("decoder.layers.%d.multihead_attn.in_proj_"):format(i + 1)
        for _, kind in ipairs { "weight", "bias" } do
            local query, key_value = weights[from .. "linear_0/" .. kind],
                weights[from .. "linear_1/" .. kind]
            if not (query and key_value) then
                fail("the model file lacks %slinear_0/%s or linear_1", from, kind)
            end
            weights[to .. kind] = heed.cat({ query, key_value }, 1)
        end
    end
end

local function load_model(folder, source_size, target_size)
    local weights, message = heed.safetensors.load(folder .. "/model.safetensors")
    if not weights then fail("%s", message) end
    local model = Transliterator(source_size, target_size)
    stack_cross_attention(weights)
    local state, names = {}, all_names()
    for name in pairs(model:state_dict()) do
        state[name] = weights[names[name] or name]
        if not state[name] then
            fail("%s/model.safetensors: it lacks %s", folder, names[name] or name)
        end
    end
    local fits, misfit = model:check_state_dict(state)
    if not fits then fail("%s/model.safetensors: %s", folder, misfit) end
    model:load_state_dict(state)
    return model:eval()
end

-- ---- words --------------------------------------------------------------------------------------

-- The model has one token more than the file: the last stands for every other character.
local function read_vocabulary(path)
    local tokens, message = heed.data.lines(path)
    if not tokens then fail("%s", message) end
    tokens[#tokens + 1] = "<unk>"
    local ids = {}
    for id, token in ipairs(tokens) do ids[token] = id end
    for _, token in ipairs { "<s>", "</s>" } do
        if not ids[token] then fail("%s: it lacks the token %s", path, token) end
    end
    return tokens, ids
end

local function encode(word, ids)
    local list = {}
    for character in word:gmatch(utf8.charpattern) do
        list[#list + 1] = ids[character] or ids["<unk>"]
    end
    return list
end

-- The most probable letter at each step, and the sum of their log probabilities, the end's too.
local function transliterate(model, source, tokens, ids)
    local _ <close> = heed.no_grad()
    local memory = model:encode(heed.ids { source })
    local written, total = { ids["<s>"] }, 0
    while #written <= LONGEST do
        local logits = model:decode(heed.ids { written }, memory)
        local best, id = logits:select(2, -1):log_softmax(-1):max(-1)
        total, id = total + best:item(), id:item()
        if id == ids["</s>"] then break end
        written[#written + 1] = id
    end
    local letters = {}
    for i = 2, #written do letters[i - 1] = tokens[written[i]] end
    return table.concat(letters), total
end

local folder = arg[1]
if not folder or not arg[2] then
    io.stderr:write "usage: heed examples/transliterate.lua FOLDER WORD...\n"
    os.exit(2, true)
end

local source_tokens, source_ids = read_vocabulary(folder .. "/source_vocabulary.txt")
local target_tokens, target_ids = read_vocabulary(folder .. "/target_vocabulary.txt")
local model = load_model(folder, #source_tokens, #target_tokens)
local missed = false
for i = 2, #arg do
    local length = utf8.len(arg[i])
    if length and length >= 1 and length <= LONGEST then
        local text, log_probability = transliterate(model, encode(arg[i], source_ids),
            target_tokens, target_ids)
        print(("%s\t%s\t%.6f"):format(arg[i], text, log_probability))
    else
        missed = true
        local why = length and ("it has %d characters, the model takes 1 to %d"):format(length,
            LONGEST) or "it is not UTF-8"
        io.stderr:write(("transliterate.lua: '%s': %s\n"):format(arg[i], why))
    end
end
if missed then os.exit(1, true) end
