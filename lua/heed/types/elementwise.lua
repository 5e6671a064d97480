---@meta _
--- Functions of one number, element by element.

---@class heed.Methods
local both = {}

---@param t heed.Tensor
---@return heed.Tensor
function both.neg(t) end
both.neg_ = both.neg

---@param t heed.Tensor
---@return heed.Tensor
function both.abs(t) end
both.abs_ = both.abs

---@param t heed.Tensor
---@return heed.Tensor
function both.sign(t) end
both.sign_ = both.sign

---@param t heed.Tensor
---@return heed.Tensor
function both.square(t) end
both.square_ = both.square

---@param t heed.Tensor
---@return heed.Tensor
function both.sqrt(t) end
both.sqrt_ = both.sqrt

---@param t heed.Tensor
---@return heed.Tensor
function both.rsqrt(t) end
both.rsqrt_ = both.rsqrt

---@param t heed.Tensor
---@return heed.Tensor
function both.exp(t) end
both.exp_ = both.exp

---e^x - 1, exact near 0 too. The gradient is g · e^x. Integers give f32.
---
---```lua
---print(heed.expm1(heed.tensor { 0, 1e-6, 1 }))
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.expm1(t) end
both.expm1_ = both.expm1

---@param t heed.Tensor
---@return heed.Tensor
function both.log(t) end
both.log_ = both.log

---log(1 + x), exact near 0 too; -inf at -1, NaN below. The gradient is g / (1 + x). Integers give f32.
---
---```lua
---print(heed.log1p(heed.tensor { 0, 1e-6, 1 }))
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.log1p(t) end
both.log1p_ = both.log1p

---@param t heed.Tensor
---@return heed.Tensor
function both.sin(t) end
both.sin_ = both.sin

---@param t heed.Tensor
---@return heed.Tensor
function both.cos(t) end
both.cos_ = both.cos

---@param t heed.Tensor
---@return heed.Tensor
function both.tanh(t) end
both.tanh_ = both.tanh

---@param t heed.Tensor
---@return heed.Tensor
function both.sigmoid(t) end
both.sigmoid_ = both.sigmoid

---@param t heed.Tensor
---@return heed.Tensor
function both.erf(t) end
both.erf_ = both.erf

---@param t heed.Tensor
---@return heed.Tensor
function both.relu(t) end
both.relu_ = both.relu

---x above 0, slope · x below. The gradient at 0 is slope. Integers give f32.
---
---```lua
---print(heed.leaky_relu(heed.tensor { -2, 0, 2 }), heed.leaky_relu(heed.tensor { -2 }, 0.3))
---```
---@param t heed.Tensor
---@param slope? number|{ slope?: number } 0.01
---@return heed.Tensor
function both.leaky_relu(t, slope) end
both.leaky_relu_ = both.leaky_relu

---x above 0, alpha · (e^x - 1) below (Clevert et al. 2015). The gradient at 0 is alpha. Integers give f32.
---
---```lua
---print(heed.elu(heed.tensor { -2, 0, 2 }))
---```
---@param t heed.Tensor
---@param alpha? number|{ alpha?: number } 1
---@return heed.Tensor
function both.elu(t, alpha) end
both.elu_ = both.elu

---x · Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016). With approximate = "tanh":
---x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2 has it; with "sigmoid": x · sigmoid(1.702 x). Integers give f32.
---
---```lua
---local x = heed.tensor { -1, 0, 1 }
---print(heed.gelu(x), heed.gelu(x, { approximate = "tanh" }))
---```
---@param t heed.Tensor
---@param options? { approximate?: "none"|"tanh"|"sigmoid" } "none" when left out
---@return heed.Tensor
function both.gelu(t, options) end
both.gelu_ = both.gelu

---@param t heed.Tensor
---@return heed.Tensor
function both.silu(t) end
both.silu_ = both.silu

---@param t heed.Tensor
---@return heed.Tensor
function both.softplus(t) end
both.softplus_ = both.softplus

---@param t heed.Tensor
---@return heed.Tensor
function both.floor(t) end
both.floor_ = both.floor

---Half to even.
---@param t heed.Tensor
---@param decimals? integer
---@return heed.Tensor
function both.round(t, decimals) end
both.round_ = both.round

---Gradients pass at the bounds.
---@param t heed.Tensor
---@param min? number|{ min?: number, max?: number }
---@param max? number
---@return heed.Tensor
function both.clamp(t, min, max) end
both.clamp_ = both.clamp

---@param t heed.Tensor
---@return heed.Tensor bool
function both.isnan(t) end

---@param t heed.Tensor
---@return heed.Tensor bool
function both.isfinite(t) end

---@param t heed.Tensor
---@return heed.Tensor bool
function both.logical_not(t) end
