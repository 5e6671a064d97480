local families = require "spec.support.families"
local heed = require "heed"
require "heed.luassert"

local loaded, check_gradients = families.loaded, families.check_gradients

local CLASSES = { albert = "Albert", bert = "Bert", distilbert = "DistilBert", mpnet = "MpNet",
    roberta = "Roberta", xlm = "Roberta" }

local function class_of(name) return heed.models[CLASSES[name:match "^[a-z]+"]] end

-- 0 behind the ends.
local function seen_alone(x, lengths)
    if x:dim() == 2 then return x end
    local B, L = x:size()
    return x:masked_fill(~heed.range(1, L):view(1, L, 1):le(lengths:view(B, 1, 1)), 0)
end

describe("encoders of texts: heed.models.load", function()
    for _, name in ipairs { "albert", "distilbert", "mpnet", "xlm_roberta" } do
        it("gives transformers' hidden states and gradients: " .. name, function()
            local model, values = loaded(name, { grad = true })
            local hidden = model(values.ids + 1, { lengths = values.lengths })
            hidden = seen_alone(hidden, values.lengths)
            assert.is_close(hidden, values.hidden, 1e-5)
            assert.is_close(model(values.long + 1), values.hidden_long, 1e-5)
            ;(hidden * values.weights):sum():backward()
            check_gradients(name, model, class_of(name), values)
        end)
    end

    for name, prefix in pairs { bert_masked = "bert.", bert_texts = "bert.", bert_tokens = "bert.",
        roberta_masked = "roberta.", roberta_texts = "roberta.", xlm_roberta_tokens = "roberta.",
        distilbert_masked = "distilbert.", distilbert_texts = "distilbert.",
        albert_masked = "albert.", albert_texts = "albert.", mpnet_texts = "mpnet." } do
        it("gives the logits of a head: " .. name, function()
            local model, values = loaded(name, { grad = true })
            local logits = seen_alone(model(values.ids + 1, { lengths = values.lengths }),
                values.lengths)
            assert.is_close(logits, values.logits, 1e-5)
            ;(logits * values.weights):sum():backward()
            check_gradients(name, model, class_of(name), values, prefix)
        end)
    end
end)

describe("encoders of texts", function()
    it("keep the head's words one parameter with the embedding", function()
        local model = loaded "bert_masked"
        assert.are.equal(model.words.weight, model.head.output.weight)
    end)

    it("are captured layer by layer where one layer is repeated", function()
        local model = loaded "albert"
        local weights <close> = heed.capture(model)
        model(heed.ids { { 3, 5, 9 } })
        assert.has_shape(weights["groups.2.1.layers.2.self_attn"], { 1, 2, 3, 3 })
        assert.is_false(weights["groups.2.1.layers.2.self_attn"]:allclose(
            weights["groups.2.1.layers.1.self_attn"]))
        assert.are.equal(model.groups[1][1].layers[1].linear1.weight,
            model.groups[1][1].layers[2].linear1.weight)
    end)

    it("have no position for padding, and count none", function()
        local positions = heed.models.Roberta.positions_of({ { 1, 5, 2, 7 }, { 2, 2, 4, 4 } }, 2)
        assert.are.same({ { 3, 4, 2, 5 }, { 2, 2, 3, 4 } }, positions:totable())
    end)

    it("refuse texts that are longer than their positions", function()
        local model = loaded "xlm_roberta"
        assert.are.equal(22, model.max_tokens)
        assert.has_error(function() model(heed.full({ 1, 23 }, 5):to "i64") end)
    end)
end)
