--- Operations on channels [B, C, ...]: convolution, pooling, norms.

local core = require "heed.core"
local channels = require "spec.support.naive_channels"
local values = require "spec.support.values"

local entries = {}
local function add(entry)
    entry.dtypes, entry.gradient = { "f32", "f64" }, true
    entries[#entries + 1] = entry
end

local function options_of(case)
    return { stride = case.stride, padding = case.same and "same" or case.padding,
        dilation = case.dilation, groups = case.groups, ceil_mode = case.ceil_mode,
        count_include_pad = case.count_include_pad }
end

local function conv(dims, cases, large)
    add {
        name = ("conv%dd"):format(dims),
        cases = cases,
        large = large,
        tolerance = 2e-5,
        call = function(case, x, w, b)
            return core[("conv%dd"):format(dims)](x, w, b, options_of(case))
        end,
        naive = function(case, x, w, b) return channels.conv(case, dims, x, w, b) end,
    }
end

conv(1, {
    { { 2, 3, 7 }, { 4, 3, 3 }, { 4 } }, { { 1, 4, 9 }, { 2, 2, 3 }, stride = 2, padding = 2,
        dilation = 2, groups = 2 },
    { { 2, 2, 8 }, { 2, 1, 3 }, { 2 }, groups = 2, padding = 1 },
    { { 1, 2, 9 }, { 4, 1, 2 }, groups = 2, stride = 3, dilation = 2 },
    { { 2, 2, 5 }, { 3, 2, 4 }, same = true }, { { 2, 1, 1 }, { 1, 1, 1 }, { 1 } },
    { { 0, 2, 5 }, { 3, 2, 2 }, { 3 } }, { { 0, 2, 5 }, { 2, 1, 2 }, groups = 2 },
}, { { 3, 20, 700 }, { 40, 20, 3 }, { 40 }, padding = 1, stride = 2 })
conv(2, {
    { { 2, 3, 4, 5 }, { 2, 3, 3, 2 }, { 2 } },
    { { 1, 2, 5, 6 }, { 2, 1, 2, 3 }, stride = { 2, 1 }, padding = { 1, 2 }, dilation = { 1, 2 },
        groups = 2 },
    { { 1, 3, 4, 4 }, { 5, 3, 2, 2 }, { 5 }, stride = 2 },
    { { 1, 2, 4, 3 }, { 2, 2, 2, 3 }, { 2 }, same = true }, { { 3, 2, 1, 1 }, { 2, 2, 1, 1 } },
    { { 0, 2, 3, 3 }, { 3, 2, 2, 2 }, { 3 } },
}, { { 4, 16, 24, 31 }, { 24, 16, 3, 3 }, { 24 }, padding = 1 })
add {
    name = "conv2d",
    variant = "channel by channel",
    cases = { { { 2, 3, 4, 5 }, { 3, 1, 3, 3 }, { 3 }, padding = 1, groups = 3 },
        { { 1, 2, 5, 4 }, { 4, 1, 2, 2 }, stride = { 2, 1 }, groups = 2 } },
    large = { { 4, 16, 24, 31 }, { 32, 1, 3, 3 }, { 32 }, padding = 1, groups = 16 },
    call = function(case, x, w, b) return core.conv2d(x, w, b, options_of(case)) end,
    naive = function(case, x, w, b) return channels.conv(case, 2, x, w, b) end,
    tolerance = 2e-5,
}

-- Shapes of x with kernel and, as the reference takes it, the windows along each dimension.
local POOLS = {
    { { { 2, 3, 8 }, kernel = 2, out = { 4 } }, { { 2, 9 }, kernel = 3, stride = 2, padding = 1,
        out = { 5 } },
        { { 1, 2, 6 }, kernel = 3, stride = 2, ceil_mode = true, out = { 3 } },
        { { 2, 2, 1 }, kernel = 1, out = { 1 } }, { { 0, 2, 4 }, kernel = 2, out = { 2 } } },
    { { { 2, 3, 4, 6 }, kernel = 2, out = { 2, 3 } },
        { { 2, 5, 6 }, kernel = { 3, 2 }, stride = { 2, 1 }, padding = { 1, 0 }, out = { 3, 5 } },
        { { 1, 2, 4, 5 }, kernel = 3, stride = 2, padding = 1, ceil_mode = true, out = { 3, 3 } },
        { { 2, 2, 1, 1 }, kernel = 1, out = { 1, 1 } },
        { { 0, 2, 4, 4 }, kernel = 2, out = { 2, 2 } } },
}
local LARGE = { { { 5, 30, 901 }, kernel = 3, stride = 2, out = { 450 } },
    { { 4, 20, 31, 40 }, kernel = 3, stride = 2, padding = 1, out = { 16, 20 } } }

local function pool(name, dims, cases, reference, large)
    add {
        name = name,
        cases = cases,
        large = large or LARGE[dims],
        call = function(case, x)
            return core[name](x, case.kernel, not case.adaptive and options_of(case) or nil)
        end,
        naive = function(case, x) return reference(case, dims, x) end,
        varied = reference == channels.max_pool, -- of equal ones the first has the gradient
    }
end

local function with(list, ...)
    list = table.move(list, 1, #list, 1, {})
    for _, case in ipairs { ... } do list[#list + 1] = case end
    return list
end

pool("max_pool1d", 1, with(POOLS[1], { { 2, 9 }, kernel = 3, stride = 1, padding = 1, dilation = 3,
    out = { 5 } }), channels.max_pool)
pool("max_pool2d", 2, POOLS[2], channels.max_pool)
pool("avg_pool1d", 1, with(POOLS[1], { { 2, 9 }, kernel = 3, stride = 2, padding = 1,
    count_include_pad = false, out = { 5 } }), channels.average_pool)
pool("avg_pool2d", 2, with(POOLS[2], { { 1, 2, 4, 5 }, kernel = 3, stride = 2, padding = 1,
    ceil_mode = true, count_include_pad = false, out = { 3, 3 } }), channels.average_pool)
pool("adaptive_avg_pool1d", 1, {
    { { 2, 3, 7 }, kernel = 1, adaptive = true, out = { 1 } },
    { { 2, 7 }, kernel = 3, adaptive = true, out = { 3 } },
    { { 1, 2, 3 }, kernel = 5, adaptive = true, out = { 5 } },
    { { 0, 2, 3 }, kernel = 2, adaptive = true, out = { 2 } },
}, channels.average_pool, { { 5, 30, 901 }, kernel = 7, adaptive = true, out = { 7 } })
pool("adaptive_avg_pool2d", 2, {
    { { 2, 3, 4, 5 }, kernel = 1, adaptive = true, out = { 1, 1 } },
    { { 2, 5, 4 }, kernel = { 3, 2 }, adaptive = true, out = { 3, 2 } },
    { { 0, 2, 3, 3 }, kernel = 2, adaptive = true, out = { 2, 2 } },
}, channels.average_pool, { { 4, 20, 31, 40 }, kernel = 4, adaptive = true, out = { 4, 4 } })

add {
    name = "batch_norm",
    cases = { { { 5, 3 }, { 3 }, { 3 } }, { { 3, 2, 4 }, { 2 }, { 2 } },
        { { 2, 2, 3, 6 }, { 2 }, { 2 } }, { { 4, 3 } }, { { 2, 2, 20 }, { 2 }, eps = 1e-3 } },
    large = { { 9, 40, 131 }, { 40 }, { 40 } },
    call = function(case, x, w, b)
        return core.batch_norm(x, nil, nil, w, b, { training = true, eps = case.eps })
    end,
    naive = function(case, x, w, b) return channels.batch_norm(x, w, b, case.eps or 1e-5) end,
    varied = true,
    tolerance = 2e-5,
}

local function positive(random, shape, dtype)
    return values.any(random, shape, dtype):map(function(v) return v * v + 0.1 end)
end

add {
    name = "batch_norm",
    variant = "in evaluation",
    cases = { { { 5, 3 }, { 3 }, { 3 }, { 3 }, { 3 } }, { { 3, 2, 4 }, { 2 }, { 2 } },
        { { 1, 2, 3, 6 }, { 2 }, { 2 }, { 2 }, { 2 } }, { { 0, 3 }, { 3 }, { 3 } } },
    inputs = { values.any, values.any, positive, values.any, values.any },
    constants = { [2] = true, [3] = true },
    large = { { 9, 40, 131 }, { 40 }, { 40 } },
    call = function(_, x, mean, var, w, b) return core.batch_norm(x, mean, var, w, b) end,
    naive = function(_, x, mean, var, w, b)
        return channels.batch_norm(x, w, b, 1e-5, mean, var)
    end,
}

add {
    name = "group_norm",
    cases = { { { 3, 4 }, { 4 }, { 4 }, groups = 2 }, { { 2, 6, 5 }, { 6 }, { 6 }, groups = 3 },
        { { 2, 2, 3, 4 }, groups = 1 }, { { 2, 3, 7 }, { 3 }, groups = 3, eps = 1e-3 },
        { { 0, 4, 3 }, { 4 }, { 4 }, groups = 2 } },
    large = { { 9, 40, 131 }, { 40 }, { 40 }, groups = 8 },
    call = function(case, x, w, b) return core.group_norm(x, case.groups, w, b, case.eps) end,
    naive = function(case, x, w, b)
        return channels.group_norm(x, case.groups, w, b, case.eps or 1e-5)
    end,
    varied = true,
    tolerance = 2e-5,
}

return entries
