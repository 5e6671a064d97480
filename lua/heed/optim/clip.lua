local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

---Scales all gradients together so that their norm is at most max (Pascanu et al. 2013). A norm that is not finite leaves them
---alone: whether to make the step is the caller's to say.
---@param params heed.Tensor[]
---@param max number
---@return number norm before
local function clip_grad_norm(params, max)
    check.type("optim.clip_grad_norm", "params", params, "table")
    if params.parameters then
        errors.raise "optim.clip_grad_norm: params: expected a list of tensors: give model:parameters()"
    end
    check.number("optim.clip_grad_norm", "max", max, 0)
    local norm = core.grad_norm(params)
    if norm > max and norm < math.huge then core.scale_grads(params, max / (norm + 1e-6)) end
    return norm
end

return clip_grad_norm
