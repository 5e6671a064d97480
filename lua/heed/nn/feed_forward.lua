local check = require "heed.check"
local core = require "heed.core"
local Linear = require "heed.nn.linear"
local module = require "heed.nn.module"

local BY_NAME = { relu = core.relu, gelu = core.gelu, silu = core.silu }

---The same two linear maps at every position (Vaswani et al. 2017, section 3.3): linear2(dropout(activation(linear1(x)))).
---@class heed.nn.FeedForward: heed.nn.Module
---@field linear1 heed.nn.Linear
---@field linear2 heed.nn.Linear
local FeedForward = module.Module:extend "FeedForward"

---An activation by name, or a function or module that is one.
---@param where string
---@param activation? "relu"|"gelu"|"silu"|function|heed.nn.Module default "relu"
function FeedForward.check_activation(where, activation)
    if type(activation) == "function" or module.is_module(activation) then return activation end
    return check.one_of(where, "activation", activation or "relu", { "relu", "gelu", "silu" })
end

---The formula in its parts.
---@param self { linear1: heed.nn.Module, linear2: heed.nn.Module, activation: any, training: boolean }
---@param x heed.Tensor [..., E]
---@param dropout number
---@return heed.Tensor [..., E]
function FeedForward.compose(self, x, dropout)
    local activation = BY_NAME[self.activation] or self.activation
    local hidden = activation(self.linear1(x))
    if self.training and dropout > 0 then hidden = core.dropout(hidden, dropout) end
    return self.linear2(hidden)
end

---@param d_model integer E
---@param d_ff integer F
---@param options? { activation?: "relu"|"gelu"|"silu"|function, dropout?: number }
function FeedForward:init(d_model, d_ff, options)
    check.integer("nn.FeedForward", "d_model", d_model)
    check.integer("nn.FeedForward", "d_ff", d_ff)
    options = check.options("nn.FeedForward", options, check.set("activation", "dropout"))
    self.activation = FeedForward.check_activation("nn.FeedForward", options.activation)
    self.dropout = check.number("nn.FeedForward", "dropout", check.default(options.dropout, 0), 0, 1)
    self.linear1 = Linear(d_model, d_ff)
    self.linear2 = Linear(d_ff, d_model)
end

---@param x heed.Tensor [..., E]
---@return heed.Tensor [..., E]
function FeedForward:forward(x)
    local linear1, linear2 = self.linear1, self.linear2
    if BY_NAME[self.activation] and linear1.forward == Linear.forward and linear2.forward == Linear.forward then
        return core.feed_forward(linear1.weight, linear1.bias, linear2.weight, linear2.bias, self.activation, self.dropout,
            self.training, x)
    end
    return FeedForward.compose(self, x, self.dropout)
end

function FeedForward:extra()
    return type(self.activation) == "string" and self.activation or ""
end

---For layers whose feed-forward part is in fields of their own: is the activation one that C knows?
function FeedForward.knows(activation) return BY_NAME[activation] ~= nil end

return FeedForward
