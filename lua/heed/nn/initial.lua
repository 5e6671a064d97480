--- Initial values, written in place and outside the graph: heed.nn.init. Each gives back its
--- tensor. What stands after the tensor may be given by position or by name in a table, as in
--- nn.init.normal_(t, 0, 0.02) and nn.init.normal_(t, { std = 0.02 }); all that draw take generator
--- = too.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local initial = {}

-- ---- arguments ----------------------------------------------------------------------------------

-- The values of `names`, from arguments or, where they were left out, from a trailing table; and
-- that table's generator, as options for what draws.
local function read(where, names, ...)
    local given, count = { ... }, select("#", ...)
    while count > 0 and given[count] == nil do count = count - 1 end
    local options = type(given[count]) == "table" and given[count] or {}
    if options == given[count] then count = count - 1 end
    check.options(where, options, check.set("generator", table.unpack(names)))
    if count > #names then
        errors.raise("%s: expected at most %d arguments after the tensor, got %s", where, #names,
            check.describe(given[#names + 1]))
    end
    local values = {}
    for i, name in ipairs(names) do
        if i <= count then values[i] = given[i] end
        if values[i] == nil then values[i] = options[name] end
    end
    return options.generator and { generator = options.generator } or nil,
        table.unpack(values, 1, #names)
end

local function number(where, name, value, default, low)
    return check.number(where, name, check.default(value, default), low)
end

local function filled(where, t, fill)
    if not check.is_live(t) then
        errors.raise("%s: t: expected a tensor, got %s", where, check.describe(t))
    end
    core.no_grad(function() fill(t) end)
    return t
end

-- Of a matrix [out, in]; further dimensions are the receptive field, as in PyTorch.
local function fans(where, t)
    if not check.is_live(t) then
        errors.raise("%s: t: expected a tensor, got %s", where, check.describe(t))
    end
    if t:dim() < 2 then
        errors.raise("%s: t: expected at least 2 dimensions, got %s", where, tostring(t.shape))
    end
    local field = t:numel() // math.max(1, t:size(1) * t:size(2))
    return t:size(2) * field, t:size(1) * field
end

local function uniform(where, t, draw, low, high)
    return filled(where, t, function(x) x:uniform_(low, high, draw) end)
end

local function normal(where, t, draw, mean, std)
    return filled(where, t, function(x) x:normal_(mean, std, draw) end)
end

-- ---- plain --------------------------------------------------------------------------------------

---U[low, high).
---
---```lua
---print(nn.init.uniform_(heed.empty(3), -1, 1, { generator = heed.generator(1) })) --> [0.7805, 0.7894, 0.1715] f32 [3]
---```
---@param t heed.Tensor
---@param low? number default 0
---@param high? number default 1
---@param options? { low?: number, high?: number, generator?: heed.Generator } generator: default
---the training stream
---@return heed.Tensor t
function initial.uniform_(t, low, high, options)
    local where = "heed.nn.init.uniform_"
    local draw
    draw, low, high = read(where, { "low", "high" }, low, high, options)
    return uniform(where, t, draw, number(where, "low", low, 0), number(where, "high", high, 1))
end

---N(mean, std²).
---
---```lua
---print(nn.init.normal_(heed.empty(3), { std = 0.02 }):abs():max():item() < 1) --> true
---```
---@param t heed.Tensor
---@param mean? number default 0
---@param std? number default 1
---@param options? { mean?: number, std?: number, generator?: heed.Generator } generator: default
---the training stream
---@return heed.Tensor t
function initial.normal_(t, mean, std, options)
    local where = "heed.nn.init.normal_"
    local draw
    draw, mean, std = read(where, { "mean", "std" }, mean, std, options)
    return normal(where, t, draw, number(where, "mean", mean, 0), number(where, "std", std, 1, 0))
end

---One value everywhere.
---
---```lua
---print(nn.init.constant_(heed.empty(2), 0.5)) --> [0.5000, 0.5000] f32 [2]
---```
---@param t heed.Tensor
---@param value number
---@return heed.Tensor t
function initial.constant_(t, value)
    check.number("heed.nn.init.constant_", "value", value)
    return filled("heed.nn.init.constant_", t, function(x) x:fill_(value) end)
end

---Zeros.
---
---```lua
---print(nn.init.zeros_(heed.empty(2))) --> [0., 0.] f32 [2]
---```
---@param t heed.Tensor
---@return heed.Tensor t
function initial.zeros_(t)
    return filled("heed.nn.init.zeros_", t, function(x) x:fill_(0) end)
end

---Ones.
---
---```lua
---print(nn.init.ones_(heed.empty(2))) --> [1., 1.] f32 [2]
---```
---@param t heed.Tensor
---@return heed.Tensor t
function initial.ones_(t)
    return filled("heed.nn.init.ones_", t, function(x) x:fill_(1) end)
end

local function check_matrix(where, t)
    if not check.is_live(t) or t:dim() ~= 2 then
        errors.raise("%s: t: expected a matrix [n, m], got %s", where, check.describe(t))
    end
end

---Ones on the diagonal of a matrix, zeros beside it.
---
---```lua
---print(nn.init.eye_(heed.empty(2, 3))) --> [[1., 0., 0.], [0., 1., 0.]] f32 [2, 3]
---```
---@param t heed.Tensor [n, m]
---@return heed.Tensor t
function initial.eye_(t)
    check_matrix("heed.nn.init.eye_", t)
    return filled("heed.nn.init.eye_", t, function(x) x:copy_(core.eye(x:size(1), x:size(2))) end)
end

-- ---- by the number of inputs and outputs --------------------------------------------------------

local GAINS = { linear = 1, conv1d = 1, conv2d = 1, conv3d = 1, sigmoid = 1, tanh = 5 / 3,
    relu = math.sqrt(2), selu = 3 / 4 }
local NONLINEARITIES = { "linear", "conv1d", "conv2d", "conv3d", "sigmoid", "tanh", "relu",
    "leaky_relu", "selu" }

local function gain_of(where, nonlinearity, slope)
    check.one_of(where, "nonlinearity", nonlinearity, NONLINEARITIES)
    if nonlinearity ~= "leaky_relu" then return GAINS[nonlinearity] end
    return math.sqrt(2 / (1 + check.number(where, "slope", check.default(slope, 0.01)) ^ 2))
end

---By what values are to be multiplied before a nonlinearity so that their variance lasts, as in
---PyTorch: 1 for "linear", "conv1d", "conv2d", "conv3d" and "sigmoid", 5/3 for "tanh", √2 for
---"relu", √(2 / (1 + slope²)) for "leaky_relu", 3/4 for "selu".
---
---```lua
---print(nn.init.calculate_gain("leaky_relu", 0.2)) --> 1.3867504905631
---```
---@param nonlinearity string
---@param slope? number of leaky_relu below 0, default 0.01
---@return number
function initial.calculate_gain(nonlinearity, slope)
    return gain_of("heed.nn.init.calculate_gain", nonlinearity, slope)
end

---U(±gain · sqrt(6 / (in + out))) (Glorot and Bengio 2010).
---
---```lua
---print(nn.init.xavier_uniform_(heed.empty(2, 4)):abs():le(1):all()) --> true
---```
---@param t heed.Tensor [out, in], or [out, in, ...]
---@param gain? number default 1
---@param options? { gain?: number, generator?: heed.Generator } generator: default the training
---stream
---@return heed.Tensor t
function initial.xavier_uniform_(t, gain, options)
    local where = "heed.nn.init.xavier_uniform_"
    local draw
    draw, gain = read(where, { "gain" }, gain, options)
    local fan_in, fan_out = fans(where, t)
    local bound = number(where, "gain", gain, 1) * math.sqrt(6 / (fan_in + fan_out))
    return uniform(where, t, draw, -bound, bound)
end

---N(0, gain² · 2 / (in + out)) (Glorot and Bengio 2010).
---
---```lua
---print(nn.init.xavier_normal_(heed.empty(2, 4), 0.5).shape) --> [2, 4]
---```
---@param t heed.Tensor [out, in], or [out, in, ...]
---@param gain? number default 1
---@param options? { gain?: number, generator?: heed.Generator } generator: default the training
---stream
---@return heed.Tensor t
function initial.xavier_normal_(t, gain, options)
    local where = "heed.nn.init.xavier_normal_"
    local draw
    draw, gain = read(where, { "gain" }, gain, options)
    local fan_in, fan_out = fans(where, t)
    return normal(where, t, draw, 0,
        number(where, "gain", gain, 1, 0) * math.sqrt(2 / (fan_in + fan_out)))
end

-- The standard deviation of He et al., and how to draw.
local function kaiming(where, t, ...)
    local draw, slope, mode, nonlinearity = read(where, { "slope", "mode", "nonlinearity" }, ...)
    local fan_in, fan_out = fans(where, t)
    mode = check.one_of(where, "mode", check.default(mode, "fan_in"), { "fan_in", "fan_out" })
    local gain = gain_of(where, check.default(nonlinearity, "leaky_relu"), check.default(slope, 0))
    return gain / math.sqrt(math.max(1, mode == "fan_in" and fan_in or fan_out)), draw
end

---U(±gain · sqrt(3 / fan)) (He et al. 2015), gain that of the nonlinearity: √2 when all is left
---out.
---
---```lua
---print(nn.init.kaiming_uniform_(heed.empty(2, 6), { nonlinearity = "linear" }):abs():le(0.71):all()) --> true
---```
---@param t heed.Tensor [out, in], or [out, in, ...]
---@param slope? number of leaky_relu below 0 (PyTorch's a), default 0
---@param mode? "fan_in"|"fan_out" what is kept: the variance forward, or backward; default "fan_in"
---@param nonlinearity? string as calculate_gain has it; default "leaky_relu"
---@param options? { slope?: number, mode?: string, nonlinearity?: string, generator?: heed.Generator }
---generator: default the training stream
---@return heed.Tensor t
function initial.kaiming_uniform_(t, slope, mode, nonlinearity, options)
    local std, draw = kaiming("heed.nn.init.kaiming_uniform_", t, slope, mode, nonlinearity,
        options)
    return uniform("heed.nn.init.kaiming_uniform_", t, draw, -math.sqrt(3) * std,
        math.sqrt(3) * std)
end

---N(0, gain² / fan) (He et al. 2015), gain that of the nonlinearity: √2 when all is left out.
---
---```lua
---print(nn.init.kaiming_normal_(heed.empty(2, 6), { mode = "fan_out", nonlinearity = "relu" }).shape) --> [2, 6]
---```
---@param t heed.Tensor [out, in], or [out, in, ...]
---@param slope? number of leaky_relu below 0 (PyTorch's a), default 0
---@param mode? "fan_in"|"fan_out" default "fan_in"
---@param nonlinearity? string default "leaky_relu"
---@param options? { slope?: number, mode?: string, nonlinearity?: string, generator?: heed.Generator }
---generator: default the training stream
---@return heed.Tensor t
function initial.kaiming_normal_(t, slope, mode, nonlinearity, options)
    local std, draw = kaiming("heed.nn.init.kaiming_normal_", t, slope, mode, nonlinearity, options)
    return normal("heed.nn.init.kaiming_normal_", t, draw, 0, std)
end

-- ---- orthogonal ---------------------------------------------------------------------------------

-- Rows less what they have of the orthonormal rows of `basis`; done twice, because rounding leaves
-- some of it.
local function without(rows, basis)
    for _ = 1, 2 do rows = rows - rows:matmul(basis:t()):matmul(basis) end
    return rows
end

-- Orthonormal rows that span what those of `drawn` do, one after another (Gram and Schmidt), by
-- blocks for the sake of speed.
local function orthonormal(drawn)
    local n, block = drawn:size(1), 32
    local result = core.empty(n, drawn:size(2), { dtype = "f64" })
    for first = 1, n, block do
        local count = math.min(block, n - first + 1)
        local rows = without(drawn:narrow(1, first, count), result:narrow(1, 1, first - 1))
        for i = 1, count do
            local row = without(rows:narrow(1, i, 1), result:narrow(1, first, i - 1))
            result:narrow(1, first + i - 1, 1):copy_(row / row:norm())
        end
    end
    return result
end

---Rows, or columns when there are fewer of them, that are orthogonal and of length gain (Saxe et
---al. 2013).
---
---```lua
---local w = nn.init.orthogonal_(heed.empty(2, 5))
---print(w:matmul(w:t()):round(4))
---```
---@param t heed.Tensor [n, ...]: a matrix, further dimensions joined to the second
---@param gain? number default 1
---@param options? { gain?: number, generator?: heed.Generator } generator: default the training
---stream
---@return heed.Tensor t
function initial.orthogonal_(t, gain, options)
    local where = "heed.nn.init.orthogonal_"
    local draw
    draw, gain = read(where, { "gain" }, gain, options)
    gain = number(where, "gain", gain, 1)
    fans(where, t)
    if t:numel() == 0 then return t end
    return filled(where, t, function(x)
        local rows, columns = x:size(1), x:numel() // x:size(1)
        local low, high = math.min(rows, columns), math.max(rows, columns)
        local found = orthonormal(core.empty(low, high, { dtype = "f64" }):normal_(0, 1,
            draw)) * gain
        x:copy_((rows > columns and found:t() or found):reshape(x.shape))
    end)
end

-- ---- truncated ----------------------------------------------------------------------------------

local function erf(x) return core.erf(core.tensor({ x }, { dtype = "f64" })):item() end

-- The inverse of erf for numbers inside (-1, 1), f64: Winitzki's approximation, and two steps of
-- Halley's method.
local function inverse_erf(u)
    local a = 0.147
    local l = (1 - u * u):log()
    local middle = l / 2 + 2 / (math.pi * a)
    local y = ((middle * middle - l / a):sqrt() - middle):sqrt() * u:sign()
    for _ = 1, 2 do
        local step = (y:erf() - u) / ((-y * y):exp() * (2 / math.sqrt(math.pi)))
        y = y - step / (y * step + 1)
    end
    return y
end

---N(mean, std²) of which nothing is outside [low, high].
---
---```lua
---print(nn.init.trunc_normal_(heed.empty(100),
---    { std = 0.02, low = -0.04, high = 0.04 }):abs():max():item() <= 0.04)
---```
---@param t heed.Tensor
---@param mean? number default 0
---@param std? number default 1: before what is outside was cut off
---@param low? number default -2 (as it stands, not times std)
---@param high? number default 2
---@param options? { mean?: number, std?: number, low?: number, high?: number, generator?: heed.Generator }
---generator: default the training stream
---@return heed.Tensor t
function initial.trunc_normal_(t, mean, std, low, high, options)
    local where = "heed.nn.init.trunc_normal_"
    local draw
    draw, mean, std, low, high = read(where, { "mean", "std", "low", "high" }, mean, std, low, high,
        options)
    mean, std = number(where, "mean", mean, 0), number(where, "std", std, 1, 0)
    low, high = number(where, "low", low, -2), number(where, "high", high, 2)
    if low >= high then
        errors.raise("%s: high: expected more than low (%g), got %g", where, low, high)
    end
    if std == 0 then return initial.constant_(t, math.min(math.max(mean, low), high)) end
    local root = std * math.sqrt(2)
    local nearly_one = 1 - 2.0 ^ -53
    return filled(where, t, function(x)
        local u = core.empty(x.shape, { dtype = "f64" }):uniform_(erf((low - mean) / root),
            erf((high - mean) / root), draw)
        x:copy_((inverse_erf(u:clamp(-nearly_one, nearly_one)) * root + mean):clamp(low, high))
    end)
end

return initial
