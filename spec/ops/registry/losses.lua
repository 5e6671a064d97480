--- Losses beside cross_entropy, which is in rows.lua.

local core = require "heed.core"
local naive = require "spec.support.naive"
local values = require "spec.support.values"

local entries = {}
local function add(entry)
    entry.dtypes = entry.dtypes or { "f32", "f64" }
    entries[#entries + 1] = entry
end

local function cross_entropy_entry()
    for _, entry in ipairs(require "spec.ops.registry.rows") do
        if entry.name == "cross_entropy" then return entry end
    end
end

-- ---- against classes ----------------------------------------------------------------------------

local function classes_up_to_five(random, shape, _, case)
    return naive.build(shape, "i64", function() return random(case.exclude and 2 or 1, 5) end)
end

local function linear(hidden, weight, bias)
    local shape = table.move(hidden.shape, 1, #hidden.shape, 1, {})
    shape[#shape] = weight.shape[1]
    return naive.build(shape, hidden.dtype, function(index)
        local class, sum = index[#index], bias and bias:get(index[#index]) or 0.0
        for e = 1, weight.shape[2] do
            index[#index] = e
            sum = sum + hidden:at(index) * weight:get(class, e)
        end
        index[#index] = class
        return sum
    end)
end

add {
    name = "linear_cross_entropy",
    cases = {
        { { 5, 3 }, { 7, 3 }, { 5 } }, { { 2, 3, 4 }, { 37, 4 }, { 2, 3 }, { 37 },
            smoothing = 0.1 },
        { { 5, 3 }, { 7, 3 }, { 5 }, ignore = 1 }, { { 5, 3 }, { 7, 3 }, { 5 }, reduction = "sum" },
        { { 5, 3 }, { 7, 3 }, { 5 }, { 7 }, reduction = "none", ignore = 2 },
            { { 3 }, { 7, 3 }, {} },
        { { 6, 3 }, { 7, 3 }, { 6 }, { 7 }, { 7 }, smoothing = 0.2, reduction = "none" },
        { { 6, 3 }, { 7, 3 }, { 6 }, { 7 }, { 7 } }, { { 4, 3 }, { 5, 3 }, { 4 }, smoothing = 0.4,
            exclude = { 1 } },
        { { 4, 3 }, { 5, 3 }, { 4 }, smoothing = 0.4, exclude = { 1 }, reduction = "none" },
        { { 0, 3 }, { 5, 3 }, { 0 }, reduction = "sum" },
    },
    inputs = { values.any, values.any, classes_up_to_five, values.any, values.positive },
    constants = { [5] = true },
    large = { { 400, 20 }, { 9000, 20 }, { 400 }, { 9000 }, smoothing = 0.1 },
    tolerance = 2e-5,
    call = function(case, hidden, weight, targets, bias, class_weight)
        return core.linear_cross_entropy(hidden, weight, targets, bias, case.ignore, case.smoothing,
            class_weight, case.reduction,
            case.exclude)
    end,
    naive = function(case, hidden, weight, targets, bias, class_weight)
        return cross_entropy_entry().naive(case, linear(hidden, weight, bias), targets,
            class_weight)
    end,
    gradient = true,
}

add {
    name = "nll_loss",
    cases = {
        { { 5, 7 }, { 5 } }, { { 2, 3, 37 }, { 2, 3 }, ignore = 2 },
            { { 5, 7 }, { 5 }, reduction = "sum" },
        { { 5, 7 }, { 5 }, { 7 }, reduction = "none", ignore = 2 }, { { 5, 7 }, { 5 }, { 7 } },
            { { 7 }, {} },
    },
    inputs = { values.any, classes_up_to_five, values.positive },
    constants = { [3] = true },
    large = { { 600, 131 }, { 600 } },
    call = function(case, x, targets, weight)
        return core.nll_loss(x, targets, case.ignore, weight, case.reduction)
    end,
    naive = function(case, x, targets, weight)
        local total, kept, V = 0.0, 0.0, x.shape[#x.shape]
        local losses = targets:map(function() return 0.0 end, x.dtype)
        for i, target in ipairs(targets.data) do
            if target ~= case.ignore then
                local w = weight and weight.data[target] or 1
                losses.data[i] = -w * x.data[(i - 1) * V + target]
                total, kept = total + losses.data[i], kept + w
            end
        end
        if case.reduction == "none" then return losses end
        return naive.build({}, x.dtype, function()
            return case.reduction == "sum" and total or kept > 0 and total / kept or 0.0
        end)
    end,
    gradient = true,
}

-- ---- element by element -------------------------------------------------------------------------

local function softplus(v) return math.max(v, 0) + math.log(1 + math.exp(-math.abs(v))) end

local function shared(part, term) return part == 0 and 0.0 or part * term end

local FORMULAS = {
    mse_loss = function(x, y) return (x - y) ^ 2 end,
    l1_loss = function(x, y) return math.abs(x - y) end,
    huber_loss = function(x, y, _, c)
        local d = math.abs(x - y)
        return d < c and d * d / 2 or c * (d - c / 2)
    end,
    bce_with_logits = function(x, y, p)
        return shared(p * y, softplus(-x)) + shared(1 - y, softplus(x))
    end,
    kl_div = function(x, y) return shared(y, math.log(y) - x) end,
    kl_div_log = function(x, y) return shared(math.exp(y), y - x) end,
}

local function add_pair(name, target, extra)
    local formula = FORMULAS[name]
    local entry = {
        name = name,
        cases = {
            { { 3, 5 }, { 3, 5 } }, { { 37 }, { 37 }, reduction = "sum" },
                { { 2, 3 }, { 2, 3 }, reduction = "none" },
            { {}, {} }, { { 2, 3 }, { 2, 3 }, { 3 }, reduction = "none", factor = 0.5 },
                { { 0, 3 }, { 0, 3 }, reduction = "sum" },
        },
        inputs = { values.any, target, values.positive, values.positive },
        constants = { [3] = true, [4] = true },
        large = { { 300, 131 }, { 300, 131 } },
        call = function(case, x, y, weight, positive)
            return core[name](x, y, case.reduction, weight, positive, case.parameter or 0.7,
                case.factor)
        end,
        naive = function(case, x, y, weight, positive)
            local losses = naive.build(x.shape, x.dtype, function(index)
                local last = index[#index]
                local value = formula(x:at(index), y:at(index), positive and positive:get(last)
                    or 1, case.parameter or 0.7)
                return value * (weight and weight:get(last) or 1) * (case.factor or 1)
            end)
            if case.reduction == "none" then return losses end
            local sum = 0.0
            for _, v in ipairs(losses.data) do sum = sum + v end
            local by = case.reduction == "sum" and 1 or case.reduction == "batchmean" and x.shape[1]
                or #losses.data
            return naive.build({}, x.dtype, function() return sum / by end)
        end,
        gradient = true,
    }
    for _, case in ipairs(extra or {}) do entry.cases[#entry.cases + 1] = case end
    add(entry)
end

local function probability(random, shape, dtype)
    return naive.build(shape, dtype, function() return random(1, 9) / 10 end)
end

add_pair("mse_loss", values.any)
add_pair("l1_loss", values.any)
add_pair("huber_loss", values.any)
add_pair("bce_with_logits", probability, { { { 2, 3 }, { 2, 3 }, { 3 }, { 3 } } })
add_pair("kl_div", probability, { { { 2, 3 }, { 2, 3 }, reduction = "batchmean" } })
add_pair("kl_div_log", values.any, { { { 2, 3 }, { 2, 3 }, reduction = "batchmean" } })

return entries
