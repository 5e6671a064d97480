-- Lesson 6: positions.
--
--     heed examples/06_positions.lua
--
-- Attention compares words, not places: "dog bites man" and "man bites dog" are the same to it.
-- Order matters, so the place of a word has to be in its vector.

local heed = require "heed"
local nn = heed.nn

heed.manual_seed(6)
local E = 32
local attention = nn.MultiHeadAttention(E, 4)
local words = heed.randn(1, 3, E)
local swapped = words:index_select(2, heed.ids { 3, 2, 1 })

-- Proof: with the words in reverse order, every word gets exactly what it got before.
local before, after = attention(words), attention(swapped):index_select(2, heed.ids { 3, 2, 1 })
print("without positions the order changes nothing: "
    .. tostring(before:allclose(after, { atol = 1e-5 })))

-- ---- sines and cosines --------------------------------------------------------------------------
--
-- The first Transformer added to each word a vector that depends on its place alone: sines and
-- cosines of the place, at rates that fall from fast to slow, like the hands of a clock. No two
-- places have the same hands, and a step of three places is the same rotation everywhere, so that
-- "three words back" can be learned once for all places.

local positions = nn.SinusoidalPositions(100, E)
print("\nthe first four features of places 1 to 5 (sine and cosine in turn):")
print(positions(5)[{ {}, { 1, 4 } }])

local with_place, swapped_with_place = positions(words), positions(swapped)
after = attention(swapped_with_place):index_select(2, heed.ids { 3, 2, 1 })
print("\nwith positions the order matters: " .. tostring(not attention(with_place):allclose(after,
    { atol = 1e-5 })))

-- How alike are two places? Their product is large for neighbours, and depends only on the
-- distance.
local rows = positions(16)
local alike = heed.matmul(rows, rows:t()) / (E / 2)
local contrast = (alike - alike:min()) / (1 - alike:min())
print("\nhow alike the places 1 to 16 are:\n")
print(heed.viz.attention(contrast, { x = "123456789abcdefg", y = "123456789abcdefg" }))
print(("from 1 to 4: %.4f, from 11 to 14: %.4f"):format(alike[{ 1, 4 }], alike[{ 11, 14 }]))

-- ---- learned ------------------------------------------------------------------------------------
--
-- Or let the model learn a vector for each place, as BERT and GPT do. It does not know places that
-- it never saw.

local learned = nn.LearnedPositions(100, E)
print("\nlearned positions: " .. learned.weight.shape .. ", added to the words: "
    .. learned(words).shape)
print("place 101 does not exist: " .. select(2, pcall(learned, heed.zeros(1, 101, E))))

-- ---- rotary -------------------------------------------------------------------------------------
--
-- Or rotate instead of adding: pairs of features of queries and keys are taken as points in a
-- plane, and rotated by an angle that grows with the place. The product of two such vectors depends
-- on how far apart they are, never on where. Most large models do this today.

local rotary = nn.Rotary(E)
local q, k = heed.randn(1, 1, 1, E), heed.randn(1, 1, 1, E)
local function score(i, j) -- of the same two vectors at the places i and j
    return (rotary(q, { positions = { i } }) * rotary(k, { positions = { j } })):sum():item()
end
print(("\nrotary, 3 apart: places 1 and 4 score %.3f, places 51 and 54 score %.3f"):format(score(1,
    4), score(51, 54)))
print(("and 4 apart: places 1 and 5 score %.3f"):format(score(1, 5)))

-- ---- distance as a bias -------------------------------------------------------------------------
--
-- Or leave the vectors alone and subtract from each score the distance times a constant, which
-- differs from head to head (heed.mask.alibi, lesson 4). If all words are alike, the weights show
-- only the distance.
local none = heed.zeros(1, 8, 6, 1)
local _, weights = heed.attention(none, none, none,
    { mask = heed.mask.alibi(8) & heed.mask.causal(), weights = true })
print("\nALiBi, the first four of eight heads, from near-sighted to far-sighted; the last word's "
    .. "weights in the first:\n")
print(heed.viz.attention(weights[{ 1, { 1, 4 } }]))
print(weights[{ 1, 1, -1 }])
