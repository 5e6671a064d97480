local caches = require "heed.nn.cache"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local Linear = require "heed.nn.linear"
local module = require "heed.nn.module"

local WHERE = "heed.nn.SSRU"
local CALL = check.set("mask", "cache")

---The simpler simple recurrent unit (Kim et al. 2019, "From Research to Production and Back"), which
---decoders for translation have in place of self-attention: f = sigmoid(W_f x + b), c ← f c + (1 - f)
---W x, y = relu(c). Both products are of the whole sequence; what is left is one linear recurrence.
---With a cache it keeps one state for each row.
---
---```lua
---local ssru = nn.SSRU(8):eval()
---local x, cache = heed.randn(2, 5, 8), ssru:new_cache { batch = 2, max_len = 5 }
---heed.no_grad(function()
---    ssru(x:narrow(2, 1, 4), { cache = cache })
---    local last = ssru(x:narrow(2, 5, 1), { cache = cache })
---    print(last:allclose(ssru(x):narrow(2, 5, 1), { atol = 1e-6 })) --> true
---end)
---```
---@class heed.nn.SSRU: heed.nn.Module
---@field linear heed.nn.Linear W, without a bias
---@field forget heed.nn.Linear W_f and b
local SSRU = module.Module:extend "SSRU"

SSRU.keeps_cache = true

---@param d_model integer E
function SSRU:init(d_model)
    check.integer(WHERE, "d_model", d_model)
    self.linear = Linear(d_model, d_model, { bias = false })
    self.forget = Linear(d_model, d_model)
end

-- [B, L, E] of x; was it one sequence?
local function as_batch(self, x)
    local E, ndim = self.linear.weight:size(1), check.is_live(x) and x:dim()
    if ndim ~= 2 and ndim ~= 3 or x:size(-1) ~= E then
        errors.raise("x: expected [B, L, %d] or [L, %d], got %s", E, E, check.describe(x))
    end
    return ndim == 2 and x:unsqueeze(1) or x, ndim == 2
end

---@param x heed.Tensor [B, L, E] or [L, E]
---@param options? { cache?: heed.Cache, mask?: heed.Mask } cache: what came before x; mask: with a
---cache, the new tokens that padding hides are not kept
---@return heed.Tensor # of the shape of x
function SSRU:forward(x, options)
    options = check.options(WHERE, options, CALL)
    local batch, single = as_batch(self, x)
    local cache, step, state = caches.check(WHERE, options.cache), nil, nil
    local mask = caches.mask(WHERE .. ": mask", options.mask)
    if cache then
        step, state = caches.recurrent_step(cache, self, batch, mask, "")
    end
    local f = self.forget(batch):sigmoid()
    local c = core.linear_recurrence(f, (1 - f) * self.linear(batch), state)
    if step then caches.recurrent_done(step, c) end
    local y = c:relu()
    return single and y:squeeze(1) or y
end

function SSRU:extra() return tostring(self.linear.weight:size(1)) end

return SSRU
