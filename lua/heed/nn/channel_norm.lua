local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local module = require "heed.nn.module"

local parameter = module.parameter

local function affine(self, channels)
    self.weight = parameter(core.ones(channels))
    self.bias = parameter(core.zeros(channels))
end

-- ---- batch norm ---------------------------------------------------------------------------------

local OPTIONS = check.set("eps", "momentum", "affine", "track_running_stats")

local function init(self, where, num_features, options)
    self.num_features = check.integer(where, "num_features", num_features)
    options = check.options(where, options, OPTIONS)
    self.eps = check.number(where, "eps", check.default(options.eps, 1e-5), 0)
    local momentum = check.default(options.momentum, 0.1)
    self.momentum = momentum and check.number(where, "momentum", momentum, 0, 1)
    if check.flag(where, "affine", options.affine, true) then affine(self, num_features) end
    if not check.flag(where, "track_running_stats", options.track_running_stats, true) then
        return
    end
    self:buffer("running_mean", core.zeros(num_features))
    self:buffer("running_var", core.ones(num_features))
    self:buffer("num_batches_tracked", core.zeros({}, { dtype = "i64" }))
end

local function check_input(self, x, fewest, most, shape)
    if x:dim() < fewest or x:dim() > most or x:size(2) ~= self.num_features then
        errors.raise("x: expected %s with %d channels (num_features), got %s", shape,
            self.num_features, tostring(x.shape))
    end
end

-- The share of this batch in the running statistics; momentum = false: they are the averages of
-- all batches. A batch is counted when it has passed.
local function forward(self, x)
    local tracks = self.running_mean ~= nil
    local training = self.training or not tracks
    local momentum = self.momentum or 0
    if training and tracks and not self.momentum then
        momentum = 1 / (self.num_batches_tracked:item() + 1)
    end
    local y = core.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
        { training = training, momentum = momentum, eps = self.eps })
    if training and tracks then self.num_batches_tracked:add_(1) end
    return y
end

local function extra(self)
    return ("%d%s%s"):format(self.num_features, self.weight and "" or ", affine = false",
        self.running_mean and "" or ", track_running_stats = false")
end

---Batch normalization (Ioffe and Szegedy 2015): heed.batch_norm with parameters and running
---statistics of its own. In training each channel gets the mean 0 and the variance 1 over the batch,
---times weight, plus bias, and running_mean and running_var move by `momentum` towards its
---statistics; in evaluation (model:eval()) the running ones are used. (Inside heed.recompute it runs
---twice in training, and moves them twice.)
---
---```lua
---local norm = nn.BatchNorm1d(2)
---print(norm(heed.tensor { { 1, 10 }, { 3, 30 } })) --> [[-1.0000, -1.0000], [ 1.0000, 1.0000]] f32 [2, 2], recorded
---print(norm.running_mean, norm.num_batches_tracked:item()) --> [0.2000, 2.0000] f32 [2] 1
---```
---@class heed.nn.BatchNorm1d: heed.nn.Module
---@field weight heed.Tensor|nil [num_features], ones at first
---@field bias heed.Tensor|nil [num_features], zeros at first
---@field running_mean heed.Tensor|nil [num_features]
---@field running_var heed.Tensor|nil [num_features]
---@field num_batches_tracked heed.Tensor|nil i64
local BatchNorm1d = module.Module:extend "BatchNorm1d"

---@param num_features integer channels
---@param options? { eps?: number, momentum?: number|false, affine?: boolean, track_running_stats?: boolean }
---defaults: eps 1e-5, momentum 0.1 (false: running statistics are the averages of all batches),
---affine true, track_running_stats true
function BatchNorm1d:init(num_features, options)
    init(self, "heed.nn.BatchNorm1d", num_features, options)
end

---@param x heed.Tensor [B, C] or [B, C, L]; in training with more than one value of each channel
---@return heed.Tensor # of x's shape
function BatchNorm1d:forward(x)
    check_input(self, x, 2, 3, "[B, C] or [B, C, L]")
    return forward(self, x)
end

BatchNorm1d.extra = extra

---Batch normalization of images: as BatchNorm1d, with channels of planes.
---
---```lua
---print(nn.BatchNorm2d(3)(heed.randn(2, 3, 4, 4)).shape) --> [2, 3, 4, 4]
---```
---@class heed.nn.BatchNorm2d: heed.nn.Module
---@field weight heed.Tensor|nil [num_features], ones at first
---@field bias heed.Tensor|nil [num_features], zeros at first
---@field running_mean heed.Tensor|nil [num_features]
---@field running_var heed.Tensor|nil [num_features]
---@field num_batches_tracked heed.Tensor|nil i64
local BatchNorm2d = module.Module:extend "BatchNorm2d"

---@param num_features integer channels
---@param options? { eps?: number, momentum?: number|false, affine?: boolean, track_running_stats?: boolean }
---as BatchNorm1d's
function BatchNorm2d:init(num_features, options)
    init(self, "heed.nn.BatchNorm2d", num_features, options)
end

---@param x heed.Tensor [B, C, H, W]; in training with more than one value of each channel
---@return heed.Tensor # of x's shape
function BatchNorm2d:forward(x)
    check_input(self, x, 4, 4, "[B, C, H, W]")
    return forward(self, x)
end

BatchNorm2d.extra = extra

-- ---- group norm ---------------------------------------------------------------------------------

---Group normalization (Wu and He 2018): heed.group_norm with parameters of its own. The channels
---of each entry are cut into num_groups groups, each of which gets the mean 0 and the variance 1.
---
---```lua
---print(nn.GroupNorm(2, 4)(heed.randn(2, 4, 5)).shape) --> [2, 4, 5]
---```
---@class heed.nn.GroupNorm: heed.nn.Module
---@field weight heed.Tensor|nil [num_channels], ones at first
---@field bias heed.Tensor|nil [num_channels], zeros at first
local GroupNorm = module.Module:extend "GroupNorm"

---@param num_groups integer
---@param num_channels integer a multiple of num_groups
---@param options? { eps?: number, affine?: boolean } defaults: eps 1e-5, affine true
function GroupNorm:init(num_groups, num_channels, options)
    local where = "heed.nn.GroupNorm"
    self.num_groups = check.integer(where, "num_groups", num_groups)
    self.num_channels = check.integer(where, "num_channels", num_channels)
    if num_channels % num_groups ~= 0 then
        errors.raise("%s: num_channels: expected a multiple of num_groups %d, got %d", where,
            num_groups, num_channels)
    end
    options = check.options(where, options, check.set("eps", "affine"))
    self.eps = check.number(where, "eps", check.default(options.eps, 1e-5), 0)
    if check.flag(where, "affine", options.affine, true) then affine(self, num_channels) end
end

---@param x heed.Tensor [B, C, ...]
---@return heed.Tensor # of x's shape
function GroupNorm:forward(x)
    if x:dim() < 2 or x:size(2) ~= self.num_channels then
        errors.raise("x: expected [B, C, ...] with %d channels (num_channels), got %s",
            self.num_channels, tostring(x.shape))
    end
    return core.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)
end

function GroupNorm:extra()
    return ("%d, %d%s"):format(self.num_groups, self.num_channels,
        self.weight and "" or ", affine = false")
end

return { BatchNorm1d = BatchNorm1d, BatchNorm2d = BatchNorm2d, GroupNorm = GroupNorm }
