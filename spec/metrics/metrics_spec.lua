local heed = require "heed"

local metrics = heed.metrics
local NAN = 0 / 0

local function is_nan(x) return type(x) == "number" and x ~= x end

local function assert_same(want, got)
    if heed.is_tensor(want) then return assert.is_true(want:equal(got)) end
    assert.same(want, got)
end

-- Every metric of two arguments that fit each other.
local EACH = {
    { "accuracy", "Accuracy", { 1, 2 }, { 1, 1 } },
    { "topk", "TopK", { { 0.2, 0.8 }, { 0.4, 0.6 } }, { 1, 2 }, { k = 1 } },
    { "confusion", "Confusion", { 1, 2 }, { 1, 1 } },
    { "precision_recall_f1", "PrecisionRecallF1", { 1, 2 }, { 1, 1 } },
    { "roc_auc", "RocAuc", { 0.2, 0.8 }, { 1, 2 } },
    { "perplexity", "Perplexity", heed.zeros(2, 4), { 1, 2 } },
    { "mae", "Mae", { 1, 2 }, { 1, 4 } },
    { "r2", "R2", { 1, 2 }, { 1, 4 } },
    { "bleu", "Bleu", { "a b" }, { "a b" } },
    { "chrf", "Chrf", { "a b" }, { "a b" } },
    { "wer", "Wer", { "a b" }, { "a c" } },
}

describe("every metric", function()
    for _, row in ipairs(EACH) do
        local name, class, a, b, options = table.unpack(row)
        it(name .. ": the function is the metric of one batch, which begins anew", function()
            local want = { metrics[name](a, b, options) }
            local metric = metrics[class](options)
            metric:add(a, b):reset()
            local got = { metric:add(a, b):value() }
            for i, value in ipairs(want) do
                assert_same(value, got[i])
            end
        end)

        it(name .. ": names itself in what it says", function()
            assert.error_matches(function() metrics[name](5, b, options) end, "heed.metrics."
                .. name .. ": %w+: expected")
            assert.error_matches(function() metrics[class](options):add(5, b) end, "heed.metrics."
                .. class .. ":add: %w+: expected")
            assert.error_matches(function() metrics[class](options).add(5, b) end,
                "metric:add%(...%)")
        end)

        it(name .. ": counts nothing of a batch that it refuses", function()
            local metric = metrics[class](options)
            metric:add(a, b)
            local before = { metric:value() }
            for _, bad in ipairs { { 5, b }, { a, 5 }, { a, { 1, 2, 3, 4, 5 } }, { a, { {} } } } do
                assert.is_false((pcall(metric.add, metric, bad[1], bad[2])))
            end
            for i, value in ipairs { metric:value() } do
                assert_same(before[i], value)
            end
        end)
    end

    it("knows its options", function()
        assert.error_matches(function() metrics.TopK { kk = 1 } end,
            'heed.metrics.TopK: options: there is no option "kk"')
        assert.error_matches(function() metrics.precision_recall_f1({}, {}, "macro") end,
            "expected a table of named options")
        assert.error_matches(function() metrics.precision_recall_f1({}, {},
            { average = "mikro" }) end, 'average: expected .* got "mikro"')
        assert.error_matches(function() metrics.topk({ { 1 } }, { 1 }, { k = 0 }) end,
            "k: expected an integer of at least 1, got 0")
    end)

    it("leaves no graph behind", function()
        local logits = heed.randn(3, 4, { requires_grad = true })
        metrics.accuracy(logits * 2, { 1, 2, 3 })
        metrics.perplexity(logits * 2, { 1, 2, 3 })
        metrics.mae(logits:sum(2), { 1, 2, 3 })
        assert.is_nil(logits.grad)
    end)
end)

