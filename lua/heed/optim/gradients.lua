--- All gradients together, between backward and step.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local gradients = {}

---@param where string for the message
---@param params any refused unless it is a table, and no module
function gradients.check_list(where, params)
    if type(params) == "table" and not params.parameters then return end
    local hint = type(params) == "table" and "; model:parameters() gives it"
        or check.is_tensor(params) and "; put it in braces" or ""
    errors.raise("%s: params: expected a list of tensors, got %s%s", where, check.describe(params),
        hint)
end

-- A tensor that is in the list again counts once: a tied weight has one gradient.
local function each_once(params)
    local seen, list = {}, nil
    for i, p in ipairs(params) do
        if seen[p] and not list then list = table.move(params, 1, i - 1, 1, {}) end
        if list and not seen[p] then list[#list + 1] = p end
        seen[p] = true
    end
    return list or params
end

---Scales all gradients together so that their norm is at most max (Pascanu et al. 2013). A norm
---that is not finite leaves them alone: whether to make the step is the caller's to say. A
---parameter that is in the list twice counts once.
---
---```lua
---local w = heed.nn.parameter(heed.zeros(2))
---w.grad = heed.tensor { 3.0, 4.0 }
---print(heed.optim.clip_grad_norm({ w }, 1), w.grad) --> 5.0 [0.6000, 0.8000] f32 [2]
---```
---@param params heed.Tensor[]
---@param max number
---@return number norm before
function gradients.clip_grad_norm(params, max)
    gradients.check_list("heed.optim.clip_grad_norm", params)
    check.number("heed.optim.clip_grad_norm", "max", max, 0)
    params = each_once(params)
    local norm = core.grad_norm(params)
    if norm > max and norm < math.huge then core.scale_grads(params, max / (norm + 1e-6)) end
    return norm
end

---Cuts every element of the gradients off at -max and max, each by itself.
---
---```lua
---local w = heed.nn.parameter(heed.zeros(3))
---w.grad = heed.tensor { 3.0, -0.5, -4.0 }
---heed.optim.clip_grad_value({ w }, 1)
---print(w.grad) --> [ 1.0000, -0.5000, -1.0000] f32 [3]
---```
---@param params heed.Tensor[] those without a gradient are passed over
---@param max number
function gradients.clip_grad_value(params, max)
    gradients.check_list("heed.optim.clip_grad_value", params)
    check.number("heed.optim.clip_grad_value", "max", max, 0)
    for _, p in ipairs(params) do
        local g = p.grad
        if g then g:detach():clamp_(-max, max) end
    end
end

---Multiplies all gradients by a factor. Gradients accumulated over several batches are weighted by
---their tokens when losses are sums and this divides them once, by all tokens:
---
---```lua
---local model = heed.nn.Linear(2, 3)
---local opt, tokens = heed.optim.SGD(model:parameters(), { lr = 0.1 }), 0
---for _, targets in ipairs { { 1, 2, 3 }, { 2 } } do
---    local logits = model(heed.randn(#targets, 2))
---    heed.loss.cross_entropy(logits, targets, { reduction = "sum" }):backward()
---    tokens = tokens + #targets
---end
---heed.optim.scale_grads(model:parameters(), 1 / tokens)
---opt:step()
---```
---@param params heed.Tensor[] those without a gradient are passed over
---@param factor number
function gradients.scale_grads(params, factor)
    gradients.check_list("heed.optim.scale_grads", params)
    core.scale_grads(each_once(params), check.number("heed.optim.scale_grads", "factor", factor))
end

return gradients
