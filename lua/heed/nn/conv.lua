local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local module = require "heed.nn.module"
local plane = require "heed.nn.plane"

local parameter = module.parameter

local OPTIONS = check.set("stride", "padding", "dilation", "groups", "bias", "padding_mode")
local MODES = { "zeros", "reflect", "replicate", "circular" }

-- "same", "valid" or sizes.
local function padding_of(where, value, dims, stride)
    if type(value) ~= "string" then return plane.sizes(where, "padding", value or 0, dims, 0) end
    check.one_of(where, "padding", value, { "same", "valid" })
    for _, step in ipairs(stride) do
        if value == "same" and step ~= 1 then
            errors.raise('%s: padding: expected numbers beside a stride, got "same"', where)
        end
    end
    return value
end

-- What heed.pad wants where the padding is no zeros: before and after each dimension, the last
-- first; as operations, "same" has the odd one behind.
local function pads_of(self, dims)
    local pads, padding = {}, self.padding
    if padding == "valid" then padding = plane.sizes("", "padding", 0, dims, 0) end
    for d = dims, 1, -1 do
        local all = self.dilation[d] * (self.kernel_size[d] - 1)
        local before = padding == "same" and all // 2 or padding[d]
        pads[#pads + 1] = before
        pads[#pads + 1] = padding == "same" and all - before or before
    end
    return pads
end

-- Initial values U(±1/sqrt(in/groups · kernel)), as PyTorch's.
local function fill(self, has_bias)
    local shape, fan = { self.out_channels, self.in_channels // self.groups }, 1
    for _, size in ipairs(self.kernel_size) do shape[#shape + 1] = size end
    for d = 2, #shape do fan = fan * shape[d] end
    local bound = 1 / math.sqrt(fan)
    self.weight = parameter(initial.uniform_(core.empty(shape), -bound, bound))
    if has_bias then
        self.bias = parameter(initial.uniform_(core.empty(self.out_channels), -bound, bound))
    end
end

local function init(self, where, dims, inputs, outputs, kernel_size, options)
    self.in_channels = check.integer(where, "in_channels", inputs)
    self.out_channels = check.integer(where, "out_channels", outputs)
    self.kernel_size = plane.sizes(where, "kernel_size", kernel_size, dims)
    options = check.options(where, options, OPTIONS)
    self.stride = plane.sizes(where, "stride", options.stride or 1, dims)
    self.padding = padding_of(where, options.padding, dims, self.stride)
    self.dilation = plane.sizes(where, "dilation", options.dilation or 1, dims)
    self.groups = check.integer(where, "groups", options.groups or 1)
    self.padding_mode = check.one_of(where, "padding_mode", options.padding_mode or "zeros", MODES)
    for name, channels in pairs { in_channels = inputs, out_channels = outputs } do
        if channels % self.groups ~= 0 then
            errors.raise("%s: groups: expected a divisor of %s %d, got %d", where, name, channels,
                self.groups)
        end
    end
    fill(self, check.flag(where, "bias", options.bias, true))
end

local function forward(self, operation, dims, x)
    local padding = self.padding
    if self.padding_mode ~= "zeros" then
        x, padding = core.pad(x, pads_of(self, dims), { mode = self.padding_mode }), 0
    end
    return operation(x, self.weight, self.bias, { stride = self.stride, padding = padding,
        dilation = self.dilation, groups = self.groups })
end

local function extra(self)
    local parts = { ("%d, %d, %s"):format(self.in_channels, self.out_channels,
        plane.text(self.kernel_size)) }
    local function say(name, value, usual)
        if value ~= usual then parts[#parts + 1] = ("%s = %s"):format(name, value) end
    end
    say("stride", plane.text(self.stride), "1")
    if type(self.padding) == "string" then
        say("padding", ("%q"):format(self.padding), '"valid"')
    else
        say("padding", plane.text(self.padding), "0")
    end
    say("dilation", plane.text(self.dilation), "1")
    say("groups", self.groups, 1)
    if not self.bias then parts[#parts + 1] = "bias = false" end
    say("padding_mode", ("%q"):format(self.padding_mode), '"zeros"')
    return table.concat(parts, ", ")
end

---Convolution over a sequence of channels: heed.conv1d with parameters of its own, whose first
---values are U(±1/sqrt(in_channels / groups · kernel_size)), as PyTorch's.
---
---```lua
---print(nn.Conv1d(80, 384, 3, { stride = 2, padding = 1 })(heed.randn(1, 80, 100)).shape) --> [1, 384, 50]
---```
---@class heed.nn.Conv1d: heed.nn.Module
---@field weight heed.Tensor [out_channels, in_channels / groups, kernel_size]
---@field bias heed.Tensor|nil [out_channels]
local Conv1d = module.Module:extend "Conv1d"

---@param in_channels integer
---@param out_channels integer
---@param kernel_size integer
---@param options? { stride?: integer, padding?: integer|"same"|"valid", dilation?: integer, groups?: integer, bias?: boolean, padding_mode?: "zeros"|"reflect"|"replicate"|"circular" }
---defaults: stride 1, padding 0, dilation 1, groups 1, bias true, padding_mode "zeros"
function Conv1d:init(in_channels, out_channels, kernel_size, options)
    init(self, "heed.nn.Conv1d", 1, in_channels, out_channels, kernel_size, options)
end

---@param x heed.Tensor [B, in_channels, L]
---@return heed.Tensor # [B, out_channels, windows]
function Conv1d:forward(x) return forward(self, core.conv1d, 1, x) end

Conv1d.extra = extra

---Convolution over images: heed.conv2d with parameters of its own, whose first values are
---U(±1/sqrt(in_channels / groups · elements of the kernel)), as PyTorch's.
---
---```lua
---local patches = nn.Conv2d(3, 8, 16, { stride = 16 })
---print(patches(heed.randn(2, 3, 64, 48)).shape) --> [2, 8, 4, 3]
---print(nn.Conv2d(8, 8, { 3, 1 }, { padding = "same", groups = 8 }))
---```
---@class heed.nn.Conv2d: heed.nn.Module
---@field weight heed.Tensor [out_channels, in_channels / groups, height, width]
---@field bias heed.Tensor|nil [out_channels]
local Conv2d = module.Module:extend "Conv2d"

---@param in_channels integer
---@param out_channels integer
---@param kernel_size integer|integer[] a number or { height, width }, as stride, padding, dilation
---@param options? { stride?: integer|integer[], padding?: integer|integer[]|"same"|"valid", dilation?: integer|integer[], groups?: integer, bias?: boolean, padding_mode?: "zeros"|"reflect"|"replicate"|"circular" }
---defaults: stride 1, padding 0, dilation 1, groups 1, bias true, padding_mode "zeros"
function Conv2d:init(in_channels, out_channels, kernel_size, options)
    init(self, "heed.nn.Conv2d", 2, in_channels, out_channels, kernel_size, options)
end

---@param x heed.Tensor [B, in_channels, H, W]
---@return heed.Tensor # [B, out_channels, windows down, windows across]
function Conv2d:forward(x) return forward(self, core.conv2d, 2, x) end

Conv2d.extra = extra

return { Conv1d = Conv1d, Conv2d = Conv2d }