describe("metrics of nothing", function()
    it("are NaN, 0 or empty", function()
        assert.is_true(is_nan(metrics.accuracy({}, {})))
        assert.is_true(is_nan(metrics.accuracy(heed.zeros(0, 3), {})))
        assert.is_true(is_nan(metrics.topk(heed.zeros(0, 3), {})))
        assert.is_true(is_nan(metrics.roc_auc({}, {})))
        assert.is_true(is_nan(metrics.perplexity(heed.zeros(0, 3), {})))
        assert.is_true(is_nan(metrics.mae({}, {})))
        assert.is_true(is_nan(metrics.r2({}, {})))
        assert.is_true(is_nan((metrics.wer({}, {}))))
        assert.same({ 0, 0 }, { metrics.bleu({}, {}), metrics.chrf({}, {}) })
        assert.same({ 0, 0, 0 }, { metrics.precision_recall_f1({}, {}) })
        assert.same({ 0, 0 }, metrics.confusion({}, {}).shape)
        assert.same({ 2, 2 }, metrics.confusion({}, {}, { classes = 2 }).shape)
        assert.same({ 0, 0, 0 }, { metrics.precision_recall_f1({}, {}, { positive = 2 }) })
    end)

    it("are the same of a metric that got nothing yet", function()
        for _, class in ipairs { "Accuracy", "TopK", "RocAuc", "Perplexity", "Mae", "R2" } do
            assert.is_true(is_nan(metrics[class]():value()), class)
        end
    end)
end)

