-- What scikit-learn, sacreBLEU, jiwer and PyTorch say of the same predictions, all at once and in
-- batches.

local heed = require "heed"
local plain = require "heed.plain"

local metrics = heed.metrics
local tensors, metadata = assert(heed.safetensors.load "spec/fixtures/metrics.safetensors")
local cases, texts = assert(plain.decode(metadata.cases)), assert(plain.decode(metadata.texts))

local TOLERANCE = 1e-12

local function assert_near(want, got, what, tolerance)
    if heed.is_tensor(got) then got = got:totable() end
    if type(want) == "table" then
        assert.equal(#want, #got, what)
        for i, value in ipairs(want) do
            assert_near(value, got[i], ("%s[%d]"):format(what, i), tolerance)
        end
    elseif want == "nan" then
        assert.is_true(got ~= got, ("%s: expected NaN, got %s"):format(what, got))
    else
        local off = math.abs(want - got) / math.max(1, math.abs(want))
        assert.is_true(off <= (tolerance or TOLERANCE),
            ("%s: expected %.15g, got %.15g"):format(what, want, got))
    end
end

-- Parts of a tensor or list along its first dimension.
local function part(value, first, last)
    if heed.is_tensor(value) then return value:narrow(1, first, last - first + 1) end
    return table.move(value, first, last, 1, {})
end

-- The function's results, and those of its metric over batches of several sizes, as lists.
local function ways(name, class, a, b, options)
    local list = { { metrics[name](a, b, options) } }
    for _, size in ipairs { 1, 3, 1000 } do
        local metric = metrics[class](options)
        for first = 1, #b, size do
            local last = math.min(#b, first + size - 1)
            metric:add(part(a, first, last), part(b, first, last))
        end
        list[#list + 1] = { metric:value() }
    end
    return list
end

local function check(case, want, name, class, a, b, options, tolerance)
    for w, results in ipairs(ways(name, class, a, b, options)) do
        local got = results
        if type(want) ~= "table" or heed.is_tensor(results[1]) and #results == 1 then
            got = results[1]
        end
        assert_near(want, got, ("%s %s (way %d)"):format(case, name, w), tolerance)
    end
end

local RUN = {}

function RUN.classes(case, results, t)
    local function against(name, class, key, options)
        check(case .. " " .. key, results[key], name, class, t.predictions, t.targets, options)
    end
    local all = math.tointeger(results.classes)
    against("accuracy", "Accuracy", "accuracy")
    against("confusion", "Confusion", "confusion", { classes = all })
    for ours, theirs in pairs { targets = "true", predictions = "pred", all = "all" } do
        against("confusion", "Confusion", "confusion_" .. theirs,
            { classes = all, normalize = ours })
    end
    for _, average in ipairs { "macro", "micro", "weighted" } do
        against("precision_recall_f1", "PrecisionRecallF1", average, { average = average })
        against("precision_recall_f1", "PrecisionRecallF1", average .. "_all",
            { average = average, classes = all })
    end
    against("precision_recall_f1", "PrecisionRecallF1", "none_all",
        { average = "none", classes = all })
    if results.positive then
        against("precision_recall_f1", "PrecisionRecallF1", "positive", { positive = 2 })
    end
end

function RUN.scores(case, results, t)
    for _, average in ipairs { "macro", "weighted", "none" } do
        check(case, results[average], "roc_auc", "RocAuc", t.scores, t.targets,
            { average = average })
    end
    for k = 1, t.scores:size(2) do
        if results["top" .. k] then
            check(case, results["top" .. k], "topk", "TopK", t.scores, t.targets, { k = k })
        end
    end
end

function RUN.binary(case, results, t)
    check(case, results.auc, "roc_auc", "RocAuc", t.scores, t.targets)
end

function RUN.numbers(case, results, t)
    check(case, results.mae, "mae", "Mae", t.predictions, t.targets)
    check(case, results.r2, "r2", "R2", t.predictions, t.targets)
end

function RUN.tokens(case, results, t)
    check(case, results.perplexity, "perplexity", "Perplexity", t.logits, t.targets, nil, 1e-6)
    check(case, results.ignored, "perplexity", "Perplexity", t.logits, t.targets,
        { ignore_index = 1 }, 1e-6)
end

describe("heed.metrics, recorded", function()
    local count = 0
    for case, results in pairs(cases) do
        count = count + 1
        it(case, function()
            local t = {}
            for name, tensor in pairs(tensors) do
                local key = name:sub(1, #case + 1) == case .. "/" and name:sub(#case + 2)
                if key then t[key] = tensor end
            end
            RUN[case:match "^[^/]+"](case, results, t)
        end)
    end

    for case, text in pairs(texts) do
        it("texts/" .. case, function()
            local function against(key, name, class, options)
                if text.results[key] then
                    check(case .. " " .. key, text.results[key], name, class, text.hypotheses,
                        text.references, options)
                end
            end
            against("bleu", "bleu", "Bleu")
            against("chrf", "chrf", "Chrf")
            against("chrf_plus", "chrf", "Chrf", { word_order = 2 })
            against("chrf_3_1", "chrf", "Chrf", { char_order = 3, word_order = 1, beta = 1 })
            against("wer", "wer", "Wer")
            against("cer", "wer", "Wer", { unit = "character" })
        end)
    end

    it("has all that was recorded", function() assert.equal(24, count) end)
end)
