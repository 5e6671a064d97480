---@meta _
--- What layers are made of. heed.nn calls these with its parameters.

---@class heed.Functions
local core = {}

---dropout(act(x W^T + b))
---@param x heed.Tensor [..., in]
---@param weight heed.Tensor [out, in]
---@param bias? heed.Tensor [out]
---@param activation? "relu"|"gelu"|"silu"
---@param dropout? number
---@return heed.Tensor [..., out]
function core.linear(x, weight, bias, activation, dropout) end

---@param x heed.Tensor [..., E]
---@param weight? heed.Tensor [E]
---@param bias? heed.Tensor [E]
---@param eps? number 1e-5
---@return heed.Tensor
function core.layer_norm(x, weight, bias, eps) end

---x / sqrt(mean(x²) + eps) · weight over the last dimension (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization").
---With eps 0 a row of zeros gives NaN.
---
---```lua
---print(heed.rms_norm(heed.tensor { { 3, 4 } }))
---```
---@param x heed.Tensor [..., E] f32 or f64
---@param weight? heed.Tensor [E]
---@param eps? number 1e-6
---@return heed.Tensor [..., E]
function core.rms_norm(x, weight, eps) end

---@param weight heed.Tensor [V, E]
---@param tokens heed.Ids [...]
---@param padding_idx? integer this row gets no gradient
---@param scale? number
---@return heed.Tensor [..., E]
function core.embedding(weight, tokens, padding_idx, scale) end

---@param x heed.Tensor
---@param p number
---@param options? { generator?: heed.Generator }
---@return heed.Tensor
function core.dropout(x, p, options) end

---residual + dropout(x)
---@param residual heed.Tensor
---@param x heed.Tensor
---@param p number
---@return heed.Tensor
function core.dropout_add(residual, x, p) end

---A batch without its padding: the first lengths[b] elements of each x[b], one behind the other. Any dtype.
---@param x heed.Tensor [B, L, ...]
---@param lengths heed.Ids [B], 0..L
---@return heed.Tensor [N, ...], N the sum of lengths
function core.pack_sequences(x, lengths) end

---The way back from pack_sequences, with zeros after each sequence.
---@param x heed.Tensor [N, ...]
---@param lengths heed.Ids [B]
---@param L integer
---@return heed.Tensor [B, L, ...]
function core.unpack_sequences(x, lengths, L) end

---How many elements stand before each packed sequence, and all of them.
---@param lengths heed.Ids [B]
---@return heed.Tensor i64 [B + 1]
function core.sequence_starts(lengths) end
