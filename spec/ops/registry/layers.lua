--- The stock layers, each one call: a module's fields and inputs in, one tensor out. Dropout is
--- off; rows.lua has it.

local core = require "heed.core"
local layer = require "spec.support.naive_layers"
local values = require "spec.support.values"

local E, F, H = 4, 6, 2

local entries = {}
local function add(entry)
    entry.dtypes, entry.gradient, entry.tolerance = { "f32", "f64" }, true, 2e-5
    entries[#entries + 1] = entry
end

-- Small enough that softmax is not saturated and differences stay accurate.
local function small(random, shape, dtype)
    return values.any(random, shape, dtype):map(function(v) return v / 4 end)
end

local ATTENTION = { { 3 * E, E }, { 3 * E }, { E, E }, { E } }
local FEED_FORWARD = { { F, E }, { F }, { E, F }, { E } }
local NORM = { { E }, { E } }

local function shapes(...)
    local list = {}
    for _, part in ipairs { ... } do table.move(part, 1, #part, #list + 1, list) end
    return list
end

local function case_of(list, named)
    for key, value in pairs(named or {}) do list[key] = value end
    return list
end

local function generators(count)
    local list = {}
    for i = 1, count do list[i] = small end
    return list
end

-- Takes n inputs at a time off a list.
local function taker(list)
    local at = 0
    return function(n)
        at = at + n
        return table.unpack(list, at - n + 1, at)
    end
end

local function causal(case) return case.causal and core.mask { { "causal" } } or nil end

local function attention_of(take)
    local in_w, in_b, out_w, out_b = take(4)
    return { in_w = in_w, in_b = in_b, out_w = out_w, out_b = out_b, heads = H }
end

local function feed_forward_of(take, act, gated)
    local w1, b1, w2, b2 = take(4)
    local p = { w1 = w1, b1 = b1, w2 = w2, b2 = b2, act = act }
    if gated then p.w3, p.b3 = take(2) end
    return p
end

-- The same as C reads them: fields of modules.
local function linear(weight, bias) return { weight = weight, bias = bias } end
local function norm(weight, bias)
    return { weight = weight, bias = bias, eps = 1e-5, norm_kind = "layer" }
end

local function attention_module(take)
    local p = attention_of(take)
    return { in_proj_weight = p.in_w, in_proj_bias = p.in_b, out_proj = linear(p.out_w, p.out_b),
        num_heads = H, num_kv_heads = H }
end

local function add_feed_forward(module, take, name, gated)
    local p = feed_forward_of(take, nil, gated)
    module.linear1, module.linear2, module.activation = linear(p.w1, p.b1), linear(p.w2, p.b2), name
    module.linear3 = gated and linear(p.w3, p.b3) or nil
    return module
end

add {
    name = "multi_head_attention",
    cases = {
        case_of(shapes({ { 2, 3, E } }, ATTENTION)), case_of(shapes({ { 1, 3, E } }, ATTENTION),
            { causal = true }),
        case_of(shapes({ { 2, 3, E } }, ATTENTION, { { 2, 5, E } })),
    },
    inputs = generators(6),
    large = shapes({ { 40, 80, E } }, ATTENTION),
    call = function(case, x, in_w, in_b, out_w, out_b, memory)
        local module = attention_module(taker { in_w, in_b, out_w, out_b })
        return core.multi_head_attention(module, x, memory, nil, causal(case), true)
    end,
    naive = function(case, x, ...)
        local take = taker { ... }
        local p = attention_of(take)
        return layer.multi_head_attention(p, x, take(1), { causal = case.causal })
    end,
    detached = { false, true },
}

add {
    name = "feed_forward",
    cases = { case_of(shapes({ { 2, 3, E } }, FEED_FORWARD), { act = "relu" }),
        case_of(shapes({ { 3, E } }, FEED_FORWARD), { act = "gelu" }) },
    inputs = generators(5),
    large = case_of(shapes({ { 40, 80, E } }, FEED_FORWARD), { act = "gelu" }),
    call = function(case, x, ...)
        return core.feed_forward(add_feed_forward({}, taker { ... }, case.act), x)
    end,
    naive = function(case, x, ...)
        return layer.feed_forward(feed_forward_of(taker { ... }, case.act), x)
    end,
}

local GATED = shapes(FEED_FORWARD, { { F, E }, { F } })
add {
    name = "feed_forward",
    variant = "gated",
    cases = { case_of(shapes({ { 2, 3, E } }, GATED), { name = "swiglu", act = "silu" }),
        case_of(shapes({ { 3, E } }, GATED), { name = "geglu", act = "gelu" }),
        case_of(shapes({ { 3, E } }, GATED), { name = "reglu", act = "relu" }) },
    inputs = generators(7),
    large = case_of(shapes({ { 40, 80, E } }, GATED), { name = "swiglu", act = "silu" }),
    call = function(case, x, ...)
        return core.feed_forward(add_feed_forward({}, taker { ... }, case.name, true), x)
    end,
    naive = function(case, x, ...)
        return layer.feed_forward(feed_forward_of(taker { ... }, case.act, true), x)
    end,
}

-- H heads of queries, one of keys.
add {
    name = "project_heads",
    cases = { { { 2, 3, E }, { 2 * E, E }, { 2 * E }, key_heads = 1 },
        { { 3, E }, { 3 * E, E }, { 3 * E }, key_heads = H } },
    inputs = generators(3),
    large = { { 40, 80, E }, { 3 * E, E }, { 3 * E }, key_heads = H },
    call = function(case, x, weight, bias)
        return core.project_heads({ in_proj_weight = weight, in_proj_bias = bias, num_heads = H,
            num_kv_heads = case.key_heads }, x, x, x)
    end,
    naive = function(case, x, ...)
        return layer.project_heads(x, { H, case.key_heads, case.key_heads }, ...)
    end,
}

local ENCODER = shapes({ { 2, 3, E } }, ATTENTION, FEED_FORWARD, NORM, NORM)
add {
    name = "encoder_layer",
    cases = {
        case_of(shapes(ENCODER), { act = "relu" }),
        case_of(shapes(ENCODER), { act = "gelu", norm_first = true, causal = true }),
    },
    inputs = generators(#ENCODER),
    large = case_of(shapes({ { 20, 80, E } }, ATTENTION, FEED_FORWARD, NORM, NORM),
        { act = "gelu" }),
    call = function(case, x, ...)
        local take = taker { ... }
        local module = { self_attn = attention_module(take), norm_first = case.norm_first }
        add_feed_forward(module, take, case.act)
        module.norm1, module.norm2 = norm(take(2)), norm(take(2))
        return core.encoder_layer(module, x, causal(case))
    end,
    naive = function(case, x, ...)
        local take = taker { ... }
        local p = { self = attention_of(take), ffn = feed_forward_of(take, case.act),
            norm_first = case.norm_first }
        p.norm1, p.norm2 = { take(2) }, { take(2) }
        return layer.encoder_layer(p, x, { causal = case.causal })
    end,
}

local function offset_norm(weight)
    return { weight = weight, eps = 1e-6, norm_kind = "rms", unit_offset = true }
end

local SANDWICH = shapes({ { 2, 3, E } }, ATTENTION, FEED_FORWARD, { { E }, { E }, { E }, { E } })
add {
    name = "encoder_layer",
    variant = "sandwich",
    cases = { case_of(shapes(SANDWICH), { act = "gelu", causal = true }) },
    inputs = generators(#SANDWICH),
    large = case_of(shapes({ { 20, 80, E } }, { table.unpack(SANDWICH, 2) }), { act = "gelu" }),
    call = function(case, x, ...)
        local take = taker { ... }
        local module = { self_attn = attention_module(take), norm_first = true }
        add_feed_forward(module, take, case.act)
        module.norm1, module.post_norm1 = offset_norm(take(1)), offset_norm(take(1))
        module.norm2, module.post_norm2 = offset_norm(take(1)), offset_norm(take(1))
        return core.encoder_layer(module, x, causal(case))
    end,
    naive = function(case, x, ...)
        local take = taker { ... }
        local p = { self = attention_of(take), ffn = feed_forward_of(take, case.act) }
        p.norm1, p.norm2 = { take(1), post = take(1) }, { take(1), post = take(1) }
        return layer.encoder_layer(p, x, { causal = case.causal })
    end,
}

local DECODER_PARAMS = shapes(ATTENTION, ATTENTION, FEED_FORWARD, NORM, NORM, NORM)
local DECODER = shapes({ { 2, 3, E }, { 2, 5, E } }, DECODER_PARAMS)
add {
    name = "decoder_layer",
    cases = {
        case_of(shapes(DECODER), { act = "relu", causal = true }),
        case_of(shapes(DECODER), { act = "gelu", norm_first = true }),
    },
    inputs = generators(#DECODER),
    large = case_of(shapes({ { 20, 50, E }, { 20, 40, E } }, DECODER_PARAMS), { act = "relu" }),
    call = function(case, x, memory, ...)
        local take = taker { ... }
        local module = { self_attn = attention_module(take),
            multihead_attn = attention_module(take),
            norm_first = case.norm_first }
        add_feed_forward(module, take, case.act)
        module.norm1, module.norm2, module.norm3 = norm(take(2)), norm(take(2)), norm(take(2))
        return core.decoder_layer(module, x, memory, causal(case))
    end,
    naive = function(case, x, memory, ...)
        local take = taker { ... }
        local p = { self = attention_of(take), cross = attention_of(take),
            ffn = feed_forward_of(take, case.act) }
        p.norm1, p.norm2, p.norm3, p.norm_first = { take(2) }, { take(2) }, { take(2) },
            case.norm_first
        return layer.decoder_layer(p, x, memory, { causal = case.causal }, {})
    end,
}

return entries
