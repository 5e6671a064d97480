-- Lesson 10: why attention, and not a recurrence?
--
--     heed examples/10_recurrence.lua
--
-- Before Transformers, recurrent networks read texts: one word after the other, with a state of
-- fixed size that each word changes. The past must fit into that state and survive every step, and
-- step 100 cannot start before step 99 has ended. Attention looks back at all words in one step.
--
-- A test: remember the first token of a sequence. Random tokens follow, and at the end we ask for
-- it. Guessing is right once in 8 times. How far does each reach with the same training?

local heed = require "heed"
local nn = heed.nn

local SYMBOLS, E, BATCH, STEPS = 8, 32, 32, 200
local QUESTION = SYMBOLS + 1 -- the last token: "what was the first?"

-- ---- a recurrence -------------------------------------------------------------------------------
--
-- state = tanh(W·word + U·state + b), for each word in turn (Elman 1990): a loop in Lua is enough,
-- and gradients flow back through all its steps.

local Recurrence = nn.Module:extend "Recurrence"

function Recurrence:init()
    self.embedding = nn.Embedding(QUESTION, E)
    self.from_word = nn.Linear(E, E)
    self.from_state = nn.Linear(E, E, { bias = false })
    self.output = nn.Linear(E, SYMBOLS)
end

function Recurrence:forward(tokens)
    -- [B, L, E], of all words at once: they do not depend on the state
    local words = self.from_word(self.embedding(tokens))
    local state = heed.zeros(tokens:size(1), E)
    for _, word in ipairs(words:unbind(2)) do state = (word + self.from_state(state)):tanh() end
    return self.output(state)
end

-- ---- one layer of attention ---------------------------------------------------------------------

local Attention = nn.Module:extend "Attention"

function Attention:init(length)
    self.embedding = nn.Embedding(QUESTION, E)
    self.positions = nn.LearnedPositions(length, E)
    self.attention = nn.MultiHeadAttention(E, 1)
    self.output = nn.Linear(E, SYMBOLS)
end

function Attention:forward(tokens)
    local x = self.positions(self.embedding(tokens))
    local question = x[{ {}, { -1 } }]               -- [B, 1, E]: only the last word has to ask
    return self.output(self.attention(question, x):squeeze(2))
end

-- ---- the test -----------------------------------------------------------------------------------

local function examples(count, distance)
    local tokens = heed.randint(1, SYMBOLS, count, distance + 1)
    tokens[{ {}, -1 }] = QUESTION
    return tokens, tokens[{ {}, 1 }]
end

-- The share of right answers after training, and the seconds that it took.
local function trained(model, distance)
    local optimizer = heed.optim.AdamW(model:parameters(), { lr = 3e-3, weight_decay = 0 })
    local start = heed.clock()
    for _ = 1, STEPS do
        local tokens, answers = examples(BATCH, distance)
        local loss = heed.loss.cross_entropy(model(tokens), answers)
        optimizer:zero_grad()
        loss:backward()
        heed.optim.clip_grad_norm(model:parameters(), 1)
        optimizer:step()
    end
    local seconds = heed.clock() - start
    local _ <close> = heed.no_grad()
    local tokens, answers = examples(500, distance)
    return model(tokens):argmax(-1):eq(answers):to("f32"):mean():item(), seconds
end

print "            recurrence           attention\ndistance    right      time      right      time"
for _, distance in ipairs { 2, 4, 8, 16, 32, 64 } do
    heed.manual_seed(10)
    local recurrent, recurrent_seconds = trained(Recurrence(), distance)
    local attentive, attentive_seconds = trained(Attention(distance + 1), distance)
    print(("%8d   %5.1f%%  %6.2f s      %5.1f%%  %6.2f s"):format(distance, 100 * recurrent,
        recurrent_seconds,
        100 * attentive, attentive_seconds))
end
print(("(guessing gives %.1f%%)"):format(100 / SYMBOLS))
print [[

The recurrence forgets: what the first word left in the state is overwritten a little at every step, and the gradient that
could teach it to remember shrinks on the same way back. Gates (LSTM) and longer training carry it further. Attention is one
step away from everything, at any distance.]]
