local heed = require "heed"
require "heed.luassert"
local cross_entropy = heed.loss.cross_entropy

describe("loss.cross_entropy", function()
    local logits = heed.tensor { { 0.5, -1.0, 2.0 }, { 1.0, 1.0, 1.0 } }
    local function row(i, class) return -logits:log_softmax(-1)[{ i, class }] end

    it("is the mean of -log softmax", function()
        assert.is_close(cross_entropy(logits, heed.ids { 3, 1 }), (row(1, 3) + row(2, 1)) / 2)
        assert.is_close(cross_entropy(logits, { 3, 1 }, { reduction = "sum" }),
            row(1, 3) + row(2, 1))
        assert.is_close(cross_entropy(logits, { 3, 1 }, { reduction = "none" }),
            { row(1, 3), row(2, 1) })
        assert.is_close(cross_entropy(logits:view(1, 2, 3), { { 3, 1 } }),
            (row(1, 3) + row(2, 1)) / 2)
    end)

    it("leaves out ignored targets, from the mean too", function()
        assert.is_close(cross_entropy(logits, { 3, 1 }, { ignore_index = 1 }), row(1, 3))
        assert.is_close(cross_entropy(logits, { 3, -100 }, { ignore_index = -100 }), row(1, 3))
    end)

    it("is 0 with gradients 0 when all are ignored", function()
        local leaf = logits:clone()
        leaf.requires_grad = true
        local loss = cross_entropy(leaf, { 2, 2 }, { ignore_index = 2 })
        loss:backward()
        assert.are.equal(0, loss:item())
        assert.are.equal(0, leaf.grad:abs():sum():item())
    end)

    it("smooths over all classes, or all but some", function()
        -- eps 0.4 over 5 classes without the first: 0.6 for the target, 0.4/3 for each of the three
        -- others.
        local scores = heed.tensor { { 0.3, -0.7, 1.1, 0.2, -2.0 } }
        local p = scores:log_softmax(-1)
        local want = -(0.6 * p[{ 1, 3 }] + 0.4 / 3 * (p[{ 1, 2 }] + p[{ 1, 4 }] + p[{ 1, 5 }]))
        assert.is_close(cross_entropy(scores, { 3 },
            { label_smoothing = 0.4, smoothing_exclude = { 1 } }), want)
        want = -0.6 * p[{ 1, 3 }] - 0.4 / 5 * p:sum():item()
        assert.is_close(cross_entropy(scores, { 3 }, { label_smoothing = 0.4 }), want)
        local hidden = scores:clone()
        hidden[{ 1, 1 }] = -math.huge
        assert.is_true(heed.isfinite(cross_entropy(hidden, { 3 },
            { label_smoothing = 0.4, smoothing_exclude = { 1 } })):all())
    end)

    it("of large logits is exact", function()
        assert.are.equal(0, cross_entropy(heed.tensor { { 88.72284 } }, { 1 }):item())
        assert.is_close(cross_entropy(heed.tensor { { 1e4, 0 } }, { 2 }), 1e4)
    end)

    it("adds up over parts of a batch when they are weighed by their targets", function()
        -- Three targets of mean 1 and one of loss 5 are 2 over all four, not the mean of the means.
        local function with_loss(value) return { 0.0, math.log(math.exp(value) - 1) } end
        local first = heed.tensor { with_loss(1), with_loss(1), with_loss(1) }
        local second = heed.tensor { with_loss(5) }
        local sum = cross_entropy(first, { 1, 1, 1 }, { reduction = "sum" }) + cross_entropy(second,
            { 1 }, { reduction = "sum" })
        assert.is_close(sum / 4, 2.0)
    end)

    it("names the target that is none: position, value, range", function()
        for _, bad in ipairs { 0, 4, -1 } do
            local ok, message = pcall(cross_entropy, logits, { 1, bad })
            assert.is_false(ok)
            assert.is_truthy(message:find(tostring(bad), 1, true) and message:find "1%.%.3"
                and message:find "2", message)
        end
        assert.error_matches(function() cross_entropy(logits, heed.tensor { 1.0, 2.0 }) end, "ids")
        assert.error_matches(function() cross_entropy(logits, { 1, 2 }, { smoothing = 0.1 }) end,
            'no option "smoothing"')
    end)

    it("takes probabilities, of which none that is 0 counts", function()
        local shares = heed.tensor { { 0.5, 0.5, 0.0 }, { 0.0, 0.0, 1.0 } }
        assert.is_close(cross_entropy(logits, shares),
            ((row(1, 1) + row(1, 2)) / 2 + row(2, 3)) / 2)
        local hidden = logits:clone()
        hidden[{ 1, 3 }] = -math.huge
        hidden.requires_grad = true
        local loss = cross_entropy(hidden, shares)
        loss:backward()
        assert.is_true(loss:isfinite():item() and hidden.grad:isfinite():all())
        assert.error_matches(function() cross_entropy(logits, shares, { ignore_index = 1 }) end,
            "ignore_index: there is none where")
        assert.error_matches(function() cross_entropy(logits, heed.ones(3, 2)) end,
            "targets: expected probabilities of the logits' shape")
    end)
end)

