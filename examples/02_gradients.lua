-- Lesson 2: gradients.
--
--     heed examples/02_gradients.lua
--
-- To learn is to change numbers so that a result gets better. The gradient says how. For each
-- number it answers the question "if this grew a little, how fast would the result grow?" A small
-- step against the gradient makes the result smaller.

local heed = require "heed"

-- heed records what is computed from a tensor with requires_grad. backward() goes back through the
-- record.
local x = heed.tensor(3.0, { requires_grad = true })
local y = x ^ 2 + 2 * x
y:backward()
print("x² + 2x at 3 is " .. y:item() .. ", and it grows by " .. x.grad:item()
    .. " for each 1 of x (2x + 2 = 8)")

-- A result may depend on many numbers, and each gets its own gradient. Gradients of several
-- backward calls add up until they are cleared.
local w = heed.tensor({ 1, -2, 3 }, { requires_grad = true })
local total = (w * heed.tensor { 10, 20, 30 }):relu():sum()
total:backward()
print("\ngradients of relu(10 w1) + relu(20 w2) + relu(30 w3):", w.grad)
print("(w2 is negative: relu makes it 0, and a little more of it changes nothing)")

-- Learning in ten lines: find a and b so that a·x + b fits the points. They were made with a = 2, b
-- = -1.
heed.manual_seed(1)
local points = heed.randn(100)
local heights = points * 2 - 1 + heed.randn(100) * 0.1
local a, b = heed.zeros(1, { requires_grad = true }), heed.zeros(1, { requires_grad = true })
local losses = {}
for step = 1, 60 do
    local loss = ((a * points + b - heights) ^ 2):mean()
    loss:backward()
    heed.no_grad(function() -- the steps themselves are not part of what is recorded
        a:sub_(a.grad * 0.05)
        b:sub_(b.grad * 0.05)
    end)
    a.grad, b.grad = nil, nil
    losses[step] = loss:item()
end
print(("\nfound a = %.2f and b = %.2f; the mean squared distance fell:"):format(a:item(), b:item()))
print(heed.viz.curve(losses, { height = 6, width = 60 }))

-- Optimisers take such steps for all parameters of a model, and better ones (lesson 7).

-- ---- a gradient by hand -------------------------------------------------------------------------
--
-- Every operation of heed knows its own gradient. heed.func adds an operation of yours: forward
-- computes, and saves what backward will need; backward takes the gradient of the result and
-- returns that of each argument. Here: swish, x · sigmoid(x), whose derivative is s + x·s·(1 - s)
-- with s = sigmoid(x).

local swish = heed.func(
    function(ctx, input)
        local s = input:sigmoid()
        ctx:save(input, s)
        return input * s
    end,
    function(ctx, gradient)
        local input, s = ctx:saved()
        return gradient * (s + input * s * (1 - s))
    end)

local z = heed.tensor({ -2.0, 0.0, 2.0 }, { requires_grad = true })
swish(z):sum():backward()
print("\nswish by hand at -2, 0, 2:", swish(z):detach():round(4))
print("its gradient:", z.grad:round(4))

-- Is it right? gradcheck moves every input a little in both directions and compares. Use 64-bit
-- floats for it: small differences need many digits.
local input = heed.randn(5, { dtype = "f64" })
print("checked against differences: " .. tostring(heed.gradcheck(swish, { input })))

-- It finds a wrong gradient: this one forgets that s depends on x too.
local wrong = heed.func(
    function(ctx, t)
        ctx:save(t:sigmoid())
        return t * t:sigmoid()
    end,
    function(ctx, gradient) return gradient * ctx:saved() end)
print("and a wrong one: " .. select(2, pcall(heed.gradcheck, wrong, { input })))
