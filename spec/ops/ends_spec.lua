-- Every operation of the registry at the ends of what dtypes hold (spec/support/ends.lua): a result
-- that the dtype holds is not lost on the way to it, NaN arrives and comes from nowhere, and
-- gradients in f32 are those of f64.

local core = require "heed.core"
local ends = require "spec.support.ends"
local layouts = require "spec.support.layouts"
local naive = require "spec.support.naive"
local registry = require "spec.ops.registry"
local values = require "spec.support.values"

local MOST_ELEMENTS, MOST_CASES = 250, 6

-- Errors are measured by what was added up: the reference of the sizes of the inputs. Where that is
-- beyond the dtype, the order of the sum decides, and nothing is compared.
local ADDS_UP = {}
for name in ([[ add sub sum mean cumsum var std matmul outer einsum linear attention lerp layer_norm
    rotary embedding index_add index_add_ scatter_add scatter_add_ scatter_reduce mse_loss l1_loss
    huber_loss gelu silu softplus sigmoid linear_recurrence conv1d conv2d avg_pool1d avg_pool2d adaptive_avg_pool1d
    adaptive_avg_pool2d batch_norm group_norm ]])
    :gmatch "%S+" do ADDS_UP[name] = true end

-- Inputs that keep their own contents; what is left out, and why.
local OWN = {
    rotary = { [2] = true, [3] = true }, -- cosines and sines
    nll_loss = { [3] = true }, cross_entropy = { [3] = true }, -- weights
    linear_cross_entropy = { [4] = true, [5] = true },
    mse_loss = { [3] = true }, l1_loss = { [3] = true }, huber_loss = { [3] = true },
    bce_with_logits = { [2] = true, [3] = true, [4] = true }, -- probabilities and weights
    kl_div = { [2] = true, [3] = true }, kl_div_log = { [2] = true, [3] = true },
    lerp = { [3] = true }, searchsorted = { [1] = true }, bucketize = { [2] = true },
    layer_norm = { [2] = true, [3] = true }, rms_norm = { [2] = true },
    group_norm = { [2] = true, [3] = true },
    batch_norm = { [2] = true, [3] = true, [4] = true, [5] = true }, -- statistics too
}
-- Regimes, where others are beyond what the steps of the definition hold.
local LOW = { "zeros", "subnormal", "tiny", "small" }
local ONLY = {
    attention = LOW, linear_cross_entropy = LOW, cross_entropy = LOW,
    kl_div_log = LOW, kl_div = LOW,
    linear = { "zeros", "subnormal", "tiny", "small", "nan" },
    log_softmax = { "zeros", "subnormal", "tiny", "small", "level" },
    project_heads = { "zeros", "subnormal", "tiny", "small", "nan" },
    multi_head_attention = { "zeros", "tiny" }, feed_forward = { "zeros", "tiny" },
    encoder_layer = { "zeros", "tiny" }, decoder_layer = { "zeros", "tiny" },
    linear_recurrence = { "zeros", "subnormal", "tiny", "small", "nan" },
    gru = { "zeros", "subnormal", "tiny", "small", "nan" },
    lstm = { "zeros", "tiny", "small", "nan" },
    mse_loss = { "zeros", "subnormal", "tiny", "small", "powers" },
    huber_loss = { "zeros", "subnormal", "tiny", "small", "powers" },
    l1_loss = { "zeros", "subnormal", "tiny", "small", "large", "powers" },
    bce_with_logits = { "zeros", "subnormal", "tiny", "small", "large", "nan" },
    prod = { "zeros", "nan" }, scatter_reduce = { "zeros", "tiny", "small", "large", "nan" },
    rotary = { "zeros", "subnormal", "tiny", "small", "large", "powers", "nan" },
    optim_step = { "zeros", "tiny", "small" },
    average_all = { "subnormal", "tiny", "small", "large", "huge" },
    layer_norm = { "zeros", "subnormal", "tiny", "small", "squares", "large", "nan" },
    rms_norm = { "zeros", "subnormal", "tiny", "small", "squares", "large", "huge", "nan" },
    batch_norm = { "zeros", "subnormal", "tiny", "small", "squares", "large", "nan" },
    group_norm = { "zeros", "subnormal", "tiny", "small", "squares", "large" },
    conv1d = { "zeros", "subnormal", "tiny", "small", "nan" },
    conv2d = { "zeros", "subnormal", "tiny", "small", "nan" },
}
-- Their references leave the range of f64 themselves; what is right there says between_spec.lua.
local NOT_F64 = { layer_norm = true, rms_norm = true, batch_norm = true, group_norm = true }
-- In f32 the gradient follows from a result that was rounded to f32, or is a sum: of these regimes
-- it can be told.
local GRADIENT_ONLY = {
    pow = { "zeros" }, mod = { "small", "tiny" },
    var = { "zeros", "small", "large" }, std = { "zeros", "small", "large" },
    logsumexp = { "zeros", "tiny", "small", "nan" },
    norm = { "zeros", "tiny", "small", "large", "nan" },
    cdist = { "zeros", "tiny", "small", "squares", "powers", "large", "level", "nan" },
    layer_norm = { "small" }, rms_norm = { "small" },
    batch_norm = { "zeros" }, group_norm = { "zeros" },
    encoder_layer = { "zeros" }, decoder_layer = { "zeros" },
}
-- Slopes between 0 and 1 that are worked out of results near 1: to the steps of 1.
local TO_ONE = { expm1 = true, tanh = true, sigmoid = true, softmax = true, log_softmax = true,
    silu = true }
