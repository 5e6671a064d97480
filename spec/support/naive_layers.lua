--- Rows, attention and the stock layers over the arrays of spec.support.naive, as the papers write
--- them.

local naive = require "spec.support.naive"

local layer = {}

-- 2/sqrt(pi) e^-x² Σ 2^n x^(2n+1) / (2n+1)!!, which has no cancellation.
local function erf(x)
    if x ~= x then return x end
    if math.abs(x) > 6 then return x > 0 and 1.0 or -1.0 end
    local term, sum, n = x, x, 0
    while math.abs(term) > 1e-17 * math.abs(sum) do
        n = n + 1
        term = term * 2 * x * x / (2 * n + 1)
        sum = sum + term
    end
    return 2 / math.sqrt(math.pi) * math.exp(-x * x) * sum
end
layer.erf = erf

local ACTIVATIONS = {
    relu = function(v) return math.max(v, 0.0) end,
    gelu = function(v) return 0.5 * v * (1 + erf(v / math.sqrt(2))) end,
    silu = function(v) return v / (1 + math.exp(-v)) end,
}

function layer.activation(name, x) return name and x:map(ACTIVATIONS[name]) or x end

function layer.add(a, b)
    return naive.zip(a.dtype, function(x, y) return x + y end, a, b)
end

---x W^T + b
function layer.linear(x, w, b)
    local product = naive.matmul(x, naive.permute(w, { 2, 1 }))
    return b and layer.add(product, b) or product
end

---Weights that add up to 1, or all 0 when nothing is finite enough to be seen.
function layer.softmax_list(list)
    local top, total, weights = -math.huge, 0, {}
    for _, v in ipairs(list) do
        if v ~= v then top = v end
        if v > top then top = v end
    end
    for i, v in ipairs(list) do
        weights[i] = top == -math.huge and 0.0 or math.exp(v - top)
        total = total + weights[i]
    end
    for i, w in ipairs(weights) do weights[i] = total == 0 and 0.0 or w / total end
    return weights
end

function layer.layer_norm(x, w, b, eps)
    local normed = naive.along(x, -1, x.dtype, function(list)
        local mean, variance, result = 0.0, 0.0, {}
        for _, v in ipairs(list) do mean = mean + v / #list end
        for _, v in ipairs(list) do variance = variance + (v - mean) ^ 2 / #list end
        for i, v in ipairs(list) do result[i] = (v - mean) / math.sqrt(variance + (eps or 1e-5)) end
        return result
    end)
    if w then normed = naive.zip(x.dtype, function(a, c) return a * c end, normed, w) end
    return b and layer.add(normed, b) or normed
end

function layer.rms_norm(x, w, eps)
    local normed = naive.along(x, -1, x.dtype, function(list)
        local square, result = 0.0, {}
        for _, v in ipairs(list) do square = square + v * v / #list end
        for i, v in ipairs(list) do result[i] = v / math.sqrt(square + (eps or 1e-6)) end
        return result
    end)
    return w and naive.zip(x.dtype, function(a, c) return a * c end, normed, w) or normed
end

