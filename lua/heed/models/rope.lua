--- A config's rotary positions as options of heed.nn.Rotary.

local unknown = require "heed.text.tokenizer.unknown"

local FIELDS = {
    linear = { "factor" }, dynamic = { "factor", "original_max_position_embeddings" },
    llama3 = { "factor", "low_freq_factor", "high_freq_factor",
        "original_max_position_embeddings" },
}

local function scaling_of(c, rope)
    local kind = rope.rope_type or rope.type or "default"
    if kind == "default" then return nil end
    if not FIELDS[kind] then unknown.kind("config.json: rope_type", kind) end
    local scaling = { type = kind }
    for _, name in ipairs(FIELDS[kind]) do scaling[name] = rope[name] end
    if kind == "dynamic" then
        scaling.original_max_position_embeddings = scaling.original_max_position_embeddings
            or c.max_position_embeddings
    end
    return scaling
end

-- rope_parameters, as files have it now; before, rope_theta and rope_scaling.
return function(c)
    local rope = c.rope_parameters or c.rope_scaling or {}
    return { base = rope.rope_theta or c.rope_theta, interleaved = c.rope_interleaved,
        scaling = scaling_of(c, rope) }
end
