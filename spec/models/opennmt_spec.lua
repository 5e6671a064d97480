--- A trained transliterator whose file has CTranslate2's names: HEED_DATA names a folder with aren/,
--- the model, its vocabularies and golden.tsv.

local heed = require "heed"

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
