--- Losses. Each gives a tensor of one element: the mean, or with reduction = "sum" the sum; with
--- "none" every loss by itself.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local loss = {}

-- ---- against classes ----------------------------------------------------------------------------

local CLASSES = check.set("ignore_index", "label_smoothing", "weight", "reduction",
    "smoothing_exclude")
local LINEAR = check.set("bias", "ignore_index", "label_smoothing", "weight", "reduction",
    "smoothing_exclude")
local NLL = check.set("ignore_index", "weight", "reduction")
local REDUCTIONS = { "mean", "sum", "none" }

local function is_float(value) return check.is_live(value) and value.dtype:find "f%d" ~= nil end

-- Targets that are probabilities: every class has its share of every row.
local function against_probabilities(logits, targets, options)
    local where = "heed.loss.cross_entropy"
    for _, name in ipairs { "ignore_index", "smoothing_exclude" } do
        if options[name] ~= nil then
            errors.raise("%s: %s: there is none where targets are probabilities; they were given "
                .. "as %s tensor %s", where, name,
                targets.dtype, tostring(targets.shape))
        end
    end
    if not check.is_tensor(logits) or logits.shape ~= targets.shape then
        errors.raise("%s: targets: expected probabilities of the logits' shape, or classes "
            .. "(heed.ids), got %s tensor %s", where,
            targets.dtype, tostring(targets.shape))
    end
    local reduction = check.one_of(where, "reduction", options.reduction or "mean", REDUCTIONS)
    local eps = check.number(where, "label_smoothing", options.label_smoothing or 0, 0, 1)
    local shares = eps > 0 and targets * (1 - eps) + eps / logits:size(-1) or targets
    if options.weight then shares = shares * options.weight end
    local terms = core.masked_fill(shares * logits:log_softmax(-1), shares:eq(0), 0)
    local losses = -terms:sum(-1)
    return reduction == "none" and losses or reduction == "sum" and losses:sum() or losses:mean()
end

---Cross entropy: -log softmax(logits)[target], the mean over the targets that are kept.
---
---label_smoothing eps gives the target 1 - eps + eps/V and every other class eps/V (Szegedy et al.
---2016, as PyTorch has it); classes of smoothing_exclude get none of it. Every target is 1..V or
---ignore_index; when all are ignored the loss is 0. Targets may also be probabilities, floats of
---the shape of the logits; the mean is over rows then.
---
---```lua
---local logits = heed.tensor { { 2.0, 0.5, -1.0 }, { 0.0, 3.0, 0.0 } }
---print(heed.loss.cross_entropy(logits, { 1, 2 })) --> 0.1681 f32 []
---print(heed.loss.cross_entropy(logits, { 1, 3 }, { ignore_index = 3, label_smoothing = 0.1 })) --> 0.3913 f32 []
---```
---@param logits heed.Tensor float [..., V]
---@param targets heed.Tensor|table integers [...], or probabilities [..., V]
---@param options? { ignore_index?: integer, label_smoothing?: number, weight?: heed.Tensor, reduction?: "mean"|"sum"|"none", smoothing_exclude?: integer[] }
---ignore_index: targets of this number do not count; label_smoothing: eps, default 0; weight: [V],
---of each class, the mean is then weighted; reduction: default "mean"; smoothing_exclude: classes
---that get none of eps
---@return heed.Tensor # 0-d, or [...] with reduction "none"
function loss.cross_entropy(logits, targets, options)
    options = check.options("heed.loss.cross_entropy", options, CLASSES)
    if is_float(targets) and check.is_tensor(logits) and targets:dim() == logits:dim() then
        return against_probabilities(logits, targets, options)
    end
    return core.cross_entropy(logits, targets, options.ignore_index, options.label_smoothing,
        options.weight, options.reduction,
        options.smoothing_exclude)
end

