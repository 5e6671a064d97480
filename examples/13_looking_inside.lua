-- Lesson 13: looking inside a model that others trained.
--
--     heed examples/13_looking_inside.lua MODEL [PICTURE.svg]
--
-- MODEL is a chat model of the Llama kind: a GGUF file (SmolLM2-135M-Instruct is a small one), or a
-- directory with its config.json and safetensors.
--
-- Large language models can repeat what they read a moment ago, though nobody taught them to. Two
-- heads do it together (Olsson et al. 2022, "In-context learning and induction heads"). One looks at
-- the token just before each token, and writes down which it was. Another, in a later layer, looks
-- for places that stand behind the token that it reads now: what stood there last time comes next.
-- This lesson finds such heads by what they look at, and switches one off.

local heed = require "heed"

if not arg[1] then
    print "Give it a model: heed examples/13_looking_inside.lua MODEL.gguf"
    return
end
local model, tokenizer, config = heed.models.load(arg[1], { dtype = "f32" })
if not model then error(tokenizer, 0) end
heed.manual_seed(3)

-- Words drawn at random, and the same ones again. Nothing predicts the first time; whoever
-- remembers can predict the second.
local N = 24
local ids = heed.randint(config.vocab_size // 8 + 1, config.vocab_size // 2, { N })
local text = heed.cat({ heed.ids { tokenizer and tokenizer.bos or 1 }, ids, ids }, 1)
local L = #text
local input, following = text:view(1, L), text:narrow(1, 2, L - 1)

-- How surprised the model is by the words, the first time and the second, in nats a word.
local function surprise()
    local logits = model(input)[1]:narrow(1, 1, L - 1)
    local each = heed.loss.cross_entropy(logits, following, { reduction = "none" })
    return each:narrow(1, 1, N):mean():item(), each:narrow(1, N + 2, N - 1):mean():item()
end

-- How much of its weight each head gives, in the second half, to the key so many places before.
local function looks_back(weights, distance)
    local at_distance = weights[1]:diagonal(-distance, 2, 3) -- [H, L - distance]
    local last = at_distance:size(2)
    return at_distance:narrow(2, last - N + 2, N - 1):mean { dim = 2 }
end

local function strongest(scores) -- [layers, heads]
    local at = scores:flatten():argmax():item() - 1
    return at // scores:size(2) + 1, at % scores:size(2) + 1
end

-- A head writes through its own columns of the output projection: zeros there, and it is silent.
local function without_head(layer, head, run)
    local attention = model.decoder.layers[layer].self_attn
    local D = attention.head_dim
    local columns = attention.out_proj.weight:narrow(2, (head - 1) * D + 1, D)
    local kept = columns:clone()
    columns:zero_()
    local first, second = run()
    columns:copy_(kept)
    return first, second
end

print(("surprise: %.2f the first time, %.2f the second"):format(surprise()))

local capture = heed.capture(model)
model(input)
capture:close()
local previous, copying, maps = {}, {}, {}
for i = 1, #model.decoder.layers do
    maps[i] = capture[("decoder.layers.%d.self_attn"):format(i)]
    previous[i], copying[i] = looks_back(maps[i], 1), looks_back(maps[i], N - 1)
end
previous, copying = heed.stack(previous, 1), heed.stack(copying, 1)
print(heed.viz.heatmap(heed.stack({ previous, copying }, 1), {
    title = "who looks where: rows are layers, columns heads",
    panels = { "at the token before", "behind the same token" }, max = 1,
}))

local layer, head = strongest(previous)
local copier_layer, copier = strongest(copying)
print(("the token before: layer %d, head %d; behind the same: layer %d, head %d"):format(
    layer, head, copier_layer, copier))
print(("without head %d of layer %d: %.2f, %.2f"):format(head, layer,
    without_head(layer, head, surprise)))
local other = head % previous:size(2) + 1
print(("without head %d of layer %d: %.2f, %.2f"):format(other, layer,
    without_head(layer, other, surprise)))

if arg[2] then
    local pair = heed.stack({ maps[layer][{ 1, head }], maps[copier_layer][{ 1, copier }] }, 1)
    assert(heed.viz.attention(pair, { title = "who looks where",
        panels = { "at the token before", "behind the same token" } }):save(arg[2]))
    print("the two heads are drawn in " .. arg[2])
end
