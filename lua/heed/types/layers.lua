---@meta _
--- What calling a class of layers gives, and what calling a layer. Written from the annotations of init and forward, with the pages.

---@class heed.nn
---@field AdaptiveAvgPool1d fun(output_size: integer): heed.nn.AdaptiveAvgPool1d
---@field AdaptiveAvgPool2d fun(output_size: integer|integer[]): heed.nn.AdaptiveAvgPool2d
---@field AvgPool1d fun(kernel_size: integer, options?: { stride?: integer, padding?: integer, ceil_mode?: boolean, count_include_pad?: boolean }): heed.nn.AvgPool1d
---@field AvgPool2d fun(kernel_size: integer|integer[], options?: { stride?: integer|integer[], padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean }): heed.nn.AvgPool2d
---@field BatchNorm1d fun(num_features: integer, options?: { eps?: number, momentum?: number|false, affine?: boolean, track_running_stats?: boolean }): heed.nn.BatchNorm1d
---@field BatchNorm2d fun(num_features: integer, options?: { eps?: number, momentum?: number|false, affine?: boolean, track_running_stats?: boolean }): heed.nn.BatchNorm2d
---@field Conv1d fun(in_channels: integer, out_channels: integer, kernel_size: integer, options?: { stride?: integer, padding?: integer|"same"|"valid", dilation?: integer, groups?: integer, bias?: boolean, padding_mode?: "zeros"|"reflect"|"replicate"|"circular" }): heed.nn.Conv1d
---@field Conv2d fun(in_channels: integer, out_channels: integer, kernel_size: integer|integer[], options?: { stride?: integer|integer[], padding?: integer|integer[]|"same"|"valid", dilation?: integer|integer[], groups?: integer, bias?: boolean, padding_mode?: "zeros"|"reflect"|"replicate"|"circular" }): heed.nn.Conv2d
---@field Dropout fun(p?: number): heed.nn.Dropout
---@field ELU fun(alpha?: number): heed.nn.ELU
---@field Embedding fun(count: integer, dim: integer, options?: { padding_idx?: integer, scale?: number }): heed.nn.Embedding
---@field FeedForward fun(d_model: integer, d_ff: integer, options?: { activation?: heed.Activation, dropout?: number, bias?: boolean }): heed.nn.FeedForward
---@field Flatten fun(first?: integer, last?: integer): heed.nn.Flatten
---@field GELU fun(options?: { approximate?: "none"|"tanh"|"sigmoid" }): heed.nn.GELU
---@field GRU fun(input_size: integer, hidden_size: integer, options?: { num_layers?: integer, bidirectional?: boolean, dropout?: number, bias?: boolean, batch_first?: boolean }): heed.nn.GRU
---@field GRUCell fun(input_size: integer, hidden_size: integer, options?: { bias?: boolean }): heed.nn.GRUCell
---@field GroupNorm fun(num_groups: integer, num_channels: integer, options?: { eps?: number, affine?: boolean }): heed.nn.GroupNorm
---@field Identity fun(): heed.nn.Identity
---@field LSTM fun(input_size: integer, hidden_size: integer, options?: { num_layers?: integer, bidirectional?: boolean, dropout?: number, bias?: boolean, batch_first?: boolean }): heed.nn.LSTM
---@field LSTMCell fun(input_size: integer, hidden_size: integer, options?: { bias?: boolean }): heed.nn.LSTMCell
---@field LayerNorm fun(dim: integer, options?: { eps?: number, bias?: boolean, elementwise_affine?: boolean }): heed.nn.LayerNorm
---@field LeakyReLU fun(slope?: number): heed.nn.LeakyReLU
---@field LearnedPositions fun(max_len: integer, d_model: integer): heed.nn.LearnedPositions
---@field Linear fun(inputs: integer, outputs: integer, options?: { bias?: boolean }): heed.nn.Linear
---@field LogSoftmax fun(dim: integer): heed.nn.LogSoftmax
---@field MaxPool1d fun(kernel_size: integer, options?: { stride?: integer, padding?: integer, dilation?: integer, ceil_mode?: boolean }): heed.nn.MaxPool1d
---@field MaxPool2d fun(kernel_size: integer|integer[], options?: { stride?: integer|integer[], padding?: integer|integer[], dilation?: integer|integer[], ceil_mode?: boolean }): heed.nn.MaxPool2d
---@field ModuleDict fun(modules?: table<string, heed.nn.Module>): heed.nn.ModuleDict
---@field ModuleList fun(list?: heed.nn.Module[]): heed.nn.ModuleList
---@field MultiHeadAttention fun(d_model: integer, num_heads: integer, options?: { dropout?: number, bias?: boolean, qkv_bias?: boolean, num_kv_heads?: integer, head_dim?: integer, rotary?: boolean|table|heed.nn.Rotary, qk_norm?: boolean|"rms"|"layer", eps?: number, unit_offset?: boolean, softcap?: number, scale?: number, kdim?: integer, vdim?: integer }): heed.nn.MultiHeadAttention
---@field RMSNorm fun(dim: integer, options?: { eps?: number, elementwise_affine?: boolean, unit_offset?: boolean }): heed.nn.RMSNorm
---@field ReLU fun(): heed.nn.ReLU
---@field RelativePositionBias fun(num_heads: integer, options?: { buckets?: integer, max_distance?: integer, bidirectional?: boolean }): heed.nn.RelativePositionBias
---@field Rotary fun(head_dim: integer, options?: { base?: number, dim?: integer, interleaved?: boolean, scaling?: table }): heed.nn.Rotary
---@field SSRU fun(d_model: integer): heed.nn.SSRU
---@field Sequential fun(...: heed.nn.Module): heed.nn.Sequential
---@field SiLU fun(): heed.nn.SiLU
---@field Sigmoid fun(): heed.nn.Sigmoid
---@field SinusoidalPositions fun(max_len: integer, d_model: integer, options?: { first_position?: integer, layout?: "interleaved"|"halves", rates?: number[] }): heed.nn.SinusoidalPositions
---@field Softmax fun(dim: integer): heed.nn.Softmax
---@field Softplus fun(): heed.nn.Softplus
---@field Tanh fun(): heed.nn.Tanh
---@field Transformer fun(options: { src_vocab: integer, tgt_vocab: integer, d_model?: integer, num_heads?: integer, num_layers?: integer, num_encoder_layers?: integer, num_decoder_layers?: integer, d_ff?: integer, dropout?: number, norm_first?: boolean, final_norm?: boolean, tie_weights?: boolean|"target", max_len?: integer }): heed.nn.Transformer
---@field TransformerDecoder fun(layer_count: integer, d_model: integer, num_heads: integer, d_ff?: integer, options?: heed.nn.StackOptions): heed.nn.TransformerDecoder
---@field TransformerDecoderLayer fun(d_model: integer, num_heads: integer, d_ff?: integer, options?: heed.nn.LayerOptions): heed.nn.TransformerDecoderLayer
---@field TransformerEncoder fun(layer_count: integer, d_model: integer, num_heads: integer, d_ff?: integer, options?: heed.nn.StackOptions): heed.nn.TransformerEncoder
---@field TransformerEncoderLayer fun(d_model: integer, num_heads: integer, d_ff?: integer, options?: heed.nn.LayerOptions): heed.nn.TransformerEncoderLayer

