--- From hidden states of tokens to a vector of the text, as sentence-transformers has it (Reimers
--- and Gurevych 2019).

local characters = require "heed.text.template.characters"
local check = require "heed.check"
local errors = require "heed.errors"
local heed = require "heed.core"
local nn = require "heed.nn"

local WHERE = "heed.models.Pooling"

---A vector of each text from the hidden states of its tokens. Several modes give their vectors one
---behind the other.
---
---```lua
---local pooling = heed.models.Pooling { modes = { "cls", "mean" }, normalize = false }
---print(pooling(heed.randn(2, 3, 8), { 3, 2 }).shape) --> [2, 16]
---```
---@class heed.models.Pooling: heed.nn.Module
---@field modes heed.models.PoolingMode[]
---@field steps heed.nn.Module[] what is done to the vectors
---@field max_tokens integer|nil longer texts are cut there
---@field lowercase boolean texts are read in lower case
local Pooling = nn.Module:extend "Pooling"

---@alias heed.models.PoolingMode "cls"|"max"|"mean"|"mean_sqrt_len"|"weightedmean"|"lasttoken"

local Normalize = nn.Module:extend "Normalize"

---Vectors of length 1. One of zeros stays so.
---@param x heed.Tensor [B, E]
---@return heed.Tensor
function Normalize:forward(x) -- luacheck: ignore self
    return x / x:norm({ dim = 2, keepdim = true }):clamp(1e-12)
end

Pooling.Normalize = Normalize

-- ---- modes --------------------------------------------------------------------------------------

-- hidden [B, L, E], seen [B, L, 1] of bools, lengths [B, 1] in hidden's dtype -> [B, E].
local pooled = {}

local function sum(hidden, seen) return hidden:masked_fill(~seen, 0):sum(2) end

function pooled.cls(hidden) return hidden:select(2, 1) end

function pooled.max(hidden, seen) return hidden:masked_fill(~seen, -math.huge):amax(2) end

function pooled.mean(hidden, seen, lengths) return sum(hidden, seen) / lengths end

function pooled.mean_sqrt_len(hidden, seen, lengths) return sum(hidden, seen) / lengths:sqrt() end

-- The i-th token counts i times.
function pooled.weightedmean(hidden, seen, lengths)
    local weights = heed.range(1, hidden:size(2), { dtype = hidden.dtype }):view(1, -1, 1)
    return sum(hidden * weights, seen) / (lengths * (lengths + 1) / 2)
end

function pooled.lasttoken(hidden, _, lengths)
    return hidden[{ heed.range(1, hidden:size(1), { dtype = "i64" }), lengths:view(-1):to "i64" }]
end

Pooling.MODES = { "cls", "max", "mean", "mean_sqrt_len", "weightedmean", "lasttoken" }

-- ---- the module ---------------------------------------------------------------------------------

---@param options? { modes?: heed.models.PoolingMode[], normalize?: boolean, max_tokens?: integer,
---lowercase?: boolean } modes: default { "mean" }; normalize: to length 1, default true
function Pooling:init(options)
    options = check.options(WHERE, options, check.set("modes", "normalize", "max_tokens",
        "lowercase"))
    self.modes = check.type(WHERE, "modes", options.modes or { "mean" }, "table")
    if #self.modes == 0 then
        errors.raise("%s: modes: expected at least one, got none", WHERE)
    end
    for i, mode in ipairs(self.modes) do
        check.one_of(WHERE, ("modes[%d]"):format(i), mode, Pooling.MODES)
    end
    self.max_tokens = options.max_tokens and check.integer(WHERE, "max_tokens", options.max_tokens)
    self.lowercase = check.flag(WHERE, "lowercase", options.lowercase, false)
    self.steps = {}
    if check.flag(WHERE, "normalize", options.normalize, true) then self.steps[1] = Normalize() end
end

-- A text as the tokenizer gets it.
function Pooling:prepared(text)
    check.type(WHERE, "text", text, "string")
    return self.lowercase and characters.lower(text) or text
end

local function lengths_of(given, B, L)
    if given == nil then return heed.full({ B }, L) end
    local lengths = heed.tensor(given, { dtype = "i64" })
    local fits = lengths:dim() == 1 and lengths:size(1) == B
    if not fits or lengths:lt(0):any() or lengths:gt(L):any() then
        errors.raise("%s: lengths: expected %d numbers from 0 to %d, got %s", WHERE, B, L,
            lengths:numel() <= 8 and tostring(lengths) or check.describe(lengths))
    end
    return lengths
end

---@param hidden heed.Tensor [B, L, E]
---@param lengths? heed.Ids [B] of the texts; default: all L
---@return heed.Tensor [B, E]
function Pooling:forward(hidden, lengths)
    if not check.is_live(hidden) or hidden:dim() ~= 3 then
        errors.raise("%s: hidden: expected a tensor [B, L, E], got %s", WHERE,
            check.describe(hidden))
    end
    local B, L = hidden:size()
    lengths = lengths_of(lengths, B, L)
    local seen = heed.range(1, L):view(1, L, 1):le(lengths:view(B, 1, 1))
    local counts, vectors = lengths:to(hidden.dtype):view(B, 1):clamp(1), {}
    for i, mode in ipairs(self.modes) do vectors[i] = pooled[mode](hidden, seen, counts) end
    local vector = #vectors == 1 and vectors[1] or heed.cat(vectors, 2)
    for _, step in ipairs(self.steps) do vector = step(vector) end
    return vector
end

function Pooling:extra() return table.concat(self.modes, ", ") end

return Pooling
