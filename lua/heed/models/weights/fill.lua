--- From the tensors of a file to a model's parameters.

local available = require "heed.models.weights.available"
local core = require "heed.core"
local module = require "heed.nn.module"
local pieces = require "heed.models.weights.pieces"
local walk = require "heed.nn.walk"

local weights = {}

-- What a parameter's dtype is: layers compute in f32 and f64.
local function dtype_of(stored, dtype)
    if dtype == "as stored" then return stored end
    return dtype or (core.dtypes.halves[stored] and "f32") or stored
end

-- The piece as the blocks of the file, for those modules that take them; nil: as numbers.
local function blocks_of(file, piece)
    local entry, parts = piece.entry, {}
    if not (file.quantized and piece.owner.takes_quantized) or entry.transposed then return nil end
    for i, their in ipairs(piece.theirs) do
        local part = their and file.quantized(their)
        if not part then return nil end
        parts[i] = part
    end
    if entry.part then
        local rows = parts[1]:size(1) // entry.of
        return core.quantized_rows(parts[1], (entry.part - 1) * rows + 1, rows)
    end
    return #parts == 1 and parts[1] or core.quantized_cat(parts)
end

-- Weights that stay quantised take no memory of their own before they are used.
local function keep_blocks(file, list)
    for _, piece in ipairs(list) do
        if piece.theirs then piece.blocks = blocks_of(file, piece) end
    end
end

-- Must the piece be copied, or can it stay where the file has it?
local function is_copied(file, piece, dtype)
    local stored, _, in_place = file.info(piece.theirs[1])
    return #piece.theirs > 1 or piece.entry.transposed or not in_place
        or dtype_of(stored, dtype) ~= stored
end

local BYTES = { f64 = 8, f16 = 2, bf16 = 2 }

local function bytes_of(shape, dtype)
    local bytes = BYTES[dtype] or 4
    for _, size in ipairs(shape) do bytes = bytes * size end
    return bytes
end

local function check_memory(file, list, tables, dtype)
    local bytes = 0
    for _, shape in pairs(tables) do bytes = bytes + bytes_of(shape, "f32") end
    for _, piece in ipairs(list) do
        if piece.theirs and not piece.blocks and is_copied(file, piece, dtype) then
            bytes = bytes + bytes_of(piece.shape,
                dtype_of(file.info(piece.theirs[1]), dtype))
        end
    end
    available.check(bytes)
end

-- Several of theirs, each written to its rows of the one that is ours.
local function fused(file, piece, dtype)
    local first = file.info(piece.theirs[1])
    local t = core.empty(piece.shape, { dtype = dtype_of(first, dtype) })
    local row = 1
    for _, their in ipairs(piece.theirs) do
        local stored, shape
        if their then stored, shape = file.info(their) else shape = { piece.gap } end
        local rows = piece.entry.transposed and #shape == 2 and shape[2] or shape[1]
        local part = t:narrow(1, row, rows)
        if not their then
            part:zero_()
        elseif piece.entry.transposed and #shape == 2 then
            part:copy_(file.tensor(their):transpose(1, 2))
        elseif stored == t.dtype then
            file.into(their, part)
        else
            part:copy_(file.tensor(their))
        end
        row = row + rows
    end
    return t
end

local function read(file, piece, dtype)
    if #piece.theirs > 1 then return fused(file, piece, dtype) end
    local t, entry = file.tensor(piece.theirs[1]), piece.entry
    if entry.part then
        local rows = t:size(1) // entry.of
        t = t:narrow(1, (entry.part - 1) * rows + 1, rows)
        if is_copied(file, piece, dtype) then t = t:clone() end -- the rest goes
    end
    if entry.transposed and t:dim() == 2 then t = t:transpose(1, 2):contiguous() end
    return t:to(dtype_of(t.dtype, dtype))
end

-- What files that only give tensors leave unsaid.
local function completed(file)
    if file.info then return file end
    return setmetatable({
        info = function(name)
            local t = file.tensor(name)
            return t.dtype, { t:size() }, true
        end,
        into = function(name, t) t:copy_(file.tensor(name)) end,
    }, { __index = file })
end

---A model without numbers: no memory is taken and nothing is drawn for what a file will give.
---@param family table
---@param config table
---@return heed.nn.Module model
---@return table<heed.Tensor, heed.Shape> shapes of its parameters
function weights.bare(family, config)
    local shapes = {}
    return core.shapes_only(function()
        local model = family(config)
        walk.each_tensor(model, 1, function(_, tensor) shapes[tensor] = tensor.shape end)
        return model, shapes
    end)
end

---Gives a model of weights.bare its parameters and buffers; those that are in no file come from its
---modules' reset_buffers.
---@param model heed.nn.Module
---@param shapes table<heed.Tensor, heed.Shape>
---@param file heed.models.File
---@param family heed.models.Family
---@param config table
---@param dtype? heed.DType|"as stored" of parameters; default: as stored, and f32 for halves
---@param quantized boolean may weights stay quantised?
---@return string prefix what the file has before the names of the model itself
function weights.fill(model, shapes, file, family, config, dtype, quantized)
    file = completed(file)
    local list, prefix, tables = pieces.of(model, shapes, file, family, config)
    if quantized then keep_blocks(file, list) end
    check_memory(file, list, tables, dtype)
    for owner in pairs(tables) do owner:reset_buffers() end
    local made = {}
    for _, piece in ipairs(list) do
        if not made[piece.tensor] then
            local t = piece.blocks or read(file, piece, dtype)
            made[piece.tensor] = piece.kind == "parameter" and module.parameter(t) or t
        end
        piece.owner[piece.key] = made[piece.tensor]
    end
    return prefix
end

return weights
