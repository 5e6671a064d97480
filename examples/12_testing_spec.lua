-- The tests of lesson 12, for busted (https://lunarmodules.github.io/busted).
--
--     busted examples/12_testing_spec.lua
--
-- heed.luassert adds assertions on tensors. When they fail, is_close names the worst element and
-- has_shape both shapes.

package.path = (debug.getinfo(1, "S").source:match "^@(.*/)" or "./") .. "?.lua;" .. package.path

require "heed.luassert"
local heed = require "heed"
local Predictor = require "12_testing"

local VOCABULARY = 20

describe("Predictor", function()
    local model

    before_each(function()
        -- the same numbers in every run: a test that fails sometimes is worse than none
        heed.manual_seed(12)
        model = Predictor(VOCABULARY, 16)
        model:eval() -- dropout rests: outputs can be compared
    end)

    it("gives logits for every place", function()
        local logits = model(heed.randint(1, VOCABULARY, 3, 7), { 7, 7, 7 })
        assert.has_shape(logits, { 3, 7, VOCABULARY })
    end)

    it("does not look into the future", function()
        local tokens = heed.randint(1, VOCABULARY, 1, 7)
        local before = model(tokens, { 7 })
        tokens[{ 1, 7 }] = tokens[{ 1, 7 }] % VOCABULARY + 1 -- another last token
        local after = model(tokens, { 7 })
        -- no earlier place may notice
        assert.is_close(after[{ {}, { 1, 6 } }], before[{ {}, { 1, 6 } }], 1e-6)
        -- the last one must
        assert.is_not_close(after[{ {}, 7 }], before[{ {}, 7 }], 1e-3)
    end)

    it("does not see padding", function()
        local tokens = heed.randint(1, VOCABULARY, 1, 5)
        local padded = heed.cat({ tokens, heed.ids { { 1, 1, 1 } } }, 2)
        assert.is_close(model(padded, { 5 })[{ {}, { 1, 5 } }], model(tokens, { 5 }), 1e-5)
    end)

    it("treats the sentences of a batch alike, alone or together", function()
        local tokens = heed.randint(1, VOCABULARY, 4, 6)
        local together = model(tokens, { 6, 6, 6, 6 })
        for b = 1, 4 do assert.is_close(model(tokens[{ { b } }], { 6 })[1], together[b], 1e-5) end
    end)

    it("sends a gradient to every parameter", function()
        model:train()
        heed.loss.cross_entropy(model(heed.range(1, VOCABULARY, { dtype = "i64" }):view(2, 10),
            { 10, 10 }),
            heed.randint(1, VOCABULARY, 2, 10)):backward()
        for name, parameter in model:named_parameters() do
            assert.is_truthy(parameter.grad, name .. " got no gradient")
            assert.is_true(parameter.grad:isfinite():all(), name .. ": not finite")
            assert.is_true(parameter.grad:abs():max():item() > 0, name .. ": all zeros")
        end
    end)

    it("can learn a few examples by heart", function()
        local tokens = heed.randint(1, VOCABULARY, 2, 8)
        local inputs, targets = tokens[{ {}, { 1, 7 } }], tokens[{ {}, { 2, 8 } }]
        local optimizer = heed.optim.AdamW(model:parameters(), { lr = 1e-2 })
        local loss
        for _ = 1, 60 do
            loss = heed.loss.cross_entropy(model(inputs, { 7, 7 }), targets)
            optimizer:zero_grad()
            loss:backward()
            optimizer:step()
        end
        assert.is_true(loss:item() < 0.1, ("the loss is still %.3f"):format(loss:item()))
    end)

    it("is the same after it was saved and loaded", function()
        local path, other = os.tmpname(), Predictor(VOCABULARY, 16)
        other:eval()
        assert(heed.checkpoint.save(path, { model = model }))
        assert(heed.checkpoint.load(path, { model = other }))
        os.remove(path)
        local tokens = heed.randint(1, VOCABULARY, 2, 5)
        assert.is_close(other(tokens, { 5, 5 }), model(tokens, { 5, 5 }), 0)
    end)

    it("says what is wrong with its input", function()
        -- tokens are whole numbers
        assert.error_matches(function() model(heed.rand(2, 5), { 5, 5 }) end, "heed.ids")
        -- outside the vocabulary
        assert.error_matches(function() model(heed.ids { { VOCABULARY + 1 } }, { 1 }) end, "21")
    end)
end)
