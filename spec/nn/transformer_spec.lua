local heed = require "heed"
local nn = heed.nn
require "heed.luassert"

local function small(options)
    local all = { src_vocab = 11, tgt_vocab = 13, d_model = 16, num_heads = 4, num_layers = 2,
        d_ff = 32, dropout = 0 }
    for name, value in pairs(options or {}) do all[name] = value end
    return nn.Transformer(all)
end

describe("nn.Transformer", function()
    local src, tgt = heed.ids { { 2, 3, 4, 1 }, { 5, 6, 1, 1 } },
        heed.ids { { 2, 3, 4 }, { 5, 6, 7 } }

    it("goes from tokens to logits", function()
        heed.manual_seed(1)
        local model = small()
        assert.has_shape(model(src, tgt), { 2, 3, 13 })
        assert.has_shape(model({ { 2, 3 } }, { { 4 } }), { 1, 1, 13 })
        local memory = model:encode(src)
        assert.has_shape(memory, { 2, 4, 16 })
        assert.is_close(model.output(model:decode(tgt, memory)), model(src, tgt), 1e-6)
    end)

    it("is causal", function()
        heed.manual_seed(2)
        local model = small()
        local other = tgt:clone()
        other[{ {}, 3 }] = 9
        local a, b = model(src, tgt), model(src, other)
        assert.is_close(a[{ {}, { 1, 2 } }], b[{ {}, { 1, 2 } }], 1e-6)
        assert.is_false(heed.allclose(a[{ {}, 3 }], b[{ {}, 3 }]))
    end)

    it("does not see padding, and its padded outputs are 0", function()
        heed.manual_seed(3)
        for _, norm_first in ipairs { false, true } do
            local model = small { norm_first = norm_first }
            local lengths = { src_lengths = { 3, 2 }, tgt_lengths = { 3, 1 } }
            local other = src:clone()
            other[{ 1, 4 }], other[{ 2, { 3, 4 } }] = 7, 8
            local a = model(src, tgt, lengths)
            assert.is_close(a, model(other, tgt, lengths), 1e-6)
            assert.are.equal(0, a[{ 2, { 2, 3 } }]:abs():sum():item())
            assert.is_true(a[{ 2, 1 }]:abs():sum():item() > 0)
            local memory = model:encode(src, { src_lengths = { 3, 2 } })
            assert.are.equal(0, memory[{ 2, { 3, 4 } }]:abs():sum():item())
            local alone = model(src[{ { 2 }, { 1, 2 } }], tgt[{ { 2 }, { 1 } }])
            assert.is_close(a[{ { 2 }, { 1 } }], alone, 1e-5)
        end
    end)

    it("computes no padding, with the same results and gradients as when it does", function()
        heed.manual_seed(8)
        local model, plain = small { norm_first = true }, small { norm_first = true }
        plain:load_state_dict(model:state_dict())
        local forward = plain.encoder.layers[1].self_attn.forward
        plain.encoder.layers[1].self_attn.forward = function(...)
            return forward(...)
        end -- a part that may mind
        local lengths = { src_lengths = { 4, 2 }, tgt_lengths = { 1, 3 } }
        local weights = heed.randn(2, 3, 13)
        for _, m in ipairs { model, plain } do (m(src, tgt, lengths) * weights):sum():backward() end
        assert.is_close(model(src, tgt, lengths), plain(src, tgt, lengths), 1e-5)
        local gradients = {}
        for name, p in plain:named_parameters() do gradients[name] = p.grad end
        for name, p in model:named_parameters() do
            -- keys' biases have no gradient but rounding
            assert.is_true(heed.allclose(p.grad, gradients[name], { rtol = 1e-4, atol = 1e-5 }),
                name)
        end
        local only_src = { src_lengths = { 4, 2 } }
        assert.is_close(model(src, tgt, only_src), plain(src, tgt, only_src), 1e-5)
        local memory = model:encode(src, only_src)
        assert.is_close(model:decode(tgt, memory, lengths), plain:decode(tgt, memory, lengths),
            1e-5)
    end)

    it("ties weights when asked", function()
        local apart = small { tgt_vocab = 11 }
        local tied = small { tgt_vocab = 11, tie_weights = true }
        assert.are.equal(tied.output.weight, tied.tgt_embedding.weight)
        assert.are.equal(tied.output.weight, tied.src_embedding.weight)
        assert.are.equal(#apart:parameters() - 2, #tied:parameters())
        local target_only = small { tie_weights = true }
        assert.are_not.equal(target_only.src_embedding.weight, target_only.tgt_embedding.weight)
        assert.are.equal(target_only.output.weight, target_only.tgt_embedding.weight)
        local left = small { tgt_vocab = 11, tie_weights = "target" }
        assert.are_not.equal(left.src_embedding.weight, left.tgt_embedding.weight)
    end)

    it("draws matrices Xavier and embeddings N(0, 1/sqrt(E))", function()
        heed.manual_seed(4)
        local model = nn.Transformer { src_vocab = 500, tgt_vocab = 500, d_model = 64,
            num_heads = 4, num_layers = 1, d_ff = 128,
            tie_weights = true }
        assert.is_true(math.abs(model.src_embedding.weight:std():item() - 0.125) < 0.01)
        local bound = math.sqrt(6 / (64 + 128))
        local weight = model.encoder.layers[1].linear1.weight
        assert.is_true(weight:abs():max():item() <= bound
            and weight:abs():max():item() > 0.95 * bound)
    end)

    it("has PyTorch's names", function()
        local state = small():state_dict { names = "torch" }
        for _, name in ipairs { "encoder.layers.0.self_attn.in_proj_weight",
            "encoder.layers.1.norm2.bias",
            "decoder.layers.1.multihead_attn.out_proj.weight", "decoder.layers.0.linear1.weight",
                "src_embedding.weight",
            "output.bias" } do
            assert.is_truthy(state[name], name)
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() nn.Transformer { src_vocab = 3 } end,
            "tgt_vocab: expected an integer of at least 1, got nil")
        assert.error_matches(function() small { heads = 3 } end, 'no option "heads"')
        local model = small()
        assert.error_matches(function() model(heed.ids { { 12 } }, tgt) end, "12")
        assert.error_matches(function() model(heed.zeros(2, 3), tgt) end,
            "src_embedding: .*heed.ids")
        assert.error_matches(function() model(src, tgt, { lengths = { 1 } }) end,
            'no option "lengths"')
        assert.error_matches(function() small { max_len = 3 }(src, tgt) end, "at most 3 positions")
        local x, encoder, decoder = heed.zeros(1, 2, 8), nn.TransformerEncoder(1, 8, 2, 8),
            nn.TransformerDecoder(1, 8, 2, 8)
        for _, f in ipairs { encoder, encoder.layers[1] } do
            assert.error_matches(function() f(x, { masks = 1 }) end, 'no option "masks"')
        end
        for _, f in ipairs { decoder, decoder.layers[1] } do
            assert.error_matches(function() f(x, x, { memory_masks = 1 }) end,
                'no option "memory_masks"')
        end
    end)

    it("learns: tied weights have one gradient and one optimiser state", function()
        heed.manual_seed(5)
        local model = small { tgt_vocab = 11, tie_weights = true, norm_first = true }
        local opt = heed.optim.AdamW(model:parameters(), { lr = 3e-3 })
        local labels = heed.ids { { 3, 4, 5 }, { 6, 7, 8 } }
        local first, last
        for _ = 1, 60 do
            local loss = heed.loss.cross_entropy(model(src, tgt), labels)
            first, last = first or loss:item(), loss:item()
            opt:zero_grad()
            loss:backward()
            opt:step()
        end
        assert.is_true(last < 0.2 * first, ("from %g to %g"):format(first, last))
    end)
end)

describe("tied embeddings", function()
    it("sum their gradients", function()
        local embedding, output = nn.Embedding(2, 1), nn.Linear(1, 2, { bias = false })
        embedding.weight = nn.parameter(heed.tensor { { 1.0 }, { 2.0 } })
        output.weight = embedding.weight
        output(embedding { 1 }):select(2, 2):sum():backward()
        assert.are.same({ { 2.0 }, { 1.0 } }, embedding.weight.grad:totable())
    end)
end)
