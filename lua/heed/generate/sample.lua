--- From logits to the token that comes next.

local core = require "heed.core"
local errors = require "heed.errors"

local sample = {}

local COLDEST, HOTTEST = 1e-30, 1e30 -- what a float can be divided by

local function divisor(value) return math.min(math.max(value, COLDEST), HOTTEST) end

-- Which tokens stand in a row: bool [R, V].
local function seen_in(rows, V)
    local longest = 0
    for _, row in ipairs(rows) do longest = math.max(longest, #row) end
    local ids, ones = {}, {}
    for b, row in ipairs(rows) do
        ids[b], ones[b] = {}, {}
        for i = 1, longest do
            local may_come = row[i] and row[i] <= V
            ids[b][i], ones[b][i] = may_come and row[i] or 1, may_come and 1 or 0
        end
    end
    return core.zeros(#rows, V):scatter_add(2, core.tensor(ids, { dtype = "i64" }),
        core.tensor(ones, { dtype = "f32" })):gt(0)
end

---Logits of tokens that have come before are divided by a penalty, or multiplied when they are
---negative (Keskar et al. 2019, "CTRL").
---@param scores heed.Tensor [R, V]
---@param rows integer[][]
---@param penalty number|nil
---@return heed.Tensor
function sample.penalised(scores, rows, penalty)
    if not penalty or penalty == 1 then return scores end
    penalty = divisor(penalty)
    local less = core.where(scores:lt(0), scores * penalty, scores / penalty)
    return core.where(seen_in(rows, scores:size(2)), less, scores)
end

---Without tokens that never come.
---@param scores heed.Tensor [R, V]
---@param tokens heed.Tensor|nil i64
---@return heed.Tensor
function sample.suppressed(scores, tokens)
    if not tokens then return scores end
    local most, V = tokens:max():item(), scores:size(2)
    if most > V then
        errors.raise("heed.generate: suppress: expected tokens up to %d, got %d", V, most)
    end
    local hidden = core.zeros({ V }, { dtype = "bool" })
    hidden[tokens] = true
    return scores:masked_fill(hidden, -math.huge)
end

local function hide_below(logits, least) return logits:masked_fill(logits:lt(least), -math.huge) end

-- Logits of which only those at `places` stay.
local function only(logits, places, values)
    return core.full_like(logits, -math.huge):scatter(2, places, values)
end

-- The k likeliest; of equal ones the first.
local function top_k(logits, k)
    if k >= logits:size(2) then return logits end
    local values, places = logits:topk(k, 2)
    return only(logits, places, values)
end

-- Probabilities are sums of rounded numbers: what reaches p but for this is taken to reach it.
local ROUNDING = 1e-6

-- The smallest set of the likeliest whose probabilities add up to p; of equal ones the first
-- (Holtzman et al. 2020, "The curious case of neural text degeneration").
local function top_p(logits, p)
    local sorted, places = logits:sort(2, { descending = true })
    local shares = sorted:to("f64"):softmax(2)
    local before = shares:cumsum(2) - shares
    local beyond = before:ge(math.max(p - ROUNDING, 0))
    beyond[{ {}, 1 }] = false -- one token there must be
    return only(logits, places, sorted:masked_fill(beyond, -math.huge))
end

-- What is at least p times as likely as the likeliest (Nguyen et al. 2024, "Turning up the heat").
local function min_p(logits, p) return hide_below(logits, logits:max(2, true) + math.log(p)) end

---One token a row.
---@param logits heed.Tensor [R, V]
---@param rows integer[][] what came before
---@param o table the options of heed.generate
---@return integer[]
function sample.tokens(logits, rows, o)
    logits = sample.suppressed(sample.penalised(logits, rows, o.repetition_penalty), o.suppress)
    if o.temperature == 0 then return logits:argmax(2):totable() end
    if o.temperature ~= 1 then logits = (logits - logits:max(2, true)) / divisor(o.temperature) end
    if o.top_k then logits = top_k(logits, o.top_k) end
    if o.top_p and o.top_p < 1 then logits = top_p(logits, o.top_p) end
    if o.min_p and o.min_p > 0 then logits = min_p(logits, o.min_p) end
    return logits:softmax(2):multinomial(1,
        o.generator and { generator = o.generator }):view(-1):totable()
end

return sample
