--- CTranslate2's directories as what Hugging Face's are: a config, and tensors under the names that
--- they have there.
---
--- model.bin, little-endian: u32 version, the specification's name, u32 revision, u32 number of
--- variables; each of these: name, u8 rank, u32 sizes, u8 dtype, u32 bytes, the numbers; then u32
--- number of aliases, each two names. A name is a u16 length, the bytes and a zero
--- that counts. int8 weights have a "…_scale" beside them, by which each row is divided.

local core = require "heed.core"
local disk = require "heed.files"
local huggingface = require "heed.models.files.huggingface"
local unknown = require "heed.unknown"
local whisper = require "heed.models.files.ctranslate2_whisper"

local ctranslate2 = {}

local DTYPES = { [0] = "f32", "i8", "i16", "i32", "f16", "bf16" }
local SIZES = { f32 = 4, i8 = 1, i16 = 2, i32 = 4, f16 = 2, bf16 = 2 }
local READ_AS = { i8 = "f32", i16 = "f32" } -- what is divided by scales
local OLDEST, NEWEST, MOST_DIMS = 4, 6, 8

-- By a specification's name where tensors of Hugging Face's names are, and the config.
local SPECIFICATIONS = { WhisperSpec = whisper }

-- ---- reading, with every length checked ---------------------------------------------------------

local Reader = {}
Reader.__index = Reader

function Reader:bytes(count)
    local text = count == 0 and "" or self.file:read(count)
    if not text or #text < count then unknown.refuse("model.bin: the file ended early") end
    self.at = self.at + count
    return text
end

function Reader:number(format, size) return (string.unpack("<" .. format, self:bytes(size))) end