describe("metrics of classes", function()
    it("take scores for the class that is highest, the first of equals", function()
        assert.equal(1, metrics.accuracy(heed.tensor { { 0.5, 0.5 }, { 0.1, 0.9 } },
            heed.ids { 1, 2 }))
        assert.equal(0.5, metrics.accuracy({ { 0.2, 0.8 }, { 0.4, 0.6 } }, { 1, 2 }))
        assert.equal(0.75, metrics.accuracy(heed.ids { { 1, 2 }, { 3, 1 } },
            { { 1, 2 }, { 3, 4 } }))
        assert.equal(1, metrics.accuracy(heed.zeros(2, 3, 5), { { 1, 1, 1 }, { 1, 1, 1 } }))
        for _, dtype in ipairs { "f64", "f16", "bf16" } do
            assert.equal(1, metrics.accuracy(heed.eye(3):to(dtype), { 1, 2, 3 }))
            assert.equal(1, metrics.topk(heed.eye(3):to(dtype), { 1, 2, 3 }, { k = 1 }))
        end
        assert.equal(1, metrics.accuracy(heed.tensor({ 1, 2 }, { dtype = "i32" }), { 1, 2 }))
    end)

    it("take infinite scores, and refuse NaN", function()
        assert.equal(1, metrics.accuracy({ { -math.huge, 0 }, { math.huge, 0 } }, { 2, 1 }))
        assert.error_matches(function() metrics.accuracy({ { NAN, 1 } }, { 2 }) end,
            "predictions: expected scores that can be ordered, got NaN")
        assert.error_matches(function() metrics.topk({ { NAN, 1 } }, { 2 }) end,
            "scores: expected scores that can be ordered, got NaN")
        assert.error_matches(function() metrics.confusion({ { NAN, 1 } }, { 2 }) end, "got NaN")
    end)

    it("refuse what is no class, and what does not fit", function()
        assert.error_matches(function() metrics.accuracy({ 0 }, { 1 }) end,
            "predictions: expected classes from 1, got 0; where they count from 0, y %+ 1$")
        assert.error_matches(function() metrics.accuracy({ 1 }, { -1 }) end,
            "targets: expected classes from 1, got %-1")
        assert.error_matches(function() metrics.accuracy({ 1.5 }, { 1 }) end,
            "predictions: expected a number that i64 can hold, got 1.5")
        assert.error_matches(function() metrics.accuracy({ 1, 2 }, { 1 }) end,
            "predictions: expected the shape of the targets, %[1%], got %[2%]")
        assert.error_matches(function() metrics.accuracy(heed.zeros(2, 3), { 1, 1, 1 }) end,
            "predictions: expected scores of every class, a dimension more than the targets' "
                .. "%[3%], got %[2, 3%]")
        assert.error_matches(function() metrics.accuracy({ 1 }, heed.tensor { 1.0 }) end,
            'targets: expected classes, .* got f32 tensor %[1%]; y:to "i64" converts$')
        local u8 = heed.zeros(2, { dtype = "u8" })
        for name, f in pairs { accuracy = metrics.accuracy, confusion = metrics.confusion } do
            assert.error_matches(function() f(heed.ids { 1, 2 }, u8) end,
                "heed.metrics." .. name .. ": targets: expected classes, a table or a tensor of "
                .. 'integers, got u8 tensor %[2%]; u8 may mean a mask or classes: y:to "i64" says '
                .. 'which, y:to "i64" %+ 1 where they count from 0$')
        end
        assert.equal(1, metrics.accuracy(heed.ids { 1, 1 }, u8:to "i64" + 1))
        assert.error_matches(function() metrics.accuracy(heed.ids { 1, 2 }, u8:to "bool") end,
            'got bool tensor %[2%]; y:to "i64" %+ 1 are classes 1 and 2$')
        assert.error_matches(function() metrics.confusion({ 4 }, { 1 }, { classes = 3 }) end,
            "predictions: expected classes in 1..3, got 4")
        assert.error_matches(function() metrics.confusion({ { 1, 2 } }, { 1 }, { classes = 3 }) end,
            "expected scores of 3 classes, got %[1, 2%]")
        assert.error_matches(function() metrics.topk({ { 1, 2 } }, { 3 }) end,
            "targets: expected classes in 1..2, got 3")
        assert.error_matches(function() metrics.topk({ {}, {} }, { 1, 1 }) end,
            "scores: expected at least one class")
        assert.error_matches(function() metrics.precision_recall_f1({ 1 }, { 1 },
            { positive = 2, average = "macro" }) end, "positive: ")
        assert.error_matches(function() metrics.precision_recall_f1({ 1 }, { 1 },
            { positive = 3, classes = 2 }) end, "positive: .* 1..2, got 3")
    end)

    it("grow with the classes that come, unless it was said how many there are", function()
        local matrix = metrics.Confusion()
        matrix:add({ 1 }, { 1 }):add({ 3 }, { 2 })
        assert.same({ { 1, 0, 0 }, { 0, 0, 1 }, { 0, 0, 0 } }, matrix:value():totable())
        assert.equal("i64", matrix:value().dtype)
        assert.same({ 1, 0 }, metrics.confusion({ 1 }, { 1 },
            { classes = 2, normalize = "targets" })[1]:totable())
    end)

    it("refuse to count more classes than there can be", function()
        assert.error_matches(function() metrics.confusion({ 1 }, { 1 << 40 }) end,
            "expected classes in 1..16777216, got 1099511627776")
        assert.equal(0, metrics.accuracy({ 1 }, { 1 << 40 }))
        local precision = metrics.precision_recall_f1({ 1, 200000 }, { 1, 200000 })
        assert.equal(1, precision)
    end)

    it("hold the counts of many", function()
        local metric = metrics.Confusion { classes = 2 }
        local ones = heed.ones(100000):to "i64"
        for _ = 1, 5 do metric:add(ones, ones) end
        assert.equal(500000, metric:value()[{ 1, 1 }])
    end)

    it("take more of k than there are classes", function()
        assert.equal(1, metrics.topk({ { 0.1, 0.9 }, { 0.9, 0.1 } }, { 1, 2 }, { k = 7 }))
        assert.equal(1, metrics.topk({ { 0.5, 0.5 } }, { 1 }, { k = 1 }))
        assert.equal(0, metrics.topk({ { 0.5, 0.5 } }, { 2 }, { k = 1 }))
    end)
end)

