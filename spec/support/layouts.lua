--- The same contents laid out in memory in different ways; around them lies what nobody may read or
--- write.
---
--- A layout is a pair: `base(array)` gives what to allocate, `view(base, shape)` the tensor in it,
--- by operations that autograd records. Contents are arrays of spec.support.naive.

local core = require "heed.core"
local naive = require "spec.support.naive"

local layouts = {}

local PACK = { f32 = "<f", f64 = "<d", i64 = "<i8", i32 = "<i4", u8 = "<B", bool = "<B" }

---A contiguous tensor of an array's contents.
function layouts.tensor(a)
    local pieces, format = {}, PACK[a.dtype]
    for i, value in ipairs(a.data) do
        if type(value) == "boolean" then value = value and 1 or 0 end
        pieces[i] = format:pack(value)
    end
    return core.frombytes(table.concat(pieces), a.dtype, a.shape)
end

-- What surrounds an offset tensor: values that show when they are read.
local POISON = { f32 = 0 / 0, f64 = 0 / 0, i64 = math.mininteger, i32 = -0x80000000, u8 = 255,
    bool = true }

local function reversed(n)
    local order = {}
    for d = 1, n do order[d] = n + 1 - d end
    return order
end

local function same(a) return a end

local function inside(shape, margin, step)
    local slices = {}
    for d, size in ipairs(shape) do
        local first = margin + 1
        slices[d] = { first, first + size * step - step, step }
        if size == 0 then slices[d] = { first, first - 1 } end
    end
    return slices
end

-- Every dimension `margin` longer at both ends, and only every step-th element used.
local function surrounded(margin, step)
    return {
        base = function(a, poison)
            local shape = {}
            for d, size in ipairs(a.shape) do shape[d] = size * step + 2 * margin end
            if poison == nil then poison = POISON[a.dtype] end
            return naive.build(shape, a.dtype, function(index)
                local from = {}
                for d, i in ipairs(index) do
                    local at = i - margin - 1
                    if at % step ~= 0 or at < 0 or at // step >= a.shape[d] then return poison end
                    from[d] = at // step + 1
                end
                return a:at(from)
            end)
        end,
        view = function(base, shape)
            if #shape == 0 then return base end
            return base[inside(shape, margin, step)]
        end,
    }
end

layouts.kinds = {
    contiguous = { base = same, view = same },
    transposed = {
        base = function(a) return naive.permute(a, reversed(#a.shape)) end,
        view = function(base, shape)
            return #shape > 1 and base:permute(reversed(#shape)) or base
        end,
    },
    offset = surrounded(1, 1),
    strided = surrounded(0, 2),
    -- The first row again and again, at stride 0: other contents than were asked for.
    expanded = {
        base = function(a)
            if #a.shape == 0 then return a end
            local shape = { math.min(1, a.shape[1]), table.unpack(a.shape, 2) }
            return naive.build(shape, a.dtype, function(index) return a:at(index) end)
        end,
        view = function(base, shape) return #shape > 0 and base:expand(shape) or base end,
    },
}
layouts.names = { "contiguous", "transposed", "offset", "strided", "expanded" }

---The array in the layout: the tensor and the tensor that holds its memory.
function layouts.make(name, a)
    local kind = layouts.kinds[name]
    local base = layouts.tensor(kind.base(a))
    return kind.view(base, a.shape), base
end

return layouts
