local heed = require "heed"
local nn = heed.nn
require "heed.luassert"

describe("capture", function()
    heed.manual_seed(1)
    local model = nn.Transformer { src_vocab = 9, tgt_vocab = 9, d_model = 8, num_heads = 2,
        num_layers = 2, d_ff = 16 }:eval()
    local src, tgt = heed.ids { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } },
        heed.ids { { 1, 2, 3 }, { 4, 5, 6 } }

    local function run(options)
        local c <close> = heed.capture(model, options)
        return c, model(src, tgt, { src_lengths = { 4, 2 } })
    end

    it("collects every attention's weights by module path", function()
        local before = model(src, tgt, { src_lengths = { 4, 2 } })
        local c, out = run()
        assert.is_true(out:equal(before))
        local count = 0
        for _ in pairs(c) do count = count + 1 end
        assert.are.equal(6, count)
        assert.has_shape(c["encoder.layers.1.self_attn"], { 2, 2, 4, 4 })
        assert.has_shape(c["decoder.layers.2.multihead_attn"], { 2, 2, 3, 4 })
        assert.is_close(c["decoder.layers.2.multihead_attn"]:sum(-1), heed.ones(2, 2, 3), 1e-5)
        assert.are.equal(0, c["decoder.layers.1.multihead_attn"][{ 2, {}, {},
            { 3, 4 } }]:sum():item())
        assert.are.equal(0, c["decoder.layers.1.self_attn"][{ {}, {}, 1, { 2, 3 } }]:sum():item())
    end)

    it("that fails leaves nothing behind: the model can be captured", function()
        local c = heed.capture(model, { layers = { "decoder" } })
        assert.has_error(function() heed.capture(model) end)
        c:close()
        assert.is_true(next((run())) ~= nil)
    end)

    it("closes when it is lost", function()
        heed.capture(model)
        collectgarbage()
        collectgarbage()
        assert.is_true(next((run())) ~= nil)
    end)

    it("keeps nothing of a run of shapes alone", function()
        local c <close> = heed.capture(model)
        model:check(src, tgt)
        assert.are.equal("heed.capture(\n\n)", tostring(c))
    end)

    it("says which head or row is none", function()
        for _, name in ipairs { "heads", "rows" } do
            for _, at in ipairs { "a", 0, 1.5 } do
                local ok, message = pcall(heed.capture, model, { [name] = { 1, at } })
                assert.is_false(ok)
                assert.matches("heed.capture: " .. name .. ": expected integers other than 0",
                    message, 1, true)
            end
        end
    end)

    it("only some layers, heads and rows", function()
        local c = run { layers = { "multihead_attn" }, heads = { 2 }, rows = { 3 } }
        assert.is_nil(c["encoder.layers.1.self_attn"])
        assert.has_shape(c["decoder.layers.1.multihead_attn"], { 2, 1, 1, 4 })
        c = run { layers = { 2 } }
        assert.is_nil(c["decoder.layers.1.multihead_attn"])
        assert.has_shape(c["decoder.layers.2.multihead_attn"], { 2, 2, 3, 4 })
    end)

    it("gives rows and heads as they are among all, and leaves the outputs alone", function()
        local mask, x = heed.mask.causal() & heed.mask.alibi(4), heed.randn(2, 7, 8)
        for _, options in ipairs { {}, { rotary = true, num_kv_heads = 2, softcap = 2 },
            { norm_first = true } } do
            local encoder = nn.TransformerEncoder(1, 8, 4, 16, options):eval()
            local function weights_of(wish, input)
                local c <close> = heed.capture(encoder, wish)
                local y = encoder(input, { mask = mask })
                return c["layers.1.self_attn"], y
            end
            for _, input in ipairs { x, x[1] } do
                local all, y = weights_of({}, input)
                local some, same = weights_of({ heads = { 4, 2 }, rows = { -1, 3 } }, input)
                assert.is_close(some, all:index_select(-3, { 4, 2 }):index_select(-2, { 7, 3 }),
                    1e-6)
                assert.is_true(same:equal(y))
                assert.is_true(encoder(input, { mask = mask }):equal(y))
            end
        end
    end)

    it("leaves outputs and gradients as they are, to the bit", function()
        for _, length in ipairs { 1, 5, 40, 130 } do
            for _, options in ipairs { {}, { norm_first = true }, { rotary = true, num_kv_heads = 1,
                softcap = 2 } } do
                local encoder = nn.TransformerEncoder(2, 32, 4, 48, options):eval()
                local x = heed.randn(2, length, 32)
                local function outcome()
                    local leaf = x:clone():requires_grad_(true)
                    local y = encoder(leaf, { mask = heed.mask.causal() })
                    y:sin():sum():backward()
                    return y:detach(), leaf.grad
                end
                local y, gradient = outcome()
                local c <close> = heed.capture(encoder)
                local same, same_gradient = outcome()
                assert.has_shape(c["layers.2.self_attn"], { 2, 4, length, length })
                assert.is_true(same:equal(y), "outputs of " .. length)
                assert.is_true(same_gradient:equal(gradient), "gradients of " .. length)
                local _ <close> = heed.no_grad()
                assert.is_true(encoder(x, { mask = heed.mask.causal() }):equal(y))
            end
        end
    end)

    it("outlives the scope that its model ran in, so that generation can be watched", function()
        local c <close> = heed.capture(model)
        local cross, rows = "decoder.layers.1.multihead_attn", {}
        local tokens = heed.generate(model, { { 1, 2, 3, 4 } }, { prefix = 1, max_new_tokens = 5,
            on_token = function() rows[#rows + 1] = c[cross] end })
        assert.has_shape(heed.cat(rows, -2), { 1, 2, 5, 4 })
        assert.has_shape(c[cross], { 1, 2, 1, 4 })
        -- Without a cache the last step has the whole matrices.
        local again = heed.generate(model, { { 1, 2, 3, 4 } }, { prefix = 1, max_new_tokens = 5,
            cache = false })
        assert.are.same(tokens, again)
        assert.is_close(c[cross], heed.cat(rows, -2), 1e-6)
        assert.has_shape(c["decoder.layers.2.self_attn"], { 1, 2, 5, 5 })
    end)

    it("takes memory for its rows alone", function()
        local encoder, x = nn.TransformerEncoder(1, 8, 1, 16):eval(), heed.randn(1, 3000, 8)
        local _ <close> = heed.no_grad()
        local c <close> = heed.capture(encoder, { rows = { 1, 3000 } })
        local live = heed.memory { reset_peak = true }.live
        encoder(x, { mask = heed.mask.causal() })
        assert.has_shape(c["layers.1.self_attn"], { 1, 1, 2, 3000 })
        assert.is_true(heed.memory().peak - live < 4 << 20) -- all weights are 36 MB
    end)

    it("goes beside weights that the caller asks for", function()
        local mha, x = nn.MultiHeadAttention(8, 2):eval(), heed.randn(3, 8)
        local _, all = mha(x, { weights = true })
        local c <close> = heed.capture(mha, { rows = { 2 } })
        for _, wish in ipairs { true, { rows = { 1 }, heads = { 2 } } } do
            local _, some = mha(x, { weights = wish })
            assert.is_close(some, wish == true and all or all[{ { 2 }, { 1 } }], 1e-6)
            local path = next(c)
            assert.is_close(c[path], all[{ {}, { 2 } }], 1e-6)
        end
    end)

    it("ends when closed, after an error too", function()
        local kept
        pcall(function()
            local c <close> = heed.capture(model)
            kept = c
            error "stop"
        end)
        assert.is_false(require("heed.capture").is_open())
        model(src, tgt)
        assert.is_nil(next(kept))
        run()
    end)

    it("works with attention modules of one's own class", function()
        local Own = nn.MultiHeadAttention:extend "Own"
        local layer = nn.TransformerEncoderLayer(8, 2, 16)
        layer.self_attn = Own(8, 2)
        local c <close> = heed.capture(layer)
        layer(heed.randn(1, 3, 8))
        assert.has_shape(c.self_attn, { 1, 2, 3, 3 })
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.capture(5) end, "expected a module, got 5")
        assert.error_matches(function() heed.capture(nn.Linear(1, 1)) end,
            "model: expected attention modules in it, got a Linear")
        assert.error_matches(function() heed.capture(model, { layers = { 9, "x" } }) end,
            'layers: expected numbers of layers or parts of module paths, got { 9, "x" }; '
            .. "attention is in encoder.layers.1.self_attn ... decoder.layers.2.multihead_attn")
        assert.error_matches(function()
            heed.capture(nn.MultiHeadAttention(4, 2), { layers = { 1 } })
        end, "got { 1 }; attention is in the model")
        assert.error_matches(function() heed.capture(model, { layers = {} }) end, "got {  }")
        assert.error_matches(function() heed.capture(model, { layers = 1 }) end,
            "layers: expected a table, got 1")
    end)
end)
