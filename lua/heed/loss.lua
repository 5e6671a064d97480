--- Losses.

local check = require "heed.check"
local core = require "heed.core"

local loss = {}

local KNOWN = check.set("ignore_index", "label_smoothing", "weight", "reduction", "smoothing_exclude")

----log softmax(logits)[target], the mean over the targets that are kept.
---
---label_smoothing eps gives the target 1 - eps + eps/V and every other class eps/V (Szegedy et al. 2016, as PyTorch has it);
---classes of smoothing_exclude get none of it. Every target is 1..V or ignore_index; when all are ignored the loss is 0.
---@param logits heed.Tensor float [..., V]
---@param targets heed.Tensor|table integers [...]
---@param options? { ignore_index?: integer, label_smoothing?: number, weight?: heed.Tensor, reduction?: "mean"|"sum"|"none", smoothing_exclude?: integer[] }
---weight: [V], of each class; the mean is then weighted
---@return heed.Tensor 0-d, or [...] with reduction "none"
function loss.cross_entropy(logits, targets, options)
    options = check.options("loss.cross_entropy", options, KNOWN)
    return core.cross_entropy(logits, targets, options.ignore_index, options.label_smoothing, options.weight, options.reduction,
        options.smoothing_exclude)
end

return loss
