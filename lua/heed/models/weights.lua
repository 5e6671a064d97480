--- From the tensors of a file to a model's parameters.

local available = require "heed.models.available"
local core = require "heed.core"
local module = require "heed.nn.module"
local names = require "heed.models.names"
local unknown = require "heed.text.tokenizer.unknown"
local walk = require "heed.nn.walk"

local weights = {}

local SHOWN = 3

local function listed(list)
    local text = table.concat(list, ", ", 1, math.min(#list, SHOWN))
    return #list > SHOWN and ("%s and %d more"):format(text, #list - SHOWN) or text
end

-- What stands before all names of a file, of those that files of the family put there.
local function prefix_of(entries, prefixes, file)
    for _, prefix in ipairs(prefixes) do
        for _, entry in ipairs(entries) do
            local first = entry[2]:gsub("#", "0"):gsub("@", "1"):gsub("%*", "weight")
            if not entry.outside and file.has(prefix .. first) then return prefix end
        end
    end
    return ""
end

-- ---- what is to be read -------------------------------------------------------------------------

---One of our tensors, and what a file has for it.
---@class heed.models.Piece
---@field name string ours
---@field theirs (string|false)[] in the file; nil of a tensor that stands elsewhere already (tied)
---@field entry table of the family's names
---@field shape heed.Shape
---@field owner table
---@field key string|integer
---@field kind string "parameter", or of a buffer
---@field tensor heed.Tensor of weights.bare
---@field gap? integer rows of each part that the file leaves out

-- Files of the first converters call a norm's weight gamma and its bias beta.
local function old_name(name)
    return (name:gsub("LayerNorm%.weight$", "LayerNorm.gamma"):gsub("LayerNorm%.bias$",
        "LayerNorm.beta"))
end

-- Has the file all of these? What it has under an older name gets that.
local function has_all(file, theirs, missing)
    for i, their in ipairs(theirs) do
        if their and not file.has(their) and file.has(old_name(their)) then
            theirs[i] = old_name(their)
        end
        if their and not file.has(theirs[i]) then
            missing[#missing + 1] = their
            return false
        end
    end
    return true
end

-- The shape of what these make together, as text; nil when their sizes do not go together.
local function joined_shape(file, theirs, entry)
    local sizes
    for _, their in ipairs(theirs) do
        local _, shape = file.info(their)
        if entry.transposed and #shape == 2 then shape = { shape[2], shape[1] } end
        if #shape == 0 and (entry.part or #theirs > 1) then return "single numbers" end
        if entry.part and shape[1] % entry.of ~= 0 then return "rows that do not part" end
        if entry.part then shape = { shape[1] // entry.of, table.unpack(shape, 2) } end
        sizes = sizes and { sizes[1] + shape[1], table.unpack(sizes, 2) } or shape
        if #shape ~= #sizes or table.concat(shape, ",", 2) ~= table.concat(sizes, ",", 2) then
            return "parts that do not go together"
        end
    end
    return "[" .. table.concat(sizes, ", ") .. "]"
end

-- Layers compute with floats alone.
local function check_dtypes(file, theirs)
    for _, their in ipairs(theirs) do
        local dtype = their and file.info(their)
        if dtype and not core.dtypes.floats[dtype] then
            unknown.refuse("%s: expected a tensor of floats, got %s", their, dtype)
        end
    end
end

local function check_shape(file, piece)
    local got, want = joined_shape(file, piece.theirs, piece.entry), tostring(piece.shape)
    if got == want then return end
    unknown.refuse("%s: expected %s, got %s; do config and weights belong together?", piece.name,
        want, got)
end

local function check_missing(missing)
    if #missing == 0 then return end
    unknown.refuse("expected %d more tensors: %s; is a file of the model missing?", #missing,
        listed(missing))
end

local function check_extra(file, used, passed_over)
    local extra = {}
    for _, name in ipairs(file.names) do
        local known = used[name]
        for _, pattern in ipairs(passed_over) do known = known or name:find(pattern) end
        if not known then extra[#extra + 1] = name end
    end
    if #extra == 0 then return end
    table.sort(extra)
    unknown.refuse("%d tensors are none of this family's: %s", #extra, listed(extra))
end

-- The rows of the piece that this is.
local function rows_in(file, their, piece)
    local _, shape = file.info(their)
    if piece.entry.transposed and #shape == 2 then shape = { shape[2], shape[1] } end
    local fits = #shape == #piece.shape and #shape > 0
    for d = 2, #shape do fits = fits and shape[d] == piece.shape[d] end
    if not fits then
        unknown.refuse("%s: expected rows of %s, got [%s]; do config and weights belong together?",
            their, tostring(piece.shape), table.concat(shape, ", "))
    end
    return shape[1]
end

-- Of a piece of which files leave parts out: how many rows each of these has, which are zeros. False:
-- it has all its parts.
local function fill_gaps(file, piece)
    local left, gaps = piece.shape[1] or 1, 0
    for _, their in ipairs(piece.theirs) do
        if not their then gaps = gaps + 1 end
    end
    if gaps == 0 then return false end
    for _, their in ipairs(piece.theirs) do
        if their then left = left - rows_in(file, their, piece) end
    end
    if left < 0 or left % gaps ~= 0 then
        unknown.refuse("%s: expected parts of %s, got too many rows; do config and weights belong "
            .. "together?", piece.name, tostring(piece.shape))
    end
    piece.gap = left // gaps
    return true
end

local BYTES = { f64 = 8, f16 = 2, bf16 = 2 }

local function bytes_of(shape, dtype)
    local bytes = BYTES[dtype] or 4
    for _, size in ipairs(shape) do bytes = bytes * size end
    return bytes
end

-- All pieces of the model, with a check that the file has them and nothing else of the family's; and
-- the modules with what they compute themselves, and how many bytes that takes.
local function pieces_of(model, shapes, file, family, entries, prefix)
    local pieces, tables, missing, used, met = {}, {}, {}, {}, {}
    walk.each_tensor(model, 1, function(name, tensor, owner, key, kind)
        if kind == "temporary" then
            tables[owner] = bytes_of(shapes[tensor], "f32")
            return
        end
        local piece = { name = name, shape = shapes[tensor], owner = owner, key = key,
            kind = kind, tensor = tensor }
        pieces[#pieces + 1] = piece
        if met[tensor] then return end
        met[tensor] = true
        piece.theirs, piece.entry = names.theirs(entries, name, prefix)
        if not piece.theirs then unknown.refuse("%s: the family's table does not name it", name) end
        if not has_all(file, piece.theirs, missing) then return end
        for _, their in ipairs(piece.theirs) do
            if their then used[file.name_of and file.name_of(their) or their] = true end
        end
        check_dtypes(file, piece.theirs)
        if not fill_gaps(file, piece) then check_shape(file, piece) end
    end)
    check_missing(missing)
    check_extra(file, used, family.passed_over or {})
    return pieces, tables
end

-- ---- reading ------------------------------------------------------------------------------------

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
local function keep_blocks(file, pieces)
    for _, piece in ipairs(pieces) do
        if piece.theirs then piece.blocks = blocks_of(file, piece) end
    end
end

-- Must the piece be copied, or can it stay where the file has it?
local function is_copied(file, piece, dtype)
    local stored, _, in_place = file.info(piece.theirs[1])
    return #piece.theirs > 1 or piece.entry.transposed or not in_place
        or dtype_of(stored, dtype) ~= stored
end

local function check_memory(file, pieces, tables, dtype)
    local bytes = 0
    for _, taken in pairs(tables) do bytes = bytes + taken end
    for _, piece in ipairs(pieces) do
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

---A file's tensors, whatever its form. Without info and into they are asked of `tensor`.
---@class heed.models.File
---@field names string[]
---@field has fun(name: string): boolean
---@field info? fun(name: string): heed.DType, integer[], boolean the dtype in which it is read, its
---sizes, and whether it takes no memory, because it stays in the file's pages
---@field tensor fun(name: string): heed.Tensor
---@field vocabulary? string where its tokenizer is, if it is not in the same place
---@field gguf? heed.gguf.File what was opened
---@field into? fun(name: string, t: heed.Tensor) writes it into a tensor of its dtype
---@field quantized? fun(name: string): heed.Tensor|false as a quantised weight, where it can be one
---@field called? fun(field: string): string what it calls a field of the config, where not so
---@field name_of? fun(name: string): string what `names` call it, where that is another name

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
    local entries = names.entries(family, config)
    local prefix = prefix_of(entries, family.prefixes or { "" }, file)
    local pieces, tables = pieces_of(model, shapes, file, family, entries, prefix)
    if quantized then keep_blocks(file, pieces) end
    check_memory(file, pieces, tables, dtype)
    for owner in pairs(tables) do owner:reset_buffers() end
    local made = {}
    for _, piece in ipairs(pieces) do
        if not made[piece.tensor] then
            local t = piece.blocks or read(file, piece, dtype)
            made[piece.tensor] = piece.kind == "parameter" and module.parameter(t) or t
        end
        piece.owner[piece.key] = made[piece.tensor]
    end
    return prefix
end

return weights
