-- Every operation of heed.core against its naive meaning: dtypes, layouts, corners, gradients, in
-- place, threads.

local core = require "heed.core"
local heed = require "heed"
local compare = require "spec.support.compare"
local layouts = require "spec.support.layouts"
local naive = require "spec.support.naive"
local registry = require "spec.ops.registry"
local values = require "spec.support.values"

local COMPUTED = naive.dtypes.all
local STORED, HALVES = naive.dtypes.stored, { "f16", "bf16" }
-- Other widths of what i64 and bool have shown: without every input in another layout, and less of
-- them.
local NARROW = { i32 = true, u8 = true }
local TOLERANCE = { f32 = 1e-5, f64 = 1e-12 }

local function has(list, item)
    for _, x in ipairs(list) do
        if x == item then return true end
    end
    return false
end

local function dtypes_of(entry) return entry.dtypes or COMPUTED end

local function call(entry, case, ...)
    if entry.call then return entry.call(case, ...) end
    return core[entry.name](...)
end

-- The contents of a case's inputs; dtypes: one for all, or one each.
local function contents(entry, case, dtypes, make)
    local random, arrays = values.random(#entry.name + #case), {}
    for i, shape in ipairs(case) do
        local generate = make or entry.inputs and entry.inputs[i] or values.any
        arrays[i] = generate(random, shape, type(dtypes) == "table" and dtypes[i] or dtypes, case)
    end
    return arrays
end

local function layouts_of(entry) return entry.layouts or layouts.names end

-- Can a tensor of the dtype meet the case's parameters?
local function fits(case, dtype) return not (case.signed and dtype == "u8") end

-- Layout k for all inputs, or another for each.
local function layout_at(entry, k, i, rotated)
    local names = layouts_of(entry)
    return names[rotated and (k + i - 2) % #names + 1 or k]
end

local function tensors_of(entry, arrays, k, rotated)
    local tensors = {}
    for i, a in ipairs(arrays) do tensors[i] = layouts.make(layout_at(entry, k, i, rotated), a) end
    return tensors
end

local function describe_case(case)
    local words = {}
    for _, shape in ipairs(case) do words[#words + 1] = "[" .. table.concat(shape, ",") .. "]" end
    for key, value in pairs(case) do
        if type(key) == "string" then
            words[#words + 1] = key .. "=" .. (type(value) == "table" and "{...}"
                or tostring(value))
        end
    end
    return table.concat(words, " ")
end

-- Calls and holds the results against the reference.
local function check_values(entry, case, tensors, tolerance)
    local results = table.pack(call(entry, case, table.unpack(tensors, 1, #case)))
    if entry.check then return entry.check(case, results[1], table.unpack(tensors)) end
    local arrays = {}
    for i, t in ipairs(tensors) do arrays[i] = naive.of(t) end
    local wanted = table.pack(entry.naive(case, table.unpack(arrays, 1, #case)))
    assert(results.n == wanted.n, ("%d results, not %d"):format(results.n, wanted.n))
    for i = 1, wanted.n do
        local message = naive.mismatch(results[i], wanted[i], tolerance)
        if message then error(("result %d: %s"):format(i, message), 0) end
    end
end

local function explained(entry, case, what, f, ...)
    local ok, message = pcall(f, ...)
    if not ok then
        error(("%s, case %s, %s: %s"):format(entry.name, describe_case(case), what,
            tostring(message)), 0)
    end
end

local function check_dtype(entry, dtype)
    local tolerance = dtype == "f32" and entry.tolerance or TOLERANCE[dtype] or 1e-5
    for n, case in ipairs(entry.cases) do
        for _, rotated in ipairs(NARROW[dtype] and { n % 2 == 0 } or { false, true }) do
            for k, name in ipairs(layouts_of(entry)) do
                if fits(case, dtype) and (#case > (rotated and 1 or 0) or k == 1) then
                    local tensors = tensors_of(entry, contents(entry, case, dtype), k, rotated)
                    local laid_out = name .. (rotated and " and others" or "")
                    explained(entry, case, laid_out, check_values, entry, case, tensors, tolerance)
                end
            end
        end
    end
end

-- ---- dtypes that are not computed with ----------------------------------------------------------

-- The case's inputs, those that follow the dtype under test in `dtype`: 1, 2 or 3, which all can
-- hold.
local function in_dtype(entry, case, dtype)
    local tensors, follows = {}, false
    for i, a in ipairs(contents(entry, case, "f64")) do
        if a.dtype == "f64" or #case == 1 then
            local small = naive.build(a.shape, "f64", function(index)
                return (index[#index] or 1) % 3 + 1.0
            end)
            tensors[i], follows = core.to(layouts.tensor(small), dtype), true
        else
            tensors[i] = layouts.tensor(a)
        end
    end
    return tensors, follows
end

local function case_for(entry, dtype)
    for _, case in ipairs(entry.cases) do
        if fits(case, dtype) then return case end
    end
end

local function check_refused(entry, dtype)
    local case = case_for(entry, dtype)
    local tensors, follows = in_dtype(entry, case, dtype)
    if not follows then return end
    local ok, message = pcall(call, entry, case, table.unpack(tensors, 1, #case))
    if ok then error(("%s takes %s: the registry does not say so"):format(entry.name, dtype), 0) end
    assert(message:find "heed%.[%w_%.:]+: " and message:find(dtype, 1, true),
        "not a clear error: " .. message)
end

local function check_stored(entry, dtype)
    local case = case_for(entry, dtype)
    local tensors = in_dtype(entry, case, dtype)
    local exact = {}
    for i, t in ipairs(tensors) do
        exact[i] = t.dtype == dtype and core.to(t, dtypes_of(entry)[1]) or t
    end
    local results = table.pack(call(entry, case, table.unpack(tensors, 1, #case)))
    local wanted = table.pack(call(entry, case, table.unpack(exact, 1, #case)))
    for i = 1, wanted.n do
        local want = type(entry.others) == "table" and wanted[i].dtype or entry.name == "to"
            and case.to or dtype
        if results[i].dtype ~= want then
            error(("%s: the result is %s"):format(dtype, results[i].dtype), 0)
        end
        local rounded = core.to(wanted[i], want)
        if not entry.check then
            assert(core.equal(core.to(results[i], "f64"), core.to(rounded, "f64")), dtype)
        end
    end
end

-- ---- gradients ----------------------------------------------------------------------------------

-- fn over the bases of the floats alone: what autograd is asked about. The results that are
-- detached are left out.
local function differentiable(entry, case, arrays, k, rotated, poison)
    local bases, kinds, fixed = {}, {}, {}
    local function varies(i)
        return naive.is_float(arrays[i].dtype) and not (entry.constants and entry.constants[i])
    end
    for i, a in ipairs(arrays) do
        local name = layout_at(entry, k, i, rotated)
        local kind = layouts.kinds[name]
        local base = layouts.tensor(kind.base(a, naive.is_float(a.dtype) and poison or nil))
        kinds[i] = function(t) return kind.view(t, a.shape) end
        if varies(i) then bases[#bases + 1] = base else fixed[i] = kinds[i](base) end
    end
    local function fn(...)
        local inputs, leaves, n = {}, { ... }, 0
        for i = 1, #arrays do
            if fixed[i] then
                inputs[i] = fixed[i]
            else
                n = n + 1
                inputs[i] = kinds[i](leaves[n])
            end
        end
        local results, kept = table.pack(call(entry, case, table.unpack(inputs, 1, #case))), {}
        for i = 1, results.n do
            if not (entry.detached and entry.detached[i]) then kept[#kept + 1] = results[i] end
        end
        return table.unpack(kept)
    end
    return fn, bases
end

local function total_size(tensors)
    local n = 0
    for _, t in ipairs(tensors) do n = n + t:numel() end
    return n
end

-- The same for f32 and f64.
local function weights_like(t)
    return core.rand(t.shape, { dtype = "f32", generator = core.generator(3) }):to(t.dtype) + 0.5
end

-- The gradients of a weighted sum of all float results; nil when nothing is recorded.
local function gradients(fn, bases)
    local leaves, total = {}, nil
    for i, base in ipairs(bases) do
        leaves[i] = base:clone()
        leaves[i].requires_grad = true
    end
    for _, y in ipairs { fn(table.unpack(leaves)) } do
        if naive.is_float(y.dtype) and y.requires_grad then
            local term = (y * weights_like(y)):sum()
            total = total and total + term or term
        end
    end
    if not total then return nil end
    total:backward()
    local found = {}
    for i, leaf in ipairs(leaves) do found[i] = leaf.grad or core.zeros_like(leaf) end
    return found
end

local function weighted(fn, bases)
    local total = 0
    for _, y in ipairs { fn(table.unpack(bases)) } do
        if naive.is_float(y.dtype) then total = total + (y * weights_like(y)):sum():item() end
    end
    return total
end

-- Along one direction: for cases too large to move every element by itself.
local function check_direction(fn, bases)
    local found, along, step = gradients(fn, bases), 0, 1e-6
    local ahead, behind = {}, {}
    for i, base in ipairs(bases) do
        local u = core.randn(base.shape, { dtype = "f64", generator = core.generator(i) })
        along = along + (found[i] * u):sum():item()
        ahead[i], behind[i] = base + u * step, base - u * step
    end
    local difference = (weighted(fn, ahead) - weighted(fn, behind)) / (2 * step)
    local off = math.abs(along - difference) / (1 + math.abs(difference))
    assert(off < 1e-5, ("along a direction the gradient is %.10g, the difference quotient %.10g"):format(along, difference))
end

local function has_no_elements(case)
    for _, shape in ipairs(case) do
        if has(shape, 0) then return true end
    end
    return false
end

local function skips_gradient(entry, case, layout)
    return has_no_elements(case) or case.rough or (layout == "expanded" and entry.varied)
end

local function check_gradient(entry)
    for _, case in ipairs(entry.cases) do
        for k, name in ipairs(layouts_of(entry)) do
            local fn, bases = differentiable(entry, case, contents(entry, case, "f64"), k, true,
                0.5)
            local size = total_size(bases)
            if not skips_gradient(entry, case, name) then
                explained(entry, case, "gradient, " .. name, function()
                    if size <= 250 then heed.gradcheck(fn, bases) else check_direction(fn,
                        bases) end
                end)
            end
        end
    end
end

-- The kernels of f32 are others than those of f64.
local function check_f32_gradient(entry)
    for _, case in ipairs(entry.cases) do
        for k, name in ipairs(layouts_of(entry)) do
            explained(entry, case, "gradient in f32, " .. name, function()
                if name == "expanded" and entry.varied then return end
                local arrays = contents(entry, case, "f32")
                local single = gradients(differentiable(entry, case, arrays, k, true, 0.5))
                for i, a in ipairs(arrays) do
                    arrays[i] = naive.is_float(a.dtype) and a:to "f64" or a
                end
                local double = gradients(differentiable(entry, case, arrays, k, true, 0.5))
                assert((single == nil) == (double == nil), "recorded in one of them alone")
                for i, got in ipairs(single or {}) do
                    assert(got.dtype == "f32")
                    local worst, message = compare.worst(got:to "f64", double[i])
                    assert(worst < 1e-4, message)
                end
            end)
        end
    end
end

-- ---- corners, in place --------------------------------------------------------------------------

local function check_corners(entry, dtype)
    local shape, case = { #entry.corners }, {}
    for key, value in pairs(entry.cases[1]) do case[key] = value end
    case[1] = shape
    local a = naive.nested(entry.corners, shape, dtype)
    explained(entry, case, dtype, check_values, entry, case, { layouts.tensor(a) },
        TOLERANCE[dtype])
    -- Longer than a vector, so that corners meet every lane and the tail.
    shape[1] = 67
    local long = naive.build(shape, dtype, function(index)
        return a.data[index[1] * 5 % #a.data + 1]
    end)
    explained(entry, case, dtype, check_values, entry, case, { layouts.tensor(long) },
        TOLERANCE[dtype])
end

-- What lies around the view of a layout is still there.
local function check_around(kind, base, a)
    local around, now = naive.of(layouts.tensor(kind.base(a))), naive.of(base)
    kind.view(base, a.shape):zero_()
    local cleared = naive.of(base)
    for i, v in ipairs(around.data) do
        local inside = cleared.data[i] ~= now.data[i] or cleared.data[i] == 0
            or cleared.data[i] == false
        assert(inside or now.data[i] == v or (now.data[i] ~= now.data[i] and v ~= v),
            "it wrote outside of the view")
    end
end

local function check_in_place(entry, case, dtype)
    if case.first then return end
    local f = core[entry.in_place]
    for k, name in ipairs { "contiguous", "transposed", "offset", "strided" } do
        explained(entry, case, ("in place, %s, %s"):format(dtype, name), function()
            local arrays = contents(entry, case, dtype)
            local x, base = layouts.make(name, arrays[1])
            local other = arrays[2] and layouts.make(layouts.names[k], arrays[2]) or case.scalar
            local want = call(entry, case, x:clone(), table.unpack({ arrays[2] and other }))
            if want.shape ~= x.shape or want.dtype ~= dtype then
                local ok, message = pcall(f, x, other)
                assert(not ok and message:find("heed%." .. entry.in_place .. ": "),
                    "it should be refused: " .. tostring(message))
                return
            end
            assert(rawequal(x, f(x, other)), "it does not return its tensor")
            local message = naive.mismatch(x, naive.of(want), 0)
            if message then error(message, 0) end
            check_around(layouts.kinds[name], base, arrays[1])
        end)
    end
end

-- Elements that share a place in memory have no value of their own to be written.
local function check_expanded_in_place(entry)
    local x = core.ones(1, { dtype = dtypes_of(entry)[1] }):expand(3)
    local ok, message = pcall(core[entry.in_place], x, #entry.cases[1] > 1 and 2
        or entry.cases[1].scalar)
    assert(not ok and message:find "expanded", tostring(message))
end

-- Backward must see that what it needs was overwritten: when the write is recorded, and when it is
-- not.
local function check_overwriting_is_noticed(entry)
    local arrays = contents(entry, entry.cases[1], "f64")
    local other = arrays[2] and layouts.tensor(arrays[2]) or entry.cases[1].scalar
    for _, recorded in ipairs { true, false } do
        local x = layouts.tensor(arrays[1])
        x.requires_grad = true
        local y = x * 1
        local z = y:exp():sum() + (y * y):sum()
        if recorded then
            core[entry.in_place](y, other)
        else
            core.no_grad(core[entry.in_place], y, other)
        end
        local ok, message = pcall(z.backward, z)
        assert(not ok and message:find "overwritten", tostring(message))
    end
end

local function check_in_place_gradient(entry, case)
    if case.first or (case[2] and #case[2] > #case[1]) then return end
    local arrays = contents(entry, case, "f64")
    local fn, bases = differentiable(entry, case, arrays, 1, false)
    local function written(x, other)
        return core[entry.in_place](x:clone(), other or case.scalar)
    end
    if fn(table.unpack(bases)).shape ~= bases[1].shape then return end
    explained(entry, case, "gradient in place", function()
        local want, got = gradients(fn, bases), gradients(written, bases)
        for i, g in ipairs(want or {}) do
            local worst, message = compare.worst(got[i], g)
            assert(worst < 1e-12, message)
        end
    end)
end

-- ---- large: threads and layouts -----------------------------------------------------------------

-- Contents that repeat: what a generator makes is slow.
local function large_tensor(entry, case, i, shape)
    local count = 1
    for _, size in ipairs(shape) do count = count * size end
    local generate = entry.inputs and entry.inputs[i] or values.any
    local a = generate(values.random(i), { math.min(997, count) }, "f32", case)
    local bytes = layouts.tensor(a):bytes()
    local size = #bytes // math.max(1, a:numel())
    bytes = bytes:rep((count + a:numel() - 1) // math.max(1, a:numel())):sub(1, count * size)
    return core.frombytes(bytes, a.dtype, shape)
end

local large_layouts = {
    transposed = function(t) return t:transpose(-1, -2):contiguous():transpose(-1, -2) end,
    offset = function(t)
        local first = t:select(1, 1):unsqueeze(1)
        return core.cat({ first, t, first }, 1):narrow(1, 2, #t)
    end,
}

local function run_large(entry, inputs)
    local leaves = {}
    for i, t in ipairs(inputs) do
        leaves[i] = t:detach()
        local constant = entry.constants and entry.constants[i]
        if entry.gradient and naive.is_float(t.dtype) and not constant then
            leaves[i].requires_grad = true
        end
    end
    local results, total = table.pack(call(entry, entry.large, table.unpack(leaves))), nil
    for _, y in ipairs(results) do
        if y.requires_grad then
            local term = (y * weights_like(y)):sum()
            total = total and total + term or term
        end
    end
    if total then total:backward() end
    for _, leaf in ipairs(leaves) do
        if leaf.grad then results[#results + 1] = leaf.grad end
    end
    return results
end

local function check_large(entry)
    local inputs = {}
    for i, shape in ipairs(entry.large) do
        inputs[i] = large_tensor(entry, entry.large, i, shape)
    end
    local before, bits = core.get_num_threads(), nil
    for threads = 1, 3 do
        core.set_num_threads(threads)
        local now = {}
        for i, y in ipairs(run_large(entry, inputs)) do now[i] = y:bytes() end
        bits = bits or now
        for i in ipairs(now) do
            assert(now[i] == bits[i], ("result %d is another on %d threads"):format(i, threads))
        end
    end
    core.set_num_threads(before)
    local wanted = run_large(entry, inputs)
    if entry.layouts then return end
    for name, lay_out in pairs(large_layouts) do
        local laid_out = {}
        for i, t in ipairs(inputs) do
            laid_out[i] = t:dim() > (name == "transposed" and 1 or 0) and lay_out(t) or t
        end
        for i, got in ipairs(run_large(entry, laid_out)) do
            local close = core.allclose(got, wanted[i],
                { rtol = 1e-4, atol = 1e-4, equal_nan = true })
            assert(close, ("result or gradient %d is another when inputs are %s"):format(i, name))
        end
    end
end

-- ---- the specs ----------------------------------------------------------------------------------

describe("the registry of operations", function()
    it("names everything that heed.core has", function()
        local missing = {}
        for name in pairs(core) do
            local entry = core.internal[name] or registry.by_name[name]
                or registry.not_operations[name]
            for _, e in ipairs(registry.operations) do entry = entry or e.in_place == name end
            if not entry then missing[#missing + 1] = name end
        end
        table.sort(missing)
        assert.same({}, missing)
    end)

    it("names nothing that heed.core has not", function()
        for _, entry in ipairs(registry.operations) do
            if not entry.syntax then assert.is_function(core[entry.name], entry.name) end
            if entry.in_place then assert.is_function(core[entry.in_place], entry.in_place) end
        end
        for name in pairs(registry.not_operations) do assert.is_not_nil(core[name], name) end
    end)

    it("names every method, but those that are composed of others", function()
        local composed = require("heed.composed").both
        for name, method in pairs(core.methods) do
            local known = core[name] ~= nil or composed[name] ~= nil or name == "free"
                or type(method) ~= "function"
            assert.is_true(known, name)
        end
    end)
end)

for _, entry in ipairs(registry.operations) do
    describe(entry.name .. (entry.variant and ", " .. entry.variant or ""), function()
        for _, dtype in ipairs(dtypes_of(entry)) do
            if #entry.cases[1] > 0 or dtype == dtypes_of(entry)[1] then
                it("computes " .. dtype .. " in every layout", function()
                    check_dtype(entry, dtype)
                end)
            end
        end

        if entry.mixed then
            it("promotes dtypes that differ", function()
                local n = #entry.cases[1]
                for _, a in ipairs(dtypes_of(entry)) do
                    for _, b in ipairs(dtypes_of(entry)) do
                        local case = entry.cases[1]
                        local dtypes = n == 3 and { "bool", a, b } or { a, b }
                        local tensors = tensors_of(entry, contents(entry, case, dtypes), 1)
                        explained(entry, case, a .. " and " .. b, check_values, entry, case,
                            tensors, TOLERANCE.f32)
                    end
                end
            end)
        end

        if #entry.cases[1] > 0 then
            it("refuses, or only moves, the other dtypes", function()
                local others = entry.others == true and STORED
                    or entry.others == "halves" and HALVES or entry.others or {}
                for _, dtype in ipairs(naive.dtypes.known) do
                    if has(others, dtype) then
                        check_stored(entry, dtype)
                    elseif not has(dtypes_of(entry), dtype) then
                        check_refused(entry, dtype)
                    end
                end
            end)
        end

        if entry.gradient then
            it("has the gradient that differences give", function() check_gradient(entry) end)
            it("has the same gradient in f32", function() check_f32_gradient(entry) end)
        end

        if entry.corners then
            it("keeps infinities and NaN", function()
                for _, dtype in ipairs { "f32", "f64" } do check_corners(entry, dtype) end
            end)
        end

        if entry.in_place then
            it("works in place", function()
                for _, dtype in ipairs(dtypes_of(entry)) do
                    for _, case in ipairs(entry.cases) do
                        if fits(case, dtype) then check_in_place(entry, case, dtype) end
                    end
                end
                for _, case in ipairs(entry.gradient and entry.cases or {}) do
                    check_in_place_gradient(entry, case)
                end
                check_expanded_in_place(entry)
                check_overwriting_is_noticed(entry)
            end)
        end

        if entry.large then
            it("gives the same bits on any number of threads, and the same values in other layouts",
                function()
                check_large(entry)
            end)
        end
    end)
end
