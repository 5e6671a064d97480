--- Assertions on tensors for busted: `require "heed.luassert"`, then assert.is_close(got, want,
--- tolerance) and assert.has_shape(t, {2, 3}).

local check = require "heed.check"
local core = require "heed.core"

local luassert = require "luassert"
local say = require "say"

local function as_tensor(value)
    if check.is_tensor(value) then return value:detach():to("f64") end
    return core.tensor(value, { dtype = "f64" })
end

-- "2,3" of the element numbered `at` (from 1) in row-major order.
local function position(at, shape)
    local indices, rest = {}, at - 1
    for d = #shape, 1, -1 do
        table.insert(indices, 1, rest % shape[d] + 1)
        rest = rest // shape[d]
    end
    return "[" .. table.concat(indices, ", ") .. "]"
end

-- nil when all is close, else a sentence about the worst element.
local function misfit(got, want, tolerance)
    if tostring(got.shape) ~= tostring(want.shape) then
        return ("the shapes differ: got %s, want %s"):format(tostring(got.shape),
            tostring(want.shape))
    end
    local g, w = got:contiguous():view(-1), want:contiguous():view(-1)
    local worst, at, count = 0, nil, 0
    for i = 1, g:numel() do
        local a, b = g[i], w[i]
        local both_nan = a ~= a and b ~= b
        local off = (a == b or both_nan) and 0 or math.abs(a - b) / (1 + math.abs(b))
        if off ~= off or off > tolerance then
            count = count + 1
            if not at or off ~= off or off > worst then worst, at = off, i end
        end
    end
    if not at then return nil end
    return ("%d of %d elements are further off than %g; the worst is %s: got %.9g, want %.9g "
        .. "(off by %.3g)"):format(count,
        g:numel(), tolerance, position(at, got.shape), g[at], w[at], math.abs(g[at] - w[at]))
end

local function is_close(state, arguments)
    local got, want, tolerance = arguments[1], arguments[2], arguments[3] or 1e-6
    local message = misfit(as_tensor(got), as_tensor(want), tolerance)
    arguments[1], arguments[2], arguments.n = message or "no difference", nil, 1
    state.failure_message = message
    return message == nil
end

local function has_shape(state, arguments)
    local t, want = arguments[1], arguments[2]
    local text = "[" .. table.concat(want, ", ") .. "]"
    if not check.is_tensor(t) then
        state.failure_message = ("expected a tensor of shape %s, got %s"):format(text,
            check.describe(t))
        return false
    end
    local got = tostring(t.shape)
    state.failure_message = ("expected the shape %s, got %s"):format(text, got)
    return got == text
end

-- luassert reads is_close as "is" and "close".
say:set("assertion.close.positive", "Expected tensors to be close.\n%s")
say:set("assertion.close.negative", "Expected tensors not to be close.\n%s")
say:set("assertion.shape.positive", "Expected another shape.\n%s")
say:set("assertion.shape.negative", "Expected any other shape.\n%s")
luassert:register("assertion", "close", is_close, "assertion.close.positive",
    "assertion.close.negative")
luassert:register("assertion", "shape", has_shape, "assertion.shape.positive",
    "assertion.shape.negative")

return luassert