---x [..., L, D] turned by the angles whose cosines and sines are given, [L, P] or [B, L, P].
function layer.rotary(x, cos, sin, interleaved)
    local pairs_count, ndim = cos.shape[#cos.shape], #x.shape
    return naive.build(x.shape, x.dtype, function(index)
        local d = index[ndim]
        if d > 2 * pairs_count then return x:at(index) end
        local pair, first = (d - 1) % pairs_count + 1, d <= pairs_count
        if interleaved then pair, first = (d + 1) // 2, d % 2 == 1 end
        local other = table.move(index, 1, ndim, 1, {})
        other[ndim] = interleaved and (first and d + 1 or d - 1)
            or (first and d + pairs_count or d - pairs_count)
        local at = { #cos.shape == 3 and index[1] or nil }
        at[#at + 1], at[#at + 2] = index[ndim - 1], pair
        return x:at(index) * cos:at(at) + (first and -1 or 1) * x:at(other) * sin:at(at)
    end)
end

---q [B,H,L,D], k [B,Hk,S,D], v [B,Hk,S,Dv]. o: scale, softcap, causal, lengths [B], mask and bias
---broadcast to [B,H,L,S]. Returns out [B,H,L,Dv] and the weights [B,H,L,S].
function layer.attention(q, k, v, o)
    local B, H, L, D = table.unpack(q.shape)
    local Hk, S = k.shape[2], k.shape[3]
    local scale = o.scale or 1 / math.sqrt(D)
    local function may_see(b, h, i, j)
        if o.causal and j > S - L + i then return false end
        if o.lengths and j > o.lengths.data[b] then return false end
        return not o.mask or naive.convert(o.mask:at { b, h, i, j }, "bool")
    end
    local function score(b, h, i, j)
        local sum, head = 0.0, (h - 1) // (H // Hk) + 1
        for d = 1, D do sum = sum + q:get(b, h, i, d) * k:get(b, head, j, d) end
        sum = sum * scale
        if o.softcap then
            local e = math.exp(-2 * math.abs(sum / o.softcap))
            sum = o.softcap * (1 - e) / (1 + e) * (sum < 0 and -1 or 1)
        end
        return o.bias and sum + o.bias:at { b, h, i, j } or sum
    end
    local scores = naive.build({ B, H, L, S }, q.dtype, function(x)
        return may_see(x[1], x[2], x[3], x[4]) and score(x[1], x[2], x[3], x[4]) or -math.huge
    end)
    local weights = naive.along(scores, -1, q.dtype, layer.softmax_list)
    local out = naive.build({ B, H, L, v.shape[4] }, q.dtype, function(x)
        local sum, head = 0.0, (x[2] - 1) // (H // Hk) + 1
        for j = 1, S do
            local w = weights:get(x[1], x[2], x[3], j)
            if w ~= 0 then sum = sum + w * v:get(x[1], head, j, x[4]) end
        end
        return sum
    end)
    return out, weights
end

-- Columns first..last of the last dimension, or rows of a matrix.
local function columns(x, first, last)
    local shape = table.move(x.shape, 1, #x.shape, 1, {})
    shape[#shape] = last - first + 1
    return naive.build(shape, x.dtype, function(index)
        local from = table.move(index, 1, #index, 1, {})
        from[#from] = from[#from] + first - 1
        return x:at(from)
    end)
end

---The columns of x W^T + b, x [B, L, E] or [L, E] (a batch of one), as heads [B, L, count, D] for
---each of the counts.
function layer.project_heads(x, counts, w, b)
    local all, before, total, heads = layer.linear(x, w, b), 0, 0, {}
    local B = #x.shape == 3 and x.shape[1] or 1
    for _, count in ipairs(counts) do total = total + count end
    for i, count in ipairs(counts) do
        local width = count * w.shape[1] // total
        local one = columns(all, before + 1, before + width)
        heads[i] = one:reshaped { B, x.shape[#x.shape - 1], count, width // count }
        before = before + width
    end
    return table.unpack(heads)
end

---p: in_w [3E,E], in_b, out_w, out_b, heads. x [B,L,E], memory [B,S,E] or nil (x).
function layer.multi_head_attention(p, x, memory, o)
    local E, H = x.shape[3], p.heads
    local function projected(from, part)
        local all = layer.linear(from, p.in_w, p.in_b)
        local one = columns(all, (part - 1) * E + 1, part * E)
        return naive.permute(one:reshaped { one.shape[1], one.shape[2], H, E // H }, { 1, 3, 2, 4 })
    end
    memory = memory or x
    local out, weights = layer.attention(projected(x, 1), projected(memory, 2),
        projected(memory, 3), o or {})
    return layer.linear(naive.permute(out, { 1, 3, 2, 4 }):reshaped(x.shape), p.out_w, p.out_b),
        weights
end

---p: w1, b1, w2, b2, act; gated with w3, b3.
function layer.feed_forward(p, x)
    local hidden = layer.activation(p.act, layer.linear(x, p.w1, p.b1))
    if p.w3 then
        local function times(a, b) return a * b end
        hidden = naive.zip(x.dtype, times, hidden, layer.linear(x, p.w3, p.b3))
    end
    return layer.linear(hidden, p.w2, p.b2)
end

-- x / rms(x) · (1 + w)
local function rms_norm_unit_offset(x, w, eps)
    local one = naive.along(w, -1, w.dtype, function(list)
        for i, value in ipairs(list) do list[i] = 1 + value end
        return list
    end)
    return layer.rms_norm(x, one, eps)
end

-- x + f(norm(x)), or norm(x + f(x)); in a sandwich x + post_norm(f(norm(x))), all of 1 + weight.
local function sublayer(p, x, norm, f)
    if norm.post then
        local y = f(rms_norm_unit_offset(x, norm[1], p.eps))
        return layer.add(x, rms_norm_unit_offset(y, norm.post, p.eps))
    end
    if p.norm_first then return layer.add(x, f(layer.layer_norm(x, norm[1], norm[2], p.eps))) end
    return layer.layer_norm(layer.add(x, f(x)), norm[1], norm[2], p.eps)
end

---p: self, ffn, norm1, norm2, norm_first, eps.
function layer.encoder_layer(p, x, o)
    x = sublayer(p, x, p.norm1, function(y)
        return (layer.multi_head_attention(p.self, y, nil, o))
    end)
    return sublayer(p, x, p.norm2, function(y) return layer.feed_forward(p.ffn, y) end)
end

---p: as of the encoder's, and cross, norm3.
function layer.decoder_layer(p, x, memory, o, memory_o)
    x = sublayer(p, x, p.norm1, function(y)
        return (layer.multi_head_attention(p.self, y, nil, o))
    end)
    x = sublayer(p, x, p.norm2, function(y)
        return (layer.multi_head_attention(p.cross, y, memory, memory_o))
    end)
    return sublayer(p, x, p.norm3, function(y) return layer.feed_forward(p.ffn, y) end)
end

return layer
