-- Lesson 3: attention, step by step.
--
--     heed examples/03_attention.lua [FILE.svg]    draws the weights in the terminal and as a file
--
-- A sentence is a list of vectors, one for each word. A word alone is ambiguous; its meaning
-- depends on the others. Attention lets every word look at all words and take something from each:
-- much from those that matter to it, little from the rest.
--
-- Three vectors belong to each word. Its query says what it looks for, its key how others find it,
-- and its value what it gives them. In a library these are your question, the titles on the
-- shelves, and the books.

local heed = require "heed"

local words = { "The", "cat", "sat", "on", "the", "mat" }

-- Features of the words, by hand: is it an article, a noun, a verb, a preposition? In a model these
-- numbers are learned.
local known = heed.tensor {
    { 1, 0, 0, 0 },
    { 0, 1, 0, 0 },
    { 0, 0, 1, 0 },
    { 0, 0, 0, 1 },
    { 1, 0, 0, 0 },
    { 0, 1, 0, 0 },
}

-- Keys: each word is found by its features. Queries: articles, verbs and prepositions look for
-- nouns, and nouns for verbs. A query is the word's features times a matrix, whose row 1 says what
-- articles look for, and so on. Values: the number of the word.
local looks_for = heed.tensor {
    { 0, 4, 0, 0 },
    { 0, 0, 4, 0 },
    { 0, 4, 0, 0 },
    { 0, 4, 0, 0 },
}
local Q, K, V = heed.matmul(known, looks_for), known, heed.range(1, 6):view(6, 1)

-- Step 1: how well does each key answer each query? Multiply them pair by pair and add up: one
-- matrix product does this for all pairs. Row i, column j is what word i finds in word j.
local scores = heed.matmul(Q, K:t())
print("scores, Q·Kᵀ " .. scores.shape .. ":")
print(scores)

-- Step 2: divide by √D, where D is the length of a key. Sums of more products are larger. Without
-- this, long keys would make the next step choose one word and ignore the others, and its gradient
-- would vanish.
scores = scores / math.sqrt(K:size(-1))

-- Step 3: softmax turns each row into shares that add up to 1. These are the attention weights.
local weights = scores:softmax(-1)
print("\nweights, softmax(Q·Kᵀ / √D), each row adds up to 1:")
print(weights)

-- Step 4: every word gets the average of all values, weighted by its row.
local output = heed.matmul(weights, V)
print("\nwhat each word gets, weights·V:", output:flatten())

-- That is all: Attention(Q, K, V) = softmax(Q·Kᵀ / √D)·V. heed does it in one call, and faster,
-- without ever storing the whole table of weights. It returns the weights too, if asked.
local same, same_weights = heed.attention(Q, K, V, { weights = true })
print("\nheed.attention gives the same: "
    .. tostring(same:allclose(output) and same_weights:allclose(weights)))
print()
print(heed.viz.attention(weights,
    { x = words, y = words, title = "Rows look at columns; the denser the more" }))

-- ---- several heads ------------------------------------------------------------------------------
--
-- One table of weights can follow one idea. So attention is done several times side by side, in
-- "heads", each with its own queries and keys (lesson 5). Here they ask: who is a noun; who am I;
-- who stands before me? The last two go by place, not by kind. So a key has a 1 at the word's own
-- place and 0 elsewhere, and a query has a 1 at the place that it looks for.

local place = heed.eye(6)
-- the first word has none before it
local before = heed.cat({ place[{ { 1 } }], place[{ { 1, 5 } }] }, 1)
local noun = heed.zeros(6, 6)
noun[{ {}, { 1, 4 } }] = known
local queries = heed.stack({ heed.tensor({ 0, 1, 0, 0, 0, 0 }):expand(6, 6), place, before }, 1) * 8
local keys = heed.stack({ noun, place, place }, 1)
local _, by_head = heed.attention(queries:unsqueeze(1), keys:unsqueeze(1), keys:unsqueeze(1),
    { weights = true })

print("\nthree heads, " .. by_head.shape .. " weights: batch, heads, queries, keys")
print()
local picture = heed.viz.attention(by_head, {
    x = words, y = words, title = "The cat sat on the mat",
        panels = { "nouns", "myself", "the one before" },
})
print(picture)

-- As SVG, with one panel for each head, the words along both sides, and the numbers under the
-- pointer. If the file cannot be written, the result is nil and a message.
local path = arg[1] or "attention.svg"
local ok, message = picture:svg(path)
print(ok and "\nopen " .. path .. " in a browser" or "\nnot written: " .. message)
