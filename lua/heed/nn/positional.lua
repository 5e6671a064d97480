--- Layers called as PyTorch's: arguments by position that are options here, by name.

local check = require "heed.check"
local errors = require "heed.errors"

local RECURRENT = { 2, "num_layers", "bias", "batch_first", "dropout", "bidirectional" }
local CONVOLUTION = { 3, "stride", "padding", "dilation", "groups", "bias", "padding_mode" }
local MAX_POOL = { 1, "stride", "padding", "dilation", false, "ceil_mode" }
local AVERAGE_POOL = { 1, "stride", "padding", "ceil_mode", "count_include_pad" }
local BATCH_NORM = { 1, "eps", "momentum", "affine", "track_running_stats" }

-- How many arguments come before the options, and the names of those that follow them in PyTorch;
-- false where heed has no such option.
local ORDER = {
    Linear = { 2, "bias" }, Embedding = { 2, "padding_idx" },
    Conv1d = CONVOLUTION, Conv2d = CONVOLUTION,
    MaxPool1d = MAX_POOL, MaxPool2d = MAX_POOL,
    AvgPool1d = AVERAGE_POOL, AvgPool2d = AVERAGE_POOL,
    BatchNorm1d = BATCH_NORM, BatchNorm2d = BATCH_NORM,
    GroupNorm = { 2, "eps", "affine" },
    LayerNorm = { 1, "eps", "elementwise_affine", "bias" },
    RMSNorm = { 1, "eps", "elementwise_affine" },
    GELU = { 0, "approximate" },
    GRU = RECURRENT, LSTM = RECURRENT, GRUCell = { 2, "bias" }, LSTMCell = { 2, "bias" },
    MultiHeadAttention = { 2, "dropout", "bias" },
    TransformerEncoderLayer = { 3, "dropout", "activation", "eps", false, "norm_first", "bias" },
    TransformerDecoderLayer = { 3, "dropout", "activation", "eps", false, "norm_first", "bias" },
    Transformer = { 0, "d_model", "num_heads", "num_encoder_layers", "num_decoder_layers", "d_ff",
        "dropout", "activation" },
}

-- Layers whose last argument is `inplace` in PyTorch, and how many come before it.
local IN_PLACE = { ReLU = 0, SiLU = 0, LeakyReLU = 1, ELU = 1, Dropout = 1 }

local positional = {}

-- A value as one writes it: numbers, texts, and lists of numbers.
local function written(value)
    if type(value) ~= "table" then return check.describe(value) end
    local parts = {}
    for i, item in ipairs(value) do parts[i] = check.describe(item) end
    return "{ " .. table.concat(parts, ", ") .. " }"
end

-- A table of options has no list in it, and a tensor or a mask is none of these arguments.
local function is_setting(value)
    local kind = type(value)
    if kind == "table" then return getmetatable(value) == nil and value[1] ~= nil end
    return kind == "number" or kind == "boolean" or kind == "string"
end

-- The class of heed's whose init runs, where it has an order.
local function owner_of(class)
    while class and not rawget(class, "init") do class = class.super end
    return class and ORDER[class.class_name] and class
end

local function refuse_inplace(class, ...)
    local before = IN_PLACE[class.class_name]
    if not before or select("#", ...) <= before then return end
    local last = select(-1, ...)
    if type(last) ~= "boolean" then return end
    errors.raise("%s: arguments: there is no inplace, layers make new tensors; got %s",
        class.class_name, tostring(last))
end

---Refuses settings that stand where the options do, and says how they are written.
---@param class table of a layer of heed's
function positional.refuse(class, ...)
    refuse_inplace(class, ...)
    local owner = owner_of(class)
    if not owner then return end
    local order, meant, got = ORDER[owner.class_name], {}, {}
    for i = order[1] + 1, select("#", ...) do
        local value, name = (select(i, ...)), order[i - order[1] + 1]
        if value ~= nil then
            if not is_setting(value) then return end
            got[#got + 1] = written(value)
            if name then meant[#meant + 1] = ("%s = %s"):format(name, written(value)) end
        end
    end
    if #meant == 0 then return end
    errors.raise("heed.nn.%s: options: expected a table of named options, { %s }, got %s",
        owner.class_name, table.concat(meant, ", "), table.concat(got, ", "))
end

return positional
