--- Encoder-decoders of others: spec/fixtures/record_families_seq2seq.py says what was recorded.

local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
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

describe("a tokenizer whose ids are in vocab.json", function()
    local folder = families.FOLDER .. "marian"

    local function shifted(ids, by)
        local list = {}
        for i, id in ipairs(ids) do list[i] = id + by end
        return list
    end

    for name, what in pairs { marian = "MarianTokenizer", m2m_100 = "M2M100Tokenizer" } do
        it("gives the ids and texts of " .. what, function()
            local file <close> = assert(io.open(families.FOLDER .. name .. "/texts.json"))
            local recorded = assert(heed.json.decode(file:read "a"))
            local _, tokenizer = assert(heed.models.load(families.FOLDER .. name))
            for i, line in ipairs(recorded.lines) do
                assert.are.same(recorded.ids[i], shifted(tokenizer:encode(line), -1), line)
            end
            for i, row in ipairs(recorded.rows) do
                assert.are.equal(recorded.decoded[i], tokenizer:decode(shifted(row, 1)))
            end
            assert.are.equal(3, tokenizer.eos)
            assert.are.equal(2, tokenizer.pad)
        end)
    end

    it("has the tokens of languages behind the others", function()
        local tokenizer = assert(heed.text.tokenizer(families.FOLDER .. "m2m_100"))
        assert.are.equal(60, #tokenizer)
        assert.are.equal(53, tokenizer:id "__en__")
        assert.are.equal(60, tokenizer:encode("__de__ a dog")[1])
    end)

    it("is refused when its files do not belong together", function()
        local copy = shell.lines "mktemp -d"[1]
        local function rewrite(text)
            local vocabulary <close> = assert(io.open(copy .. "/vocab.json", "w"))
            vocabulary:write(text)
        end
        os.execute(("cp %s/source.spm %s"):format(folder, copy))
        for text, message in pairs { ["{"] = "vocab.json: line 1",
            ['{"<unk>": 0, "</s>": 0}'] = "expected an id of its own for each token",
            ['{"<unk>": 0, "</s>": 2}'] = "expected ids 0..1",
            ['{"<unk>": 0, "</s>": 1}'] = "expected the piece" } do
            rewrite(text)
            os.execute(("cp %s/target.spm %s"):format(folder, copy))
            local tokenizer, problem = heed.text.tokenizer(copy)
            assert.is_nil(tokenizer)
            assert.matches(message, problem, 1, true)
        end
        os.execute(("cp %s/vocab.json %s"):format(folder, copy))
        os.remove(copy .. "/target.spm")
        assert.matches("target.spm: No such file", select(2, heed.text.tokenizer(copy)), 1, true)
        os.execute("rm -r " .. copy)
    end)
end)

describe("heed.generate", function()
    it("does what a model's files say, and what its options say instead", function()
        local model, values = families.loaded "m2m_100"
        local src = (values.src + 1)[1]:totable()
        assert.are.same({ 3, 52 }, model.generation.prefix)
        assert.are.same({ 3 }, model.generation.stop)
        assert.are.same({ 2 }, model.generation.suppress)
        local answer = heed.generate(model, src, { max_new_tokens = 5 })
        assert.are.same(answer, (heed.generate(model, src,
            { max_new_tokens = 5, prefix = { 3, 52 }, stop = 3, suppress = 2 })))
        local forced = heed.generate(model, src, { max_new_tokens = 1, prefix = 3 })
        assert.are_not.equal(52, forced[1]) -- which nothing forces now
        local rest = heed.generate(model, src, { max_new_tokens = 5, suppress = { answer[1], 2 } })
        assert.are_not.equal(answer[1], rest[1])
    end)

    it("names a family that says what is not built", function()
        local copy = shell.lines "mktemp -d"[1]
        os.execute(("cp %sbart/* %s"):format(families.FOLDER, copy))
        local file = assert(io.open(copy .. "/config.json"))
        local text = file:read "a"
        file:close()
        for from, to in pairs { ['"activation_function": "gelu"'] = '"activation_function": "spike"',
            ['"d_model"'] = '"normalize_before": true, "d_model"',
            ['"tie_word_embeddings": true'] = '"tie_word_embeddings": false' } do
            file = assert(io.open(copy .. "/config.json", "w"))
            file:write((text:gsub(from, to, 1)))
            file:close()
            local model, message = heed.models.load(copy)
            assert.is_nil(model)
            assert.matches("unknown: ", message, 1, true)
        end
        os.execute("rm -r " .. copy)
    end)
end)
