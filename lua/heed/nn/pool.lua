local check = require "heed.check"
local core = require "heed.core"
local module = require "heed.nn.module"
local plane = require "heed.nn.plane"

local pool = {}

local NAMES = check.set("stride", "padding", "dilation", "ceil_mode")
local AVERAGE_NAMES = check.set("stride", "padding", "ceil_mode", "count_include_pad")

local function init(self, where, dims, kernel_size, options, names)
    self.kernel_size = plane.sizes(where, "kernel_size", kernel_size, dims)
    options = check.options(where, options, names)
    self.stride = plane.sizes(where, "stride", options.stride or self.kernel_size, dims)
    self.padding = plane.sizes(where, "padding", options.padding or 0, dims, 0)
    self.ceil_mode = check.flag(where, "ceil_mode", options.ceil_mode, false)
    return options
end

local function init_max(self, where, dims, kernel_size, options)
    options = init(self, where, dims, kernel_size, options, NAMES)
    self.dilation = plane.sizes(where, "dilation", options.dilation or 1, dims)
end

local function init_average(self, where, dims, kernel_size, options)
    options = init(self, where, dims, kernel_size, options, AVERAGE_NAMES)
    self.count_include_pad = check.flag(where, "count_include_pad", options.count_include_pad, true)
end

-- The settings as the operation takes them; of each kind of pooling one is nil.
local function pooled(self, operation, x)
    return operation(x, self.kernel_size, { stride = self.stride, padding = self.padding,
        dilation = self.dilation, ceil_mode = self.ceil_mode,
        count_include_pad = self.count_include_pad })
end

local function extra(self)
    return ("%s, stride = %s, padding = %s"):format(plane.text(self.kernel_size),
        plane.text(self.stride), plane.text(self.padding))
end

---The largest of each window along a sequence of channels: heed.max_pool1d.
---
---```lua
---print(nn.MaxPool1d(2)(heed.randn(2, 3, 8)).shape) --> [2, 3, 4]
---```
---@class heed.nn.MaxPool1d: heed.nn.Module
pool.MaxPool1d = module.Module:extend "MaxPool1d"

---@param kernel_size integer
---@param options? { stride?: integer, padding?: integer, dilation?: integer, ceil_mode?: boolean }
---defaults: stride kernel_size, padding 0, dilation 1, ceil_mode false
function pool.MaxPool1d:init(kernel_size, options)
    init_max(self, "heed.nn.MaxPool1d", 1, kernel_size, options)
end

---@param x heed.Tensor [B, C, L]
---@return heed.Tensor # [B, C, windows]
function pool.MaxPool1d:forward(x) return pooled(self, core.max_pool1d, x) end

pool.MaxPool1d.extra = extra

---The largest of each window over images: heed.max_pool2d.
---
---```lua
---print(nn.MaxPool2d(2)(heed.randn(2, 3, 8, 6)).shape) --> [2, 3, 4, 3]
---```
---@class heed.nn.MaxPool2d: heed.nn.Module
pool.MaxPool2d = module.Module:extend "MaxPool2d"

---@param kernel_size integer|integer[]
---@param options? { stride?: integer|integer[], padding?: integer|integer[], dilation?: integer|integer[], ceil_mode?: boolean }
---defaults: stride kernel_size, padding 0, dilation 1, ceil_mode false
function pool.MaxPool2d:init(kernel_size, options)
    init_max(self, "heed.nn.MaxPool2d", 2, kernel_size, options)
end

---@param x heed.Tensor [B, C, H, W]
---@return heed.Tensor # [B, C, windows down, windows across]
function pool.MaxPool2d:forward(x) return pooled(self, core.max_pool2d, x) end

pool.MaxPool2d.extra = extra

---The average of each window along a sequence of channels: heed.avg_pool1d.
---
---```lua
---print(nn.AvgPool1d(2)(heed.randn(2, 3, 8)).shape) --> [2, 3, 4]
---```
---@class heed.nn.AvgPool1d: heed.nn.Module
pool.AvgPool1d = module.Module:extend "AvgPool1d"

---@param kernel_size integer
---@param options? { stride?: integer, padding?: integer, ceil_mode?: boolean, count_include_pad?: boolean }
---defaults: stride kernel_size, padding 0, ceil_mode false, count_include_pad true
function pool.AvgPool1d:init(kernel_size, options)
    init_average(self, "heed.nn.AvgPool1d", 1, kernel_size, options)
end

---@param x heed.Tensor [B, C, L]
---@return heed.Tensor # [B, C, windows]
function pool.AvgPool1d:forward(x) return pooled(self, core.avg_pool1d, x) end

pool.AvgPool1d.extra = extra

---The average of each window over images: heed.avg_pool2d.
---
---```lua
---print(nn.AvgPool2d(2)(heed.randn(2, 3, 8, 6)).shape) --> [2, 3, 4, 3]
---```
---@class heed.nn.AvgPool2d: heed.nn.Module
pool.AvgPool2d = module.Module:extend "AvgPool2d"

---@param kernel_size integer|integer[]
---@param options? { stride?: integer|integer[], padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean }
---defaults: stride kernel_size, padding 0, ceil_mode false, count_include_pad true
function pool.AvgPool2d:init(kernel_size, options)
    init_average(self, "heed.nn.AvgPool2d", 2, kernel_size, options)
end

---@param x heed.Tensor [B, C, H, W]
---@return heed.Tensor # [B, C, windows down, windows across]
function pool.AvgPool2d:forward(x) return pooled(self, core.avg_pool2d, x) end

pool.AvgPool2d.extra = extra

---The averages of output_size windows that cover a sequence evenly: heed.adaptive_avg_pool1d. 1: of all.
---
---```lua
---print(nn.AdaptiveAvgPool1d(1)(heed.randn(2, 3, 8)).shape) --> [2, 3, 1]
---```
---@class heed.nn.AdaptiveAvgPool1d: heed.nn.Module
pool.AdaptiveAvgPool1d = module.Module:extend "AdaptiveAvgPool1d"

---@param output_size integer
function pool.AdaptiveAvgPool1d:init(output_size)
    self.output_size = plane.sizes("heed.nn.AdaptiveAvgPool1d", "output_size", output_size, 1)
end

---@param x heed.Tensor [B, C, L]
---@return heed.Tensor # [B, C, output_size]
function pool.AdaptiveAvgPool1d:forward(x) return core.adaptive_avg_pool1d(x, self.output_size) end

function pool.AdaptiveAvgPool1d:extra() return plane.text(self.output_size) end

---The averages of output_size windows that cover images evenly: heed.adaptive_avg_pool2d. 1: of all.
---
---```lua
---print(nn.AdaptiveAvgPool2d(1)(heed.randn(2, 3, 8, 6)).shape) --> [2, 3, 1, 1]
---```
---@class heed.nn.AdaptiveAvgPool2d: heed.nn.Module
pool.AdaptiveAvgPool2d = module.Module:extend "AdaptiveAvgPool2d"

---@param output_size integer|integer[]
function pool.AdaptiveAvgPool2d:init(output_size)
    self.output_size = plane.sizes("heed.nn.AdaptiveAvgPool2d", "output_size", output_size, 2)
end

---@param x heed.Tensor [B, C, H, W]
---@return heed.Tensor # [B, C, rows, columns]
function pool.AdaptiveAvgPool2d:forward(x) return core.adaptive_avg_pool2d(x, self.output_size) end

function pool.AdaptiveAvgPool2d:extra() return plane.text(self.output_size) end

return pool
