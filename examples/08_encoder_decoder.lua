-- Lesson 8: the whole encoder-decoder of "Attention Is All You Need".
--
--     heed examples/08_encoder_decoder.lua
--
-- The encoder (lesson 7, several layers) reads: it turns the source into a vector for each word,
-- the memory. The decoder writes, one word after the other. Its layers have three parts:
--
--   self-attention over what is already written, with a causal mask
--   cross-attention: queries from what is written, keys and values from the memory
--   the feed-forward part
--
-- At the end a matrix gives each word of the vocabulary a number, and softmax a probability.

local heed = require "heed"
local nn = heed.nn

-- Here the translation of a word is the word backwards. Tokens: padding, begin, end, letters.
local vocabulary = heed.text.chars("abcdefgh", { specials = { "pad", "bos", "eos" } })

heed.manual_seed(8)
local model = nn.Transformer {
    src_vocab = #vocabulary, tgt_vocab = #vocabulary, d_model = 48, num_heads = 4, num_layers = 2,
        d_ff = 96, dropout = 0,
    norm_first = true, tie_weights = true,
}

local function random_word()
    local letters = {}
    for i = 1, heed.randint(3, 7, 1)[1] do letters[i] = heed.randint(4, #vocabulary, 1)[1] end
    return letters
end

local function reversed(list)
    local result = {}
    for i, token in ipairs(list) do result[#list + 1 - i] = token end
    return result
end

-- A batch. The decoder's input starts with "begin". The answers are the same tokens shifted by one,
-- and end with "end": every place sees those before it and predicts the next, all at once.
local function batch(count)
    local sources, inputs, answers = {}, {}, {}
    for i = 1, count do
        sources[i] = random_word()
        local target = reversed(sources[i])
        inputs[i] = table.move(target, 1, #target, 2, { vocabulary.bos })
        answers[i] = target
        answers[i][#target + 1] = vocabulary.eos
    end
    local pad = { value = vocabulary.pad }
    local src, src_lengths = heed.data.pad(sources, pad)
    local tgt, tgt_lengths = heed.data.pad(inputs, pad)
    return src, src_lengths, tgt, tgt_lengths, heed.data.pad(answers, pad)
end

-- The rate rises first and falls later: large steps at the start would spoil the attention.
local STEPS = 400
local optimizer = heed.optim.AdamW(model:parameters(), { lr = 0, betas = { 0.9, 0.98 } })
local rate = heed.optim.schedule.cosine { lr = 4e-3, warmup = 40, steps = STEPS }
local losses = {}
for step = 1, STEPS do
    local src, src_lengths, tgt, tgt_lengths, answers = batch(32)
    local logits = model(src, tgt, { src_lengths = src_lengths, tgt_lengths = tgt_lengths })
    local loss = heed.loss.cross_entropy(logits, answers, { ignore_index = vocabulary.pad })
    optimizer:zero_grad()
    loss:backward()
    heed.optim.clip_grad_norm(model:parameters(), 1)
    optimizer.lr = rate(step)
    optimizer:step()
    losses[step] = loss:item()
end
print(heed.viz.curve(losses, { title = "loss", height = 8, width = 70 }))

-- Writing: read the source once; then repeat: give the decoder the text, take the likeliest letter.
model:eval()
local _ <close> = heed.no_grad()

local function translate(word)
    local memory = model:encode { vocabulary:encode(word) }
    local written = { vocabulary.bos }
    for _ = 1, 10 do
        local hidden = model:decode({ written }, memory)
        local next_token = model.output(hidden[{ 1, -1 }]):argmax(-1):item()
        if next_token == vocabulary.eos then break end
        written[#written + 1] = next_token
    end
    return vocabulary:decode(written), written
end

print()
for _, word in ipairs { "abc", "badcafe", "headache", "feed" } do
    print(("%-10s %s"):format(word, (translate(word))))
end

-- Cross-attention shows how: to write the first letter it looks at the last, and so on.
local capture <close> = heed.capture(model, { layers = { "decoder" } })
local text, weights = translate "badcafe", capture["decoder.layers.2.multihead_attn"]
print("\nlayer 2's cross-attention, writing " .. text .. " (down) from badcafe (across):\n")
print(heed.viz.attention(weights, { x = "badcafe", y = text .. "." }))
