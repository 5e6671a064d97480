--- Gradients as functions, and their check against differences.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local autograd = {}

local FLOATS = core.dtypes.floats

local function is_float(value) return check.is_tensor(value) and FLOATS[value.dtype] ~= nil end

-- The arguments with leaves of their own in place of the tensors to differentiate by; and those
-- leaves, in order.
local function with_leaves(where, wrt, args)
    local leaves, given = {}, table.move(args, 1, args.n, 1, {})
    local function add(i)
        if not is_float(args[i]) then
            errors.raise("%s: argument %d: expected a tensor of floats, got %s", where, i,
                check.describe(args[i]))
        end
        given[i] = args[i]:detach()
        given[i].requires_grad = true
        leaves[#leaves + 1] = given[i]
    end
    if wrt == nil then
        for i = 1, args.n do
            if is_float(args[i]) then add(i) end
        end
    else
        for _, item in ipairs(type(wrt) == "table" and wrt or { wrt }) do
            if check.is_tensor(item) then leaves[#leaves + 1] = item else add(check.integer(where,
                "wrt", item)) end
        end
    end
    return leaves, given
end

local function scalar(where, value)
    if not check.is_tensor(value) or value:numel() ~= 1 then
        errors.raise("%s: fn: expected it to give a tensor of one element, got %s", where,
            check.describe(value))
    end
    return value
end

-- Leaves that are somebody's parameters keep the gradients they have.
local function gradients(leaves, value)
    local before, found = {}, {}
    for i, leaf in ipairs(leaves) do
        before[i] = leaf.grad or false
        leaf.grad = nil
    end
    if value.requires_grad then value:backward() end
    for i, leaf in ipairs(leaves) do
        found[i] = leaf.grad or core.zeros_like(leaf)
        leaf.grad = before[i] or nil
    end
    return found
end

local once = core.func(function(_, result) return result end, function()
    errors.raise("heed.grad: gradients of gradients are not supported: this one was taken inside "
        .. "a function that is itself differentiated")
end)