---cross_entropy(linear(hidden, weight, bias), targets) that never holds all logits: chunks of rows
---go through one after the other, and rows whose targets are ignored are left out. The numbers are
---those of the two operations up to rounding.
---
---With a mean or a sum the gradients are made while the logits are there, in the forward pass.
---Gives gradients by hidden, weight and bias; a tied weight gets the sum of its gradients.
---
---```lua
---local hidden, weight = heed.randn(4, 8), heed.randn(100, 8)
---print(heed.loss.linear_cross_entropy(hidden, weight, { 1, 7, 3, 100 }, { ignore_index = 1 }).shape) --> []
---```
---@param hidden heed.Tensor float [..., E]
---@param weight heed.Tensor float [V, E] of the output layer
---@param targets heed.Tensor|table integers [...] in 1..V, or ignore_index
---@param options? { bias?: heed.Tensor, ignore_index?: integer, label_smoothing?: number, weight?: heed.Tensor, reduction?: "mean"|"sum"|"none", smoothing_exclude?: integer[] }
---bias: [V] of the output layer; ignore_index: targets of this number do not count;
---label_smoothing: eps, default 0; weight: [V], of each class, the mean is then weighted;
---reduction: default "mean"; smoothing_exclude: classes that get none of eps
---@return heed.Tensor # 0-d, or [...] with reduction "none"
function loss.linear_cross_entropy(hidden, weight, targets, options)
    options = check.options("heed.loss.linear_cross_entropy", options, LINEAR)
    return core.linear_cross_entropy(hidden, weight, targets, options.bias, options.ignore_index,
        options.label_smoothing,
        options.weight, options.reduction, options.smoothing_exclude)
end

---Negative log likelihood: -log_probs[target], the mean over the targets that are kept; what
---cross_entropy is after log_softmax.
---
---```lua
---local log_probs = heed.tensor({ { 2.0, 0.5, -1.0 } }):log_softmax(-1)
---print(heed.loss.nll_loss(log_probs, { 1 })) --> 0.2413 f32 []
---```
---@param log_probs heed.Tensor float [..., V]
---@param targets heed.Tensor|table integers [...] in 1..V, or ignore_index
---@param options? { ignore_index?: integer, weight?: heed.Tensor, reduction?: "mean"|"sum"|"none" }
---ignore_index: targets of this number do not count; weight: [V], of each class, the mean is then
---weighted; reduction: default "mean"
---@return heed.Tensor # 0-d, or [...] with reduction "none"
function loss.nll_loss(log_probs, targets, options)
    options = check.options("heed.loss.nll_loss", options, NLL)
    return core.nll_loss(log_probs, targets, options.ignore_index, options.weight,
        options.reduction)
end

-- ---- element by element -------------------------------------------------------------------------

local PAIR = check.set "reduction"

---Mean squared error: (input - target)².
---
---```lua
---print(heed.loss.mse_loss(heed.tensor { 1.0, 2.0 }, heed.tensor { 0.0, 4.0 })) --> 2.5000 f32 []
---```
---@param input heed.Tensor float
---@param target heed.Tensor of the same shape: nothing is broadcast
---@param options? { reduction?: "mean"|"sum"|"none" } reduction: default "mean"
---@return heed.Tensor # 0-d, or the input's shape with reduction "none"
function loss.mse_loss(input, target, options)
    return core.mse_loss(input, target, check.options("heed.loss.mse_loss", options,
        PAIR).reduction)
end

---Mean absolute error: |input - target|. The gradient is 0 where they are equal.
---
---```lua
---print(heed.loss.l1_loss(heed.tensor { 1.0, 2.0 }, heed.tensor { 0.0, 4.0 })) --> 1.5000 f32 []
---```
---@param input heed.Tensor float
---@param target heed.Tensor of the same shape
---@param options? { reduction?: "mean"|"sum"|"none" } reduction: default "mean"
---@return heed.Tensor # 0-d, or the input's shape with reduction "none"
function loss.l1_loss(input, target, options)
    return core.l1_loss(input, target, check.options("heed.loss.l1_loss", options, PAIR).reduction)
end

