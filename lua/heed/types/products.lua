---@meta _
--- Products.

---@class heed.Functions
local core = {}

---@class heed.Methods
local both = {}

---The product of matrices: [N, K] and [K, M] give [N, M]. Dimensions before the last two are a
---batch and broadcast; of two vectors it is their inner product, of a matrix and a vector [N].
---Transposes and broadcast batches are never copied. Integers have a product too, and bool gives
---i64. The gradients are g b^T and a^T g, summed over what was broadcast.
---
---```lua
---local a, b = heed.range(1, 6):view(2, 3), heed.range(1, 6):view(3, 2)
---print(a:matmul(b)) --> [[22., 28.], [49., 64.]] f32 [2, 2]
---print(heed.ones(5, 2, 3):matmul(b).shape, heed.ones(3):matmul(b)) --> [5, 2, 2] [ 9., 12.] f32 [2]
---```
---@param a heed.Tensor [..., N, K] or [K]
---@param b heed.Tensor [..., K, M] or [K]
---@return heed.Tensor # [..., N, M]
function both.matmul(a, b) end

---The product of all pairs: out[i][j] = a[i] b[j].
---
---```lua
---print(heed.outer(heed.tensor { 1, 2 }, heed.tensor { 1, 2, 3 })) --> [[1., 2., 3.], [2., 4., 6.]] f32 [2, 3]
---```
---@param a heed.Tensor [N]
---@param b heed.Tensor [M]
---@return heed.Tensor # [N, M]
function both.outer(a, b) end

---The distances between all rows: d[i][j] = (sum |x[i] - y[j]|^p)^(1/p). p = 0 counts what differs,
---math.huge takes the largest difference; batches broadcast. Exact to a few units of the last place
---for close rows far from the origin too. The gradient is 0 where a distance is.
---
---```lua
---local x = heed.tensor { { 0, 0 }, { 3, 4 } }
---print(heed.cdist(x, x)) --> [[0., 5.], [5., 0.]] f32 [2, 2]
---print(heed.cdist(x, x, { p = 1 })) --> [[0., 7.], [7., 0.]] f32 [2, 2]
---```
---@param x heed.Tensor [.., P, M]
---@param y heed.Tensor [.., R, M]
---@param p? number|{ p?: number } 0 or more, default 2
---@return heed.Tensor # [.., P, R]
function both.cdist(x, y, p) end

---The discrete Fourier transform of the last dimension, of real numbers: y[k] = sum over j of x[j]
---e^(-2πi j k / n), k = 0 .. n // 2 (entry 1 is k = 0), real and imaginary part along a new last
---dimension. The other half of the spectrum is the conjugate of this one. A length without prime
---factors above 5 takes n log n steps in f32 (by kissfft: heed.info says whether it is there),
---every other one, and f64, n²/2.
---
---```lua
---print(heed.rfft(heed.tensor { 1, 0, -1, 0 })) --> [[0., 0.], [2., 0.], [0., 0.]] f32 [3, 2]
---```
---@param t heed.Tensor [..., n]
---@return heed.Tensor # [..., n // 2 + 1, 2]
function both.rfft(t) end

---Sums of products over named dimensions: a letter for each dimension of each operand, commas
---between operands, and behind `->` the dimensions of the result; all other letters are summed
---over. Without `->` the result has the letters that occur once, sorted. A letter twice in one
---operand takes its diagonal; `...` stands for any further dimensions, which broadcast, as sizes of
---1 do. It is computed as products of matrices, two operands at a time (of three and more in the
---cheapest order), never as one product over all letters. bool counts as i64. Errors name the
---letter with both sizes, or position and character.
---
---```lua
---local q, k = heed.ones(2, 3, 8), heed.ones(2, 5, 8)
---print(heed.einsum("bld,bsd->bls", q, k).shape) -- the scores of attention
---print(heed.einsum("ii", heed.eye(3))) -- the trace
---```
---@param equation string
---@param ... heed.Tensor|heed.Tensor[] the operands
---@return heed.Tensor
function core.einsum(equation, ...) end

---A matrix of weights in a quantised format of GGUF files, 32 elements to a scale: a thing of its own that
---linear, embedding and the layers made of them take as their weight. It has a shape and a dtype, its
---format; `:to "f32"` gives its numbers. It has no elements to index, view or write, and no gradient;
---gradients flow through it to the input. Products round x to bytes, 32 at a time (docs/models.md).
---
---```lua
---local w = heed.quantize(heed.randn(64, 32), "q8_0")
---print(w) --> quantised weight, q8_0 [64, 32]
---print(heed.linear(heed.randn(3, 32), w).shape, w:to("f32").shape) --> [3, 64] [64, 32]
---```
---@param x heed.Tensor f32 [out, in], in a multiple of 32; finite
---@param type "q4_0"|"q4_1"|"q5_0"|"q5_1"|"q8_0"
---@return heed.Tensor weight
function core.quantize(x, type) end

---Is this a quantised weight?
---
---```lua
---print(heed.is_quantized(heed.quantize(heed.ones(1, 32), "q4_0")), heed.is_quantized(heed.ones(2))) --> true false
---```
---@param value any
---@return boolean
function core.is_quantized(value) end
