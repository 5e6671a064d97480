--- Tensors from nothing, drawing random numbers, and what trains.

local core = require "heed.core"
local assert = require "luassert"
local naive = require "spec.support.naive"

local FLOAT = naive.dtypes.floats

local entries = {}
local function add(entry)
    if entry.large == nil then entry.large = false end
    entries[#entries + 1] = entry
end

-- ---- from nothing: a case says shape and dtype; there are no inputs -----------------------------

local SIZES = { { to = { 3, 37 } }, { to = {} }, { to = { 0 } }, { to = { 2, 0, 3 } },
    { to = { 1 } } }

local function constant(value)
    return function(case)
        return naive.build(case.to, case.dtype or "f32", function()
            return naive.convert(value, case.dtype or "f32")
        end)
    end
end

local function with_dtypes(cases)
    local list = {}
    for _, case in ipairs(cases) do
        for _, dtype in ipairs(naive.dtypes.known) do
            list[#list + 1] = { to = case.to, dtype = dtype }
        end
    end
    return list
end

add { name = "zeros", cases = with_dtypes(SIZES), naive = constant(0),
    call = function(case) return core.zeros(case.to, { dtype = case.dtype }) end }
add { name = "ones", cases = with_dtypes(SIZES), naive = constant(1),
    call = function(case) return core.ones(case.to, { dtype = case.dtype }) end }
add { name = "full", cases = with_dtypes(SIZES), naive = constant(1),
    call = function(case) return core.full(case.to, 1, { dtype = case.dtype }) end }
add {
    name = "empty",
    cases = with_dtypes(SIZES),
    call = function(case) return core.empty(case.to, { dtype = case.dtype }) end,
    check = function(case, result)
        assert.same({ case.to, case.dtype }, { { result:size() }, result.dtype })
    end,
}
add {
    name = "tensor",
    cases = { { values = 5, gives = { {}, "f32", { 5 } } },
        { values = { { 1, 2 }, { 3, 4.5 } }, gives = { { 2, 2 }, "f32", { 1, 2, 3, 4.5 } } },
        { values = { true, false }, gives = { { 2 }, "bool", { true, false } } },
        { values = {}, gives = { { 0 }, "f32", {} } } },
    call = function(case) return core.tensor(case.values) end,
    naive = function(case)
        local shape, dtype, data = table.unpack(case.gives)
        local at = 0
        return naive.build(shape, dtype, function()
            at = at + 1
            return data[at]
        end)
    end,
}
add {
    name = "ids",
    cases = { {} },
    call = function() return core.ids { { 1, 2 }, { 3, 4 } } end,
    naive = function() return naive.nested({ { 1, 2 }, { 3, 4 } }, { 2, 2 }, "i64") end,
}
add {
    name = "frombytes",
    cases = { {} },
    call = function() return core.frombytes(("<i8i8"):pack(7, -9), "i64", { 2, 1 }) end,
    naive = function() return naive.nested({ { 7 }, { -9 } }, { 2, 1 }, "i64") end,
}
add {
    name = "eye",
    cases = { { n = 3 }, { n = 3, m = 5 }, { n = 4, m = 2 }, { n = 0 }, { n = 1 } },
    call = function(case) return core.eye(case.n, case.m) end,
    naive = function(case)
        return naive.build({ case.n, case.m or case.n }, "f32",
            function(index) return index[1] == index[2] and 1.0 or 0.0 end)
    end,
}
add {
    name = "range",
    cases = { { first = 1, last = 5, count = 5 }, { first = 0, last = 1, step = 0.25, count = 5 },
        { first = 5, last = 1, step = -2, count = 3 },
        { first = 2, last = 1, count = 0 } },
    call = function(case) return core.range(case.first, case.last, case.step) end,
    naive = function(case)
        return naive.build({ case.count }, "f32",
            function(index) return case.first + (index[1] - 1.0) * (case.step or 1) end)
    end,
}
add {
    name = "linspace",
    cases = { { first = 0, last = 1, count = 5 }, { first = 3, last = -2.5, count = 8 },
        { first = 2, last = 9, count = 1 },
        { first = 1, last = 2, count = 0 } },
    call = function(case) return core.linspace(case.first, case.last, case.count) end,
    naive = function(case)
        return naive.build({ case.count }, "f32", function(index)
            if case.count == 1 then return case.first + 0.0 end
            return case.first + (index[1] - 1.0) * (case.last - case.first) / (case.count - 1)
        end)
    end,
}
add {
    name = "sinusoidal_positions",
    cases = { { length = 3, dim = 6, first = 0 }, { length = 4, dim = 5, first = 1 },
        { length = 2, dim = 4,
        first = 0, layout = "halves" } },
    call = function(case)
        return core.sinusoidal_positions(case.length, case.dim, case.first, case.layout)
    end,
    naive = function(case)
        local pairs_count = (case.dim + 1) // 2
        return naive.build({ case.length, case.dim }, "f32", function(index)
            local column = index[2] - 1
            local pair, is_cosine = column // 2, column % 2 == 1
            if case.layout == "halves" then
                pair, is_cosine = column % pairs_count, column >= pairs_count
            end
            local angle = (index[1] - 1 + case.first) / 10000 ^ (2 * pair / case.dim)
            return is_cosine and math.cos(angle) or math.sin(angle)
        end)
    end,
}

-- ---- like another -------------------------------------------------------------------------------

local SHAPES = { { { 3, 37 } }, { {} }, { { 0 } }, { { 2, 0, 3 } }, { { 1 } } }

local function filled(value)
    return function(_, x) return x:map(function() return naive.convert(value, x.dtype) end) end
end
local function as_asked(_, result, x)
    assert.same({ { x:size() }, x.dtype }, { { result:size() }, result.dtype })
end

add { name = "zeros_like", cases = SHAPES, naive = filled(0), others = true }
add { name = "ones_like", cases = SHAPES, naive = filled(1), others = true }
add { name = "full_like", cases = SHAPES, naive = filled(1), call = function(_, x)
    return core.full_like(x, 1)
end,
    others = true }
add { name = "empty_like", cases = SHAPES, check = as_asked, others = true }

-- ---- random -------------------------------------------------------------------------------------

-- Mean and standard deviation of what was drawn, held against what they should be.
local function distributed(result, mean, deviation)
    local data = naive.of(result).data
    if #data < 1000 then return end
    local sum, squares = 0, 0
    for _, v in ipairs(data) do sum, squares = sum + v, squares + (v - mean) ^ 2 end
    local off = math.abs(sum / #data - mean) * math.sqrt(#data) / deviation
    assert(off < 5, ("the mean is %g"):format(sum / #data))
    assert(math.abs(math.sqrt(squares / #data) / deviation - 1) < 0.1,
        ("the deviation is %g"):format(math.sqrt(squares / #data)))
end

local function within(result, low, high)
    for _, v in ipairs(naive.of(result).data) do
        assert(v >= low and v <= high, ("%s is not in %g..%g"):format(v, low, high))
    end
end

local DRAWS = { { { 40, 37 } }, { {} }, { { 0 } }, { { 1 } } }
local UNIFORM, NORMAL = { 0.5, math.sqrt(1 / 12) }, { 0, 1 }

local function seeded(f)
    return function(...)
        core.manual_seed(11)
        return f(...)
    end
end

local function drawn(expected, low, high)
    return function(_, result)
        distributed(result, table.unpack(expected))
        if low then within(result, low, high) end
    end
end

local function sizes_of_draws(f)
    return seeded(function(case) return f(case.to) end)
end
local SIZED_DRAWS = { { to = { 40, 37 } }, { to = {} }, { to = { 0 } }, { to = { 1 } } }

add { name = "rand", cases = SIZED_DRAWS, call = sizes_of_draws(core.rand),
    check = drawn(UNIFORM, 0, 1) }
add { name = "randn", cases = SIZED_DRAWS, call = sizes_of_draws(core.randn),
    check = drawn(NORMAL) }
add {
    name = "randint",
    cases = SIZED_DRAWS,
    call = sizes_of_draws(function(shape) return core.randint(1, 6, shape) end),
    check = function(_, result)
        within(result, 1, 6)
        if result:numel() < 1000 then return end
        distributed(result, 3.5, math.sqrt(35 / 12))
        for face = 1, 6 do assert(result:eq(face):any(), face .. " was never drawn") end
    end,
}
add {
    name = "randperm",
    cases = { { n = 100 }, { n = 1 }, { n = 0 } },
    call = seeded(function(case) return core.randperm(case.n) end),
    check = function(case, result)
        local data = naive.of(result).data
        local moved = case.n < 10
        for i, v in ipairs(data) do moved = moved or i ~= v end
        assert(moved)
        table.sort(data)
        for i = 1, case.n do assert.equal(i, data[i]) end
    end,
}
-- Weights 1, 2, 3, 0, again and again: how often each class comes.
local function weights(_, shape, dtype)
    return naive.build(shape, dtype, function(index) return index[#index] % 4 + 0.0 end)
end

-- The first draws are of class c with probability p = w / sum; the second of two with the sum of q
-- p / (1 - q) over the first.
local function often(rows, weight, replacement)
    local classes, total, draws, counts, second = #weight, 0, 0, {}, {}
    for c, w in ipairs(weight) do total, counts[c], second[c] = total + w, 0, 0 end
    for _, row in ipairs(rows) do
        for i = 1, replacement and #row or 1 do
            counts[row[i]], draws = counts[row[i]] + 1, draws + 1
        end
        if not replacement then second[row[2]] = second[row[2]] + 1 end
    end
    for c = 1, classes do
        local p, after = weight[c] / total, 0
        assert(math.abs(counts[c] / draws - p) < 0.015, "a class comes too often or too rarely")
        for other = 1, classes do
            local q = weight[other] / total
            after = after + (other == c and 0 or q * p / (1 - q))
        end
        assert(replacement or math.abs(second[c] / draws - after) < 0.015,
            "a class comes second too often or too rarely")
    end
end
add {
    name = "multinomial",
    cases = { { { 8 }, n = 5 }, { { 3, 37 }, n = 27 }, { { 2, 9 }, n = 40, replacement = true },
        { { 1 }, n = 1 },
        { { 3, 8 }, n = 1 }, { { 0, 8 }, n = 2 }, { { 4 }, n = 30000, replacement = true,
            often = true },
        { { 15000, 4 }, n = 2, often = true } },
    inputs = { weights },
    dtypes = FLOAT,
    call = seeded(function(case, x)
        return core.multinomial(x, case.n, { replacement = case.replacement or false })
    end),
    check = function(case, result, x)
        assert.equal("i64", result.dtype)
        assert.same(#case[1] == 1 and { case.n } or { case[1][1], case.n }, { result:size() })
        if result:numel() == 0 then return end
        within(result, 1, x:size(-1))
        local rows = #case[1] == 1 and { result:totable() } or result:totable()
        local weight = #case[1] == 1 and { x:totable() } or x:totable()
        for r, row in ipairs(rows) do
            local seen = {}
            for _, class in ipairs(row) do
                assert(weight[r][class] > 0, "a class of no weight was drawn")
                assert(case.replacement or not seen[class], "a class was drawn twice")
                seen[class] = true
            end
        end
        if case.often then often(rows, weight[1], case.replacement) end
    end,
}
add { name = "rand_like", cases = DRAWS, dtypes = FLOAT,
    call = seeded(function(_, x) return core.rand_like(x) end), check = drawn(UNIFORM, 0, 1),
    large = { { 257, 531 } } }
add { name = "randn_like", cases = DRAWS, dtypes = FLOAT,
    call = seeded(function(_, x) return core.randn_like(x) end), check = drawn(NORMAL),
    large = { { 257, 531 } } }
add { name = "uniform_", cases = DRAWS, dtypes = FLOAT,
    call = seeded(function(_, x) return core.uniform_(x:clone(), -1, 3) end),
    check = drawn({ 1, 4 / math.sqrt(12) }, -1, 3), large = { { 257, 531 } } }
add { name = "normal_", cases = DRAWS, dtypes = FLOAT,
    call = seeded(function(_, x) return core.normal_(x:clone(), 2, 3) end),
    check = drawn { 2, 3 }, large = { { 257, 531 } } }

-- ---- whole tensors compared: a Lua boolean, put into a tensor here ------------------------------

add {
    name = "equal",
    cases = { { { 3, 37 }, { 3, 37 } }, { { 3 }, { 4 } }, { {}, {} }, { { 0 }, { 0 } } },
    others = naive.dtypes.stored,
    call = function(_, a, b) return core.tensor { core.equal(a, b), core.equal(a, a) } end,
    naive = function(_, a, b)
        local same = table.concat(a.shape, " ") == table.concat(b.shape, " ")
        for i, v in ipairs(a.data) do same = same and v == b.data[i] end
        return naive.nested({ same, true }, { 2 }, "bool")
    end,
}
add {
    name = "allclose",
    others = naive.dtypes.stored_integers,
    cases = { { { 3, 37 }, { 3, 37 } }, { { 4, 2, 3 }, { 3 } }, { {}, {} }, { { 0 }, { 0 } } },
    call = function(_, a, b)
        return core.tensor { core.allclose(a, b, { atol = 20 }),
            core.allclose(a, b, { rtol = 0, atol = 0.001 }) }
    end,
    naive = function(_, a, b)
        local close = naive.zip("bool", function(x, y) return x == y end, a, b)
        local all = true
        for _, v in ipairs(close.data) do all = all and v end
        return naive.nested({ true, all }, { 2 }, "bool")
    end,
}

-- ---- training -----------------------------------------------------------------------------------

-- The inputs become parameters with gradients; what comes out is what the optimiser left.
local function with_gradients(w, g)
    local parameter = w:clone()
    parameter.grad = g:contiguous()
    return parameter
end

local B1, B2, LR, EPS, DECAY, MOMENTUM = 0.9, 0.99, 0.1, 1e-8, 0.01, 0.8

local ALPHA = 0.9

local STEPS = {
    rmsprop = function(x, gradient, centered)
        local v, a, buffer = 0.0, 0.0, 0.0
        for _ = 1, 2 do
            local g = gradient + DECAY * x
            v, a = ALPHA * v + (1 - ALPHA) * g ^ 2, ALPHA * a + (1 - ALPHA) * g
            local square = centered and v - a ^ 2 or v
            buffer = MOMENTUM * buffer + g / (math.sqrt(square) + EPS)
            x = x - LR * buffer
        end
        return x
    end,
    lion = function(x, gradient)
        local m = 0.0
        for _ = 1, 2 do
            local c = B1 * m + (1 - B1) * gradient
            x = x - LR * ((c > 0 and 1 or c < 0 and -1 or c) + DECAY * x)
            m = B2 * m + (1 - B2) * gradient
        end
        return x
    end,
    adam = function(x, gradient, decoupled)
        local m, v = 0.0, 0.0
        for step = 1, 2 do
            local g = gradient + (decoupled and 0 or DECAY * x)
            m, v = B1 * m + (1 - B1) * g, B2 * v + (1 - B2) * g ^ 2
            x = decoupled and x * (1 - LR * DECAY) or x
            x = x - LR * (m / (1 - B1 ^ step)) / (math.sqrt(v / (1 - B2 ^ step)) + EPS)
        end
        return x
    end,
    sgd = function(x, gradient)
        local buffer
        for _ = 1, 2 do
            local g = gradient + DECAY * x
            buffer = buffer and MOMENTUM * buffer + g or g
            x = x - LR * (g + MOMENTUM * buffer)
        end
        return x
    end,
}

add {
    name = "optim_step",
    cases = { { { 3, 37 }, { 3, 37 }, kind = "adamw" }, { { 3, 37 }, { 3, 37 }, kind = "adam" },
        { { 3, 37 }, { 3, 37 }, kind = "sgd" }, { { 3, 37 }, { 3, 37 }, kind = "rmsprop" },
        { { 3, 37 }, { 3, 37 }, kind = "rmsprop", centered = true },
        { { 3, 37 }, { 3, 37 }, kind = "lion" },
        { {}, {}, kind = "adamw" }, { {}, {}, kind = "rmsprop" }, { { 0 }, { 0 }, kind = "sgd" } },
    dtypes = FLOAT,
    large = { { 257, 531 }, { 257, 531 }, kind = "adamw" },
    call = function(case, w, g)
        local p, other = with_gradients(w, g), core.zeros_like(w)
        local group = { params = { p, other }, steps = { 0, 0 },
            m = { core.zeros_like(p), core.zeros_like(w) }, lr = LR,
            beta1 = B1, beta2 = B2, eps = EPS, weight_decay = DECAY, momentum = MOMENTUM,
                nesterov = true, alpha = ALPHA }
        if case.kind ~= "sgd" then group.v = { core.zeros_like(p), core.zeros_like(w) } end
        if case.centered then group.a = { core.zeros_like(p), core.zeros_like(w) } end
        for _ = 1, 2 do core.optim_step(case.kind, { group }) end
        assert(group.steps[1] == 2 and group.steps[2] == 0)
        return p
    end,
    naive = function(case, w, g)
        return naive.zip(w.dtype, function(x, gradient)
            return STEPS[case.kind == "adamw" and "adam" or case.kind](x, gradient,
                case.centered or case.kind == "adamw")
        end, w, g)
    end,
}
add {
    name = "average_all",
    cases = { { { 3, 37 }, { 3, 37 } }, { {}, {} }, { { 0 }, { 0 } } },
    dtypes = FLOAT,
    large = { { 257, 531 }, { 257, 531 } },
    call = function(_, a, w)
        local average = a:clone()
        core.average_all({ average }, { w }, 0.9)
        return average
    end,
    naive = function(_, a, w) return naive.zip(a.dtype,
        function(x, y) return 0.9 * x + (1 - 0.9) * y end, a, w) end,
}
add {
    name = "swap_all",
    cases = { { { 3, 37 }, { 3, 37 } }, { {}, {} }, { { 0 }, { 0 } } },
    dtypes = FLOAT,
    large = { { 257, 531 }, { 257, 531 } },
    call = function(_, a, b)
        local first, second = a:clone(), b:clone()
        core.swap_all({ first }, { second })
        return first, second
    end,
    naive = function(_, a, b) return b, a end,
}
add {
    name = "grad_norm",
    cases = { { { 3, 37 }, { 3, 37 } }, { {}, {} }, { { 0 }, { 0 } } },
    dtypes = FLOAT,
    large = { { 257, 531 }, { 257, 531 } },
    call = function(_, w, g)
        local p = with_gradients(w, g)
        return core.tensor(core.grad_norm { p, p }, { dtype = "f64" })
    end,
    naive = function(_, _, g)
        local total = 0.0
        for _, v in ipairs(g.data) do total = total + 2 * v ^ 2 end
        return naive.nested(math.sqrt(total), {}, "f64")
    end,
}
add {
    name = "scale_grads",
    cases = { { { 3, 37 }, { 3, 37 } }, { {}, {} }, { { 0 }, { 0 } } },
    dtypes = FLOAT,
    large = { { 257, 531 }, { 257, 531 } },
    call = function(_, w, g)
        local p = with_gradients(w, g:clone())
        core.scale_grads({ p }, 0.5)
        return p.grad
    end,
    naive = function(_, _, g) return g:map(function(v) return v * 0.5 end) end,
}

return entries