---d²/2 where |d| < delta, else delta (|d| - delta/2), with d = input - target (Huber 1964).
---
---```lua
---print(heed.loss.huber_loss(heed.tensor { 1.0, 2.0 }, heed.tensor { 0.5, 5.0 }, { delta = 1 })) --> 1.3125 f32 []
---```
---@param input heed.Tensor float
---@param target heed.Tensor of the same shape
---@param options? { delta?: number, reduction?: "mean"|"sum"|"none" } delta: default 1; reduction:
---default "mean"
---@return heed.Tensor # 0-d, or the input's shape with reduction "none"
function loss.huber_loss(input, target, options)
    local where = "heed.loss.huber_loss"
    options = check.options(where, options, check.set("delta", "reduction"))
    local delta = check.number(where, "delta", options.delta or 1, 0)
    if delta == 0 then errors.raise("%s: delta: expected a number above 0, got 0", where) end
    return core.huber_loss(input, target, options.reduction, nil, nil, delta)
end

---d²/(2 beta) where |d| < beta, else |d| - beta/2, with d = input - target (Girshick 2015). beta =
---0 is l1_loss.
---
---```lua
---print(heed.loss.smooth_l1_loss(heed.tensor { 1.0, 2.0 }, heed.tensor { 0.5, 5.0 })) --> 1.3125 f32 []
---```
---@param input heed.Tensor float
---@param target heed.Tensor of the same shape
---@param options? { beta?: number, reduction?: "mean"|"sum"|"none" } beta: default 1; reduction:
---default "mean"
---@return heed.Tensor # 0-d, or the input's shape with reduction "none"
function loss.smooth_l1_loss(input, target, options)
    local where = "heed.loss.smooth_l1_loss"
    options = check.options(where, options, check.set("beta", "reduction"))
    local beta = check.number(where, "beta", options.beta or 1, 0)
    if beta == 0 then return core.l1_loss(input, target, options.reduction) end
    return core.huber_loss(input, target, options.reduction, nil, nil, beta, 1 / beta)
end

---Binary cross entropy of logits: -(pos_weight · t · log sigmoid(x) + (1 - t) · log(1 -
---sigmoid(x))) · weight, exact for logits of any size. Terms whose share is 0 add nothing, even at
---infinite logits.
---
---```lua
---local logits, targets = heed.tensor { 3.0, -1.0 }, heed.tensor { 1.0, 0.0 }
---print(heed.loss.bce_with_logits(logits, targets)) --> 0.1809 f32 []
---print(heed.loss.bce_with_logits(logits, targets, { pos_weight = heed.tensor { 2.0 }, reduction = "none" })) --> [0.0972, 0.3133] f32 [2]
---```
---@param input heed.Tensor float: logits
---@param target heed.Tensor of the same shape: probabilities 0..1
---@param options? { weight?: heed.Tensor, pos_weight?: heed.Tensor, reduction?: "mean"|"sum"|"none" }
---weight: multiplies the losses, broadcast, no gradient; pos_weight: multiplies what positives
---lose, broadcast, no gradient; reduction: default "mean"
---@return heed.Tensor # 0-d, or the input's shape with reduction "none"
function loss.bce_with_logits(input, target, options)
    options = check.options("heed.loss.bce_with_logits", options, check.set("weight", "pos_weight",
        "reduction"))
    return core.bce_with_logits(input, target, options.reduction, options.weight,
        options.pos_weight)
end

---Kullback-Leibler divergence of target from input: target · (log target - input), the input being
---log probabilities. 0 where target is 0, whatever the input is there. "batchmean", the sum over
---the size of the first dimension, is what the formula has.
---
---```lua
---local input = heed.tensor({ { 0.1, 0.9 }, { 0.5, 0.5 } }):log()
---print(heed.loss.kl_div(input, heed.tensor { { 0.2, 0.8 }, { 1.0, 0.0 } }, { reduction = "batchmean" })) --> 0.3688 f32 []
---```
---@param input heed.Tensor float: log probabilities
---@param target heed.Tensor of the same shape: probabilities, or their logarithms with log_target
---@param options? { log_target?: boolean, reduction?: "mean"|"sum"|"none"|"batchmean" } log_target:
---default false; reduction: default "mean", over all elements
---@return heed.Tensor # 0-d, or the input's shape with reduction "none"
function loss.kl_div(input, target, options)
    local where = "heed.loss.kl_div"
    options = check.options(where, options, check.set("log_target", "reduction"))
    local is_log = check.flag(where, "log_target", options.log_target, false)
    return (is_log and core.kl_div_log or core.kl_div)(input, target, options.reduction)
end

return loss
