local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local inputs = require "heed.metrics.inputs"
local loss = require "heed.loss"
local metric = require "heed.metrics.metric"

local definition = { name = "perplexity", class = "Perplexity" }

function definition.start(where, options)
    options = check.options(where, options, check.set "ignore_index")
    local ignored = options.ignore_index
    if ignored ~= nil and math.type(ignored) ~= "integer" then
        errors.raise("%s: ignore_index: expected an integer, got %s", where,
            check.describe(ignored))
    end
    return { ignore_index = ignored, sum = 0.0, count = 0 }
end

-- The losses of tokens, and how many of them count.
local function losses_of(state, where, logits, targets)
    local ids, ignored = inputs.integers(where, "targets", targets), state.ignore_index
    local ok, losses = pcall(loss.cross_entropy, logits, ids,
        { reduction = "none", ignore_index = ignored })
    if not ok then
        errors.raise("%s: %s", where, tostring(losses):match "cross_entropy: (.*)$"
            or tostring(losses))
    end
    return losses:to "f64", ignored == nil and ids:numel() or ids:ne(ignored):sum():item()
end

function definition.add(state, where, logits, targets)
    local _ <close> = core.no_grad()
    local losses, count
    if targets == nil then
        losses = inputs.numbers(where, "losses", logits)
        count = losses:numel()
    else
        losses, count = losses_of(state, where, logits, targets)
    end
    state.sum, state.count = state.sum + losses:sum():item(), state.count + count
end

function definition.value(state) return math.exp(state.sum / state.count) end

---The perplexity of a language model: exp of the mean loss of a token. A uniform guess among V
---tokens has V. Of nothing it is NaN.
---
---```lua
---local logits = heed.zeros(2, 3, 50) -- two sentences of three tokens, of which it knows nothing
---local targets = { { 1, 7, 3 }, { 50, 2, 1 } }
---print(("%.3f"):format(heed.metrics.perplexity(logits, targets, { ignore_index = 1 }))) --> 50.000
---```
---@param logits heed.Tensor [..., V]; or, without targets, the tokens' own losses (reduction =
---"none")
---@param targets? heed.Tensor|table tokens [...], from 1
---@param options? { ignore_index?: integer } ignore_index: targets of this number do not count
---@return number
local function perplexity(logits, targets, options)
    return metric.once(definition, logits, targets, options)
end

---perplexity over batches: exp of the mean over all their tokens.
---
---```lua
---local perplexity = heed.metrics.Perplexity()
---perplexity:add(heed.zeros(3, 4), { 1, 2, 3 }):add(heed.zeros(1, 4), { 4 })
---print(("%.3f"):format(perplexity:value())) --> 4.000
---```
---@param options? { ignore_index?: integer } those of perplexity
---@return heed.metrics.Metric
local function Perplexity(options) return metric.new(definition, options) end

return { perplexity = perplexity, Perplexity = Perplexity }
