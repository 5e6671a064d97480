--- Metadata of GGUF files as bytes: each has a name, a kind, and a value.

local check = require "heed.check"
local errors = require "heed.errors"
local suggest = require "heed.suggest"

local WHERE = "heed.gguf.save"
local LIST = 9
local DEEPEST = 4
local U64_LIMIT = 2.0 ^ 64

-- Each kind's number in files, how its values are packed, and the range of integers.
local KINDS = {
    u8 = { 0, "<I1", 0, 0xFF }, i8 = { 1, "<i1", -0x80, 0x7F },
    u16 = { 2, "<I2", 0, 0xFFFF }, i16 = { 3, "<i2", -0x8000, 0x7FFF },
    u32 = { 4, "<I4", 0, 0xFFFFFFFF }, i32 = { 5, "<i4", -0x80000000, 0x7FFFFFFF },
    u64 = { 10, "<i8", 0, math.maxinteger }, i64 = { 11, "<i8", math.mininteger, math.maxinteger },
    f32 = { 6, "<f" }, f64 = { 12, "<d" }, bool = { 7, "<B" }, string = { 8, "<s8" },
}

local function refuse(name, message, ...)
    errors.raise("%s: metadata: %s: " .. message, WHERE, check.describe(name), ...)
end

-- ---- kinds that nobody said ---------------------------------------------------------------------

local function fits(value, kind)
    return math.type(value) == "integer" and KINDS[kind][3] <= value and value <= KINDS[kind][4]
end

local function first_that_fits(values, kinds)
    for _, kind in ipairs(kinds) do
        local all = true
        for _, value in ipairs(values) do all = all and fits(value, kind) end
        if all then return kind end
    end
    return "f32"
end

-- What readers expect: counts as u32, lists of integers as i32, floats as f32.
local ONE, MANY = { "u32", "i32", "i64" }, { "i32", "u32", "i64" }

-- The first value in a list, as deep as lists may be.
local function innermost(value)
    for _ = 1, DEEPEST do
        if type(value) ~= "table" then break end
        value = value[1]
    end
    return value
end

local function kind_of(value)
    local inner = innermost(value)
    if type(inner) == "string" then return "string" end
    if type(inner) == "boolean" then return "bool" end
    if type(value) ~= "table" then return first_that_fits({ value }, ONE) end
    return first_that_fits(type(value[1]) == "table" and { inner } or value, MANY)
end

-- ---- values -------------------------------------------------------------------------------------

local function bad_value(name, kind, value)
    local hint = kind == "f32" and type(value) == "number"
        and '; { kind = "f64", value = ... } holds it' or ""
    refuse(name, "expected a value of kind %s, got %s%s", kind, check.describe(value), hint)
end

local function to_integer(name, kind, value)
    if kind == "u64" and math.type(value) == "float" and value >= 2.0 ^ 63 and value < U64_LIMIT
    then
        return math.tointeger(value - U64_LIMIT)
    end
    local integer = type(value) == "number" and math.tointeger(value)
    if not integer or not fits(integer, kind) then bad_value(name, kind, value) end
    return integer
end

local function to_float(name, kind, value)
    if type(value) ~= "number" then bad_value(name, kind, value) end
    local rounded = kind == "f32" and string.unpack("<f", string.pack("<f", value)) or value
    local finite = value - value == 0
    if finite and rounded - rounded ~= 0 then bad_value(name, kind, value) end
    return value
end

local function packed(name, kind, value)
    if kind == "string" then
        if type(value) ~= "string" then bad_value(name, kind, value) end
    elseif kind == "bool" then
        if type(value) ~= "boolean" then bad_value(name, kind, value) end
        value = value and 1 or 0
    elseif kind == "f32" or kind == "f64" then
        value = to_float(name, kind, value)
    else
        value = to_integer(name, kind, value)
    end
    return string.pack(KINDS[kind][2], value)
end

local function check_list(name, list, depth)
    local count = 0
    for _ in pairs(list) do count = count + 1 end
    if count ~= #list or getmetatable(list) then
        refuse(name, "expected a list, or { kind = ..., value = ... }, got %s",
            check.describe(list))
    end
    if depth > DEEPEST then refuse(name, "expected lists in lists at most %d deep", DEEPEST) end
end

local packed_any

local function packed_list(name, kind, list, depth)
    check_list(name, list, depth)
    local of_lists = type(list[1]) == "table"
    local parts = { string.pack("<I4 I8", of_lists and LIST or KINDS[kind][1], #list) }
    for i, value in ipairs(list) do
        if (type(value) == "table") ~= of_lists then
            refuse(name, "expected a list of one kind, got %s at %d", check.describe(value), i)
        end
        parts[i + 1] = packed_any(name, kind, value, depth + 1)
    end
    return table.concat(parts)
end

-- The bytes, and the kind's number.
function packed_any(name, kind, value, depth)
    if type(value) ~= "table" then return packed(name, kind, value), KINDS[kind][1] end
    return packed_list(name, kind, value, depth), LIST
end

-- ---- all of them --------------------------------------------------------------------------------

local function check_kind(name, kind)
    if type(kind) == "string" and KINDS[kind] then return kind end
    local known = {}
    for known_kind in pairs(KINDS) do known[#known + 1] = known_kind end
    table.sort(known)
    local hint = type(kind) == "string" and suggest.near(kind, known) or ""
    if hint == "" then hint = "; there are: " .. table.concat(known, ", ") end
    return refuse(name, "there is no kind %s%s", check.describe(kind), hint)
end

-- { kind =, value = } is both; everything else a value, of the kind that `kinds` says, or of its
-- own.
local function parted(name, given, kind)
    if type(given) == "table" and given.kind ~= nil then kind, given = given.kind, given.value end
    if kind == nil then kind = kind_of(given) end
    return check_kind(name, kind), given
end

local TAKEN = { string = true, boolean = true, number = true, table = true }

local function item(name, given, kinds)
    if type(name) ~= "string" or name == "" or #name > 0xFFFF or not utf8.len(name) then
        errors.raise("%s: metadata: expected names in UTF-8 of 1 to 65535 bytes, got %s", WHERE,
            check.describe(name))
    end
    local kind, value = parted(name, given, kinds[name])
    if not TAKEN[type(value)] then
        refuse(name, "expected a string, a boolean, a number or a list of them, got %s",
            check.describe(value))
    end
    local bytes, number = packed_any(name, kind, value, 1)
    return string.pack("<s8 I4", name, number) .. bytes
end

local metadata = {}

---The metadata as they stand in a file, in the order of their names, and how many there are.
---@param values table<string, any>
---@param kinds table<string, string>
---@return string bytes
---@return integer count
function metadata.pack(values, kinds)
    local names = {}
    for name in pairs(values) do names[#names + 1] = name end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    local parts = {}
    for i, name in ipairs(names) do parts[i] = item(name, values[name], kinds) end
    return table.concat(parts), #parts
end

---The alignment of tensors' data that metadata ask for.
---@param values table<string, any>
---@param kinds table<string, string>
---@return integer alignment default 32
function metadata.alignment(values, kinds)
    local name = "general.alignment"
    if values[name] == nil then return 32 end
    local kind, value = parted(name, values[name], kinds[name])
    local alignment = type(value) == "number" and math.tointeger(value)
    if kind ~= "u32" or not alignment or alignment < 8 or alignment > 1 << 20
        or alignment & alignment - 1 ~= 0 then
        refuse(name, "expected a power of 2 from 8 to 2^20, of kind u32, got %s of kind %s",
            check.describe(value), kind)
    end
    return alignment
end

return metadata