local SKIPPED = { allclose = "has specs of its own", equal = "NaN is not itself",
    rfft = "waves cancel: of what is left of the sums of sizes there is nothing to tell" }
-- Zeros of either sign: the order of what is compared, added or chosen decides.
local SIGNLESS = {}
for name in ([[ sign amax amin max min maximum minimum cumsum sum mean relu add sub sort topk unique
    prod average_all median cummax cummin matmul einsum linear attention outer log_sigmoid linear_recurrence conv1d
    conv2d max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool1d
    adaptive_avg_pool2d ]]):gmatch "%S+" do
    SIGNLESS[name] = true
end
local DIVISORS = { mod = true, floordiv = true }

local function elements(case)
    local count = 0
    for _, shape in ipairs(case) do
        local size = 1
        for _, n in ipairs(shape) do size = size * n end
        if size == 0 then return 0 end
        count = count + size
    end
    return count
end

local function cases_of(entry)
    local list, most = {}, entry.name == "norm" and 99 or MOST_CASES
    for _, case in ipairs(entry.cases) do
        local size = elements(case)
        if size > 0 and size <= MOST_ELEMENTS and #list < most then list[#list + 1] = case end
    end
    return list
end

local function call(entry, case, ...)
    if entry.call then return entry.call(case, ...) end
    return core[entry.name](...)
end

-- Integers by which is divided, or to which is raised, are not 0 or below.
local function fitting(entry, i, array)
    if i ~= 2 or naive.is_float(array.dtype) then return array end
    if DIVISORS[entry.name] then
        return array:map(function(v) return (v == 0 and 1) or (v == false and true) or v end)
    end
    if entry.name == "pow" then
        return array:map(function(v) return type(v) == "number" and v < 0 and -(v + 1) or v end)
    end
    return array
end

