local check = require "heed.check"
local core = require "heed.core"
local initial = require "heed.nn.initial"
local masks = require "heed.mask"
local module = require "heed.nn.module"

local WHERE = "heed.nn.RelativePositionBias"
local LONGEST = 1 << 20

---Positions as a bias of the scores, learned for each head and bucket of distances (Raffel et al.
---2020, "T5", section 2.1). Near distances have a bucket each; farther ones share wider and wider
---ones, up to max_distance, from which on there is one. Of two ways, half of the buckets look ahead.
---
---```lua
---local positions = nn.RelativePositionBias(2, { buckets = 8, max_distance = 16 })
---local mha = nn.MultiHeadAttention(8, 2)
---print(positions(3):dense(3).shape, mha(heed.randn(1, 3, 8), { mask = positions(3) }).shape) --> [1, 2, 3, 3] [1, 3, 8]
---```
---@class heed.nn.RelativePositionBias: heed.nn.Module
---@field weight heed.Tensor [buckets, H]
---@field max_distance integer
---@field bidirectional boolean
local RelativePositionBias = module.Module:extend "RelativePositionBias"

-- How many distances have a bucket of their own.
local function exact_of(self, buckets)
    return (self.bidirectional and buckets // 2 or buckets) // 2
end

---Initial values N(0, 1).
---@param num_heads integer H
---@param options? { buckets?: integer, max_distance?: integer, bidirectional?: boolean } buckets:
---default 32; max_distance: default 128; bidirectional: default true, false where no query sees
---what is ahead
function RelativePositionBias:init(num_heads, options)
    check.integer(WHERE, "num_heads", num_heads)
    options = check.options(WHERE, options, check.set("buckets", "max_distance", "bidirectional"))
    local buckets = check.integer(WHERE, "buckets", options.buckets or 32, 4)
    self.bidirectional = check.flag(WHERE, "bidirectional", options.bidirectional, true)
    self.max_distance = check.integer(WHERE, "max_distance", options.max_distance or 128,
        exact_of(self, buckets) + 1)
    self.weight = module.parameter(initial.normal_(core.empty(buckets, num_heads)))
end

-- Of a key so far ahead of a query, or behind it when negative.
local function bucket_of(self, distance)
    local buckets, first = self.weight:size(1), 1
    if self.bidirectional then
        buckets = buckets // 2
        if distance > 0 then first = buckets + 1 end
    end
    local far = self.bidirectional and math.abs(distance) or math.max(-distance, 0)
    local exact = exact_of(self, self.weight:size(1))
    if far < exact then return first + far end
    local share = math.log(far / exact) / math.log(self.max_distance / exact)
    return first + math.min(exact + math.floor(share * (buckets - exact)), buckets - 1)
end

---@param L integer queries
---@param options? { offset?: integer|heed.Ids } offset: how many keys come before the first query,
---or of each of the batch [B], default 0
---@return heed.Mask # a bias [1, H, L, S] or [B, H, L, S] over the S keys up to the last query
function RelativePositionBias:forward(L, options)
    check.integer(WHERE, "L", L, 1, LONGEST)
    local offset = check.options(WHERE, options, check.set "offset").offset or 0
    if type(offset) == "table" then offset = core.tensor(offset, { dtype = "i64" }) end
    local ragged = check.is_live(offset)
    local S = L + check.integer(WHERE, "offset", ragged and offset:max():item() or offset, 0,
        LONGEST)
    local buckets = {}
    for distance = 1 - S, S - 1 do buckets[#buckets + 1] = bucket_of(self, distance) end
    local function range(n) return core.range(1, n, { dtype = "i64" }) end
    local queries = range(L):view(1, L, 1) + (ragged and offset:view(-1, 1, 1) or offset)
    local places = range(S):view(1, 1, S) - queries + S
    local rows = core.embedding(self.weight, core.tensor(buckets, { dtype = "i64" })[places])
    return masks.bias(rows:permute(1, 4, 2, 3)) -- [B, L, S, H] -> [B, H, L, S]
end

function RelativePositionBias:extra()
    return ("%d heads, %d buckets%s"):format(self.weight:size(2), self.weight:size(1),
        self.bidirectional and "" or ", bidirectional = false")
end

return RelativePositionBias
