--- Products of matrices, and what is fused to them.

local core = require "heed.core"
local naive = require "spec.support.naive"
local layer = require "spec.support.naive_layers"
local values = require "spec.support.values"

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

add {
    name = "matmul",
    cases = {
        { { 5, 7 }, { 7, 3 } }, { { 17, 33 }, { 33, 35 } }, { { 3, 4, 5 }, { 3, 5, 6 } },
            { { 3, 4, 5 }, { 5, 6 } },
        { { 4, 5 }, { 3, 5, 6 } },
        { { 2, 1, 4, 5 }, { 3, 5, 6 } }, { { 7 }, { 7 } }, { { 4, 7 }, { 7 } }, { { 7 }, { 7, 4 } },
            { { 2, 4, 7 }, { 7 } },
        { { 7 }, { 2, 7, 4 } }, { { 1, 9 }, { 9, 1 } }, { { 2, 0 }, { 0, 3 } },
            { { 0, 2 }, { 2, 3 } },
        { { 1, 1 }, { 1, 1 } },
        { { 0, 2, 3 }, { 0, 3, 2 } }, { { 2, 150 }, { 150, 3 } }, { { 2, 3 }, { 3, 530 } },
    },
    large = { { 150, 200 }, { 200, 170 } },
    naive = function(_, a, b) return naive.matmul(a, b) end,
    gradient = true,
    mixed = true,
}

add {
    name = "outer",
    cases = { { { 5 }, { 7 } }, { { 1 }, { 37 } }, { { 0 }, { 3 } } },
    large = { { 300 }, { 200 } },
    naive = function(_, a, b)
        local dtype = naive.promote(a.dtype, b.dtype)
        if dtype == "bool" then dtype = "i64" end
        a, b = a:to(dtype), b:to(dtype)
        return naive.build({ a:numel(), b:numel() }, dtype, function(index)
            return a:at { index[1] } * b:at { index[2] }
        end)
    end,
    gradient = true,
    mixed = true,
}

