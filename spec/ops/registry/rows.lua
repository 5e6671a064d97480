--- Rows of features: softmax, norms, embeddings, losses, dropout, attention.

local core = require "heed.core"
local naive = require "spec.support.naive"
local layer = require "spec.support.naive_layers"
local values = require "spec.support.values"

local FLOAT = { "f32", "f64" }

local entries = {}
local function add(entry)
    entry.dtypes = entry.dtypes or FLOAT
    entries[#entries + 1] = entry
end

local function float_dtype(dtype) return naive.is_float(dtype) and dtype or "f32" end

local ROWS = { { { 3, 37 }, dim = -1 }, { { 3, 37 }, dim = 1 }, { { 2, 3, 4 }, dim = 2 },
    { { 1 }, dim = 1 },
    { { 3, 1 }, dim = 2 },
    { { 0, 3 }, dim = 2 }, { { 2, 0 }, dim = 2 } }

add {
    name = "softmax",
    cases = ROWS,
    large = { { 257, 531 }, dim = 2 },
    call = function(case, x) return core.softmax(x, case.dim) end,
    naive = function(case, x)
        return naive.along(x, case.dim, float_dtype(x.dtype), layer.softmax_list)
    end,
    gradient = true,
}
add {
    name = "log_softmax",
    cases = ROWS,
    large = { { 257, 531 }, dim = 1 },
    call = function(case, x) return core.log_softmax(x, case.dim) end,
    naive = function(case, x)
        return naive.along(x, case.dim, float_dtype(x.dtype), function(list)
            local top, total, result = math.max(-math.huge, table.unpack(list)), 0, {}
            for _, v in ipairs(list) do total = total + math.exp(v - top) end
            for i, v in ipairs(list) do result[i] = v - top - math.log(total) end
            return result
        end)
    end,
    gradient = true,
}
add {
    name = "layer_norm",
    cases = { { { 3, 37 }, { 37 }, { 37 } }, { { 2, 3, 4 } }, { { 4, 5 }, { 5 }, eps = 1e-3 },
        { { 6 }, { 6 }, { 6 } },
        { { 0, 4 }, { 4 }, { 4 } } },
    large = { { 600, 131 }, { 131 }, { 131 } },
    call = function(case, x, w, b) return core.layer_norm(x, w, b, case.eps) end,
    naive = function(case, x, w, b) return layer.layer_norm(x, w, b, case.eps) end,
    gradient = true,
    varied = true,
}
add {
    name = "rms_norm",
    cases = { { { 3, 37 }, { 37 } }, { { 2, 3, 4 } }, { { 4, 5 }, { 5 }, eps = 1e-3 },
        { { 6 }, { 6 } }, { { 3, 1 }, { 1 } },
        { { 0, 4 }, { 4 } } },
    large = { { 600, 131 }, { 131 } },
    call = function(case, x, w) return core.rms_norm(x, w, case.eps) end,
    naive = function(case, x, w) return layer.rms_norm(x, w, case.eps) end,
    gradient = true,
}
add {
    name = "rotary",
    cases = {
        { { 2, 3, 5, 8 }, { 5, 4 }, { 5, 4 } }, { { 2, 3, 5, 8 }, { 5, 4 }, { 5, 4 },
            interleaved = true },
        { { 5, 37 }, { 5, 18 }, { 5, 18 } }, { { 5, 37 }, { 5, 18 }, { 5, 18 },
            interleaved = true },
        { { 2, 3, 7 }, { 2, 3, 2 }, { 2, 3, 2 } }, { { 2, 2, 3, 4 }, { 2, 3, 1 }, { 2, 3, 1 },
            interleaved = true },
        { { 2, 0, 4 }, { 0, 2 }, { 0, 2 } }, { { 0, 3, 4 }, { 3, 2 }, { 3, 2 } },
    },
    large = { { 6, 7, 41, 34 }, { 6, 41, 16 }, { 6, 41, 16 } },
    call = function(case, x, cos, sin) return core.rotary(x, cos, sin, case.interleaved) end,
    naive = function(case, x, cos, sin) return layer.rotary(x, cos, sin, case.interleaved) end,
    gradient = true,
    constants = { [2] = true, [3] = true },
}
add {
    name = "embedding",
    cases = { { { 5, 37 }, { 2, 3 }, n = 5 }, { { 5, 4 }, { 7 }, n = 5, scale = 2.5 },
        { { 5, 4 }, {}, n = 5 },
        { { 5, 4 }, { 0 }, n = 5 } },
    inputs = { values.any, values.ids "n" },
    large = { { 50, 200 }, { 30, 40 }, n = 50 },
    call = function(case, weight, tokens)
        return core.embedding(weight, tokens, nil, case.scale)
    end,
    naive = function(case, weight, tokens)
        local shape = table.move(tokens.shape, 1, #tokens.shape, 1, {})
        shape[#shape + 1] = weight.shape[2]
        return naive.build(shape, weight.dtype, function(index)
            local token = tokens:at { table.unpack(index, 1, #index - 1) }
            return weight:get(token, index[#index]) * (case.scale or 1)
        end)
    end,
    gradient = true,
}

-- ---- cross entropy ------------------------------------------------------------------------------

local function smoothed_loss(case, logits, target, weight)
    local V, excluded = #logits, {}
    for _, class in ipairs(case.exclude or {}) do excluded[class] = true end
    local top, total = math.max(table.unpack(logits)), 0
    for _, v in ipairs(logits) do total = total + math.exp(v - top) end
    local function minus_log(class)
        return (top + math.log(total) - logits[class]) * (weight and weight.data[class] or 1)
    end
    local eps, open = case.smoothing or 0, 0
    for class = 1, V do open = open + (excluded[class] and class ~= target and 0 or 1) end
    if not case.exclude then
        local sum = (1 - eps) * minus_log(target)
        for class = 1, V do sum = sum + eps / V * minus_log(class) end
        return sum
    end
    local sum = (1 - eps) * minus_log(target)
    for class = 1, V do
        if not excluded[class] and class ~= target then
            sum = sum + eps / (open - 1) * minus_log(class)
        end
    end
    return sum
end

add {
    name = "cross_entropy",
    cases = {
        { { 5, 7 }, { 5 } }, { { 2, 3, 37 }, { 2, 3 }, smoothing = 0.1 },
            { { 5, 7 }, { 5 }, ignore = 1 },
        { { 5, 7 }, { 5 }, reduction = "sum" },
        { { 5, 7 }, { 5 }, reduction = "none", ignore = 2 },
            { { 5, 7 }, { 5 }, { 7 }, smoothing = 0.2 }, { { 7 }, {} },
        { { 4, 5 }, { 4 }, smoothing = 0.4, exclude = { 1 } },
    },
    inputs = { values.any, function(random, shape, _, case)
        local low = case.exclude and 2 or 1
        return naive.build(shape, "i64", function() return random(low, 5) end)
    end, values.positive },
    large = { { 600, 131 }, { 600 }, smoothing = 0.1 },
    call = function(case, logits, targets, weight)
        return core.cross_entropy(logits, targets, case.ignore, case.smoothing, weight,
            case.reduction, case.exclude)
    end,
    naive = function(case, logits, targets, weight)
        local losses, total, kept = targets:map(function() return 0.0 end, logits.dtype), 0.0, 0.0
        local V = logits.shape[#logits.shape]
        for i, target in ipairs(targets.data) do
            if target ~= case.ignore then
                local row = { table.unpack(logits.data, (i - 1) * V + 1, i * V) }
                losses.data[i] = smoothed_loss(case, row, target, weight)
                total = total + losses.data[i]
                kept = kept + (weight and weight.data[target] or 1)
            end
        end
        if case.reduction == "none" then return losses end
        if case.reduction ~= "sum" then total = total / kept end
        return naive.nested(total, {}, logits.dtype)
    end,
    gradient = true,
    constants = { [3] = true },
}

-- ---- dropout: from one seed the same elements fall, so the gradient can be checked --------------

local function drops(x, y, p, residual)
    local kept = 0
    for i, v in ipairs(y.data) do
        local before = residual and residual.data[i] or 0
        local dropped, scaled = v == before, math.abs(v - before - x.data[i] / (1 - p)) < 1e-5
        assert(dropped or scaled, "an element is neither dropped nor scaled")
        kept = kept + (dropped and 0 or 1)
    end
    return kept / #y.data
end

add {
    name = "dropout",
    cases = { { { 20, 37 } }, { {} }, { { 0 } }, { { 1 } }, { { 2, 3, 5 } } },
    large = { { 257, 531 } },
    call = function(_, x)
        core.manual_seed(5)
        return core.dropout(x, 0.4)
    end,
    check = function(_, result, x)
        local y = naive.of(result)
        local share = drops(naive.of(x), y, 0.4)
        if #y.data > 100 then assert(math.abs(share - 0.6) < 0.1, "kept " .. share) end
    end,
    gradient = true,
}
add {
    name = "dropout_add",
    cases = { { { 20, 37 }, { 20, 37 } }, { {}, {} }, { { 0 }, { 0 } },
        { { 2, 3, 5 }, { 2, 3, 5 } } },
    large = { { 257, 531 }, { 257, 531 } },
    call = function(_, residual, x)
        core.manual_seed(5)
        return core.dropout_add(residual, x, 0.4)
    end,
    check = function(_, result, residual, x)
        local y = naive.of(result)
        local share = drops(naive.of(x), y, 0.4, naive.of(residual))
        if #y.data > 100 then assert(math.abs(share - 0.6) < 0.1, "kept " .. share) end
    end,
    gradient = true,
}

-- ---- packed sequences ---------------------------------------------------------------------------

-- Where element n of a packed batch stands: its entry and its place there.
local function place_of(lengths, n)
    for b, length in ipairs(lengths.data) do
        if n <= length then return b, n end
        n = n - length
    end
end

local function total_of(lengths)
    local total = 0
    for _, length in ipairs(lengths.data) do total = total + length end
    return total
end

local function lengths_up_to(most)
    return function(random, shape) return naive.build(shape, "i64",
        function() return random(0, most) end) end
end

local ANY = naive.dtypes.all

add {
    name = "pack_sequences",
    dtypes = ANY,
    others = true,
    cases = { { { 3, 4, 5 }, { 3 } }, { { 2, 4 }, { 2 } }, { { 0, 4, 2 }, { 0 } } },
    inputs = { values.any, lengths_up_to(4) },
    large = { { 60, 40, 50 }, { 60 } },
    naive = function(_, x, lengths)
        local shape = table.move(x.shape, 2, #x.shape, 1, {})
        shape[1] = total_of(lengths)
        return naive.build(shape, x.dtype, function(index)
            local b, i = place_of(lengths, index[1])
            return x:get(b, i, table.unpack(index, 2))
        end)
    end,
    gradient = true,
}
add {
    name = "unpack_sequences",
    dtypes = ANY,
    others = true,
    cases = { { { 6, 5 }, { 3 } }, { { 6 }, { 3 } }, { { 6, 2, 3 }, { 3 } } },
    inputs = { values.any, function(_, shape)
        local lengths = { 2, 0, 4 }
        return naive.build(shape, "i64", function(index) return lengths[index[1]] end)
    end },
    call = function(_, x, lengths) return core.unpack_sequences(x, lengths, 5) end,
    naive = function(_, x, lengths)
        local shape = table.move(x.shape, 2, #x.shape, 3, { #lengths.data, 5 })
        local before = { 0, lengths.data[1], lengths.data[1] + lengths.data[2] }
        return naive.build(shape, x.dtype, function(index)
            local b, i = index[1], index[2]
            if i > lengths.data[b] then return naive.convert(0, x.dtype) end
            return x:get(before[b] + i, table.unpack(index, 3))
        end)
    end,
    gradient = true,
}
add {
    name = "sequence_starts",
    dtypes = { "i64" },
    others = { "i32", table.unpack(naive.dtypes.stored_integers) },
    cases = { { { 3 } }, { { 0 } } },
    inputs = { lengths_up_to(4) },
    naive = function(_, lengths)
        local sum = 0
        return naive.build({ #lengths.data + 1 }, "i64", function(index)
            sum = sum + (lengths.data[index[1] - 1] or 0)
            return sum
        end)
    end,
}

-- ---- attention ----------------------------------------------------------------------------------

add {
    name = "attention",
    cases = {
        { { 2, 3, 5, 4 }, { 2, 3, 7, 4 }, { 2, 3, 7, 4 } },
        { { 1, 2, 5, 4 }, { 1, 2, 6, 4 }, { 1, 2, 6, 7 }, scale = 0.2, softcap = 2 },
        { { 1, 4, 3, 4 }, { 1, 2, 6, 4 }, { 1, 2, 6, 4 }, causal = true },
        { { 1, 1, 4, 3 }, { 1, 1, 2, 3 }, { 1, 1, 2, 3 }, causal = true },
        { { 2, 2, 3, 4 }, { 2, 2, 5, 4 }, { 2, 2, 5, 4 }, { 2 }, lengths = true },
        { { 2, 2, 3, 4 }, { 2, 2, 5, 4 }, { 2, 2, 5, 4 }, { 3, 5 }, mask = true },
        { { 2, 2, 3, 4 }, { 2, 2, 5, 4 }, { 2, 2, 5, 4 }, { 2, 2, 3, 5 }, bias = true },
        { { 1, 2, 37, 16 }, { 1, 2, 41, 16 }, { 1, 2, 41, 16 }, causal = true },
        { { 0, 2, 3, 4 }, { 0, 2, 5, 4 }, { 0, 2, 5, 4 } }, { { 1, 1, 1, 1 }, { 1, 1, 1, 1 },
            { 1, 1, 1, 1 } },
        { { 1, 1, 2, 3 }, { 1, 1, 0, 3 }, { 1, 1, 0, 3 } },
    },
    inputs = { values.any, values.any, values.any, function(random, shape, dtype, case)
        if case.lengths then return values.ids(5)(random, shape) end
        return case.mask and values.mask(random, shape) or values.any(random, shape, dtype)
    end },
    large = { { 2, 2, 150, 16 }, { 2, 2, 150, 16 }, { 2, 2, 150, 16 }, causal = true },
    call = function(case, q, k, v, extra)
        local step = case.mask and { "dense", extra } or case.causal and { "causal" }
            or case.lengths and { "lengths", extra:contiguous() }
        local mask = core.mask(step and { step } or nil, case.bias and extra or nil)
        return core.attention(q, k, v, case.scale, case.softcap, nil, mask, true)
    end,
    naive = function(case, q, k, v, extra)
        return layer.attention(q, k, v, { scale = case.scale, softcap = case.softcap,
            causal = case.causal,
            lengths = case.lengths and extra, mask = case.mask and extra,
                bias = case.bias and extra })
    end,
    gradient = true,
    detached = { false, true },
    others = "halves",
}

return entries