function Reader:name()
    local text = self:bytes(self:number("I2", 2))
    if text:sub(-1) ~= "\0" or text:find "\0." or #text == 1 then
        unknown.refuse("model.bin: expected a name at byte %d, got %q", self.at - #text, text)
    end
    return text:sub(1, -2)
end

function Reader:variable()
    local name, shape, count = self:name(), {}, 1
    local rank = self:number("I1", 1)
    if rank > MOST_DIMS then
        unknown.refuse("model.bin: %s: expected at most %d dimensions, got %d", name, MOST_DIMS,
            rank)
    end
    for d = 1, rank do
        shape[d] = self:number("I4", 4)
        if shape[d] ~= 0 and count > self.size // shape[d] then
            unknown.refuse("model.bin: %s: expected fewer elements than a file of %d bytes holds",
                name, self.size)
        end
        count = count * shape[d]
    end
    local number = self:number("I1", 1)
    local dtype = DTYPES[number]
    if not dtype then unknown.kind("model.bin: " .. name .. ": dtype", number) end
    local bytes = self:number("I4", 4)
    if bytes ~= count * SIZES[dtype] then
        unknown.refuse("model.bin: %s: expected %d bytes of %s, got %d", name,
            count * SIZES[dtype], dtype, bytes)
    end
    if bytes > self.size - self.at then unknown.refuse("model.bin: the file ended early") end
    local offset = self.at
    self.at = self.file:seek("set", offset + bytes)
    return name, { dtype = dtype, shape = shape, offset = offset }
end

function Reader:variables()
    local list, aliases = {}, {}
    for _ = 1, self:number("I4", 4) do
        local name, variable = self:variable()
        if list[name] then unknown.refuse("model.bin: %s is there twice", name) end
        list[name] = variable
    end
    for _ = 1, self:number("I4", 4) do
        local alias, name = self:name(), self:name()
        if not list[name] then
            unknown.refuse("model.bin: %s: expected an alias of a variable, got %s", alias, name)
        end
        list[alias], aliases[alias] = list[name], true
    end
    return list, aliases
end

-- The specification's name, the variables, and which of these are other names of others.
local function read(path)
    local file, message = io.open(path, "rb")
    if not file then unknown.refuse("%s", message) end
    local _ <close> = file
    local self = setmetatable({ file = file, at = 0, size = file:seek "end" }, Reader)
    file:seek "set"
    local version = self:number("I4", 4)
    if version < OLDEST or version > NEWEST then
        unknown.refuse("model.bin: expected version %d to %d, got %d", OLDEST, NEWEST, version)
    end
    local specification = self:name()
    self:number("I4", 4) -- the revision
    return specification, self:variables()
end

-- ---- tensors ------------------------------------------------------------------------------------

-- The numbers as they are there.
local function plain(path, variable)
    local t, message = core.raw_load(path, variable.dtype, variable.offset, variable.shape)
    return t or unknown.refuse("%s", message)
end

-- What they stand for.
local function tensor_of(path, variables, name)
    local variable, scale = variables[name], variables[name .. "_scale"]
    local t = plain(path, variable)
    if variable.dtype ~= "i8" and variable.dtype ~= "i16" then return t end
    if not scale then unknown.refuse("model.bin: %s_scale: expected one beside %s", name, name) end
    local rows = plain(path, scale):to "f32"
    local fits = rows:numel() == 1 or rows:dim() == 1 and rows:size(1) == variable.shape[1]
    if not fits then
        unknown.refuse("model.bin: %s_scale: expected one number a row, got %s", name,
            tostring(rows.shape))
    end
    local shape = { rows:numel() }
    for d = 2, #variable.shape do shape[d] = 1 end
    return t:to "f32" / rows:view(shape)
end

-- The part of a variable that a tensor is, where it is one of several: rows of equal number.
local function part_of(t, place)
    if not place.of then return t end
    if t:size(1) % place.of ~= 0 then
        unknown.refuse("model.bin: %s: expected %d parts of equal size, got %s", place.name,
            place.of, tostring(t.shape))
    end
    local rows = t:size(1) // place.of
    return t:narrow(1, (place.part - 1) * rows + 1, rows)
end

-- The variables that are weights: neither settings, which are single numbers, nor scales.
local function weights_of(variables, aliases)
    local list = {}
    for name, variable in pairs(variables) do
        local scales = name:match "^(.*)_scale$"
        if #variable.shape > 0 and not (scales and variables[scales]) and not aliases[name] then
            list[#list + 1] = name
        end
    end
    table.sort(list)
    return list
end

-- What a specification's config is made of.
local function config_of(known, directory, path, variables)
    local function variable(name)
        return variables[name] or unknown.refuse("model.bin: expected the variable %s", name)
    end
    local function number(name)
        if #variable(name).shape > 0 then
            unknown.refuse("model.bin: %s: expected a number, got more", name)
        end
        return plain(path, variable(name)):view(1):to("i64"):item()
    end
    return known.config(huggingface.object(directory .. "/config.json"),
        function(name) return variable(name).shape end, number,
        function(name) return variables[name] ~= nil end)
end

---Is it a directory with a model.bin?
---@param path string
---@return boolean
function ctranslate2.fits(path)
    return disk.exists(path .. "/model.bin")
end

---@param directory string
---@return table config
---@return heed.models.File
function ctranslate2.open(directory)
    local path = directory .. "/model.bin"
    local specification, variables, aliases = read(path)
    local known = SPECIFICATIONS[specification]
    if not known then unknown.kind("model.bin: specification", specification) end
    local config = config_of(known, directory, path, variables)
    local function name_of(theirs)
        local place = known.place(theirs)
        return place and place.name or theirs
    end
    local function tensor(theirs)
        local place = known.place(theirs)
        return part_of(tensor_of(path, variables, place.name), place)
    end
    return config, {
        names = weights_of(variables, aliases), name_of = name_of,
        has = function(theirs) return variables[name_of(theirs)] ~= nil end,
        info = function(theirs)
            local place = known.place(theirs)
            local variable = variables[place.name]
            local shape = table.move(variable.shape, 1, #variable.shape, 1, {})
            if place.of then shape[1] = shape[1] // place.of end
            return READ_AS[variable.dtype] or variable.dtype, shape, false
        end,
        into = function(theirs, t) t:copy_(tensor(theirs)) end,
        tensor = tensor,
    }
end

return ctranslate2
