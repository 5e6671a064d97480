-- Lesson 7: an encoder layer, and training it.
--
--     heed examples/07_encoder_layer.lua
--
-- Attention moves information between words. After it, a small network of two matrices, the
-- feed-forward part, works on each word alone. Two additions to both make deep stacks trainable:
--
--   a residual connection   x + part(x): each part adds to the words instead of replacing them
--   a layer norm            brings each word's features to mean 0 and deviation 1

local heed = require "heed"
local nn = heed.nn

local Layer = nn.Module:extend "Layer"

function Layer:init(d_model, heads, d_ff)
    self.attention = nn.MultiHeadAttention(d_model, heads)
    self.norm1 = nn.LayerNorm(d_model)
    self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
    self.norm2 = nn.LayerNorm(d_model)
end

function Layer:forward(x, options)
    x = self.norm1(x + self.attention(x, x, x, options))
    return self.norm2(x + self.feed_forward(x))
end

-- The library's layer has these parts and dropout, which in training sets a random tenth of the
-- numbers to 0, so that nothing is learned by heart. With our weights and no dropout it gives our
-- numbers.
heed.manual_seed(7)
local ours, stock = Layer(16, 4, 32), nn.TransformerEncoderLayer(16, 4, 32, { dropout = 0 })
local state = {}
for name, t in pairs(ours:state_dict()) do
    state[name:gsub("^attention", "self_attn"):gsub("^feed_forward%.1",
        "linear1"):gsub("^feed_forward%.3", "linear2")] = t
end
stock:load_state_dict(state)
local x = heed.randn(2, 5, 16)
print("our layer and nn.TransformerEncoderLayer give the same: "
    .. tostring(ours(x):allclose(stock(x), { atol = 1e-5 })))

-- ---- a task that needs attention ----------------------------------------------------------------
--
-- For each letter of a word: does it occur again, before or after? No letter can answer alone. The
-- model: an embedding (a table of vectors) for the letters, without places; one layer; and for each
-- letter two numbers, "once" and "again".

local LETTERS, LENGTH, E = 12, 8, 32

local Model = nn.Module:extend "Model"

function Model:init()
    self.letters = nn.Embedding(LETTERS, E)
    self.layer = nn.TransformerEncoderLayer(E, 4, 64, { dropout = 0 })
    self.output = nn.Linear(E, 2)
end

function Model:forward(tokens) return self.output(self.layer(self.letters(tokens))) end

-- Words of random letters, and the right answers: 1 for once, 2 for again.
local function examples(count)
    local tokens = heed.randint(1, LETTERS, count, LENGTH)
    -- [count, LENGTH, LENGTH]: is letter i letter j?
    local equal = tokens:unsqueeze(3):eq(tokens:unsqueeze(2))
    return tokens, equal:to("i64"):sum(3):gt(1):to("i64") + 1
end

local model = Model()
print("\n" .. tostring(model) .. "\n")

-- Training: guess, measure, find the gradient, step. The loss is -log of the right answer's share.
local optimizer = heed.optim.AdamW(model:parameters(), { lr = 3e-3 })
local losses = {}
for step = 1, 300 do
    local tokens, answers = examples(64)
    local loss = heed.loss.cross_entropy(model(tokens), answers)
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
    losses[step] = loss:item()
end
print(heed.viz.curve(losses, { title = "loss", height = 8, width = 70 }))

-- New words, never trained on. eval() turns dropout off; no_grad turns recording off.
model:eval()
local _ <close> = heed.no_grad()
local tokens, answers = examples(1000)
local right = model(tokens):argmax(-1):eq(answers):to("f32"):mean()
print(("\nright for %.1f%% of the letters of 1000 new words"):format(100 * right:item()))

-- What did it look at? In some heads at equal letters: both a's look at both a's.
local text = "abcadbef"
local capture <close> = heed.capture(model)
model(heed.ids { { 1, 2, 3, 1, 4, 2, 5, 6 } })
print("\nthe heads of the layer, on " .. text .. ":\n")
print(heed.viz.attention(capture["layer.self_attn"], { x = text, y = text }))