-- The contents of a case; nil where none of its inputs is of the dtype under test.
local function contents(entry, case, dtype, regime)
    local random = values.random(#entry.name + #regime)
    local generate, own, arrays, any = ends.generator(regime), OWN[entry.name] or {}, {}, false
    for i, shape in ipairs(case) do
        local usual = entry.inputs and entry.inputs[i] or values.any
        local follows = not own[i] and usual(random, shape, "f64", case).dtype == "f64"
        arrays[i] = fitting(entry, i, (follows and generate or usual)(random, shape, dtype, case))
        any = any or follows
    end
    return any and arrays or nil
end

local function tensors_of(arrays)
    local tensors = {}
    for i, a in ipairs(arrays) do tensors[i] = layouts.tensor(a) end
    return tensors
end

local function sizes_of(arrays)
    local sizes = {}
    for i, a in ipairs(arrays) do sizes[i] = naive.is_float(a.dtype) and a:map(math.abs) or a end
    return sizes
end

local function check_values(entry, case, dtype, regime, arrays)
    local results = table.pack(call(entry, case, table.unpack(tensors_of(arrays), 1, #case)))
    local wanted, scales = table.pack(entry.naive(case, table.unpack(arrays, 1, #case))), {}
    if entry.name == "lerp" then
        scales = { naive.zip("f64", function(a, b) return 4 * (math.abs(a) + math.abs(b)) end,
            arrays[1]:to "f64", arrays[2]:to "f64", wanted[1]) }
    elseif ADDS_UP[entry.name] and naive.is_float(dtype) then
        scales = table.pack(entry.naive(case, table.unpack(sizes_of(arrays), 1, #case)))
    end
    for i = 1, wanted.n do
        local message = ends.mismatch(results[i], wanted[i], scales[i],
            not SIGNLESS[entry.name] and regime ~= "zeros")
        if message then error(message, 0) end
    end
end

-- dtype's tensors become leaves; the gradients of the sum of all results.
local function gradients(entry, case, arrays, dtype)
    local leaves = {}
    for i, a in ipairs(arrays) do
        local float = naive.is_float(a.dtype)
        leaves[i] = layouts.tensor(a)
        if float then leaves[i] = leaves[i]:to(dtype) end
        leaves[i].requires_grad = float and not (entry.constants and entry.constants[i]) or false
    end
    for _, y in ipairs { call(entry, case, table.unpack(leaves, 1, #case)) } do
        if y.requires_grad then y:backward(core.ones_like(y), { retain = true }) end
    end
    local found = {}
    for i, leaf in ipairs(leaves) do found[i] = leaf.requires_grad and leaf.grad or false end
    return found
end

-- What the gradient would be measured by if nothing cancelled.
local function gradient_scales(entry, case, arrays)
    if TO_ONE[entry.name] then
        local ones = {}
        for i, a in ipairs(arrays) do ones[i] = a:map(function() return 1.0 end) end
        return ones
    end
    local scales = gradients(entry, case, sizes_of(arrays), "f64")
    for i, g in ipairs(scales) do scales[i] = (entry.mixed or ADDS_UP[entry.name]) and g
        and naive.of(g) or nil end
    return scales
end

local function check_gradient(entry, case, arrays)
    local single, double = gradients(entry, case, arrays, "f32"), gradients(entry, case, arrays,
        "f64")
    local scales = gradient_scales(entry, case, arrays)
    for i, g in ipairs(double) do
        assert((g == false) == (single[i] == false), "recorded in one of them alone")
        local want = g and naive.of(g)
        if want then want.dtype = "f32" end
        local message = want and ends.mismatch(single[i], want, scales[i] or nil)
        if message then error(("gradient %d: %s"):format(i, message), 0) end
    end
end

local function regimes_of(entry, dtype, own)
    if not naive.is_float(dtype) then return ends.names(dtype) end
    if dtype == "f64" and NOT_F64[entry.name] then return {} end
    return own[entry.name] or ONLY[entry.name] or ends.names(dtype)
end

-- f(case, dtype, regime, arrays) for all; every failure of an operation in one message.
local function each(entry, dtypes, own, f)
    local failures = {}
    for _, case in ipairs(cases_of(entry)) do
        for _, dtype in ipairs(dtypes) do
            for _, regime in ipairs(case.signed and dtype == "u8" and {} or regimes_of(entry,
                dtype, own)) do
                local arrays = contents(entry, case, dtype, regime)
                local ok, message = pcall(f, case, dtype, regime, arrays)
                if arrays and not ok then failures[#failures + 1] = ("%s, %s: %s"):format(dtype,
                    regime, message) end
            end
        end
    end
    assert(#failures == 0, table.concat(failures, "\n", 1, math.min(#failures, 8)))
end

for _, entry in ipairs(registry.operations) do
    local called = entry.name .. (entry.variant and ", " .. entry.variant or "")
    local tried = entry.naive and #entry.cases[1] > 0 and not SKIPPED[entry.name]
    describe(called .. ", at the ends", tried and function()
        it("loses nothing that the result holds", function()
            each(entry, entry.dtypes or naive.dtypes.all, {}, function(case, dtype, regime, arrays)
                check_values(entry, case, dtype, regime, arrays)
            end)
        end)
        if entry.gradient then
            it("has the gradient of f64 in f32", function()
                each(entry, { "f32" }, GRADIENT_ONLY, function(case, _, _,
                    arrays) check_gradient(entry, case, arrays) end)
            end)
        end
    end or function() end)
end
