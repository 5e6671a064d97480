--- The two source texts' own code in heed, against what it gives in PyTorch and JAX
--- (spec/fixtures/record_source_texts.py), and against heed.attention and heed.nn.
require "heed.luassert"

local heed = require "heed"
local plain = require "heed.plain"
local first = require "spec.source_texts.first"
local second = require "spec.source_texts.second"
local nn = heed.nn

local recorded, metadata = assert(heed.safetensors.load "spec/fixtures/source_texts.safetensors")
local about = assert(plain.decode(metadata.about))

-- What was recorded under a case, by the names after it.
local function case(name)
    local found = {}
    for key, t in pairs(recorded) do
        if key:sub(1, #name + 1) == name .. "." then found[key:sub(#name + 2)] = t end
    end
    return found
end

local function with_prefix(tensors, prefix)
    local found = {}
    for key, t in pairs(tensors) do
        if key:sub(1, #prefix) == prefix then found[key:sub(#prefix + 1)] = t end
    end
    return found
end

-- Runs a module on a case's inputs; its results, and the gradients of sum(output · probe) by name.
local function run(module, c, input_names)
    module:load_state_dict(with_prefix(c, "weights."), { names = "torch" })
    local inputs, leaves = {}, {}
    for i, name in ipairs(input_names) do
        inputs[i] = c[name]:clone():requires_grad_(true)
        leaves[name] = inputs[i]
    end
    inputs[#inputs + 1] = c.mask
    local output, attention = module(table.unpack(inputs))
    heed.sum(output * c.probe):backward()
    local grads = {}
    for name, leaf in pairs(leaves) do grads[name] = leaf.grad end
    -- Lists count from 0 in PyTorch's names.
    for name, p in module:named_parameters() do
        grads[name:gsub("%.(%d+)%.", function(i) return (".%d."):format(i - 1) end)] = p.grad
    end
    return output, attention, grads
end

local function assert_grads(want, got)
    local count = 0
    for name, gradient in pairs(want) do
        assert.is_truthy(got[name], "no gradient of " .. name)
        assert.is_close(got[name], gradient, 1e-4)
        count = count + 1
    end
    assert.is_true(count > 0)
end

-- The parameters of a text's multi-head attention as those of nn.MultiHeadAttention.
local function stock_attention(d_model, num_heads, weights)
    local function stacked(kind)
        return heed.cat({ weights["W_q." .. kind], weights["W_k." .. kind],
            weights["W_v." .. kind] }, 1)
    end
    return nn.MultiHeadAttention(d_model, num_heads):load_state_dict {
        in_proj_weight = stacked "weight", in_proj_bias = stacked "bias",
        ["out_proj.weight"] = weights["W_o.weight"], ["out_proj.bias"] = weights["W_o.bias"],
    }
end

-- The gradients of nn.MultiHeadAttention's parameters under the texts' names.
local function text_grads(stock, d_model)
    local grads = { ["W_o.weight"] = stock.out_proj.weight.grad,
        ["W_o.bias"] = stock.out_proj.bias.grad }
    for i, name in ipairs { "W_q", "W_k", "W_v" } do
        grads[name .. ".weight"] = stock.in_proj_weight.grad:narrow(1, (i - 1) * d_model + 1,
            d_model)
        grads[name .. ".bias"] = stock.in_proj_bias.grad:narrow(1, (i - 1) * d_model + 1, d_model)
    end
    return grads
end

describe("the shapes that the first text prints", function()
    it("are those of its single head", function()
        local attention = first.SingleHeadAttention(8)
        local x = heed.randn(2, 4, 8)
        local output, weights = attention(x)
        for name, shape in pairs { ["Input shape"] = x.shape, ["Output shape"] = output.shape,
            ["Attention weights shape"] = weights.shape } do
            local line = ("%s: torch.Size(%s)\n"):format(name, tostring(shape))
            assert.is_truthy(about.printed[1]:find(line, 1, true), line)
        end
        assert.has_shape(weights[1]:round(3), { 4, 4 })
        assert.is_close(weights:sum(-1), heed.ones(2, 4), 1e-6)
    end)

    it("are those of its eight heads", function()
        local output, weights = first.MultiHeadAttention(512, 8)(heed.randn(2, 10, 512))
        assert.equal(("Multi-head output shape: torch.Size(%s)\nAttention weights shape: "
            .. "torch.Size(%s)\n"):format(output.shape,
            weights.shape), about.printed[2])
    end)

    it("need heads that divide the features", function()
        assert.error_matches(function() first.MultiHeadAttention(10, 3) end,
            "d_model must be divisible by num_heads")
    end)
end)

describe("the first text's code", function()
    local modules = {
        single = first.SingleHeadAttention(8),
        multi = first.MultiHeadAttention(32, 8),
        layer = first.TransformerEncoderLayer(16, 4, 32):eval(),
    }
    for name, module in pairs(modules) do
        for _, suffix in ipairs { "", "_masked" } do
            it("gives PyTorch's numbers and gradients: " .. name .. suffix, function()
                local c = case("first." .. name .. suffix)
                module:apply(function(part)
                    for _, p in ipairs(part:parameters()) do p.grad = nil end
                end)
                local output, attention, grads = run(module, c, { "x" })
                assert.is_close(output, c.output, 1e-5)
                if name ~= "layer" then
                    assert.is_close(attention, c.attention, 1e-5)
                    assert.is_close(attention[1]:round(3), c.rounded, 1e-6)
                end
                assert_grads(with_prefix(c, "grads."), grads)
            end)
        end
    end

    it("computes what heed.attention computes, gradients too", function()
        local c = case "first.single_masked"
        local module = first.SingleHeadAttention(8)
        local output, attention, grads = run(module, c, { "x" })
        for _, p in ipairs(module:parameters()) do p.grad = nil end
        local x = c.x:clone():requires_grad_(true)
        local o, w = heed.attention(module.W_q(x), module.W_k(x), module.W_v(x),
            { mask = heed.mask.causal(), weights = true })
        assert.is_close(o, output, 1e-5)
        assert.is_close(w, attention, 1e-5)
        heed.sum(o * c.probe):backward()
        assert.is_close(x.grad, grads.x, 1e-5)
        for name, p in module:named_parameters() do
            assert.is_close(p.grad, c["grads." .. name], 1e-4)
        end
    end)

    it("computes what nn.MultiHeadAttention computes, gradients too", function()
        local c = case "first.multi_masked"
        local output, attention, grads = run(first.MultiHeadAttention(32, 8), c, { "x" })
        local stock = stock_attention(32, 8, with_prefix(c, "weights."))
        local x = c.x:clone():requires_grad_(true)
        local o, w = stock(x, x, x, { mask = heed.mask.causal(), weights = true })
        assert.is_close(o, output, 1e-5)
        assert.is_close(w, attention, 1e-5)
        heed.sum(o * c.probe):backward()
        assert.is_close(x.grad, grads.x, 1e-4)
        assert_grads(text_grads(stock, 32), grads)
    end)

    it("computes what nn.TransformerEncoderLayer computes", function()
        local c = case "first.layer_masked"
        local weights = with_prefix(c, "weights.")
        local output, _, grads = run(first.TransformerEncoderLayer(16, 4, 32):eval(), c, { "x" })
        local stock = nn.TransformerEncoderLayer(16, 4, 32):eval()
        stock.self_attn = stock_attention(16, 4, with_prefix(weights, "self_attn."))
        stock:eval()
        for ours, theirs in pairs { linear1 = "ffn.0", linear2 = "ffn.3", norm1 = "norm1",
            norm2 = "norm2" } do
            stock[ours]:load_state_dict { weight = weights[theirs .. ".weight"],
                bias = weights[theirs .. ".bias"] }
        end
        local x = c.x:clone():requires_grad_(true)
        local o = stock(x, { mask = c.mask:ne(0) })
        assert.is_close(o, output, 1e-5)
        heed.sum(o * c.probe):backward()
        assert.is_close(x.grad, grads.x, 1e-4)
    end)
end)

describe("the second text's functions", function()
    -- Output, weights and gradients of a function of query, key and value.
    local function differentiated(c, probe, f)
        local q, k, v = c.query:clone(), c.key:clone(), c.value:clone()
        for _, t in ipairs { q, k, v } do t.requires_grad = true end
        local output, attention = f(q, k, v)
        heed.sum(output * probe):backward()
        return output, attention, { query = q.grad, key = k.grad, value = v.grad }
    end

    for _, name in ipairs { "plain", "causal" } do
        it("give PyTorch's numbers and gradients, and heed.attention's: " .. name, function()
            local c = case("second." .. name)
            local output, attention, grads = differentiated(c, c.probe, function(q, k, v)
                return second.scaled_dot_product_attention(q, k, v, c.mask)
            end)
            assert.is_close(output, c.output, 1e-5)
            assert.is_close(attention, c.attention, 1e-5)
            assert_grads(with_prefix(c, "grads."), grads)
            local o, w, fused = differentiated(c, c.probe, function(q, k, v)
                return heed.attention(q, k, v, { mask = c.mask and c.mask:ne(0), weights = true })
            end)
            assert.is_close(o, output, 1e-5)
            assert.is_close(w, attention, 1e-5)
            assert_grads(grads, fused)
        end)
    end

    for _, name in ipairs { "plain", "causal", "blind" } do
        it("give JAX's numbers and gradients in the form for JAX: " .. name, function()
            local c = case("second." .. name)
            local output, attention, grads = differentiated(c, c["jax.probe"], function(q, k, v)
                return second.scaled_dot_product_attention_jax(q, k, v, c.mask and c.mask:ne(0))
            end)
            assert.is_close(output, c["jax.output"], 1e-5)
            assert.is_close(attention, c["jax.attention"], 1e-5)
            assert_grads(with_prefix(c, "jax.grads."), grads)
        end)
    end

    -- The first query of this mask sees nothing. The text's code gives NaN for it in PyTorch and an
    -- average of what it should not see in JAX; in heed a softmax of nothing is 0, in the text's
    -- own steps as in heed.attention.
    it("differ where a query sees nothing: zeros, never NaN", function()
        local c = case "second.blind"
        assert.is_true(c.attention:select(2, 1):isnan():all())
        assert.is_close(c["jax.attention"]:select(2, 1), heed.full({ 2, 6 }, 1 / 6), 1e-6)
        local output, attention, grads = differentiated(c, heed.ones(2, 6, 5), function(q, k, v)
            return second.scaled_dot_product_attention(q, k, v, c.mask)
        end)
        assert.is_close(attention:select(2, 1), heed.zeros(2, 6), 0)
        assert.is_close(output:narrow(2, 2, 5), c.output:narrow(2, 2, 5), 1e-5)
        local o, _, fused = differentiated(c, heed.ones(2, 6, 5), function(q, k, v)
            return heed.attention(q, k, v, { mask = c.mask:ne(0) })
        end)
        assert.is_close(o, output, 1e-5)
        for _, gradient in pairs(grads) do assert.is_true(gradient:isfinite():all()) end
        assert_grads(grads, fused)
    end)
end)

describe("the second text's multi-head attention", function()
    for _, name in ipairs { "multi", "multi_masked" } do
        it("gives PyTorch's numbers and gradients, and nn.MultiHeadAttention's: " .. name,
            function()
            local c = case("second." .. name)
            local output, _, grads = run(second.MultiHeadAttention(16, 4), c,
                { "query", "key", "value" })
            assert.is_close(output, c.output, 1e-5)
            assert_grads(with_prefix(c, "grads."), grads)

            local stock = stock_attention(16, 4, with_prefix(c, "weights."))
            local q, k, v = c.query:clone(), c.key:clone(), c.value:clone()
            for _, t in ipairs { q, k, v } do t.requires_grad = true end
            local o = stock(q, k, v, { mask = c.mask and heed.mask.causal() })
            assert.is_close(o, output, 1e-5)
            heed.sum(o * c.probe):backward()
            assert_grads({ query = q.grad, key = k.grad, value = v.grad }, grads)
            assert_grads(text_grads(stock, 16), grads)
        end)
    end
end)
