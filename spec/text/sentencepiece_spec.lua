local files = require "spec.support.tokenizer_files"
local heed = require "heed"
require "heed.luassert"

local function open(name, run)
    local bytes = files.bytes(files.sentencepiece[name].model)
    files.with(bytes, function(path) run(assert(heed.text.tokenizer(path))) end, ".model")
end

describe("a tokenizer of SentencePiece", function()
    for name, kind in pairs(files.sentencepiece) do
        it("gives the ids and texts of the reference: " .. name, function()
            open(name, function(tokenizer)
                assert.are.equal(kind.size, #tokenizer)
                for _, case in ipairs(kind.cases) do
                    local ids = tokenizer:encode(case.text, { specials = false })
                    assert.are.same(files.shifted(case.ids), ids)
                    assert.are.equal(case.decoded, tokenizer:decode(ids))
                end
            end)
        end)
    end

    it("knows the ids that begin and end texts", function()
        open("bpe", function(tokenizer)
            assert.are.same({ 1, 2, 3 }, { tokenizer.unk, tokenizer.bos, tokenizer.eos })
            assert.is_nil(tokenizer.pad)
        end)
    end)
end)
