--- How the rates of rotary positions are scaled for longer sequences than were trained on: the
--- kinds that heed.nn.Rotary describes.

local check = require "heed.check"
local errors = require "heed.errors"

local scaling = {}

---r_i = base^(-2i/dim)
---@param base number
---@param dim integer
---@return number[]
function scaling.plain(base, dim)
    local rates = {}
    for i = 0, dim // 2 - 1 do rates[i + 1] = base ^ (-2 * i / dim) end
    return rates
end

-- ---- kinds --------------------------------------------------------------------------------------

-- factor: one number for all, or one for each.
local function divided(rates, factor)
    local result = {}
    for i, rate in ipairs(rates) do
        result[i] = rate / (type(factor) == "table" and factor[i] or factor)
    end
    return result
end

-- kept[i] of a rate stays, the rest is divided by the factor.
local function interpolated(rates, factor, kept)
    local result = {}
    for i, rate in ipairs(rates) do
        local share = math.min(math.max(kept(i, rate), 0), 1)
        result[i] = share * rate + (1 - share) * rate / factor
    end
    return result
end

local rates_of = {}

function rates_of.linear(s, base, dim) return divided(scaling.plain(base, dim), s.factor) end

function rates_of.ntk(s, base, dim)
    return scaling.plain(base * s.factor ^ (dim / (dim - 2)), dim)
end

function rates_of.dynamic(s, base, dim, length)
    local stretch = s.factor * math.max(length / s.original_max_position_embeddings,
        1) - (s.factor - 1)
    return scaling.plain(base * stretch ^ (dim / (dim - 2)), dim)
end

-- Long waves are divided by the factor, short ones stay, and between the two bounds one goes over
-- into the other.
function rates_of.llama3(s, base, dim)
    return interpolated(scaling.plain(base, dim), s.factor, function(_, rate)
        local turns = s.original_max_position_embeddings * rate / (2 * math.pi)
        return (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor)
    end)
end

-- The same along the pairs, between those that turn beta_fast and beta_slow times.
function rates_of.yarn(s, base, dim)
    local function pair_of(turns)
        return dim * math.log(s.original_max_position_embeddings / (turns * 2 * math.pi))
            / (2 * math.log(base))
    end
    local low, high = pair_of(s.beta_fast or 32), pair_of(s.beta_slow or 1)
    if s.truncate ~= false then low, high = math.floor(low), math.ceil(high) end
    low, high = math.max(low, 0), math.min(high, dim - 1)
    if low == high then high = high + 0.001 end
    return interpolated(scaling.plain(base, dim), s.factor, function(i)
        return 1 - (i - 1 - low) / (high - low)
    end)
end

function rates_of.longrope(s, base, dim, length)
    local long = length > s.original_max_position_embeddings
    return divided(scaling.plain(base, dim), long and s.long_factor or s.short_factor)
end

---The rates of a sequence of this length.
---@param s table|nil the scaling
---@return number[]
function scaling.rates(s, base, dim, length)
    if not s then return scaling.plain(base, dim) end
    return rates_of[s.type](s, base, dim, length)
end

---What depends on the length: nil while the rates are those of short sequences; the length, when
---each has its own; true, when all longer ones have the same.
---@param s table|nil
---@return integer|boolean|nil
function scaling.stretched(s, length)
    if not s or s.type ~= "dynamic" and s.type ~= "longrope" then return nil end
    if length <= s.original_max_position_embeddings then return nil end
    return s.type == "longrope" or length
end

---What cosines and sines are multiplied by.
---@param s table|nil
---@return number
function scaling.attention_factor(s)
    if not s or s.attention_factor then return s and s.attention_factor or 1 end
    if not s.factor or type(s.factor) == "table" or s.factor <= 1 then return 1 end
    if s.type == "yarn" then return 0.1 * math.log(s.factor) + 1 end
    if s.type ~= "longrope" then return 1 end
    return math.sqrt(1 + math.log(s.factor) / math.log(s.original_max_position_embeddings))
end

-- ---- what is given ------------------------------------------------------------------------------

local REQUIRED = {
    linear = { "factor" },
    ntk = { "factor" },
    dynamic = { "factor", "original_max_position_embeddings" },
    llama3 = { "factor", "low_freq_factor", "high_freq_factor",
        "original_max_position_embeddings" },
    yarn = { "factor", "original_max_position_embeddings" },
    longrope = { "short_factor", "long_factor", "original_max_position_embeddings" },
}
local OPTIONAL = {
    yarn = { "beta_fast", "beta_slow", "attention_factor" },
    longrope = { "factor", "attention_factor" },
}
local KINDS = { "linear", "ntk", "dynamic", "llama3", "yarn", "longrope" }

local function check_number(where, name, value, low)
    if check.number(where, name, value, low) == 0 then
        errors.raise("%s: %s: expected a number above 0, got 0", where, name)
    end
end

-- One factor for each of the pairs.
local function check_factors(where, name, value, dim)
    check.type(where, name, value, "table")
    if #value ~= dim // 2 then
        errors.raise("%s: %s: expected %d numbers, one for each pair of features, got %d", where,
            name, dim // 2, #value)
    end
    for i, factor in ipairs(value) do check_number(where, ("%s[%d]"):format(name, i), factor, 0) end
end

local function check_field(where, s, name, dim)
    local value, named = s[name], "scaling." .. name
    if name == "short_factor" or name == "long_factor"
        or s.type == "linear" and type(value) == "table" then
        return check_factors(where, named, value, dim)
    end
    check_number(where, named, value, name == "factor" and s.type ~= "linear" and 1 or 0)
end

local function check_above(where, s, name, low, low_name)
    if s[name] > low then return end
    errors.raise("%s: scaling.%s: expected more than %s (%g), got %g", where, name, low_name, low,
        s[name])
end

---The scaling, when it is one.
---@param where string begins messages
---@param s any
---@param base number
---@param dim integer
---@return table|nil
function scaling.check(where, s, base, dim)
    if s == nil then return nil end
    local kind = check.one_of(where, "scaling.type",
        check.type(where, "scaling", s, "table").type, KINDS)
    local required, optional = REQUIRED[kind], OPTIONAL[kind] or {}
    local known = check.set("type", kind == "yarn" and "truncate" or "type",
        table.unpack(table.move(optional, 1, #optional, #required + 1,
            table.move(required, 1, #required, 1, {}))))
    check.options(where .. ": scaling", s, known)
    for _, name in ipairs(required) do check_field(where, s, name, dim) end
    for _, name in ipairs(optional) do
        if s[name] ~= nil then check_field(where, s, name, dim) end
    end
    if kind == "llama3" then
        check_above(where, s, "high_freq_factor", s.low_freq_factor, "low_freq_factor")
    elseif kind == "yarn" then
        check_above(where, { beta_fast = s.beta_fast or 32 }, "beta_fast", s.beta_slow or 1,
            "beta_slow")
        check.flag(where, "scaling.truncate", s.truncate, true)
        if base == 1 then errors.raise("%s: scaling: \"yarn\" wants a base above 1", where) end
    elseif (kind == "ntk" or kind == "dynamic") and dim <= 2 then
        errors.raise("%s: scaling: %q wants more than 2 features to turn, got %d", where, kind, dim)
    end
    return s
end

return scaling
