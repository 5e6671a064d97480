--- Scores of predictions, equal to scikit-learn's and sacreBLEU's. Classes count from 1; tensors
--- and tables of Lua do alike.
---
--- Each is a function of everything at once, and under the same name with capitals a metric that
--- goes on over batches, with `:add(predictions, targets)` and `:value()`.

local metrics = {}

-- A file gives a function and its metric by their names.
local function offer(exports)
    for name, value in pairs(exports) do metrics[name] = value end
end

offer(require "heed.metrics.accuracy")
offer(require "heed.metrics.topk")
offer(require "heed.metrics.confusion")
offer(require "heed.metrics.precision_recall_f1")
offer(require "heed.metrics.roc_auc")
offer(require "heed.metrics.perplexity")
offer(require "heed.metrics.bleu")
offer(require "heed.metrics.chrf")
offer(require "heed.metrics.wer")
offer(require "heed.metrics.regression")

return metrics
