-- Lesson 9: a language model of characters.
--
--     heed examples/09_char_lm.lua                  learns a nursery rhyme in some seconds
--     heed examples/09_char_lm.lua FILE [STEPS]     learns a text, in some minutes (2000 steps)
--
-- A language model predicts what comes next. It has no encoder: one stack of layers under a causal
-- mask sees all characters so far, and gives each character a probability of being next. Drawing
-- one, appending it and repeating writes a text. GPT is this with words, and much larger.

local heed = require "heed"
local nn = heed.nn

local RHYME = [[
The Queen of Hearts, she made some tarts, all on a summer's day;
The Knave of Hearts, he stole those tarts, and took them clean away.
The King of Hearts called for the tarts, and beat the Knave full sore;
The Knave of Hearts brought back the tarts, and vowed he'd steal no more.
]]

local SMALL = { layers = 2, d_model = 64, heads = 4, context = 32, batch = 12, steps = 300 }
local LARGE = { layers = 4, d_model = 128, heads = 4, context = 64, batch = 12, steps = 2000 }

local CharLM = nn.Module:extend "CharLM"

function CharLM:init(vocabulary, o)
    self.characters = nn.Embedding(vocabulary, o.d_model)
    self.positions = nn.LearnedPositions(o.context, o.d_model)
    self.layers = nn.TransformerEncoder(o.layers, o.d_model, o.heads, 4 * o.d_model,
        { norm_first = true, activation = "gelu", dropout = 0 })
    self.output = nn.Linear(o.d_model, vocabulary)
    nn.init.normal_(self.characters.weight, 0, 0.02)
end

CharLM.takes_cache = true -- for heed.generate

-- tokens [B, L], which continue those of the cache, -> logits [B, L, V]: a "decoder-only" model.
function CharLM:forward(tokens, o)
    local cache = o and o.cache
    local x = self.positions(self.characters(tokens), { cache = cache })
    return self.output(self.layers(x, { mask = heed.mask.causal(), cache = cache }))
end

-- Windows of the text from these places [B] on, and the next character for each: [B, L] both.
local function windows(tokens, starts, length)
    local at = starts:view(-1, 1) + heed.range(0, length - 1, { dtype = "i64" })
    return tokens[at], tokens[at + 1]
end

-- The mean loss, window by window. The model hesitates between e^loss characters.
local function evaluate(model, tokens, length)
    local _ <close> = heed.no_grad()
    local starts = heed.range(1, #tokens - length, length, { dtype = "i64" })
    local total = 0
    for _, some in ipairs(starts:split(64)) do
        local inputs, targets = windows(tokens, some, length)
        local loss = heed.loss.cross_entropy(model(inputs), targets, { reduction = "sum" })
        total = total + loss:item()
    end
    return total / (#starts * length)
end

-- Sampling: a temperature below 1 makes likely characters likelier; 0 takes the likeliest.
local function sample(model, vocabulary, start, options)
    local _, answer = heed.generate(model, vocabulary:encode(start), options)
    return start .. answer.text
end

local text, o = RHYME, SMALL
if arg[1] then
    local file <close> = assert(io.open(arg[1]))
    text, o = file:read "a", LARGE
    o.steps = math.tointeger(tonumber(arg[2])) or o.steps
end
local vocabulary = heed.text.chars(text, { specials = {} })
local tokens = heed.ids(vocabulary:encode(text))
local cut = arg[1] and math.floor(0.9 * #tokens) or #tokens -- a rhyme is short: keep it whole
local train, valid = tokens[{ { 1, cut } }], arg[1] and tokens[{ { cut + 1, -1 } }]

heed.manual_seed(9)
local model = CharLM(#vocabulary, o)
local settings = { betas = { 0.9, 0.99 }, weight_decay = 0.1 }
local optimizer = heed.optim.AdamW(model:parameters(), settings)
local rate = heed.optim.schedule.cosine { lr = 1e-3, min_lr = 1e-4, warmup = 100, steps = o.steps }
local losses = {}
for step in heed.progress(o.steps, { label = "training" }) do
    local inputs, targets = windows(train, heed.randint(1, #train - o.context, o.batch), o.context)
    local loss = heed.loss.cross_entropy(model(inputs), targets)
    optimizer:zero_grad()
    loss:backward()
    heed.optim.clip_grad_norm(model:parameters(), 1)
    optimizer.lr = rate(step)
    optimizer:step()
    losses[step] = loss:item()
end
print(heed.viz.curve(losses, { title = "loss", height = 8, width = 70 }))
if valid then print(("\nvalidation loss %.4f"):format(evaluate(model, valid, o.context))) end
local start, count = arg[1] and "\n" or "The ", arg[1] and 600 or 200
print("\n" .. sample(model, vocabulary, start,
    { temperature = 0.8, max_new_tokens = count, context = o.context, decode = vocabulary }))
