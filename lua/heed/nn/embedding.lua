local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local module = require "heed.nn.module"

local embedding = core.embedding

---A row of numbers for each token.
---
---```lua
---local embedding = nn.Embedding(10, 4, { padding_idx = 1 })
---print(embedding { { 3, 5, 1 } }.shape, embedding.weight[1]) --> [1, 3, 4] [0., 0., 0., 0.] f32 [4], recorded
---```
---@class heed.nn.Embedding: heed.nn.Module
---@field weight heed.Tensor [count, dim]
local Embedding = module.Module:extend "Embedding"

Embedding.takes_quantized = true -- of its matrices

---Initial values N(0, 1), as PyTorch's.
---@param count integer tokens are 1..count
---@param dim integer
---@param options? { padding_idx?: integer, scale?: number } padding_idx: a token whose row starts
---at 0 and whose look-ups get no gradient; scale: what rows are multiplied by as they are looked up
---(default 1)
function Embedding:init(count, dim, options)
    check.integer("heed.nn.Embedding", "count", count)
    check.integer("heed.nn.Embedding", "dim", dim)
    options = check.options("heed.nn.Embedding", options, check.set("padding_idx", "scale"))
    self.padding_idx, self.scale = options.padding_idx, options.scale
    if self.padding_idx and check.integer("heed.nn.Embedding", "padding_idx",
        self.padding_idx) > count then
        errors.raise("heed.nn.Embedding: padding_idx: expected a token from 1 to %d, got %d", count,
            self.padding_idx)
    end
    self.weight = module.parameter(initial.normal_(core.empty(count, dim)))
    if self.padding_idx then
        core.no_grad(function() self.weight:select(1, self.padding_idx):fill_(0) end)
    end
end

---@param tokens heed.Tensor|integer[] integers [...], from 1
---@return heed.Tensor # [..., dim]
function Embedding:forward(tokens)
    return embedding(self.weight, tokens, self.padding_idx, self.scale)
end

function Embedding:extra() return ("%d, %d"):format(self.weight:size(1), self.weight:size(2)) end

return Embedding