describe("metrics.roc_auc", function()
    it("counts ties half", function()
        assert.equal(0.5, metrics.roc_auc({ 1, 1, 1 }, { 1, 2, 1 }))
        assert.equal(0.875, metrics.roc_auc({ 0, 1, 1, 2 }, { 1, 1, 2, 2 }))
    end)

    it("takes booleans, and any class for the positive one", function()
        assert.equal(1, metrics.roc_auc({ 0.1, 0.9 }, { false, true }))
        assert.equal(1, metrics.roc_auc({ 0.1, 0.9 }, heed.tensor { false, true }))
        assert.equal(0, metrics.roc_auc({ 0.1, 0.9 }, { 1, 3 }, { positive = 1 }))
        assert.equal(1, metrics.roc_auc({ 0.1, 0.9, 0.2 }, { 1, 3, 2 }, { positive = 3 }))
        assert.equal(1, metrics.roc_auc({ -math.huge, math.huge }, { 1, 2 }))
    end)

    it("is NaN where there is one class, and without its weight in the mean", function()
        assert.is_true(is_nan(metrics.roc_auc({ 1, 2 }, { 2, 2 })))
        assert.is_true(is_nan(metrics.roc_auc({ 1, 2 }, { 1, 1 })))
        local scores, targets = { { 0.9, 0.1, 0 }, { 0.2, 0.8, 0 } }, { 1, 2 }
        assert.is_true(is_nan(metrics.roc_auc(scores, targets)))
        assert.equal(1, metrics.roc_auc(scores, targets, { average = "weighted" }))
        assert.is_true(is_nan(metrics.roc_auc(scores, targets, { average = "none" })[3]))
    end)

    it("refuses what does not fit", function()
        assert.error_matches(function() metrics.roc_auc({ 1, NAN }, { 1, 2 }) end,
            "scores: expected scores that can be ordered, got NaN")
        assert.error_matches(function() metrics.roc_auc({ 1, 2, 3 }, { 1, 2 }) end,
            "scores: expected %[2%] or %[2, C%], .* got %[3%]")
        assert.error_matches(function() metrics.roc_auc({ 1, 2 }, { { 1, 2 } }) end,
            "targets: expected a vector, got %[1, 2%]")
        assert.error_matches(function() metrics.roc_auc({ 1 }, { 1 }, { average = "macro" }) end,
            "average: scores of one class have none")
        assert.error_matches(function() metrics.roc_auc({ { 1, 2 } }, { 1 }, { positive = 1 }) end,
            "positive: every class")
        assert.error_matches(function() metrics.roc_auc({ { 1, 2 } }, { 3 }) end,
            "targets: expected classes in 1..2, got 3")
        assert.error_matches(function() metrics.roc_auc({ 1 }, { true, 2 }) end,
            "targets: expected booleans")
        assert.error_matches(function() metrics.RocAuc():add({ 1 }, { 1 }):add({ { 1, 2 } },
            { 1 }) end, "expected 1 columns as before, got 2")
    end)

    it("keeps what it was given, not what becomes of it", function()
        local scores, auc = heed.tensor { 0.1, 0.9 }, metrics.RocAuc()
        auc:add(scores, { 1, 2 })
        scores:zero_()
        assert.equal(1, auc:value())
    end)
end)

describe("metrics of numbers", function()
    it("let NaN and infinities through", function()
        assert.is_true(is_nan(metrics.mae({ NAN, 1 }, { 1, 1 })))
        assert.equal(math.huge, metrics.mae({ math.huge }, { 1 }))
        assert.is_true(is_nan(metrics.r2({ NAN, 1 }, { 1, 2 })))
        assert.is_true(is_nan(metrics.r2({ NAN, 1 }, { 2, 2 })))
        assert.is_true(is_nan(metrics.r2({ 1, 1 }, { NAN, 2 })))
        assert.is_true(is_nan(metrics.r2({ 1 }, { 1 })))
    end)

    it("take every dtype of numbers, and any shape that is the same", function()
        for _, dtype in ipairs { "f32", "f16", "bf16", "i64", "i32", "u8" } do
            assert.equal(1, metrics.mae(heed.tensor({ { 1, 2 } }, { dtype = dtype }), { { 2, 3 } }),
                dtype)
        end
        assert.equal(2, metrics.mae(heed.tensor(1.0), heed.tensor(3.0)))
        assert.error_matches(function() metrics.mae({ 1, 2 }, { 1 }) end,
            "predictions: expected the shape of the targets, %[1%], got %[2%]")
        assert.error_matches(function() metrics.r2({ 1, 2 }, { { 1 }, { 2 } }) end,
            "predictions: expected the shape of the targets")
        assert.error_matches(function() metrics.r2(heed.tensor(1.0), heed.tensor(3.0)) end,
            "targets: expected %[N%] or %[N, D%], got %[%]")
        assert.error_matches(function() metrics.mae(heed.tensor { true }, { 1 }) end,
            "predictions: expected numbers, .* got bool tensor")
        assert.error_matches(function() metrics.R2():add({ 1 }, { 1 }):add({ { 1, 2 } },
            { { 1, 2 } }) end, "expected 1 columns as before, got 2")
    end)
end)

