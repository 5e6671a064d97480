local heed = require "heed"
require "heed.luassert"
local cross_entropy = heed.loss.cross_entropy

describe("loss.cross_entropy", function()
    local logits = heed.tensor { { 0.5, -1.0, 2.0 }, { 1.0, 1.0, 1.0 } }
    local function row(i, class) return -logits:log_softmax(-1)[{ i, class }] end

    it("is the mean of -log softmax", function()
        assert.is_close(cross_entropy(logits, heed.ids { 3, 1 }), (row(1, 3) + row(2, 1)) / 2)
        assert.is_close(cross_entropy(logits, { 3, 1 }, { reduction = "sum" }), row(1, 3) + row(2, 1))
        assert.is_close(cross_entropy(logits, { 3, 1 }, { reduction = "none" }), { row(1, 3), row(2, 1) })
        assert.is_close(cross_entropy(logits:view(1, 2, 3), { { 3, 1 } }), (row(1, 3) + row(2, 1)) / 2)
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
        -- eps 0.4 over 5 classes without the first: 0.6 for the target, 0.4/3 for each of the three others.
        local scores = heed.tensor { { 0.3, -0.7, 1.1, 0.2, -2.0 } }
        local p = scores:log_softmax(-1)
        local want = -(0.6 * p[{ 1, 3 }] + 0.4 / 3 * (p[{ 1, 2 }] + p[{ 1, 4 }] + p[{ 1, 5 }]))
        assert.is_close(cross_entropy(scores, { 3 }, { label_smoothing = 0.4, smoothing_exclude = { 1 } }), want)
        want = -0.6 * p[{ 1, 3 }] - 0.4 / 5 * p:sum():item()
        assert.is_close(cross_entropy(scores, { 3 }, { label_smoothing = 0.4 }), want)
        local hidden = scores:clone()
        hidden[{ 1, 1 }] = -math.huge
        assert.is_true(heed.isfinite(cross_entropy(hidden, { 3 }, { label_smoothing = 0.4, smoothing_exclude = { 1 } })):all())
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
        local sum = cross_entropy(first, { 1, 1, 1 }, { reduction = "sum" }) + cross_entropy(second, { 1 }, { reduction = "sum" })
        assert.is_close(sum / 4, 2.0)
    end)

    it("names the target that is none: position, value, range", function()
        for _, bad in ipairs { 0, 4, -1 } do
            local ok, message = pcall(cross_entropy, logits, { 1, bad })
            assert.is_false(ok)
            assert.is_truthy(message:find(tostring(bad), 1, true) and message:find "1%.%.3" and message:find "2", message)
        end
        assert.error_matches(function() cross_entropy(logits, heed.tensor { 1.0, 2.0 }) end, "ids")
        assert.error_matches(function() cross_entropy(logits, { 1, 2 }, { smoothing = 0.1 }) end, 'no option "smoothing"')
    end)
end)
