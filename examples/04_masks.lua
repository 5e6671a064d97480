-- Lesson 4: masks, or who may see what.
--
--     heed examples/04_masks.lua
--
-- Not every word may look at every other. A model that writes from left to right must not look at
-- what comes next. Sentences of different lengths in one batch are filled up with padding, which
-- means nothing. A mask says for each query (row) which keys (columns) it may see; hidden keys get
-- the weight 0.

local heed = require "heed"
local mask = heed.mask

local function show(title, m, L, S)
    print(title .. ": " .. tostring(m))
    print(m:grid(L, S) .. "\n")
end

-- ■ may be seen. A causal mask hides the future; a language model needs it.
show("causal, 5 words", mask.causal(), 5)

-- With more keys than queries, the queries are the last words, as when a text is continued.
show("causal, 2 new words after 3 old ones", mask.causal(), 2, 5)

-- Padding: this sentence has 3 words and 2 paddings. A batch has a length for each row; the
-- brackets show the number of rows.
show("padding", mask.padding { 3 }, 5)
show("padding of two sentences, for one query", mask.padding { 3, 5 }, 1, 5)

-- A window: at most 1 back and 1 ahead. With windows, the cost of a text grows only in proportion
-- to its length.
show("window", mask.window(1, 1), 5)

-- Dilated: every second word, counted from each query.
show("dilated", mask.dilated(2), 5)

-- Segments: several documents packed into one row do not see each other.
show("segments", mask.segments { 1, 1, 2, 2, 2 }, 5)

-- Masks are joined by & (both must allow), | (one is enough) and ~ (not).
show("causal and segments", mask.causal() & mask.segments { 1, 1, 2, 2, 2 }, 5)
show("a prefix that all may see, causal after it", mask.causal() | mask.prefix(3), 5)
show("strictly before", mask.causal() & ~mask.window(0), 5)

-- A function, for anything else: here the even words. A tensor of true and false is a mask too.
show("a function of query and key", mask.fn(function(_, j) return j % 2 == 0 end), 5)
show("a tensor", mask.bool(heed.tensor { { 1, 0, 1 }, { 0, 1, 0 } }:ne(0)), 2, 3)

-- A bias does not hide; it is added to the scores. ALiBi subtracts more from words further away, at
-- a different rate in each head, so that a model knows distances.
print("alibi, the first of 2 heads adds:")
print((mask.alibi(2) & mask.causal()):dense(4)[{ 1, 1 }])

-- The effect: with queries and keys of zeros all scores are equal, so each query gets the average
-- of what it may see. Of the values 1, 2, 3, the first gets 1, the second the average of 1 and 2,
-- the third that of all.
local nothing, values = heed.zeros(3, 1), heed.tensor { { 1.0 }, { 2.0 }, { 3.0 } }
print("\nthe average of 1, 2, 3 without a mask:",
    heed.attention(nothing, nothing, values):flatten())
print("with a causal one:", heed.attention(nothing, nothing, values,
    { mask = mask.causal() }):flatten())

-- What is hidden stays hidden, even NaN.
local spoiled = heed.tensor { { 1.0 }, { 2.0 }, { 0 / 0 } }
print("the third value is nan, seen by the third alone:",
    heed.attention(nothing, nothing, spoiled, { mask = mask.causal() }):flatten())

-- A query that may see nothing gets 0. In other libraries this is a division of 0 by 0.
local blind = mask.causal() & ~mask.window(0)
print("the first may see nothing:", heed.attention(nothing, nothing, values,
    { mask = blind }):flatten())
print("queries that see nothing: " .. table.concat(blind:empty_rows(3), ", "))
