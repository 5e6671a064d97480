--- Convolution, pooling and norms of channels as their definitions have them. Planes of one
--- dimension are planes of height 1.

local naive = require "spec.support.naive"

local channels = {}

-- A case's option, a number or a list, for height and width. dims: 1 or 2.
local function pair(value, usual, dims)
    value = value or usual
    if type(value) == "number" then value = { value, value } end
    return dims == 1 and { usual, value[1] } or value
end

-- [.., L] as [.., 1, L].
local function as_plane(a, dims)
    if dims == 2 then return a end
    local shape = table.move(a.shape, 1, #a.shape, 1, {})
    table.insert(shape, #shape, 1)
    return a:reshaped(shape)
end

local function from_plane(a, dims)
    if dims == 2 then return a end
    local shape = table.move(a.shape, 1, #a.shape, 1, {})
    table.remove(shape, #shape - 1)
    return a:reshaped(shape)
end

local function inside(i, size) return i >= 1 and i <= size end

---y[b, o, i, j] = bias[o] + sum of w[o, c, u, v] x[b, first + c, ..]
function channels.conv(case, dims, x, w, bias)
    x, w = as_plane(x, dims), as_plane(w, dims)
    local stride, padding = pair(case.stride, 1, dims), pair(case.padding, 0, dims)
    local dilation, groups = pair(case.dilation, 1, dims), case.groups or 1
    local shape = { x.shape[1], w.shape[1] }
    for d = 1, 2 do
        local reach = (w.shape[d + 2] - 1) * dilation[d]
        if case.same then padding[d] = reach // 2 end
        shape[d + 2] = case.same and x.shape[d + 2]
            or (x.shape[d + 2] + 2 * padding[d] - reach - 1) // stride[d] + 1
    end
    return from_plane(naive.build(shape, x.dtype, function(index)
        local first = (index[2] - 1) // (w.shape[1] // groups) * w.shape[2]
        local sum = bias and bias:get(index[2]) or 0
        for c = 1, w.shape[2] do
            for u = 1, w.shape[3] do
                for v = 1, w.shape[4] do
                    local i = (index[3] - 1) * stride[1] + (u - 1) * dilation[1] + 1 - padding[1]
                    local j = (index[4] - 1) * stride[2] + (v - 1) * dilation[2] + 1 - padding[2]
                    local value = inside(i, x.shape[3]) and inside(j, x.shape[4])
                        and x:get(index[1], first + c, i, j) or 0
                    sum = sum + w:get(index[2], c, u, v) * value
                end
            end
        end
        return sum
    end), dims)
end

-- The positions that output i sees along dimension d, and what an average counts of them.
local function window(case, d, dims, size, i)
    local kernel = pair(case.kernel, 1, dims)[d]
    if case.adaptive then
        if dims == 1 and d == 1 then kernel = 1 end
        local first, last = (i - 1) * size // kernel + 1, (i * size + kernel - 1) // kernel
        return first, last, 1, last - first + 1
    end
    local stride = case.stride and pair(case.stride, 1, dims)[d] or kernel
    local padding, dilation = pair(case.padding, 0, dims)[d], pair(case.dilation, 1, dims)[d]
    local first = (i - 1) * stride - padding + 1
    local last = first + (kernel - 1) * dilation
    local counted = math.min(last, size + padding) - first + 1
    if case.count_include_pad == false then
        counted = math.min(last, size) - math.max(first, 1) + 1
    end
    return first, last, dilation, counted
end

-- combine(values of the window, what is counted) of each.
local function pool(case, dims, x, combine)
    local plane = as_plane(x, dims)
    local lead = #plane.shape - 2
    local shape = table.move(plane.shape, 1, lead, 1, {})
    shape[lead + 1], shape[lead + 2] = dims == 1 and 1 or case.out[1], case.out[dims]
    return from_plane(naive.build(shape, x.dtype, function(index)
        local at, list, counted = table.move(index, 1, lead, 1, {}), {}, 1
        local first, last, step = {}, {}, {}
        for d = 1, 2 do
            local n
            first[d], last[d], step[d], n =
                window(case, d, dims, plane.shape[lead + d], index[lead + d])
            counted = counted * n
        end
        for i = first[1], last[1], step[1] do
            for j = first[2], last[2], step[2] do
                if inside(i, plane.shape[lead + 1]) and inside(j, plane.shape[lead + 2]) then
                    at[lead + 1], at[lead + 2] = i, j
                    list[#list + 1] = plane:at(at)
                end
            end
        end
        return combine(list, counted)
    end), dims)
end

---The largest; NaN counts as it.
function channels.max_pool(case, dims, x)
    return pool(case, dims, x, function(list)
        local best = -math.huge
        for _, v in ipairs(list) do
            if v ~= v then return v end
            best = math.max(best, v)
        end
        return best
    end)
end

---Each part is divided first where the sum leaves the range.
function channels.average_pool(case, dims, x)
    return pool(case, dims, x, function(list, counted)
        local sum, parts = 0, 0
        for _, v in ipairs(list) do sum, parts = sum + v, parts + v / counted end
        local mean = sum / counted
        return mean - mean == 0 and mean or parts
    end)
end

-- f(list of elements) gives what replaces them, for the elements of each set: key(index).
local function each_set(x, key, f)
    local sets, order = {}, {}
    local placed = naive.build(x.shape, x.dtype, function(index)
        local name = key(index)
        sets[name] = sets[name] or {}
        table.insert(sets[name], x:at(index))
        order[#order + 1] = { name, #sets[name] }
        return 0
    end)
    for name, list in pairs(sets) do sets[name] = f(list, name) end
    for i, place in ipairs(order) do placed.data[i] = sets[place[1]][place[2]] end
    return placed
end

local function normal(list, eps)
    local sum, variance, result = 0, 0, {}
    for _, v in ipairs(list) do sum = sum + v end
    local mean = sum / #list
    for _, v in ipairs(list) do variance = variance + (v - mean) ^ 2 / #list end
    for i, v in ipairs(list) do result[i] = (v - mean) / math.sqrt(variance + eps) end
    return result
end

local function scaled(z, w, b)
    return naive.build(z.shape, z.dtype, function(index)
        return z:at(index) * (w and w:get(index[2]) or 1) + (b and b:get(index[2]) or 0)
    end)
end

---mean, var: nil in training.
function channels.batch_norm(x, w, b, eps, mean, var)
    local z = each_set(x, function(index) return index[2] end, function(list, channel)
        if not mean then return normal(list, eps) end
        local result = {}
        for i, v in ipairs(list) do
            result[i] = (v - mean:get(channel)) / math.sqrt(var:get(channel) + eps)
        end
        return result
    end)
    return scaled(z, w, b)
end

function channels.group_norm(x, groups, w, b, eps)
    local width = x.shape[2] // groups
    return scaled(each_set(x, function(index)
        return index[1] .. "," .. (index[2] - 1) // width
    end, function(list) return normal(list, eps) end), w, b)
end

return channels