-- The letters of a term as a list; the dimensions of "..." are called 1, 2, ... from the right.
local function dims_of(term, ndim)
    local labels, own = {}, #term:gsub("%.", "")
    for piece in term:gmatch "%.?%.?[%.%a]" do
        if piece == "..." then
            for i = ndim - own, 1, -1 do labels[#labels + 1] = i end
        else
            labels[#labels + 1] = piece
        end
    end
    return labels
end

local function implied(terms, arrays)
    local times, letters, dots = {}, {}, 0
    for i, term in ipairs(terms) do
        for letter in term:gmatch "%a" do times[letter] = (times[letter] or 0) + 1 end
        if term:find(".", 1, true) then
            dots = math.max(dots, #arrays[i].shape - #term:gsub("%.", ""))
        end
    end
    for letter, count in pairs(times) do
        if count == 1 then letters[#letters + 1] = letter end
    end
    table.sort(letters)
    return (dots > 0 and "..." or "") .. table.concat(letters), dots
end

-- One loop over all letters at once.
local function naive_einsum(equation, arrays)
    local left, right = equation:gsub(" ", ""):match "^([^-]*)%-?>?(.*)$"
    local terms, labels, sizes, dtype = {}, {}, {}, "bool"
    for term in (left .. ","):gmatch "([^,]*)," do terms[#terms + 1] = term end
    local all, order = {}, {}
    for i, a in ipairs(arrays) do
        dtype = naive.promote(dtype, a.dtype)
        labels[i] = dims_of(terms[i], #a.shape)
        for d, label in ipairs(labels[i]) do
            if not sizes[label] then order[#order + 1] = label end
            if not sizes[label] or sizes[label] == 1 then sizes[label] = a.shape[d] end
        end
    end
    local output, dots = implied(terms, arrays)
    if equation:find "->" then output = right end
    local out = dims_of(output, dots + #output:gsub("%.", ""))
    if dtype == "bool" then dtype = "i64" end
    local shape, place = {}, {}
    for i, label in ipairs(out) do shape[i] = sizes[label] end
    for i, label in ipairs(order) do
        all[i] = sizes[label]
        place[label] = i
    end
    local sums = naive.build(shape, dtype, function() return naive.convert(0, dtype) end)
    naive.build(all, "bool", function(index)
        local product, position = naive.convert(1, dtype), 0
        for i, a in ipairs(arrays) do
            local at = {}
            for d, label in ipairs(labels[i]) do
                at[d] = math.min(index[place[label]], a.shape[d])
            end
            product = product * naive.convert(a:at(at), dtype)
        end
        for i, label in ipairs(out) do position = position * shape[i] + index[place[label]] - 1 end
        sums.data[position + 1] = sums.data[position + 1] + product
        return false
    end)
    return sums
end

add {
    name = "einsum",
    cases = {
        { { 5, 7 }, { 7, 3 }, equation = "ij,jk->ik" },
            { { 2, 3, 5 }, { 2, 4, 5 }, equation = "bld,bsd->bls" },
        { { 2, 3, 5 }, { 2, 4, 5 }, equation = "bld,bsd->bsl" },
            { { 2, 3, 5 }, { 2, 4, 5 }, equation = "bld,bsd->lsb" },
        { { 2, 3, 2, 5 }, { 2, 4, 2, 5 }, equation = "bqhd,bkhd->bhqk" },
            { { 2, 3, 2, 5 }, { 2, 5, 4 }, equation = "bthd,hde->bte" },
        { { 2, 3, 2, 5 }, { 4, 5, 2 }, equation = "bthd,edh" },
            { { 4 }, { 4 }, equation = "i,i->" }, { { 4 }, { 4 }, equation = "i,i->i" },
        { { 4 }, { 5 }, equation = "i,j->ji" }, { { 3, 4 }, equation = "ij->ji" },
            { { 3, 4 }, equation = "ij->" },
        { { 3, 4 }, equation = "ba" },
        { { 3, 3 }, equation = "ii" }, { { 3, 3 }, equation = "ii->i" },
            { { 3, 2, 3, 3 }, equation = "iaii->ai" },
        { { 2, 3, 3, 2 }, { 3, 4 }, equation = "abba,bc->ac" },
            { { 2, 3, 4 }, { 3, 4 }, equation = "...i,...i->..." },
        { { 2, 1, 1, 4 }, { 3, 4, 5 }, equation = "...ij,...jk" },
            { { 2, 3, 4, 5 }, { 5 }, equation = "a...b,b->...a" },
        { { 2, 3, 4 }, equation = "...a->a" },
        { { 3, 1 }, { 1, 4 }, equation = "ij,jk->ik" },
            { { 3, 1 }, { 5, 4 }, equation = "ij,jk->ijk" },
        { { 2, 3 }, { 3, 4 }, { 4, 5 }, equation = "ab,bc,cd->ad" },
            { { 2, 3 }, { 3, 4 }, { 4, 2 }, equation = "ab,bc,ca->" },
        { { 5 }, { 5, 4, 3 }, { 4 }, { 3 }, equation = "a,abc,b,c" },
            { { 2, 3 }, { 2, 3 }, { 2, 3 }, equation = "ab,ab,ab->b" },
        { { 2 }, { 2 }, { 2 }, { 2 }, { 2 }, { 2 }, { 2 }, { 2 }, { 2 },
            equation = "a,b,a,b,a,b,a,b,a->b" },
        { {}, { 3 }, equation = ",i->i" }, { {}, equation = "" },
            { { 2, 0 }, { 0, 3 }, equation = "ij,jk->ik" },
        { { 0, 2 }, { 2, 3 }, equation = " i j , j k -> i k " },
        { { 2, 3, 2, 1, 2, 2, 1 }, { 2, 3, 2, 1, 2, 2, 1 }, equation = "abcdefg,abcdefg->abcdefg" },
        { { 2, 1, 2, 1, 2, 1, 2, 3 }, { 2, 1, 2, 1, 2, 1, 2, 3 },
            equation = "abcdefgh,abcdefgh->abcdefg" },
    },
    large = { { 3, 60, 70 }, { 3, 90, 70 }, equation = "bld,bsd->bls" },
    call = function(case, ...) return core.einsum(case.equation, ...) end,
    naive = function(case, ...) return naive_einsum(case.equation, { ... }) end,
    gradient = true,
    mixed = true,
}

local LINEAR = {
    { { 5, 7 }, { 3, 7 }, { 3 } }, { { 5, 7 }, { 3, 7 } }, { { 2, 3, 17 }, { 37, 17 }, { 37 },
        act = "relu" },
        { { 7 }, { 3, 7 }, { 3 } },
    { { 5, 7 }, { 3, 7 }, { 3 }, act = "gelu" }, { { 5, 7 }, { 3, 7 }, act = "silu" },
        { { 1, 1 }, { 1, 1 }, { 1 } },
    { { 0, 7 }, { 3, 7 }, { 3 } },
    { { 2, 0 }, { 3, 0 }, { 3 }, act = "relu" },
    { { 1, 133 }, { 35, 133 } },
    { { 3, 133 }, { 35, 133 } },
}
add {
    name = "linear",
    cases = LINEAR,
    dtypes = { "f32", "f64" },
    large = { { 150, 200 }, { 170, 200 }, { 170 }, act = "gelu" },
    call = function(case, x, w, b) return core.linear(x, w, b, case.act) end,
    naive = function(case, x, w, b) return layer.activation(case.act, layer.linear(x, w, b)) end,
    gradient = true,
}

local function number(v) return v == true and 1.0 or v == false and 0.0 or v * 1.0 end

add {
    name = "rfft",
    cases = { { { 3, 30 } }, { { 2, 3, 7 } }, { { 1 } }, { { 2 } }, { { 0, 4 } }, { { 5, 37 } },
        { { 2, 32 } } },
    dtypes = naive.dtypes.all,
    large = { { 130, 40 } },
    naive = function(_, x)
        local dtype, n = naive.promote(x.dtype, "f32"), x.shape[#x.shape]
        local shape = table.move(x.shape, 1, #x.shape, 1, {})
        shape[#shape], shape[#shape + 1] = n // 2 + 1, 2
        return naive.build(shape, dtype, function(index)
            local at, sum = { table.unpack(index, 1, #index - 2) }, 0.0
            local k = index[#index - 1] - 1
            for j = 1, n do
                at[#index - 1] = j
                local angle = 2 * math.pi * ((j - 1) * k % n) / n
                local turn = index[#index] == 1 and math.cos(angle) or -math.sin(angle)
                sum = sum + number(x:at(at)) * turn
            end
            return sum
        end)
    end,
    gradient = true,
}

-- ---- distances ----------------------------------------------------------------------------------

-- No two differences of one size.
local function scattered(random, shape, dtype)
    if not naive.is_float(dtype) then return values.any(random, shape, dtype) end
    return naive.build(shape, dtype, function()
        return (2 * random(-(1 << 21), 1 << 21) + 1) / 2 ^ 20
    end)
end

-- Powers of the shares of the largest, because those of the differences may be beyond f64.
local function distance(x, y, p)
    local most, spoilt, total = 0.0, false, 0.0
    for i, v in ipairs(x) do
        local size = math.abs(number(v) - number(y[i]))
        most, spoilt = math.max(most, size), spoilt or size ~= size
        total = total + (size == 0 and 0 or 1)
    end
    if p == 0 then return total end
    if spoilt then return 0 / 0 end
    if p == math.huge or most == 0 or most == math.huge then return most end
    total = 0.0
    for i, v in ipairs(x) do total = total + (math.abs(number(v) - number(y[i])) / most) ^ p end
    return most * total ^ (1 / p)
end

local function row_of(a, batch, row)
    local index, wide = {}, {}
    for d = 1, #a.shape - 2 do
        local size, at = a.shape[d], batch[#batch - (#a.shape - 2) + d]
        index[d] = size == 1 and 1 or at
    end
    index[#a.shape - 1] = row
    for i = 1, a.shape[#a.shape] do
        index[#a.shape] = i
        wide[i] = a:at(index)
    end
    return wide
end

local DISTANCES = { { { 2, 3, 5 }, { 4, 5 } }, { { 3, 1, 4, 2 }, { 2, 3, 2 } },
    { { 1, 1 }, { 1, 1 } }, { { 0, 3 }, { 2, 3 } }, { { 2, 3 }, { 0, 3 } }, { { 2, 0 }, { 3, 0 } } }
for _, p in ipairs { 0, 0.5, 1, 1.5, 2, 3, math.huge } do
    DISTANCES[#DISTANCES + 1] = { { 3, 37 }, { 4, 37 }, p = p }
end
DISTANCES[#DISTANCES + 1] = { { 26, 9 }, { 27, 9 } }
add {
    name = "cdist",
    cases = DISTANCES,
    inputs = { scattered, scattered },
    large = { { 130, 33 }, { 60, 33 } },
    mixed = true,
    varied = true,
    dtypes = naive.dtypes.all,
    call = function(case, x, y) return core.cdist(x, y, case.p) end,
    naive = function(case, x, y)
        local common = naive.promote(naive.promote(x.dtype, y.dtype), "f32")
        local a, b, shape = x:to(common), y:to(common), {}
        local rank = math.max(#a.shape, #b.shape)
        for d = 1, rank - 2 do
            local sa, sb = a.shape[d + #a.shape - rank] or 1, b.shape[d + #b.shape - rank] or 1
            shape[d] = sa == 1 and sb or sa
        end
        shape[rank - 1], shape[rank] = a.shape[#a.shape - 1], b.shape[#b.shape - 1]
        return naive.build(shape, common, function(index)
            local batch = { table.unpack(index, 1, rank - 2) }
            return distance(row_of(a, batch, index[rank - 1]), row_of(b, batch, index[rank]),
                case.p or 2)
        end)
    end,
    gradient = true,
}

return entries
