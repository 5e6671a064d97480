-- Lesson 1: tensors.
--
--     heed examples/01_tensors.lua
--
-- A tensor is a block of numbers with a shape: a list of 5 numbers has the shape [5], a table of 2
-- rows and 3 columns [2, 3], and a batch of 8 sentences of 20 words, each word a vector of 64
-- numbers, is [8, 20, 64]. Everything that a Transformer does is arithmetic on such blocks.

local heed = require "heed"

-- Tensors are made from nested tables or from a shape. Numbers are 32-bit floats unless you ask for
-- another type.
local a = heed.tensor { { 1, 2, 3 }, { 4, 5, 6 } }
print("a table of 2 rows and 3 columns:")
print(a)
print("its shape is " .. a.shape .. ", its type " .. a.dtype .. ", it has " .. a:numel()
    .. " elements")
print("zeros:", heed.zeros(2))
print("the numbers from 1 to 4:", heed.range(1, 4))

-- Random numbers come from one stream. The same seed gives the same numbers in every run, on any
-- number of processors.
heed.manual_seed(1)
print("three throws of a die:", heed.randint(1, 6, 3))

-- Indices start at 1, as everywhere in Lua, and -1 is the last. One index takes one row. A table of
-- ranges cuts out a part, both ends included; {} is everything.
print("\nthe second row:", a[2])
print("row 2, column 3: " .. a[{ 2, 3 }])
print("the last column:", a[{ {}, -1 }])
print("columns 1 to 2:")
print(a[{ {}, { 1, 2 } }])

-- Arithmetic goes element by element. If shapes differ, a size of 1 (or one that is missing on the
-- left) is repeated: this is called broadcasting. Here the row [3] is combined with every row of
-- [2, 3], and the column [2, 1] with every column.
print("\ntimes ten:")
print(a * 10)
print("plus a row:")
print(a + heed.tensor { 100, 200, 300 })
print("plus a column:")
print(a + heed.tensor { { 1000 }, { 2000 } })

-- Sums and other reductions remove a dimension: dimension 1 (down the columns), dimension 2 (along
-- the rows), or all.
print("\nsums of the columns:", a:sum(1))
print("sums of the rows:", a:sum(2))
print("the sum of all: " .. a:sum())
local largest, where = a:max(2)
print("the largest of each row:", largest)
print("and the columns where they stand:", where)

-- The matrix product: [2, 3] times [3, 2] is [2, 2]. Each element is a row times a column,
-- multiplied pair by pair and added up. It is large if the row and the column point the same way,
-- so it measures how alike two vectors are.
local b = a:t()
print("\na times its transpose:")
print(heed.matmul(a, b))

-- The same numbers can be seen in another shape. Nothing is copied: a view and its tensor share
-- their memory.
local numbers = heed.range(1, 6)
local view = numbers:view(2, 3)
view[{ 1, 1 }] = 99
print("\nchanged through a view of it:", numbers)

-- Softmax turns any numbers into shares that are positive and add up to 1: the larger a number, the
-- larger its share. Remember it, because attention is built on it.
local shares = heed.softmax(heed.tensor { 1, 2, 4 }, 1)
print("softmax of 1, 2, 4:", shares)

-- Comparisons give tensors of true and false, which can select elements.
local signs = heed.tensor { -2, 5, -7, 1 }
print("\nwhere positive:", signs:gt(0))
print("negative ones made 0:", heed.where(signs:gt(0), signs, 0))

-- Tokens (words as numbers) and classes are whole numbers: i64. They count from 1 too.
local tokens = heed.ids { 3, 1, 2, 3 }
print("\ntokens are " .. tokens.dtype .. ":", tokens)

-- Misuse is an error, and its message says what was expected.
print("\nand a mistake: " .. select(2, pcall(heed.matmul, a, a)))
