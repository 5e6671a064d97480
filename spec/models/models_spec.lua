--- Models of other people, rebuilt from heed.nn: the same outputs, gradients and training as
--- theirs, from their weights. spec/fixtures/record_models.py says what was recorded, rebuilt/names.lua
--- what the weights are called.

local builders = require "spec.models.rebuilt.builders"
local heed = require "heed"
local names = require "spec.models.rebuilt.names"
local plain = require "heed.plain"
local port = require "spec.models.rebuilt.port"

local function decoder_only(model, i) return { logits = model(i.tokens, i.lengths) } end
-- Zeros behind the target's lengths: what stands there says nothing.
local function unpadded(logits, lengths)
    local L = logits:size(2)
    local past = heed.range(1, L):view(1, L, 1):gt(lengths:view(-1, 1, 1))
    return logits:masked_fill(past, 0)
end
local function encoder_decoder(model, i)
    local logits = model(i.src, i.tgt,
        { src_lengths = i.src_lengths, tgt_lengths = i.tgt_lengths })
    return { logits = unpadded(logits, i.tgt_lengths) }
end
local function bert(model, i)
    local logits, relation = model(i.tokens, i.types, i.lengths)
    return { logits = logits, relation = relation }
end

local MODELS = {
    { "transformer", encoder_decoder, "transformer_post_norm", "transformer_norm_first" },
    { "bert", bert, "bert" },
    { "gpt2", decoder_only, "gpt2" },
    { "t5", encoder_decoder, "t5_relu_tied", "t5_gated" },
    { "marian", encoder_decoder, "marian" },
    { "llama", decoder_only, "llama", "llama3" },
}

-- ---- what was recorded --------------------------------------------------------------------------

-- { weights = {...}, inputs = {...}, ..., losses = tensor, config = table }
local function load(fixture)
    local tensors, metadata = assert(heed.safetensors.load("spec/fixtures/models/" .. fixture
        .. ".safetensors"))
    local recorded = { config = assert(plain.decode(metadata.config)) }
    for name, t in pairs(tensors) do
        local group, rest = name:match "^(%w+)/(.*)$"
        if group then
            recorded[group] = recorded[group] or {}
            recorded[group][rest] = t
        else
            recorded[name] = t
        end
    end
    local lengths = recorded.inputs.tgt_lengths
    for _, group in ipairs(lengths and { recorded.outputs, recorded.after } or {}) do
        group.logits = unpadded(group.logits, lengths)
    end
    return recorded
end

-- The largest difference, relative to the largest value that was recorded.
local function assert_near(want, got, tolerance, what)
    assert.are.equal(tostring(want.shape), tostring(got.shape), what)
    local scale = math.max(want:abs():max():item(), 1e-30)
    local off = (got:detach() - want):abs():max():item() / scale
    assert.is_true(off <= tolerance, ("%s: off by %.3g of the largest, %.3g"):format(what, off,
        scale))
end

local function assert_outputs(want, got, tolerance, when)
    for name, t in pairs(want) do assert_near(t, got[name], tolerance, name .. when) end
end

local function loss_of(outputs, inputs)
    local loss = heed.loss.cross_entropy(outputs.logits, inputs.labels, { ignore_index = -100 })
    return outputs.relation and loss + heed.loss.cross_entropy(outputs.relation, inputs.follows)
        or loss
end

local function count(t)
    local n = 0
    for _ in pairs(t) do n = n + 1 end
    return n
end

-- ---- the same three things of each --------------------------------------------------------------

local function check(name, run, fixture)
    describe(fixture, function()
        local recorded = load(fixture)
        local inputs = recorded.inputs

        local function build()
            local model = builders[name](recorded.config)
            return model:load_state_dict(port(recorded.weights, names[name]), { names = "torch" })
        end

        it("gives the same outputs", function()
            local outputs = run(build(), inputs)
            assert_outputs(recorded.outputs, outputs, 1e-5, "")
            assert_near(recorded.loss, loss_of(outputs, inputs), 1e-5, "loss")
        end)

        it("gives the same outputs in parts", function()
            local model = build()
            local capture <close> = heed.capture(model)
            assert_outputs(recorded.outputs, run(model, inputs), 1e-5, "")
            assert.is_truthy(capture["decoder.layers.2.self_attn"]
                or capture["encoder.layers.2.self_attn"])
        end)

        it("gives every parameter the same gradient", function()
            local model = build()
            loss_of(run(model, inputs), inputs):backward()
            local want, seen = port(recorded.grads, names[name]), 0
            for ours, p in model:named_parameters() do
                local theirs = ours:gsub("%.(%d+)%.", function(i) return "." .. i - 1 .. "." end)
                assert_near(assert(want[theirs], theirs), p.grad, 1e-4, ours)
                seen = seen + 1
            end
            assert.are.equal(count(want), seen)
        end)

        it("learns alike over 20 steps of AdamW", function()
            local model = build()
            local optimiser = heed.optim.AdamW(model:parameters(),
                { lr = 3e-3, betas = { 0.9, 0.98 }, eps = 1e-8, weight_decay = 0.01 })
            for step, want in ipairs(recorded.losses:totable()) do
                local loss = loss_of(run(model, inputs), inputs)
                assert.is_true(math.abs(loss:item() - want) <= 1e-3 * want,
                    ("loss of step %d: %.7g, recorded %.7g"):format(step, loss:item(), want))
                optimiser:zero_grad()
                loss:backward()
                optimiser:step()
            end
            assert_outputs(recorded.after, run(model, inputs), 1e-3, " after training")
        end)
    end)
end

describe("a model of others:", function()
    for _, entry in ipairs(MODELS) do
        for i = 3, #entry do check(entry[1], entry[2], entry[i]) end
    end
end)
