--- The same Transformer in PyTorch: spec/fixtures/record_transformer.py says what was recorded.
local heed = require "heed"
local nn = heed.nn

-- The largest difference, relative to the largest value that was recorded.
local function assert_near(want, got, tolerance, what)
    assert.are.equal(tostring(want.shape), tostring(got.shape), what)
    local scale = math.max(want:abs():max():item(), 1e-30)
    local off = (got:detach() - want):abs():max():item() / scale
    assert.is_true(off <= tolerance, ("%s: off by %.3g of the largest, %.3g"):format(what, off,
        scale))
end

local function load(name)
    local recorded, metadata = assert(heed.safetensors.load("spec/fixtures/transformer_" .. name
        .. ".safetensors"))
    return recorded, assert(require("heed.plain").decode(metadata.config))
end

local function with_prefix(recorded, prefix)
    local state = {}
    for name, t in pairs(recorded) do
        if name:sub(1, #prefix) == prefix then state[name:sub(#prefix + 1)] = t end
    end
    return state
end

local function build(recorded, config)
    local model = nn.Transformer {
        src_vocab = config.src_vocab, tgt_vocab = config.tgt_vocab, d_model = config.d_model,
            num_heads = config.num_heads,
        num_layers = config.num_layers, d_ff = config.d_ff, dropout = config.dropout,
            activation = config.activation,
        norm_first = config.norm_first, final_norm = config.final_norm,
            tie_weights = config.tie_weights,
    }
    return model:load_state_dict(with_prefix(recorded, "weights/"), { names = "torch" })
end

for _, name in ipairs { "post_norm_relu", "post_norm_gelu", "norm_first_relu",
    "norm_first_gelu" } do
    describe("nn.Transformer as PyTorch's, " .. name, function()
        local recorded, config = load(name)
        local lengths = { src_lengths = recorded.src_lengths }
        local function loss_of(model)
            return heed.loss.cross_entropy(model(recorded.src, recorded.tgt, lengths),
                recorded.labels,
                { label_smoothing = config.label_smoothing })
        end

        it("gives the same outputs", function()
            local model = build(recorded, config)
            assert_near(recorded.memory, model:encode(recorded.src, lengths), 1e-5, "memory")
            assert_near(recorded.logits, model(recorded.src, recorded.tgt, lengths), 1e-5, "logits")
            assert_near(recorded.loss, loss_of(model), 1e-5, "loss")
        end)

        it("gives the same outputs in parts", function()
            local model = build(recorded, config)
            local c <close> = heed.capture(model)
            assert_near(recorded.logits, model(recorded.src, recorded.tgt, lengths), 1e-5, "logits")
            assert.is_truthy(c["decoder.layers.2.multihead_attn"])
        end)

        it("gives the same gradients", function()
            local model = build(recorded, config)
            loss_of(model):backward()
            local state = with_prefix(recorded, "grads/")
            local count = 0
            for heed_name, p in model:named_parameters() do
                local torch_name = heed_name:gsub("layers%.(%d+)", function(i)
                    return "layers." .. i - 1
                end)
                assert_near(state[torch_name], p.grad, 1e-4, heed_name)
                count = count + 1
            end
            local wanted = 0
            for _ in pairs(state) do wanted = wanted + 1 end
            assert.are.equal(wanted, count)
        end)

        it("is in the same place after 20 steps of AdamW with clipping", function()
            local model = build(recorded, config)
            local opt = heed.optim.AdamW(model:parameters(), { lr = config.lr, betas = config.betas,
                eps = config.eps,
                weight_decay = config.weight_decay })
            for step = 1, config.steps do
                local loss = loss_of(model)
                opt:zero_grad()
                loss:backward()
                local norm = heed.optim.clip_grad_norm(model:parameters(), config.clip)
                opt:step()
                assert_near(recorded.losses[{ { step } }], loss:detach():view(1), 1e-3,
                    "loss of step " .. step)
                assert_near(recorded.grad_norms[{ { step } }], heed.tensor { norm }, 1e-3,
                    "norm of step " .. step)
            end
            assert_near(recorded.logits_after, model(recorded.src, recorded.tgt, lengths), 1e-3,
                "logits")
            local after = model:state_dict { names = "torch" }
            for torch_name, want in pairs(with_prefix(recorded, "weights_after/")) do
                assert_near(want, after[torch_name], 1e-3, torch_name)
            end
        end)
    end)
end
