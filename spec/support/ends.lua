--- Contents at the ends of what dtypes hold, and a comparison that forgives rounding but no step
--- that leaves the range.
---
--- A regime is a name and a list of values for a dtype: a whole input is drawn from one list, so
--- that sums of huge numbers meet no infinity that would hide what becomes of them.

local naive = require "spec.support.naive"

local ends = {}

local INF, NAN = math.huge, 0 / 0

-- Each with its negative.
local function signed(list)
    local both = {}
    for _, v in ipairs(list) do both[#both + 1], both[#both + 2] = v, -v end
    return both
end

local function joined(...)
    local all = {}
    for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
    return all
end

-- step: the distance of neighbours at 1; least: the smallest above 0; normal: the smallest normal;
-- most: the largest; square: whose square is just beyond most; powers: around those that other
-- types end at.
local function floats(step, least, normal, most, square, powers)
    local some = { 0.5, 1.0, 1 + step, 1 - step / 2, 1.5, 2.0, 3.0, 7.25 }
    local regimes = {
        zeros = signed { 0.0 },
        subnormal = signed { least, 3 * least, normal / 4, normal - least },
        tiny = signed { normal, normal * (1 + step), normal * 5, 16 * normal },
        small = signed { normal * 2 ^ 26, normal * 2.0 ^ 27, normal * 5.5 * 2 ^ 25 },
        large = signed { most / 2 ^ 28, most / 3.0 / 2 ^ 27, most / 2 ^ 26 },
        huge = signed { most, most / 2, most * (1 - step), most / 3 },
        squares = signed { square, square * (1 - step), 1 / square, 3 / square },
        powers = signed(powers),
        level = { most / 2 ^ 27, most / 2 ^ 27 * (1 + 8 * step), most / 2 ^ 27 * (1 - 8 * step) },
    }
    local finite = joined(some, signed { 20.0, 88.72283, 89.0, 103.0, 104.0, 709.78, 710.0, 745.0,
        746.0 })
    local names = {}
    for name in pairs(regimes) do names[#names + 1] = name end
    table.sort(names) -- the same list in every process
    for _, name in ipairs(names) do
        if name ~= "level" then finite = joined(finite, regimes[name]) end
    end
    regimes.finite, regimes.all = finite, joined(finite, { INF, -INF, NAN })
    regimes.nan, regimes.infinite, regimes.negative = joined(some, { NAN }), joined(some,
        { INF }), joined(some, { -INF })
    return regimes
end

local function integers(low, high, powers)
    local some = { 0, 1, 2, 3, 7 }
    local steps = {}
    for _, v in ipairs(powers) do
        if v > low + 1 and v < high then steps = joined(steps, { v - 1, v, v + 1 }) end
    end
    return {
        some = some,
        steps = #steps > 0 and steps or some,
        high = { high, high - 1, high - 2, high // 2 },
        low = { low, low + 1, low + 2, low // 2 },
        all = joined(some, steps, { high, high - 1, low, low + 1, high // 2, low // 2 }),
    }
end

local most32 = (2 - 2 ^ -23) * 2.0 ^ 127
local POWERS = { 1 << 24, 1 << 31, 1 << 53, 1 << 62, -(1 << 24), -(1 << 31), -(1 << 53),
    -(1 << 62), 256, 65536 }
ends.regimes = {
    f32 = floats(2 ^ -23, 2 ^ -149, 2 ^ -126, most32, 2.0 ^ 64,
        { 2.0 ^ 24 - 1, 2.0 ^ 24, 2.0 ^ 24 + 2, 2.0 ^ 31, 2.0 ^ 53, 65504.0, 65520.0, 8388607.5 }),
    f64 = floats(2 ^ -52, 2 ^ -1074, 2 ^ -1022, (2 - 2 ^ -52) * 2.0 ^ 1023, 2.0 ^ 512,
        { 2.0 ^ 24 + 1, 2.0 ^ 53 - 1, 2.0 ^ 53, 2.0 ^ 53 + 2, 2.0 ^ 63, most32,
            4503599627370495.5 }),
    i64 = integers(math.mininteger, math.maxinteger, POWERS),
    i32 = integers(-0x80000000, 0x7fffffff, POWERS),
    u8 = integers(0, 255, { 128 }),
    bool = { all = { true, false } },
}

---The regimes of a dtype by name, in a fixed order.
function ends.names(dtype)
    local names = {}
    for name in pairs(ends.regimes[dtype]) do names[#names + 1] = name end
    table.sort(names)
    return names
end

---A generator as those of spec.support.values: the list in turn, each time through in another
---order.
function ends.generator(regime)
    return function(random, shape, dtype)
        local list, order, left = ends.regimes[dtype][regime], {}, 0
        return naive.build(shape, dtype, function()
            if left == 0 then order, left = table.move(list, 1, #list, 1, {}), #list end
            local at = random(1, left)
            local v = order[at]
            order[at], left = order[left], left - 1
            return v
        end)
    end
end

-- ---- comparing ------------------------------------------------------------------------------

local LIMITS = { f32 = { most = most32, least = 2 ^ -149, tolerance = 1e-5 },
    f64 = { most = (2 - 2 ^ -52) * 2.0 ^ 1023, least = 2 ^ -1074, tolerance = 1e-9 } }

for _, list in pairs(ends.regimes.f32) do
    for i, v in ipairs(list) do list[i] = naive.rounded(v, "f32") end
end

local function is_nan(v) return v ~= v end
local function sign_of_zero(v) return 1 / v end

-- scale: of what was added up, where much may have cancelled.
local function wrong_float(got, want, limits, scale, signs)
    local bound = limits.tolerance * math.max(math.abs(want), scale or 0)
    if scale and scale > limits.most then return false end
    if is_nan(want) or is_nan(got) then return is_nan(want) ~= is_nan(got) end
    if want == 0 and got == 0 then return signs and sign_of_zero(want) ~= sign_of_zero(got) end
    if math.abs(got) == INF or math.abs(want) > limits.most then
        local near = math.abs(want) + bound >= limits.most
            and math.abs(got) >= limits.most * (1 - limits.tolerance)
        return not (near and got > 0 == (want > 0))
    end
    return math.abs(got - want) > bound + 2 * limits.least
end

---nil when `got` holds what `want` does, else a sentence. Of floats: NaN where NaN is wanted and
---nowhere else, infinite where the value is beyond the range and nowhere else, to 1e-5 of the value
---in f32, of what is subnormal to its own steps.
---scale: an array of sizes that errors are measured by; signs: 0 and -0 are different.
function ends.mismatch(got, want, scale, signs)
    if got.dtype ~= want.dtype then
        return ("the dtype is %s, not %s"):format(got.dtype, want.dtype)
    end
    local limits = LIMITS[want.dtype]
    if not limits then return naive.mismatch(got, want, 0) end
    local array = naive.of(got)
    if #array.data ~= #want.data then return ("%d elements, not %d"):format(#array.data,
        #want.data) end
    for i, v in ipairs(want.data) do
        local s = scale and math.abs(scale.data[i] or scale.data[1])
        if wrong_float(array.data[i], v, limits, s, signs) then
            return ("element %d is %.9g, not %.9g"):format(i, array.data[i], v)
        end
    end
end

return ends
