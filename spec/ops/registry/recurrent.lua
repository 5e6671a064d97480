--- One layer of a GRU or an LSTM in one direction, and the recurrence that is linear.

local core = require "heed.core"
local naive = require "spec.support.naive"
local recurrent = require "spec.support.naive_recurrent"
local values = require "spec.support.values"

local MOST = 4 -- steps of the cases with lengths

local entries = {}

-- Small enough that the gates are not saturated and differences stay accurate.
local function small(random, shape, dtype)
    return values.any(random, shape, dtype):map(function(v) return v / 8 end)
end

local function lengths(random, shape)
    return naive.build(shape, "i64", function() return random(0, MOST) end)
end

-- The shapes of a call, states first, then parameters; lengths last where the case has them.
local function case_of(gates, B, L, E, H, named)
    local rows, case = gates * H, { { B, L, E }, { B, H } }
    if gates == 4 then case[#case + 1] = { B, H } end
    case[#case + 1], case[#case + 2] = { rows, E }, { rows, H }
    if not (named and named.plain) then
        case[#case + 1], case[#case + 2] = { rows }, { rows }
    end
    if named and named.lengths then case[#case + 1] = { B } end
    for key, value in pairs(named or {}) do case[key] = value end
    return case
end

local function cases(gates)
    return { case_of(gates, 2, 3, 4, 5), case_of(gates, 3, MOST, 2, 3, { lengths = true }),
        case_of(gates, 3, MOST, 2, 3, { lengths = true, reverse = true }),
        case_of(gates, 1, 5, 3, 2, { plain = true, reverse = true }),
        case_of(gates, 2, 1, 3, 18), case_of(gates, 4, 5, 2, 33, { plain = true }),
        case_of(gates, 1, 1, 1, 1), case_of(gates, 0, 3, 2, 3), case_of(gates, 2, 0, 2, 3) }
end

-- Inputs by name, after x.
local function named(case, gates, list)
    local at = 0
    local function next_input()
        at = at + 1
        return list[at]
    end
    local p = { reverse = case.reverse, h = next_input() }
    p.c = gates == 4 and next_input() or nil
    p.w_ih, p.w_hh = next_input(), next_input()
    if not case.plain then p.b_ih, p.b_hh = next_input(), next_input() end
    p.lengths = case.lengths and next_input() or nil
    return p
end

local function add(name, gates, call, meaning)
    local inputs = {}
    for i = 1, gates == 4 and 7 or 6 do inputs[i] = small end
    entries[#entries + 1] = {
        name = name, dtypes = { "f32", "f64" }, cases = cases(gates), gradient = true,
        tolerance = 2e-5,
        inputs = table.move({ lengths }, 1, 1, #inputs + 1, inputs),
        large = case_of(gates, 64, 12, 40, 64),
        call = function(case, x, ...) return call(x, named(case, gates, { ... })) end,
        naive = function(case, x, ...) return meaning(x, named(case, gates, { ... })) end,
    }
end

add("gru", 3, function(x, p)
    return core.gru(x, p.h, p.lengths, p.w_ih, p.w_hh, p.b_ih, p.b_hh, p.reverse)
end, function(x, p) return recurrent.gru(p, x, p.h, p.lengths) end)

add("lstm", 4, function(x, p)
    return core.lstm(x, p.h, p.c, p.lengths, p.w_ih, p.w_hh, p.b_ih, p.b_hh, p.reverse)
end, function(x, p) return recurrent.lstm(p, x, p.h, p.c, p.lengths) end)

entries[#entries + 1] = {
    name = "linear_recurrence", dtypes = { "f32", "f64" }, gradient = true,
    cases = { { { 2, 3, 4 }, { 2, 3, 4 }, { 2, 4 } }, { { 3, 4, 2 }, { 3, 4, 2 } },
        { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1 } }, { { 2, 0, 3 }, { 2, 0, 3 }, { 2, 3 } },
        { { 0, 3, 2 }, { 0, 3, 2 } }, { { 1, 2, 0 }, { 1, 2, 0 }, { 1, 0 } },
        { { 1, 2, 530 }, { 1, 2, 530 }, { 1, 530 } } },
    large = { { 8, 40, 700 }, { 8, 40, 700 }, { 8, 700 } },
    inputs = { small, values.any, values.any },
    call = function(_, a, b, h) return core.linear_recurrence(a, b, h) end,
    naive = function(_, a, b, h)
        local function state_at(row, step, feature)
            if step == 0 then return h and h:get(row, feature) end
            local before, added = state_at(row, step - 1, feature), b:get(row, step, feature)
            return before and a:get(row, step, feature) * before + added or added
        end
        return naive.build(a.shape, a.dtype, function(at) return state_at(at[1], at[2], at[3]) end)
    end,
}

return entries
