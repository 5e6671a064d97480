--- OpenNMT's Transformer whose file has CTranslate2's names. HEED_DATA names a folder with aren/: a
--- trained transliterator, its vocabularies and golden.tsv.

local heed = require "heed"
local names = require "heed.models.weights.names"
local shell = require "spec.support.shell"
require "heed.luassert"

local CONFIG = { source_vocab = 11, target_vocab = 13, d_model = 8, num_heads = 2, d_ff = 12,
    encoder_layers = 2, decoder_layers = 1 }

-- What the file of a model has: each parameter under its names there.
local function tensors_of(model)
    local tensors = {}
    for ours, parameter in model:named_parameters() do
        local theirs = names.theirs(heed.models.OpenNMT.names, ours, "")
        local row, parts = 1, { parameter:size(1) }
        if #theirs == 2 then parts = { 8, 16 } end -- queries; keys and values
        for i, their in ipairs(theirs) do
            tensors[their] = parameter:detach():narrow(1, row, parts[i])
            row = row + parts[i]
        end
    end
    return tensors
end

describe("heed.models.load of a tiny OpenNMT Transformer", function()
    local folder, path

    before_each(function()
        folder = shell.lines "mktemp -d"[1]
        path = folder .. "/model.safetensors"
    end)
    after_each(function() os.execute("rm -r " .. folder) end)

    for _, pre_norm in ipairs { true, false } do
        it("finds its sizes in the file, pre_norm = " .. tostring(pre_norm), function()
            CONFIG.pre_norm = pre_norm
            local want = heed.models.OpenNMT(CONFIG):eval()
            assert(heed.safetensors.save(path, tensors_of(want), { metadata = { heads = "2" } }))
            local target <close> = assert(io.open(folder .. "/target_vocabulary.txt", "w"))
            target:write "<s>\n<blank>\nx\n</s>\n":close()
            local model, message, config = heed.models.load(folder)
            assert(model, message)
            for name, value in pairs(CONFIG) do assert.are.equal(value, config[name], name) end
            assert.are.same({ "<s>", "<blank>", "x", "</s>" }, config.target_vocabulary)
            assert.are.same({ prefix = { 1 }, stop = { 4 }, suppress = {} }, model.generation)
            local src, tgt = { { 3, 5, 7 }, { 2, 1, 1 } }, { { 1, 3 }, { 1, 2 } }
            local lengths = { src_lengths = { 3, 1 } }
            assert.is_close(model(src, tgt, lengths), want(src, tgt, lengths), 1e-6)
            local greedy = { max_new_tokens = 5, cache = false, stop = {} }
            local written = heed.generate(model, src[1], greedy)
            greedy.cache = true
            assert.are.same(written, (heed.generate(model, src[1], greedy)))
        end)
    end

    it("wants the number of heads", function()
        assert(heed.safetensors.save(path, tensors_of(heed.models.OpenNMT(CONFIG))))
        local model, message = heed.models.load(folder)
        assert.is_nil(model)
        assert.matches("expected the metadata heads, a number", message, 1, true)
    end)
end)

local data = os.getenv "HEED_DATA"

local function ids_of(tokens)
    local ids = {}
    for id, token in ipairs(tokens) do ids[token] = id end
    return ids
end

describe("heed.models.load of an OpenNMT Transformer with CTranslate2's names", function()
    if not data then
        pending "needs HEED_DATA, a folder with aren/"
        return
    end

    for _, cache in ipairs { true, false } do
        it("gives the golden words and log probabilities, cache = " .. tostring(cache), function()
            local model, message, config = heed.models.load(data .. "/aren")
            assert(model, message)
            local ids = ids_of(config.source_vocabulary)
            local file <close> = assert(io.open(data .. "/aren/golden.tsv"))
            local checked = 0
            for line in file:lines() do
                local word, want, score = line:match "([^\t]+)\t([^\t]+)\t([^\t]+)"
                local source = {}
                for letter in word:gmatch(utf8.charpattern) do
                    source[#source + 1] = ids[letter] or config.source_vocab
                end
                local tokens, info = heed.generate(model, source, { scores = true, cache = cache })
                for i, token in ipairs(tokens) do tokens[i] = config.target_vocabulary[token] end
                assert.are.equal(want, table.concat(tokens))
                assert.near(tonumber(score), info.score, 1e-4)
                checked = checked + 1
            end
            assert.are.equal(12, checked)
        end)
    end
end)