describe("loss.linear_cross_entropy", function()
    local linear = heed.loss.linear_cross_entropy

    local function leaves(rows, features, classes)
        heed.manual_seed(1)
        local list = { heed.randn(rows, features), heed.randn(classes, features),
            heed.randn(classes) }
        for _, t in ipairs(list) do t.requires_grad = true end
        return list
    end

    local function gradients(list, loss)
        for _, t in ipairs(list) do t.grad = nil end
        loss:backward()
        local grads = {}
        for i, t in ipairs(list) do grads[i] = t.grad end
        return grads
    end

    -- Several chunks: 4 Mi elements of logits a chunk, 512 rows at least.
    it("gives the numbers of both operations over several chunks, and of every option", function()
        local list = leaves(1300, 8, 4000)
        local hidden, weight, bias = table.unpack(list)
        local targets = heed.randint(1, 4000, 1300)
        targets[{ { 100, 300 } }] = 7
        local class_weight = heed.rand(4000) + 0.5
        for _, o in ipairs { {}, { label_smoothing = 0.1, ignore_index = 7 },
            { weight = class_weight, reduction = "sum" },
            { ignore_index = 7, reduction = "none", label_smoothing = 0.2,
                smoothing_exclude = { 1, 2 } } } do
            local function total(loss)
                return o.reduction == "none" and (loss * heed.range(1, 1300) / 1300):sum() or loss
            end
            local whole = cross_entropy(heed.linear(hidden, weight, bias), targets, o)
            local want = gradients(list, total(whole))
            o.bias = bias
            local loss = linear(hidden, weight, targets, o)
            local got = gradients(list, total(loss))
            assert.is_close(loss, whole, 1e-5)
            for i = 1, 3 do
                local scale = want[i]:abs():max():item()
                assert.is_close(got[i] / scale, want[i] / scale, 2e-6)
            end
        end
    end)

    it("never holds all logits", function()
        local list = leaves(2048, 4, 8192)
        local targets = heed.randint(1, 8192, 2048)
        collectgarbage()
        local limit = heed.memory().live + 2048 * 8192 * 4 / 2
        heed.memory_limit(limit)
        local ok, message = pcall(function()
            linear(list[1], list[2], targets, { bias = list[3] }):backward()
        end)
        heed.memory_limit(0)
        assert.is_true(ok, message)
        assert.is_truthy(list[2].grad)
    end)

    it("adds up the gradients of a tied weight", function()
        local embedding = heed.nn.parameter(heed.tensor { { 1.0 }, { 2.0 } })
        local hidden = heed.embedding(embedding, { 1 })
        local loss = linear(hidden, embedding, { 2 })
        loss:backward()
        local alone = embedding:detach():clone()
        alone.requires_grad = true
        cross_entropy(heed.linear(heed.embedding(alone, { 1 }), alone), { 2 }):backward()
        assert.is_close(embedding.grad, alone.grad, 1e-6)
    end)

    it("looks at no row whose target is ignored", function()
        local hidden = heed.tensor({ { 1.0 }, { 0 / 0 } }, { requires_grad = true })
        local weight = heed.tensor({ { 1.0 }, { 2.0 } }, { requires_grad = true })
        local loss = linear(hidden, weight, { 2, 1 }, { ignore_index = 1 })
        loss:backward()
        assert.is_true(loss:isfinite():item() and weight.grad:isfinite():all())
        assert.same({ 0 }, hidden.grad[2]:totable())
        loss = linear(hidden, weight, { 1, 1 }, { ignore_index = 1 })
        loss:backward()
        assert.equal(0, loss:item())
    end)

    it("teaches on misuse", function()
        local hidden, weight = heed.ones(2, 3), heed.ones(5, 3)
        assert.error_matches(function() linear(hidden, heed.ones(5, 4), { 1, 2 }) end,
            "hidden: expected %[%.%.%., 4%], the features of weight, got %[2, 3%]")
        assert.error_matches(function() linear(hidden, heed.ones(5), { 1, 2 }) end,
            "weight: expected %[classes, features%], got %[5%]")
        assert.error_matches(function() linear(hidden, weight, { 1, 6 }) end,
            "targets: expected values in 1%.%.5, got 6 at %[2%]")
        assert.error_matches(function() linear(hidden, weight, { 1 }) end,
            "targets: expected shape %[2%]")
        assert.error_matches(function()
            linear(hidden, weight, { 1, 2 }, { bias = heed.ones(3) })
        end,
            "bias: expected shape %[5%], got %[3%]")
        assert.error_matches(function() linear(hidden, weight, { 1, 2 },
            { biases = heed.ones(5) }) end, 'no option "biases"')
    end)
end)