---@class heed.nn.AdaptiveAvgPool1d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.AdaptiveAvgPool2d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.AvgPool1d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.AvgPool2d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.BatchNorm1d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.BatchNorm2d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Conv1d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Conv2d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Dropout
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.ELU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Embedding
---@operator call(heed.Tensor|integer[]): heed.Tensor

---@class heed.nn.FeedForward
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Flatten
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.GELU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.GRU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.GRUCell
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.GroupNorm
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Identity
---@operator call(any): any ...

---@class heed.nn.LSTM
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.LSTMCell
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.LayerNorm
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.LeakyReLU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.LearnedPositions
---@operator call(heed.Tensor|integer): heed.Tensor

---@class heed.nn.Linear
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.LogSoftmax
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.MaxPool1d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.MaxPool2d
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.MultiHeadAttention
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.RMSNorm
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.ReLU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.RelativePositionBias
---@operator call(integer): heed.Mask

---@class heed.nn.Rotary
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.SSRU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Sequential
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.SiLU
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Sigmoid
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.SinusoidalPositions
---@operator call(heed.Tensor|integer): heed.Tensor

---@class heed.nn.Softmax
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Softplus
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Tanh
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.Transformer
---@operator call(heed.Tensor|integer[][]): heed.Tensor

---@class heed.nn.TransformerDecoder
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.TransformerDecoderLayer
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.TransformerEncoder
---@operator call(heed.Tensor): heed.Tensor

---@class heed.nn.TransformerEncoderLayer
---@operator call(heed.Tensor): heed.Tensor
