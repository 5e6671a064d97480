--- A config's rotary positions as options of heed.nn.Rotary.

local fields = require "heed.models.settings.rope_fields"
local unknown = require "heed.unknown"

local FIELDS = {
    linear = { "factor" }, dynamic = { "factor" },
    llama3 = { "factor", "low_freq_factor", "high_freq_factor" },
    yarn = { "factor", "beta_fast", "beta_slow", "attention_factor", "truncate" },
    longrope = { "factor", "short_factor", "long_factor", "attention_factor" },
}

-- "su" is what longrope was called first, and sometimes "yarn".
local function kind_of(parameters)
    local kind = parameters.rope_type or parameters.type or "default"
    if kind == "su" or kind == "yarn" and parameters.short_factor then return "longrope" end
    return kind
end

-- The length of sequences that were trained on.
local function original_length(c, parameters, kind)
    if kind == "dynamic" then return c.max_position_embeddings end
    return c.original_max_position_embeddings or parameters.original_max_position_embeddings
        or c.max_position_embeddings
end

-- mscale and mscale_all_dim of DeepSeek: attention by the first, made up for by the second.
local function attention_factor(parameters)
    local first, second = parameters.mscale, parameters.mscale_all_dim
    if not first or not second or first == 0 or second == 0 then return nil end
    local function by(mscale)
        return parameters.factor <= 1 and 1 or 0.1 * mscale * math.log(parameters.factor) + 1
    end
    return by(first) / by(second)
end

local function scaling_of(c, parameters, where)
    local kind = kind_of(parameters)
    if kind == "default" then return nil end
    if not FIELDS[kind] then unknown.kind(where .. ": rope_type", kind) end
    local scaling = { type = kind }
    fields.check_needs(parameters, kind, where)
    for _, name in ipairs(FIELDS[kind]) do scaling[name] = parameters[name] end
    if kind == "linear" then return scaling end
    local n = original_length(c, parameters, kind)
    scaling.original_max_position_embeddings = n
    if kind ~= "yarn" and kind ~= "longrope" then return scaling end
    scaling.factor = scaling.factor or math.max(c.max_position_embeddings / n, 1)
    if kind == "yarn" then
        scaling.attention_factor = scaling.attention_factor or attention_factor(parameters)
    end
    return scaling
end

-- How many features of a head turn; nil: all.
local function dim_of(c, parameters)
    local share = parameters.partial_rotary_factor or c.partial_rotary_factor or 1
    if share == 1 then return c.rotary_dim end
    return math.floor((c.head_dim or c.hidden_size // c.num_attention_heads) * share)
end

---@param c table config
---@param parameters? table of some of the layers; default: rope_parameters, as files have it now;
---before, rope_theta and rope_scaling
---@param base? number where they do not say it
---@return table
return function(c, parameters, base)
    local where = "config.json: " .. (c.rope_parameters and "rope_parameters" or "rope_scaling")
    parameters = fields.present(parameters or c.rope_parameters or c.rope_scaling or {}, where)
    return { base = parameters.rope_theta or base or c.rope_theta,
        interleaved = c.rope_interleaved, dim = dim_of(c, parameters),
        scaling = scaling_of(c, parameters, where) }
end
