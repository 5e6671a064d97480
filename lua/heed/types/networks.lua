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

---(x - mean) / √(variance + eps) · weight + bias by channel (Ioffe and Szegedy 2015, "Batch
---normalization"). In training mean and variance are those of each channel over the batch, and the
---running ones, if given, become (1 - momentum) running + momentum · batch (of the variance with n - 1);
---otherwise the running ones are used.
---
---```lua
---local x = heed.tensor { { 1, 10 }, { 3, 30 } }
---print(heed.batch_norm(x, { training = true })) --> [[-1.0000, -1.0000], [ 1.0000, 1.0000]] f32 [2, 2]
---local mean, var = heed.zeros(2), heed.ones(2)
---heed.batch_norm(x, mean, var, { training = true, momentum = 0.5 })
---print(mean, var) --> [ 1., 10.] f32 [2] [ 1.5000, 100.5000] f32 [2]
---```
---@param x heed.Tensor [B, C, ...] f32 or f64
---@param running_mean? heed.Tensor [C]
---@param running_var? heed.Tensor [C]
---@param weight? heed.Tensor [C]
---@param bias? heed.Tensor [C]
---@param options? { training?: boolean, momentum?: number, eps?: number } defaults: false, 0.1, 1e-5
---@return heed.Tensor # of x's shape
function core.batch_norm(x, running_mean, running_var, weight, bias, options) end

---(x - mean) / √(variance + eps) · weight + bias, with mean and variance of each entry over the
---channels of a group and their planes (Wu and He 2018, "Group normalization").
---
---```lua
---print(heed.group_norm(heed.tensor { { 1, 3, 10, 30 } }, 2)) --> [[-1.0000, 1.0000, -1.0000, 1.0000]] f32 [1, 4]
---```
---@param x heed.Tensor [B, C, ...] f32 or f64
---@param num_groups integer a divisor of C
---@param weight? heed.Tensor [C]
---@param bias? heed.Tensor [C]
---@param eps? number default 1e-5
---@return heed.Tensor # of x's shape
function core.group_norm(x, num_groups, weight, bias, eps) end

---Convolution along a sequence, y[b, o, i] = bias[o] + Σ w[o, c, k] x[b, c, (i - 1) stride + (k - 1)
---dilation + 1 - padding] over c and k (the kernel is not flipped, as in PyTorch); x is 0 outside.
---With groups, channels and outputs are cut into as many parts, and each sees its own.
---
---```lua
---local x = heed.tensor { { { 1, 2, 3, 4 } } }
---print(heed.conv1d(x, heed.tensor { { { -1, 1 } } })) --> [[[1., 1., 1.]]] f32 [1, 1, 3]
---print(heed.conv1d(x, heed.ones(1, 1, 3), nil, { padding = "same" })) --> [[[3., 6., 9., 7.]]] f32 [1, 1, 4]
---```
---@param x heed.Tensor [B, in, L] f32 or f64
---@param weight heed.Tensor [out, in / groups, kernel]
---@param bias? heed.Tensor [out]
---@param options? { stride?: integer, padding?: integer|"same"|"valid", dilation?: integer, groups?: integer }
---defaults: 1, 0, 1, 1; "same" keeps the size (the stride is 1), an odd zero goes behind.
---@return heed.Tensor # [B, out, windows]
function core.conv1d(x, weight, bias, options) end

---Convolution of images: as conv1d, with kernels of height and width.
---
---```lua
---local x, kernel = heed.range(1, 9):view(1, 1, 3, 3), heed.ones(1, 1, 2, 2)
---print(heed.conv2d(x, kernel)) --> [[[[12., 16.], [24., 28.]]]] f32 [1, 1, 2, 2]
---print(heed.conv2d(x, kernel, nil, { stride = 2, padding = { 1, 0 } }).shape) --> [1, 1, 2, 1]
---```
---@param x heed.Tensor [B, in, H, W] f32 or f64
---@param weight heed.Tensor [out, in / groups, height, width]
---@param bias? heed.Tensor [out]
---@param options? { stride?: integer|integer[], padding?: integer|integer[]|"same"|"valid", dilation?: integer|integer[], groups?: integer }
---defaults: 1, 0, 1, 1; "same" keeps the size (the stride is 1), an odd zero goes behind. Sizes are numbers, or { of the height, of the width }
---@return heed.Tensor # [B, out, windows down, windows across]
function core.conv2d(x, weight, bias, options) end

---The largest of each window of kernel_size elements, one every `stride`. The gradient goes to the first of equal
---ones; NaN counts as the largest.
---ceil_mode: what is left over at the end is a window too, if it begins within x.
---
---```lua
---print(heed.max_pool1d(heed.tensor { { 1, 5, 2, 4 } }, 2)) --> [[5., 4.]] f32 [1, 2]
---```
---@param x heed.Tensor [B, C, L] or [C, L], f32 or f64
---@param kernel_size integer
---@param options? { stride?: integer, padding?: integer, dilation?: integer, ceil_mode?: boolean }
---defaults: stride kernel_size, padding 0 (at most half of kernel_size), dilation 1, ceil_mode false
---@return heed.Tensor # x's shape with the number of windows
function core.max_pool1d(x, kernel_size, options) end

---The largest of each window of kernel_size elements, one every `stride`. The gradient goes to the first of equal
---ones; NaN counts as the largest.
---ceil_mode: what is left over at the end is a window too, if it begins within x.
---
---```lua
---print(heed.max_pool2d(heed.range(1, 16):view(1, 4, 4), 2)) --> [[[ 6., 8.], [14., 16.]]] f32 [1, 2, 2]
---```
---@param x heed.Tensor [B, C, H, W] or [C, H, W], f32 or f64
---@param kernel_size integer|integer[]
---@param options? { stride?: integer|integer[], padding?: integer|integer[], dilation?: integer|integer[], ceil_mode?: boolean }
---defaults: stride kernel_size, padding 0 (at most half of kernel_size), dilation 1, ceil_mode false
---@return heed.Tensor # x's shape with the number of windows
function core.max_pool2d(x, kernel_size, options) end

---The average of each window of kernel_size elements, one every `stride`. With count_include_pad the padding
---counts in the divisor; what a window of ceil_mode has beyond it never does.
---ceil_mode: what is left over at the end is a window too, if it begins within x.
---
---```lua
---print(heed.avg_pool1d(heed.tensor { { 1, 5, 2, 4 } }, 2, { stride = 1 })) --> [[3.0000, 3.5000, 3.0000]] f32 [1, 3]
---```
---@param x heed.Tensor [B, C, L] or [C, L], f32 or f64
---@param kernel_size integer
---@param options? { stride?: integer, padding?: integer, ceil_mode?: boolean, count_include_pad?: boolean }
---defaults: stride kernel_size, padding 0 (at most half of kernel_size), ceil_mode false, count_include_pad true
---@return heed.Tensor # x's shape with the number of windows
function core.avg_pool1d(x, kernel_size, options) end

---The average of each window of kernel_size elements, one every `stride`. With count_include_pad the padding
---counts in the divisor; what a window of ceil_mode has beyond it never does.
---ceil_mode: what is left over at the end is a window too, if it begins within x.
---
---```lua
---print(heed.avg_pool2d(heed.range(1, 16):view(1, 4, 4), 2)) --> [[[ 3.5000, 5.5000], [11.5000, 13.5000]]] f32 [1, 2, 2]
---```
---@param x heed.Tensor [B, C, H, W] or [C, H, W], f32 or f64
---@param kernel_size integer|integer[]
---@param options? { stride?: integer|integer[], padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean }
---defaults: stride kernel_size, padding 0 (at most half of kernel_size), ceil_mode false, count_include_pad true
---@return heed.Tensor # x's shape with the number of windows
function core.avg_pool2d(x, kernel_size, options) end

---The averages of output_size windows of equal size, or nearly: window i of n covers positions
---⌊(i - 1) L / n⌋ + 1 to ⌈i L / n⌉. 1: the average of all.
---
---```lua
---print(heed.adaptive_avg_pool1d(heed.range(1, 5):view(1, 5), 2)) --> [[2., 4.]] f32 [1, 2]
---```
---@param x heed.Tensor [B, C, L] or [C, L], f32 or f64
---@param output_size integer
---@return heed.Tensor # x's shape with output_size
function core.adaptive_avg_pool1d(x, output_size) end

---The averages of output_size windows of equal size, or nearly: window i of n covers positions
---⌊(i - 1) L / n⌋ + 1 to ⌈i L / n⌉. 1: the average of all.
---
---```lua
---print(heed.adaptive_avg_pool2d(heed.range(1, 16):view(1, 4, 4), 1)) --> [[[8.5000]]] f32 [1, 1, 1]
---```
---@param x heed.Tensor [B, C, H, W] or [C, H, W], f32 or f64
---@param output_size integer|integer[]
---@return heed.Tensor # x's shape with output_size
function core.adaptive_avg_pool2d(x, output_size) end

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