-- What was taken inside another function whose gradients are wanted: going back through it is an
-- error, not a silent zero.
local function guard(results, args, wrt)
    local sources = {}
    local function add(item)
        if is_float(item) and item.requires_grad then sources[#sources + 1] = item end
    end
    for i = 1, args.n do add(args[i]) end
    for _, item in ipairs(type(wrt) == "table" and wrt or {}) do add(item) end
    if #sources == 0 then return end
    for i, result in ipairs(results) do results[i] = once(result, table.unpack(sources)) end
end

local function with_value(where, fn, options)
    check.type(where, "fn", fn, "function")
    options = check.options(where, options, { wrt = true })
    return function(...)
        local args = table.pack(...)
        local leaves, given = with_leaves(where, options.wrt, args)
        local value = scalar(where, (core.differentiating(fn, table.unpack(given, 1, args.n))))
        local results = { value:detach(), table.unpack(gradients(leaves, value)) }
        if core.differentiating() then guard(results, args, options.wrt) end
        return table.unpack(results)
    end
end

---A function that returns fn's value and the gradients of it. Arguments that take no part get
---zeros. Gradients of gradients raise: one taken inside a function that is itself differentiated is
---no part of its graph.
---
---```lua
---local f = heed.value_and_grad(function(x, y) return (x * x * y):sum() end)
---print(f(heed.tensor { 1.0, 2.0 }, heed.tensor { 3.0, 4.0 })) --> 19. f32 [] [ 6., 16.] f32 [2] [1., 4.] f32 [2]
---local layer = nn.Linear(2, 1)
---local g = heed.value_and_grad(function(x) return layer(x):sum() end,
---    { wrt = layer:parameters() })
---print(select("#", g(heed.ones(1, 2)))) --> 3
---```
---@param fn fun(...: any): heed.Tensor gives one element
---@param options? { wrt?: integer|integer[]|heed.Tensor[] } by which arguments (numbers), or by
---which leaves; default: by every argument that is a tensor of floats
---@return fun(...: any): heed.Tensor ... value (detached) and gradients
function autograd.value_and_grad(fn, options)
    return with_value("heed.value_and_grad", fn, options)
end

---A function that returns the gradients of fn's value by its arguments.
---
---```lua
---print(heed.grad(function(x) return (x * x):sum() end)(heed.tensor { 1.0, 2.0 })) --> [2., 4.] f32 [2]
---```
---@param fn fun(...: any): heed.Tensor gives one element
---@param options? { wrt?: integer|integer[]|heed.Tensor[] } as of value_and_grad
---@return fun(...: any): heed.Tensor ... gradients
function autograd.grad(fn, options)
    local both = with_value("heed.grad", fn, options)
    return function(...) return select(2, both(...)) end
end

-- fn's results against random weights, as one number: every output takes part in the check.
local function weighted_sum(fn, inputs, weights)
    local total
    local results = table.pack(fn(table.unpack(inputs)))
    for i = 1, results.n do
        local y = results[i]
        if is_float(y) then
            weights[i] = weights[i] or core.rand(y.shape,
                { dtype = y.dtype, generator = weights.generator }) + 0.5
            local term = (y * weights[i]):sum()
            total = total and total + term or term
        end
    end
    return total
end

local function difference(fn, inputs, weights, flat, at, step)
    local here = flat[at]
    flat[at] = here + step
    local above = core.no_grad(function() return weighted_sum(fn, inputs, weights):item() end)
    flat[at] = here - step
    local below = core.no_grad(function() return weighted_sum(fn, inputs, weights):item() end)
    flat[at] = here
    return (above - below) / (2 * step)
end

---Checks fn's gradients by each of its inputs against central differences, (fn(x + h) - fn(x - h))
---/ 2h. What is wrong raises, with the input and the element that are furthest off.
---
---```lua
---local x = heed.randn({ 2, 3 }, { dtype = "f64" })
---print(heed.gradcheck(function(t) return t:softmax(-1) end, { x })) --> true
---```
---@param fn fun(...: any): heed.Tensor ... differentiable; its results may have any shape
---@param inputs heed.Tensor[] f64 leaves; they are moved a little and put back
---@param options? { step?: number, tolerance?: number } step: default 1e-6; tolerance: absolute and
---relative, default 1e-5
---@return true # or raises with the worst element
function autograd.gradcheck(fn, inputs, options)
    local where = "heed.gradcheck"
    check.type(where, "fn", fn, "function")
    check.type(where, "inputs", inputs, "table")
    options = check.options(where, options, check.set("step", "tolerance"))
    local step, tolerance = options.step or 1e-6, options.tolerance or 1e-5
    local leaves = {}
    for i, input in ipairs(inputs) do
        if not check.is_tensor(input) or input.dtype ~= "f64" then
            errors.raise("%s: inputs[%d]: expected an f64 tensor, got %s", where, i,
                check.describe(input))
        end
        leaves[i] = input:detach():clone()
        leaves[i].requires_grad = true
    end
    local weights = { generator = core.generator(1) }
    local value = weighted_sum(fn, leaves, weights)
    if not value then
        errors.raise("%s: fn: expected it to give a tensor of floats, got none", where)
    end
    local found = gradients(leaves, value)
    local worst, message = 0, nil
    for i, leaf in ipairs(leaves) do
        local flat, got = leaf:detach():view(-1), found[i]:contiguous():view(-1)
        for at = 1, flat:numel() do
            local want = difference(fn, leaves, weights, flat, at, step)
            local error_here = math.abs(got[at] - want) / (1 + math.abs(want))
            if error_here ~= error_here or error_here > math.max(worst, tolerance) then
                worst = error_here
                message = ("input %d %s, element %d: the gradient is %.10g, the difference "
                    .. "quotient %.10g"):format(i,
                    tostring(leaf.shape), at, got[at], want)
                if error_here ~= error_here then errors.raise("%s: %s", where, message) end
            end
        end
    end
    if message then errors.raise("%s: %s", where, message) end
    return true
end

return autograd
