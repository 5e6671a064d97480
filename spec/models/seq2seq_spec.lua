--- Encoder-decoders of others: spec/fixtures/record_families_seq2seq.py says what was recorded.

local families = require "spec.support.families"
local heed = require "heed"
require "heed.luassert"

local MODELS = { bart = heed.models.Bart, mbart = heed.models.Bart, marian = heed.models.Bart,
    m2m_100 = heed.models.Bart, t5_relu_tied = heed.models.T5, t5_gated = heed.models.T5 }

-- The recorded rows, which count from 0 and have -1 behind their ends, without the stop token.
local function answers_of(recorded, stop)
    local list = {}
    for b, row in ipairs((recorded + 1):totable()) do
        list[b] = {}
        for _, token in ipairs(row) do
            if token == 0 or token == stop then break end
            table.insert(list[b], token)
        end
    end
    return list
end

-- The answers of heed.generate with what the prefix forced before them, as transformers has them.
local function written(model, values, options)
    local forced = table.move(model.generation.prefix, 2, #model.generation.prefix, 1, {})
    options.max_new_tokens = 12 - #forced
    options.lengths, options.repetition_penalty = values.src_lengths, 3
    local answers, info = heed.generate(model, values.src + 1, options)
    local list = {}
    for b, tokens in ipairs(answers) do
        list[b] = table.move(tokens, 1, #tokens, #forced + 1, table.move(forced, 1, #forced, 1, {}))
    end
    return list, info
end

for name, class in pairs(MODELS) do
    describe("heed.models.load of " .. name, function()
        it("gives the recorded logits and gradients", function()
            local model, values = families.loaded(name, { grad = true })
            assert.are.equal(class.class_name, model.class_name)
            local logits = model(values.src + 1, values.tgt + 1,
                { src_lengths = values.src_lengths })
            assert.is_close(logits, values.logits, 1e-5)
            ;(logits * values.weights):sum():backward()
            families.check_gradients(name, model, class, values)
        end)

        for _, cache in ipairs { true, false } do
            it("writes the recorded tokens, cache = " .. tostring(cache), function()
                local model, values = families.loaded(name)
                local stop = model.generation.stop[1]
                assert.are.same(answers_of(values.greedy, stop),
                    (written(model, values, { cache = cache })))
                assert.are.same(answers_of(values.beams, stop),
                    (written(model, values, { cache = cache, beams = 3 })))
            end)
        end

        it("reads several target tokens with a cache, of rows of different lengths", function()
            local model, values = families.loaded(name)
            local lengths = { src_lengths = values.src_lengths }
            heed.no_grad(function()
                local memory = model:encode(values.src + 1, lengths)
                local cache = model:new_cache { batch = 2, max_len = 5 }
                local tgt = values.tgt + 1
                model:decode(tgt:narrow(2, 1, 3), memory,
                    { src_lengths = values.src_lengths, cache = cache })
                cache:crop { 3, 1 }
                local rest = heed.ids { tgt[1]:narrow(1, 4, 2):totable(),
                    tgt[2]:narrow(1, 2, 2):totable() }
                local hidden = model:decode(rest, memory,
                    { src_lengths = values.src_lengths, cache = cache })
                local logits = model:output(hidden)
                assert.is_close(logits[1], values.logits[1]:narrow(1, 4, 2), 1e-5)
                assert.is_close(logits[2], values.logits[2]:narrow(1, 2, 2), 1e-5)
            end)
        end)
    end)
end
