local heed = require "heed"
local nn = heed.nn

-- A model that learns to write its source backwards, with everything that draws or reduces in it.
local function train(steps, threads)
    heed.set_num_threads(threads)
    heed.manual_seed(17)
    local model = nn.Transformer { src_vocab = 40, tgt_vocab = 40, d_model = 32, num_heads = 4,
        num_layers = 2, d_ff = 64,
        dropout = 0.1, tie_weights = true, norm_first = true }
    local examples = {}
    for i = 1, 64 do
        local source, target = {}, { 1 }
        for j = 1, i % 12 + 3 do source[j] = (i * 7 + j * 5) % 37 + 3 end
        for j = #source, 1, -1 do target[#target + 1] = source[j] end
        examples[i] = { source, target }
    end
    local batches = heed.data.batches(examples,
        { tokens = 256, shuffle = true, value = 2 }):forever()
    local opt = heed.optim.AdamW(model:parameters(), { lr = 3e-3, betas = { 0.9, 0.98 } })
    local losses = {}
    for step = 1, steps do
        local batch = batches()
        local input, labels = batch[2][{ {}, { 1, -2 } }], batch[2][{ {}, { 2, -1 } }]
        local logits = model(batch[1], input, { src_lengths = batch.lengths[1] })
        local loss = heed.loss.cross_entropy(logits, labels,
            { ignore_index = 2, label_smoothing = 0.1 })
        opt:zero_grad()
        loss:backward()
        heed.optim.clip_grad_norm(model:parameters(), 1)
        opt:step()
        losses[step] = loss:item()
    end
    return losses, model
end

describe("training a small model", function()
    local threads = heed.get_num_threads()
    teardown(function() heed.set_num_threads(threads) end)

    it("gives the same bits on 1, 2 and 3 threads and from run to run", function()
        local losses, model = train(8, 1)
        local state = model:state_dict()
        for _, count in ipairs { 1, 2, 3 } do
            local again, other = train(8, count)
            assert.are.same(losses, again)
            for name, t in pairs(other:state_dict()) do
                assert.is_true(heed.equal(state[name], t), name)
            end
        end
    end)

    it("learns", function()
        local losses = train(60, threads)
        assert.is_true(losses[60] < 0.85 * losses[1], ("from %g to %g"):format(losses[1],
            losses[60]))
    end)
end)

describe("memory", function()
    -- When the collector comes depends on the machine, so peaks stray; a leak of l bytes a step
    -- does not. With B bytes of its own a loop passes twice its first quarter's peak, in four times
    -- the steps, when l > B / 120.
    local STEPS = 240
    local function peaks(step)
        local highest = { 0, 0 }
        for i = 1, STEPS do
            step()
            local part = i <= STEPS // 4 and 1 or 2
            highest[part] = math.max(highest[part], heed.memory().live)
        end
        return highest
    end

    for _, mode in ipairs { "incremental", "generational" } do
        it("plateaus in a training loop, " .. mode, function()
            local before = collectgarbage(mode)
            heed.manual_seed(1)
            local model = nn.Transformer { src_vocab = 30, tgt_vocab = 30, d_model = 64,
                num_heads = 4, num_layers = 2,
                d_ff = 128 }
            local opt = heed.optim.AdamW(model:parameters())
            local tokens = heed.randint(1, 30, 16, 24)
            local highest = peaks(function()
                local loss = heed.loss.cross_entropy(model(tokens, tokens), tokens)
                opt:zero_grad()
                loss:backward()
                opt:step()
            end)
            collectgarbage(before)
            assert.is_true(highest[2] <= 2 * highest[1], ("%d, then %d bytes"):format(highest[1],
                highest[2]))
        end)

        it("plateaus in an evaluation loop, " .. mode, function()
            local before = collectgarbage(mode)
            local model = nn.TransformerEncoder(2, 64, 4, 128):eval()
            local x = heed.randn(16, 24, 64)
            local highest = peaks(function()
                heed.no_grad(function() return model(x):sum():item() end)
            end)
            collectgarbage(before)
            assert.is_true(highest[2] <= 2 * highest[1], ("%d, then %d bytes"):format(highest[1],
                highest[2]))
        end)
    end
end)
