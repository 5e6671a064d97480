--- What a model's parameters are made of, by the family's table, with a check that the file has all
--- of it in these shapes, and nothing else.

local core = require "heed.core"
local names = require "heed.models.weights.names"
local unknown = require "heed.unknown"
local walk = require "heed.nn.walk"

local pieces = {}

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
---@field blocks? heed.Tensor as it lies in the file, quantised

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

-- The sizes of one of theirs as ours has them; of one that files leave out, those of its gap.
local function sizes_of(file, their, piece)
    if not their then return { piece.gap } end
    local entry, _, shape = piece.entry, file.info(their)
    return entry.transposed and #shape == 2 and { shape[2], shape[1] } or shape
end

-- The shape of what these make together, as text; or that they do not go together.
local function joined_shape(file, piece)
    local entry, sizes = piece.entry, nil
    for _, their in ipairs(piece.theirs) do
        local shape = sizes_of(file, their, piece)
        if entry.part then
            if #shape == 0 or shape[1] % entry.of ~= 0 then return "rows that do not part" end
            shape = { shape[1] // entry.of, table.unpack(shape, 2) }
        end
        if sizes and (#shape == 0 or #shape ~= #sizes
            or table.concat(shape, ",", 2) ~= table.concat(sizes, ",", 2)) then
            return "parts that do not go together"
        end
        sizes = sizes and { sizes[1] + shape[1], table.unpack(sizes, 2) } or shape
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
    local got, want = joined_shape(file, piece), tostring(piece.shape)
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
    local shape = sizes_of(file, their, piece)
    local fits = #shape == #piece.shape and #shape > 0
    for d = 2, #shape do fits = fits and shape[d] == piece.shape[d] end
    if not fits then
        unknown.refuse("%s: expected rows of %s, got [%s]; do config and weights belong together?",
            their, tostring(piece.shape), table.concat(shape, ", "))
    end
    return shape[1]
end

-- Of a piece of which files leave parts out: how many rows each of these has.
local function measure_gap(file, piece)
    local left, gaps = piece.shape[1] or 1, 0
    for _, their in ipairs(piece.theirs) do
        if not their then gaps = gaps + 1 end
    end
    if gaps == 0 then return end
    for _, their in ipairs(piece.theirs) do
        if their then left = left - rows_in(file, their, piece) end
    end
    if left < 0 or left % gaps ~= 0 then
        unknown.refuse("%s: expected parts of %s, got too many rows; do config and weights belong "
            .. "together?", piece.name, tostring(piece.shape))
    end
    piece.gap = left // gaps
end

---All pieces of the model, with a check that the file has them and nothing else of the family's; and
---the modules with what they compute themselves.
---@param model heed.nn.Module
---@param shapes table<heed.Tensor, heed.Shape> of its parameters
---@param file heed.models.File
---@param family heed.models.Family
---@param config table
---@return heed.models.Piece[]
---@return string prefix what the file has before the names of the model itself
---@return table<heed.nn.Module, heed.Shape> tables of modules that compute them: their shapes
function pieces.of(model, shapes, file, family, config)
    local entries = names.entries(family, config)
    local prefix = prefix_of(entries, family.prefixes or { "" }, file)
    local list, tables, missing, used, met = {}, {}, {}, {}, {}
    walk.each_tensor(model, 1, function(name, tensor, owner, key, kind)
        if kind == "temporary" then
            tables[owner] = shapes[tensor]
            return
        end
        local piece = { name = name, shape = shapes[tensor], owner = owner, key = key,
            kind = kind, tensor = tensor }
        list[#list + 1] = piece
        if met[tensor] then return end
        met[tensor] = true
        piece.theirs, piece.entry = names.theirs(entries, name, prefix)
        if not piece.theirs then unknown.refuse("%s: the family's table does not name it", name) end
        if not has_all(file, piece.theirs, missing) then return end
        for _, their in ipairs(piece.theirs) do
            if their then used[file.name_of and file.name_of(their) or their] = true end
        end
        check_dtypes(file, piece.theirs)
        measure_gap(file, piece)
        check_shape(file, piece)
    end)
    check_missing(missing)
    check_extra(file, used, family.passed_over or {})
    return list, prefix, tables
end

return pieces
