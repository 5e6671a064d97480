--- Layers and models. Their parameters are named as PyTorch names them, so that weights go from one
--- to the other; lists count from 1.

local module = require "heed.nn.module"
local activation = require "heed.nn.activation"
local norm = require "heed.nn.norm"
local channel_norm = require "heed.nn.channel_norm"
local conv = require "heed.nn.conv"
local pool = require "heed.nn.pool"
local positions = require "heed.nn.positions"
local recurrent = require "heed.nn.recurrent"

---@class heed.nn
local nn = {
    Module = module.Module,
    parameter = module.parameter,
    is_module = module.is_module,
    init = require "heed.nn.initial",
    Linear = require "heed.nn.linear",
    Embedding = require "heed.nn.embedding",
    LayerNorm = norm.LayerNorm,
    RMSNorm = norm.RMSNorm,
    Conv1d = conv.Conv1d,
    Conv2d = conv.Conv2d,
    MaxPool1d = pool.MaxPool1d,
    MaxPool2d = pool.MaxPool2d,
    AvgPool1d = pool.AvgPool1d,
    AvgPool2d = pool.AvgPool2d,
    AdaptiveAvgPool1d = pool.AdaptiveAvgPool1d,
    AdaptiveAvgPool2d = pool.AdaptiveAvgPool2d,
    BatchNorm1d = channel_norm.BatchNorm1d,
    BatchNorm2d = channel_norm.BatchNorm2d,
    GroupNorm = channel_norm.GroupNorm,
    Dropout = require "heed.nn.dropout",
    Sequential = require "heed.nn.sequential",
    ModuleList = require "heed.nn.module_list",
    ModuleDict = require "heed.nn.module_dict",
    Identity = activation.Identity,
    ReLU = activation.ReLU,
    GELU = activation.GELU,
    SiLU = activation.SiLU,
    Sigmoid = activation.Sigmoid,
    Tanh = activation.Tanh,
    LeakyReLU = activation.LeakyReLU,
    ELU = activation.ELU,
    Softplus = activation.Softplus,
    Softmax = activation.Softmax,
    LogSoftmax = activation.LogSoftmax,
    Flatten = activation.Flatten,
    GRU = recurrent.GRU,
    LSTM = recurrent.LSTM,
    GRUCell = recurrent.GRUCell,
    LSTMCell = recurrent.LSTMCell,
    MultiHeadAttention = require "heed.nn.attention",
    FeedForward = require "heed.nn.feed_forward",
    TransformerEncoderLayer = require "heed.nn.encoder_layer",
    TransformerDecoderLayer = require "heed.nn.decoder_layer",
    TransformerEncoder = require "heed.nn.encoder",
    TransformerDecoder = require "heed.nn.decoder",
    SinusoidalPositions = positions.SinusoidalPositions,
    LearnedPositions = positions.LearnedPositions,
    RelativePositionBias = require "heed.nn.relative_position_bias",
    Rotary = require "heed.nn.rotary",
    Transformer = require "heed.nn.transformer",
}

return nn
