---@meta _
--- Functions, element by element.
---
--- Where not said otherwise: of integers and bool they give f32, of f32 and f64 their own dtype,
--- NaN of NaN; f16 and bf16 are converted first (`t:to "f32"`). g is the gradient of the result.

---@class heed.Methods
local both = {}

---y = -x, as the operator. Integers stay integers and wrap; bool is refused. The gradient is -g.
---
---```lua
---local x = heed.tensor { 1, -2, 0 }
---print(heed.neg(x), -x) --> [-1., 2., -0.] f32 [3] [-1., 2., -0.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.neg(t) end
both.neg_ = both.neg

---y = |x|. Integers stay integers. The gradient is g sign(x), 0 at 0.
---
---```lua
---print(heed.tensor { -1.5, 0, 2 }:abs()) --> [1.5000, 0.0000, 2.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.abs(t) end
both.abs_ = both.abs

---y = 1, 0 or -1, as x is above, at or below 0. Integers stay integers. The gradient is 0.
---
---```lua
---print(heed.tensor { -1.5, 0, 2 }:sign()) --> [-1., 0., 1.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.sign(t) end
both.sign_ = both.sign

---y = x². Integers stay integers and wrap. The gradient is 2 g x.
---
---```lua
---local errors = heed.tensor { 0.5, -1, 2 }
---print(errors:square():mean():item()) --> 1.75
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.square(t) end
both.square_ = both.square

---y = √x, NaN below 0. The gradient is g / 2y: infinite at 0.
---
---```lua
---print(heed.tensor { 0, 2, 9 }:sqrt()) --> [0.0000, 1.4142, 3.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.sqrt(t) end
both.sqrt_ = both.sqrt

---y = 1/√x: infinite at 0, NaN below. The gradient is -g y³ / 2.
---
---```lua
---local x = heed.tensor { { 3, 4 } }
---print(x * x:square():sum(2, true):rsqrt()) -- of length 1
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.rsqrt(t) end
both.rsqrt_ = both.rsqrt

---y = e^x. The gradient is g y.
---
---```lua
---print(heed.tensor { 0, 1, -math.huge }:exp()) --> [1.0000, 2.7183, 0.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.exp(t) end
both.exp_ = both.exp

---y = e^x - 1, exact near 0 too, where `x:exp() - 1` has lost its digits. The gradient is g e^x.
---
---```lua
---local x = heed.tensor(1e-6)
---print(("%.3g, not %.3g"):format(x:expm1():item(), (x:exp() - 1):item())) --> 1e-06, not 9.54e-07
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.expm1(t) end
both.expm1_ = both.expm1

---y = 2^x, exact at whole numbers. The gradient is g y log 2.
---
---```lua
---print(heed.tensor { -1, 0.5, 3 }:exp2()) --> [0.5000, 1.4142, 8.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.exp2(t) end
both.exp2_ = both.exp2

---y = log x, to base e: -inf at 0, NaN below. The gradient is g / x.
---
---```lua
---print(heed.tensor { 1, 10, 0 }:log()) --> [0.0000, 2.3026, -inf] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.log(t) end
both.log_ = both.log

---y = log(1 + x), exact near 0 too; -inf at -1, NaN below. The gradient is g / (1 + x).
---
---```lua
---print(heed.tensor { 0, 1e-6, 1, -1 }:log1p()) --> [0.0000, 0.0000, 0.6931, -inf] f32 [4]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.log1p(t) end
both.log1p_ = both.log1p

---y = log x / log 2, exact at powers of 2; -infinity at 0 and NaN below. The gradient is
---g / (x log 2).
---
---```lua
---print(heed.tensor { 0.5, 8, 10 }:log2()) --> [-1.0000, 3.0000, 3.3219] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.log2(t) end
both.log2_ = both.log2

---y = log x / log 10, exact at powers of 10; -infinity at 0 and NaN below. The gradient is
---g / (x log 10).
---
---```lua
---print(heed.tensor { 0.1, 2, 1000 }:log10()) --> [-1.0000, 0.3010, 3.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.log10(t) end
both.log10_ = both.log10

---y = sin x, x in radians. The gradient is g cos x.
---
---```lua
---print((heed.tensor { 0, 0.5, 1 } * math.pi):sin():round(4)) --> [ 0., 1., -0.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.sin(t) end
both.sin_ = both.sin

---y = cos x, x in radians. The gradient is -g sin x.
---
---```lua
---print((heed.tensor { 0, 0.5, 1 } * math.pi):cos():round(4)) --> [ 1., -0., -1.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.cos(t) end
both.cos_ = both.cos

---y = sin x / cos x, x in radians; no number of f32 or f64 is exactly a pole. The gradient is
---g (1 + y²).
---
---```lua
---print((heed.tensor { 0, 0.25, -0.25 } * math.pi):tan()) --> [ 0.0000, 1.0000, -1.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.tan(t) end
both.tan_ = both.tan

---y = arcsin x, between -π/2 and π/2; NaN beyond 1 and -1. The gradient is g / sqrt(1 - x²).
---
---```lua
---print(heed.tensor { 0, 0.5, -1, 2 }:asin()) --> [ 0.0000, 0.5236, -1.5708, nan] f32 [4]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.asin(t) end
both.asin_ = both.asin

---y = arccos x, between 0 and π; NaN beyond 1 and -1. The gradient is -g / sqrt(1 - x²).
---
---```lua
---print(heed.tensor { 1, 0.5, -1 }:acos()) --> [0.0000, 1.0472, 3.1416] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.acos(t) end
both.acos_ = both.acos

---y = arctan x, between -π/2 and π/2, which infinities give. The gradient is g / (1 + x²). (Of a
---point of the plane: `atan2`.)
---
---```lua
---print(heed.tensor { 0, 1, -math.huge }:atan()) --> [ 0.0000, 0.7854, -1.5708] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.atan(t) end
both.atan_ = both.atan

---y = (e^x - e^-x) / 2. The gradient is g cosh x.
---
---```lua
---print(heed.tensor { 0, 1, -1 }:sinh()) --> [ 0.0000, 1.1752, -1.1752] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.sinh(t) end
both.sinh_ = both.sinh

---y = (e^x + e^-x) / 2. The gradient is g sinh x.
---
---```lua
---print(heed.tensor { 0, 1, -1 }:cosh()) --> [1.0000, 1.5431, 1.5431] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.cosh(t) end
both.cosh_ = both.cosh

---y = (e^x - e^-x) / (e^x + e^-x), between -1 and 1. The gradient is g (1 - y²).
---
---```lua
---print(heed.tensor { -1, 0, 1, 100 }:tanh()) --> [-0.7616, 0.0000, 0.7616, 1.0000] f32 [4]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.tanh(t) end
both.tanh_ = both.tanh

---y = log(x + sqrt(x² + 1)), what sinh undoes. The gradient is g / sqrt(x² + 1).
---
---```lua
---print(heed.tensor { 0, 1, -1 }:asinh()) --> [ 0.0000, 0.8814, -0.8814] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.asinh(t) end
both.asinh_ = both.asinh

---y = log(x + sqrt(x² - 1)), what cosh undoes; NaN below 1. The gradient is g / sqrt(x² - 1).
---
---```lua
---print(heed.tensor { 1, 2, 0 }:acosh()) --> [0.0000, 1.3170, nan] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.acosh(t) end
both.acosh_ = both.acosh

---y = log((1 + x) / (1 - x)) / 2, what tanh undoes; infinite at 1 and -1, NaN beyond. The gradient
---is g / (1 - x²).
---
---```lua
---print(heed.tensor { 0, 0.5, 1 }:atanh()) --> [0.0000, 0.5493, inf] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.atanh(t) end
both.atanh_ = both.atanh

---y = 1 / (1 + e^-x), between 0 and 1. The gradient is g y (1 - y). For a loss of probabilities
---heed.loss.bce_with_logits is exact where the logarithm of a sigmoid is not.
---
---```lua
---print(heed.tensor { -1, 0, 100 }:sigmoid()) --> [0.2689, 0.5000, 1.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.sigmoid(t) end
both.sigmoid_ = both.sigmoid

---y = 2/√π · the integral of e^(-u²) from 0 to x: the error function. The gradient is g · 2/√π ·
---e^(-x²).
---
---```lua
---print(heed.tensor { 0, 1, 3 }:erf()) --> [0.0000, 0.8427, 1.0000] f32 [3]
---print((1 + heed.tensor(1.96 / math.sqrt(2)):erf()) / 2) -- P(z < 1.96) of a normal z
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.erf(t) end
both.erf_ = both.erf

---y = max(x, 0). Integers stay integers. The gradient is g above 0 and 0 elsewhere, at 0 too; NaN
---stays NaN.
---
---```lua
---print(heed.tensor { -1, 0, 2 }:relu()) --> [0., 0., 2.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.relu(t) end
both.relu_ = both.relu

---y = x above 0, slope · x below. The gradient at 0 is slope · g.
---
---```lua
---local x = heed.tensor { -2, 0, 2 }
---print(x:leaky_relu()) --> [-0.0200, 0.0000, 2.0000] f32 [3]
---print(x:leaky_relu(0.3)) --> [-0.6000, 0.0000, 2.0000] f32 [3]
---```
---@param t heed.Tensor
---@param slope? number|{ slope?: number } default 0.01
---@return heed.Tensor
function both.leaky_relu(t, slope) end
both.leaky_relu_ = both.leaky_relu

---y = x above 0, alpha (e^x - 1) below (Clevert et al. 2015, "Fast and accurate deep network
---learning by exponential linear units"). The gradient at 0 is alpha · g.
---
---```lua
---print(heed.tensor { -2, 0, 2 }:elu()) --> [-0.8647, 0.0000, 2.0000] f32 [3]
---```
---@param t heed.Tensor
---@param alpha? number|{ alpha?: number } default 1
---@return heed.Tensor
function both.elu(t, alpha) end
both.elu_ = both.elu

---y = x Φ(x), Φ the normal distribution's (Hendrycks and Gimpel 2016, "Gaussian error linear
---units"). With approximate = "tanh": x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2 has it;
---with "sigmoid": x sigmoid(1.702 x).
---
---```lua
---local x = heed.tensor { -1, 0, 1 }
---print(x:gelu()) --> [-0.1587, 0.0000, 0.8413] f32 [3]
---print(x:gelu { approximate = "tanh" }) --> [-0.1588, 0.0000, 0.8412] f32 [3]
---```
---@param t heed.Tensor
---@param options? { approximate?: "none"|"tanh"|"sigmoid" } approximate: default "none"
---@return heed.Tensor
function both.gelu(t, options) end
both.gelu_ = both.gelu

---y = x sigmoid(x), also called swish (Elfwing et al. 2017).
---
---```lua
---print(heed.tensor { -1, 0, 1 }:silu()) --> [-0.2689, 0.0000, 0.7311] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.silu(t) end
both.silu_ = both.silu

---y = log(1 + e^x), a smooth relu, exact for x of any size. The gradient is g sigmoid(x).
---
---```lua
---print(heed.tensor { -1, 0, 100 }:softplus()) --> [ 0.3133, 0.6931, 100.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.softplus(t) end
both.softplus_ = both.softplus

---y = x / (1 + |x|), between -1 and 1, which infinities give. The gradient is g / (1 + |x|)^2.
---
---```lua
---print(heed.tensor { -1, 3, math.huge }:softsign()) --> [-0.5000, 0.7500, 1.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.softsign(t) end
both.softsign_ = both.softsign

---y = log(1 / (1 + e^-x)), the logarithm of sigmoid, exact for x of any size. The gradient is g
---sigmoid(-x).
---
---```lua
---print(heed.tensor { -100, 0, 1 }:log_sigmoid()) --> [-100.0000, -0.6931, -0.3133] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.log_sigmoid(t) end
both.log_sigmoid_ = both.log_sigmoid

---y = the largest whole number that is not above x. Floats stay floats (`to "i64"` makes integers),
---integers stay as they are. The gradient is 0.
---
---```lua
---print(heed.tensor { 1.7, -1.2, 3 }:floor()) --> [ 1., -2., 3.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.floor(t) end
both.floor_ = both.floor

---y = the least whole number that is not below x; integers stay as they are. The gradient is 0.
---
---```lua
---print(heed.tensor { 1.2, -1.2, 3 }:ceil()) --> [ 2., -1., 3.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.ceil(t) end
both.ceil_ = both.ceil

---y = x without its fraction, rounded towards 0; integers stay as they are. The gradient is 0.
---
---```lua
---print(heed.tensor { 1.7, -1.7, 3 }:trunc()) --> [ 1., -1., 3.] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.trunc(t) end
both.trunc_ = both.trunc

---y = x - trunc(x), the fraction with the sign of x; NaN of infinity, 0 of integers. The gradient
---is g.
---
---```lua
---print(heed.tensor { 1.75, -1.75, 3 }:frac()) --> [ 0.7500, -0.7500, 0.0000] f32 [3]
---```
---@param t heed.Tensor
---@return heed.Tensor
function both.frac(t) end
both.frac_ = both.frac

---y = the nearest number of so many decimals; halves go to the even neighbour. Negative decimals
---round to tens, hundreds and so on, integers too. The gradient is 0.
---
---```lua
---print(heed.tensor { 0.5, 1.5, -1.7 }:round()) --> [ 0., 2., -2.] f32 [3]
---print(heed.tensor { 3.14159 }:round(2)) --> [3.1400] f32 [1]
---print(heed.ids { 1250, 1350 }:round(-2)) --> [1200, 1400] i64 [2]
---```
---@param t heed.Tensor
---@param decimals? integer|{ decimals?: integer } default 0
---@return heed.Tensor
function both.round(t, decimals) end
both.round_ = both.round

---y = min(max(x, low), high), either left open by nil. Integers stay integers with integer bounds.
---The gradient is g from bound to bound, at the bounds too, and 0 outside; NaN stays NaN.
---
---```lua
---local x = heed.tensor { -3, 0.5, 3 }
---print(x:clamp(-1, 1)) --> [-1.0000, 0.5000, 1.0000] f32 [3]
---print(x:clamp { max = 1 }) --> [-3.0000, 0.5000, 1.0000] f32 [3]
---```
---@param t heed.Tensor
---@param min? number|{ min?: number, max?: number }
---@param max? number
---@return heed.Tensor
function both.clamp(t, min, max) end
both.clamp_ = both.clamp

---y = is x NaN? bool; always false for integers.
---
---```lua
---print(heed.tensor { 1, 0 / 0, math.huge }:isnan()) --> [false, true, false] bool [3]
---```
---@param t heed.Tensor
---@return heed.Tensor # bool
function both.isnan(t) end

---Which elements are infinity or -infinity? All false for integers.
---
---```lua
---print(heed.tensor({ 1, -math.huge, 0 / 0 }):isinf()) --> [false, true, false] bool [3]
---```
---@param t heed.Tensor
---@return heed.Tensor # bool
function both.isinf(t) end

---y = is x neither NaN nor infinite? bool.
---
---```lua
---local g = heed.tensor { 1, 0 / 0, math.huge }
---print(g:isfinite(), g:isfinite():all()) --> [ true, false, false] bool [3] false
---```
---@param t heed.Tensor
---@return heed.Tensor # bool
function both.isfinite(t) end

---y = is x 0, or false? bool; the same as `~t` of a bool tensor.
---
---```lua
---print(heed.tensor { 0, 2, 0 }:logical_not()) --> [ true, false, true] bool [3]
---```
---@param t heed.Tensor
---@return heed.Tensor # bool
function both.logical_not(t) end