describe("losses of pairs", function()
    local loss = heed.loss

    it("are refused where shapes or types differ: nothing is broadcast", function()
        for _, name in ipairs { "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss",
            "bce_with_logits", "kl_div" } do
            assert.error_matches(function() loss[name](heed.ones(3), heed.ones(3, 1)) end,
                "target: expected shape %[3%], got %[3, 1%]")
            assert.error_matches(function() loss[name](heed.ones(3), heed.ids { 1, 2, 3 }) end,
                "target: expected f32, got i64")
            assert.error_matches(function()
                loss[name](heed.ones(3), heed.ones(3), { reduction = "average" })
            end,
                'reduction: expected "mean", "sum" or "none"')
            assert.error_matches(function() loss[name](heed.ones(3), heed.ones(3),
                { reduce = true }) end, 'no option "reduce"')
        end
        assert.error_matches(function() loss.huber_loss(heed.ones(1), heed.ones(1),
            { delta = 0 }) end, "delta: expected a number above 0")
        local weight = heed.ones(3):requires_grad_(true)
        assert.error_matches(function()
            loss.bce_with_logits(heed.ones(3), heed.ones(3), { weight = weight })
        end,
            "weight: there is no gradient by it; detach it")
    end)

    it("have no NaN where a share is 0", function()
        local huge = heed.tensor({ math.huge, -math.huge, math.huge, 0 }, { requires_grad = true })
        local bce = loss.bce_with_logits(huge, heed.tensor { 1.0, 0.0, 0.0, 0.5 },
            { reduction = "none" })
        assert.same({ 0, 0, math.huge }, { bce[1], bce[2], bce[3] })
        bce:backward(heed.ones(4))
        assert.same({ 0, 0, 1, 0 }, huge.grad:totable())
        local input = heed.tensor({ { -math.huge, 0 } }, { requires_grad = true })
        local kl = loss.kl_div(input, heed.tensor { { 0.0, 1.0 } }, { reduction = "batchmean" })
        kl:backward()
        assert.equal(0, kl:item())
        assert.same({ { 0, -1 } }, input.grad:totable())
        local logs = loss.kl_div(input, heed.tensor { { -math.huge, 0.0 } },
            { log_target = true, reduction = "sum" })
        assert.equal(0, logs:item())
    end)

    it("of many elements are summed in more than f32", function()
        local n = 3000001
        assert.is_close(loss.mse_loss(heed.ones(n), heed.zeros(n)), 1, 1e-7)
        assert.is_close(loss.l1_loss(heed.ones(n) * 0.1, heed.zeros(n)), 0.1, 1e-7)
    end)
end)

describe("loss.nll_loss", function()
    it("is cross entropy after log_softmax", function()
        local logits = heed.randn(4, 5)
        assert.is_close(heed.loss.nll_loss(logits:log_softmax(-1), { 1, 5, 3, 3 },
            { ignore_index = 3 }),
            cross_entropy(logits, { 1, 5, 3, 3 }, { ignore_index = 3 }), 1e-6)
    end)

    it("does not look at other classes, nor at ignored rows", function()
        local scores = heed.tensor({ { -1.0, 0 / 0 }, { -math.huge, -math.huge } },
            { requires_grad = true })
        local loss = heed.loss.nll_loss(scores, { 1, 2 }, { ignore_index = 2 })
        loss:backward()
        assert.equal(1, loss:item())
        assert.same({ { -1, 0 }, { 0, 0 } }, scores.grad:totable())
    end)
end)

describe("classes that do not come last", function()
    local loss = heed.loss

    it("are told by the shapes", function()
        local last = "; classes come last, [..., V]: logits:movedim(2, -1)"
        for _, case in ipairs { { { 2, 5, 3 }, { 2, 3 } }, { { 2, 2, 3 }, { 2, 3 } },
            { { 2, 5, 3, 4 }, { 2, 3, 4 } } } do
            local logits = heed.randn(case[1])
            local targets = heed.ones(case[2]):to "i64" * math.min(case[1][2], 5)
            for _, name in ipairs { "cross_entropy", "nll_loss" } do
                local ok, message = pcall(loss[name], logits, targets)
                assert.is_false(ok)
                assert.are.equal(last, message:sub(-#last), message)
            end
            assert.is_true(loss.cross_entropy(logits:movedim(2, -1), targets):item() > 0)
        end
    end)

    it("are not suspected elsewhere", function()
        for _, case in ipairs { { { 2, 5, 3 }, { 2, 4 } }, { { 2, 5, 3 }, { 3, 5 } },
            { { 2, 3 }, { 3 } } } do
            local ok, message = pcall(loss.cross_entropy, heed.randn(case[1]),
                heed.ones(case[2]):to "i64")
            assert.is_false(ok)
            assert.is_nil(message:find "last", message)
        end
    end)
end)
