--- The parameters of rotary positions in configs: what each holds, and which a kind needs.

local check = require "heed.check"
local unknown = require "heed.unknown"

local rope_fields = {}

-- ---- what each may be, beside null --------------------------------------------------------------

local function is_positive(value) return type(value) == "number" and value > 0 and value < 1e30 end

local function are_positive(value)
    for _, each in ipairs(value) do
        if not is_positive(each) then return false end
    end
    return value[1] ~= nil
end

local function is_factor(value) -- GGUF files have one for each rate
    return is_positive(value) or type(value) == "table" and are_positive(value)
end

local POSITIVE = { "a number above 0", is_positive }
local FACTORS = { "a list of numbers above 0",
    function(value) return type(value) == "table" and are_positive(value) end }
local RATE = { "a number of at least 1", function(value)
    return is_positive(value) and value >= 1
end }
local KINDS = { rope_theta = RATE, low_freq_factor = POSITIVE,
    high_freq_factor = POSITIVE, beta_fast = POSITIVE, beta_slow = POSITIVE,
    attention_factor = POSITIVE, factor = { "a number above 0", is_factor },
    short_factor = FACTORS, long_factor = FACTORS,
    original_max_position_embeddings = POSITIVE,
    partial_rotary_factor = { "a number from 0 to 1",
        function(value) return is_positive(value) and value <= 1 end },
    truncate = { "true or false", function(value) return type(value) == "boolean" end },
    mscale = { "a number", function(value) return type(value) == "number" end },
    mscale_all_dim = { "a number", function(value) return type(value) == "number" end } }

local NEEDED = { linear = check.set "factor", dynamic = check.set "factor",
    llama3 = check.set("factor", "low_freq_factor", "high_freq_factor"), yarn = {},
    longrope = check.set("short_factor", "long_factor") }

---The parameters without nulls, each of which is what it has to be.
---@param parameters table
---@param where string before the names of parameters
---@return table
function rope_fields.present(parameters, where)
    local list = {}
    for name, value in pairs(unknown.check(parameters, "table", where)) do
        local kind = KINDS[name]
        if not unknown.absent(value) then
            if kind and not kind[2](value) then
                unknown.refuse("%s: %s: expected %s, got %s", where, name, kind[1],
                    check.describe(value))
            end
            list[name] = value
        end
    end
    return list
end

---Refuses parameters without one that their kind needs.
---@param parameters table
---@param kind string "linear"
---@param where string
function rope_fields.check_needs(parameters, kind, where)
    for name in pairs(NEEDED[kind]) do
        if parameters[name] == nil then
            unknown.refuse("%s: %s: expected %s, got none", where, name, KINDS[name][1])
        end
    end
end

return rope_fields
