local activation = require "heed.nn.activation"
local check = require "heed.check"
local core = require "heed.core"
local Linear = require "heed.nn.linear"
local module = require "heed.nn.module"

local BY_NAME, GATED, NAMES = activation.by_name, activation.gated, activation.names

---The same linear maps at every position (Vaswani et al. 2017, section 3.3):
---linear2(dropout(activation(linear1(x)))). With a gated activation (Shazeer 2020, "GLU Variants
---Improve Transformer") a third map multiplies what the first one gives:
---linear2(dropout(activation(linear1(x)) · linear3(x))). Llama calls them gate_proj, down_proj and
---up_proj; T5 wi_0, wo and wi_1.
---
---```lua
---print(nn.FeedForward(4, 8)(heed.randn(2, 4)).shape) --> [2, 4]
---print(nn.FeedForward(4, 8, { activation = "swiglu", bias = false }))
---```
---@class heed.nn.FeedForward: heed.nn.Module
---@field linear1 heed.nn.Linear [F, E]
---@field linear2 heed.nn.Linear [E, F]
---@field linear3 heed.nn.Linear|nil [F, E], of a gated activation
---@field activation heed.Activation
local FeedForward = module.Module:extend "FeedForward"

---@alias heed.Activation "relu"|"gelu"|"gelu_tanh"|"gelu_sigmoid"|"silu"|"tanh"|"sigmoid"|"swiglu"|"geglu"|"geglu_tanh"|"reglu"|function|heed.nn.Module

-- Gives a layer its activation, linear1, linear2 and, when the activation is a gated one, linear3.
function FeedForward.add_parts(self, where, d_model, d_ff, options)
    check.integer(where, "d_model", d_model)
    check.integer(where, "d_ff", d_ff)
    local given = check.default(options.activation, "relu")
    if type(given) ~= "function" and not module.is_module(given) then
        check.one_of(where, "activation", given, NAMES)
    end
    local bias = { bias = check.flag(where, "bias", options.bias, true) }
    self.activation = given
    self.linear1 = Linear(d_model, d_ff, bias)
    self.linear2 = Linear(d_ff, d_model, bias)
    if GATED[given] then self.linear3 = Linear(d_model, d_ff, bias) end
end

-- activation(linear1(x)), in one pass where C has one.
local function activated(self, x, name)
    local linear1, fused = self.linear1, BY_NAME[name]
    if not fused then return name(linear1(x)) end
    if linear1.forward ~= Linear.forward then return fused(linear1(x)) end
    return core.linear(x, linear1.weight, linear1.bias, name)
end

-- The formula in its parts.
function FeedForward.compose(self, x, dropout)
    local gated = GATED[self.activation]
    local hidden = activated(self, x, gated or self.activation)
    if gated then hidden = hidden * self.linear3(x) end
    if self.training and dropout > 0 then hidden = core.dropout(hidden, dropout) end
    return self.linear2(hidden)
end

-- For layers whose feed-forward part is in fields of their own: can C run it whole?
function FeedForward.is_plain(self)
    local name, linear3 = self.activation, self.linear3
    return (BY_NAME[name] or GATED[name] and (not linear3 or linear3.forward == Linear.forward))
        and self.linear1.forward == Linear.forward and self.linear2.forward == Linear.forward
end

---@param d_model integer E
---@param d_ff integer F
---@param options? { activation?: heed.Activation, dropout?: number, bias?: boolean } activation:
---default "relu"; a name, a gated one among them ("swiglu": silu, "geglu": gelu, "geglu_tanh":
---gelu_tanh, "reglu": relu), a function or a module; dropout: of the hidden features, in training;
---bias: of the linear maps, default true
function FeedForward:init(d_model, d_ff, options)
    options = check.options("heed.nn.FeedForward", options, check.set("activation", "dropout",
        "bias"))
    self.dropout = check.number("heed.nn.FeedForward", "dropout", check.default(options.dropout, 0),
        0, 1)
    FeedForward.add_parts(self, "heed.nn.FeedForward", d_model, d_ff, options)
end

---@param x heed.Tensor [..., E]
---@return heed.Tensor # [..., E]
function FeedForward:forward(x)
    if not FeedForward.is_plain(self) then return FeedForward.compose(self, x, self.dropout) end
    return core.feed_forward(self, x)
end

function FeedForward:extra()
    return type(self.activation) == "string" and self.activation or ""
end

return FeedForward
