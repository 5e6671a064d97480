--- Initial values, drawn in place from the training stream. Each returns its tensor.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local initial = {}

local function check_tensor(where, t)
    if not check.is_tensor(t) then errors.raise("%s: t: expected a tensor, got %s", where, check.describe(t)) end
end

local function filled(t, fill)
    check_tensor("nn.init", t)
    core.no_grad(function() fill(t) end)
    return t
end

-- Of a matrix [out, in]; further dimensions are the receptive field, as in PyTorch.
local function fans(where, t)
    check_tensor(where, t)
    if t:dim() < 2 then errors.raise("%s: t: expected at least 2 dimensions, got %s", where, tostring(t.shape)) end
    local field = t:numel() // math.max(1, t:size(1) * t:size(2))
    return t:size(2) * field, t:size(1) * field
end

---U[low, high).
---@param t heed.Tensor
---@param low? number default 0
---@param high? number default 1
function initial.uniform_(t, low, high)
    return filled(t, function(x) x:uniform_(low or 0, high or 1) end)
end

---N(mean, std).
---@param t heed.Tensor
---@param mean? number default 0
---@param std? number default 1
function initial.normal_(t, mean, std)
    return filled(t, function(x) x:normal_(mean or 0, std or 1) end)
end

---@param t heed.Tensor
---@param value number
function initial.constant_(t, value)
    check.number("nn.init.constant_", "value", value)
    return filled(t, function(x) x:fill_(value) end)
end

---@param t heed.Tensor
function initial.zeros_(t) return initial.constant_(t, 0) end

---@param t heed.Tensor
function initial.ones_(t) return initial.constant_(t, 1) end

---U(±gain · sqrt(6 / (in + out))) (Glorot and Bengio 2010).
---@param t heed.Tensor [out, in]
---@param gain? number default 1
function initial.xavier_uniform_(t, gain)
    local fan_in, fan_out = fans("nn.init.xavier_uniform_", t)
    local bound = (gain or 1) * math.sqrt(6 / (fan_in + fan_out))
    return initial.uniform_(t, -bound, bound)
end

---N(0, gain · sqrt(2 / (in + out))) (Glorot and Bengio 2010).
---@param t heed.Tensor [out, in]
---@param gain? number default 1
function initial.xavier_normal_(t, gain)
    local fan_in, fan_out = fans("nn.init.xavier_normal_", t)
    return initial.normal_(t, 0, (gain or 1) * math.sqrt(2 / (fan_in + fan_out)))
end

---U(±gain · sqrt(3 / in)) (He et al. 2015).
---@param t heed.Tensor [out, in]
---@param gain? number default sqrt(2), for relu
function initial.kaiming_uniform_(t, gain)
    local bound = (gain or math.sqrt(2)) * math.sqrt(3 / fans("nn.init.kaiming_uniform_", t))
    return initial.uniform_(t, -bound, bound)
end

---N(0, gain / sqrt(in)) (He et al. 2015).
---@param t heed.Tensor [out, in]
---@param gain? number default sqrt(2), for relu
function initial.kaiming_normal_(t, gain)
    return initial.normal_(t, 0, (gain or math.sqrt(2)) / math.sqrt(fans("nn.init.kaiming_normal_", t)))
end

return initial
