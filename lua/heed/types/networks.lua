---@meta _
--- Parts of networks.
---
--- heed.nn calls these with its parameters, and so can a layer of one's own.

---@class heed.Functions
local core = {}

---dropout(act(x W^T + b)), in one pass over the product. The gradients of all three are made in
---backward's one pass.
---
---```lua
---local x, w, b = heed.randn(2, 5, 8), heed.randn(16, 8), heed.zeros(16)
---print(heed.linear(x, w, b, "gelu").shape) --> [2, 5, 16]
---```
---@param x heed.Tensor [..., in] f32 or f64
---@param weight heed.Tensor [out, in]
---@param bias? heed.Tensor [out]
---@param activation? "relu"|"gelu"|"gelu_tanh"|"gelu_sigmoid"|"silu"|"tanh"|"sigmoid" none when
---left out
---@param dropout? number default 0; drawn from the training stream
---@return heed.Tensor # [..., out]
function core.linear(x, weight, bias, activation, dropout) end

---(x - mean) / √(variance + eps) · weight + bias over the last dimension (Ba, Kiros and Hinton
---2016, "Layer normalization").
---
---```lua
---print(heed.layer_norm(heed.tensor { { 1, 2, 3 }, { 10, 20, 30 } }))
---```
---@param x heed.Tensor [..., E] f32 or f64
---@param weight? heed.Tensor [E]
---@param bias? heed.Tensor [E]
---@param eps? number default 1e-5
---@return heed.Tensor # [..., E]
function core.layer_norm(x, weight, bias, eps) end

---x / √(mean(x²) + eps) · weight over the last dimension (Zhang and Sennrich 2019, "Root mean
---square layer normalization"). With eps 0 a row of zeros gives NaN.
---
---```lua
---print(heed.rms_norm(heed.tensor { { 3, 4 } })) --> [[0.8485, 1.1314]] f32 [1, 2]
---```
---@param x heed.Tensor [..., E] f32 or f64
---@param weight? heed.Tensor [E]
---@param eps? number default 1e-6
---@return heed.Tensor # [..., E]
function core.rms_norm(x, weight, eps) end

---scale · weight[token]: a row of the table for each token. Gradients of a row that is looked up
---several times add up, in the order of the tokens; look-ups of padding_idx give none. A token
---outside 1..V is an error that says where.
---
---```lua
---local table_of = heed.range(1, 6):view(3, 2)
---print(heed.embedding(table_of, { 3, 1 })) --> [[5., 6.], [1., 2.]] f32 [2, 2]
---print(heed.embedding(table_of, { { 1, 2 }, { 3, 3 } }).shape) --> [2, 2, 2]
---```
---@param weight heed.Tensor [V, E]
---@param tokens heed.Ids [...] in 1..V
---@param padding_idx? integer this row gets no gradient
---@param scale? number default 1
---@return heed.Tensor # [..., E]
function core.embedding(weight, tokens, padding_idx, scale) end

---Each element 0 with probability p, otherwise x / (1 - p) (Srivastava et al. 2014). Backward draws
---the same elements again. It always draws: nn.Dropout is the one that rests in evaluation. With p
---= 0 it is x itself.
---
---```lua
---local y = heed.dropout(heed.ones(1000), 0.25, { generator = heed.generator(1) })
---print(y:max(), y:eq(0):sum():item()) --> 1.3333 f32 [] 246
---```
---@param x heed.Tensor f32 or f64
---@param p number 0 to 1
---@param options? { generator?: heed.Generator } the training stream when left out
---@return heed.Tensor
function core.dropout(x, p, options) end

---residual + dropout(x), in one pass: how a sublayer ends.
---
---```lua
---local x = heed.ones(2, 4)
---print(heed.dropout_add(x, x * 0.5, 0):equal(x * 1.5)) --> true
---```
---@param residual heed.Tensor
---@param x heed.Tensor of the same shape
---@param p number
---@return heed.Tensor
function core.dropout_add(residual, x, p) end

---A batch without its padding: the first lengths[b] elements of each x[b], one behind the other.
---Any dtype. Everything but attention is indifferent to it, and heed.mask.packed tells attention
---where sequences begin.
---
---```lua
---local x = heed.tensor { { 1, 2, 0 }, { 3, 0, 0 } }
---print(heed.pack_sequences(x, { 2, 1 })) --> [1., 2., 3.] f32 [3]
---```
---@param x heed.Tensor [B, L, ...]
---@param lengths heed.Ids [B], 0..L
---@return heed.Tensor # [N, ...], N the sum of lengths
function core.pack_sequences(x, lengths) end

---The way back from pack_sequences, with 0 behind each sequence.
---
---```lua
---print(heed.unpack_sequences(heed.tensor { 1, 2, 3 }, { 2, 1 }, 3)) --> [[1., 2., 0.], [3., 0., 0.]] f32 [2, 3]
---```
---@param x heed.Tensor [N, ...]
---@param lengths heed.Ids [B], whose sum is N
---@param L integer at least the longest
---@return heed.Tensor # [B, L, ...]
function core.unpack_sequences(x, lengths, L) end

---How many elements stand before each packed sequence, and all of them.
---
---```lua
---print(heed.sequence_starts { 2, 1, 4 }) --> [0, 2, 3, 7] i64 [4]
---```
---@param lengths heed.Ids [B]
---@return heed.Tensor # i64 [B + 1]
function core.sequence_starts(lengths) end