describe("metrics.perplexity", function()
    it("takes the tokens' own losses", function()
        local logits, targets = heed.randn(5, 7), { 1, 2, 3, 4, 5 }
        local losses = heed.loss.cross_entropy(logits, targets, { reduction = "none" })
        assert.near(metrics.perplexity(logits, targets), metrics.perplexity(losses), 1e-12)
        assert.near(math.exp(2), metrics.perplexity { 1, 3 }, 1e-12)
    end)

    it("leaves out what is ignored, -100 too", function()
        local logits = heed.zeros(3, 8)
        assert.near(8, metrics.perplexity(logits, { 1, -100, 2 }, { ignore_index = -100 }), 1e-5)
        assert.is_true(is_nan(metrics.perplexity(logits, { 1, 1, 1 }, { ignore_index = 1 })))
    end)

    it("is infinite where a token was thought impossible", function()
        assert.equal(math.huge, metrics.perplexity({ 1e300, 1e300 }))
        assert.equal(math.huge, metrics.perplexity(heed.tensor { { 0, -math.huge } }, { 2 }))
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() metrics.perplexity(heed.zeros(2, 3), { 1, 4 }) end,
            "heed.metrics.perplexity: targets: expected values in 1..3, got 4")
        assert.error_matches(function() metrics.perplexity(heed.zeros(2, 3), { 1 }) end,
            "heed.metrics.perplexity: ")
        assert.error_matches(function() metrics.perplexity(5, { 1 }) end,
            "heed.metrics.perplexity: logits: expected")
        assert.error_matches(function() metrics.perplexity(heed.zeros(2, 3), { 1, 2 },
            { ignore_index = 1.5 }) end, "ignore_index: expected an integer, got 1.5")
    end)
end)

describe("metrics of texts", function()
    it("refuse lists that do not fit, and what is no text", function()
        for _, name in ipairs { "bleu", "chrf", "wer" } do
            assert.error_matches(function() metrics[name]({ "a" }, {}) end,
                "references: expected as many as hypotheses %(1%), got 0")
            assert.error_matches(function() metrics[name]({ 5 }, { "a" }) end,
                "hypotheses: expected strings, got 5 at 1")
            assert.error_matches(function() metrics[name]("a", "a") end,
                'hypotheses: expected a table, got "a"')
        end
    end)

    it("take bytes that are no UTF-8", function()
        assert.equal(100, metrics.chrf({ "\xff\xfe ab" }, { "\xff\xfe ab" }))
        assert.equal(0.5, (metrics.wer({ "\xff\xfe" }, { "\xff\xfd" }, { unit = "character" })))
    end)

    it("count edits by words and by characters", function()
        local rate, counts = metrics.wer({ "a b c", "" }, { "a x c d", "e" })
        assert.equal(3 / 5, rate)
        assert.same({ edits = 3, length = 5 }, counts)
        assert.equal(math.huge, (metrics.wer({ "a" }, { "" })))
        assert.equal(2, (metrics.wer({ "a b" }, { "c" })))
    end)

    it("of a corpus is not the mean of its segments", function()
        local bleu = metrics.Bleu()
        bleu:add({ "the cat sat on the mat" }, { "the cat sat on a mat" })
        bleu:add({ "dogs" }, { "cats" })
        assert.equal(heed.text.bleu.corpus({ "the cat sat on the mat", "dogs" },
            { "the cat sat on a mat", "cats" }), (bleu:value()))
    end)
end)
