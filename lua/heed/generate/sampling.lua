--- Answers that grow by a token at a time: greedy, or drawn.

local sample = require "heed.generate.sample"
local core = require "heed.core"
local Text = require "heed.generate.text"

-- One answer: its tokens, and why it ended.
local function new_answer(o, row)
    return { row = row, tokens = {}, log_probs = o.scores and {} or nil,
        score = o.scores and 0 or nil,
        growing = o.decode and Text.new(o.decode, o.stop_texts) or nil }
end

local function finish(answer, reason)
    answer.reason = reason
    if answer.growing then answer.text = answer.growing.whole end
end

-- on_token may yield, and ends an answer by false.
local function tell(answer, o, token)
    if not o.on_token then return end
    local piece = answer.growing and answer.growing:piece(answer.reason ~= nil)
    if token == nil and (piece or "") == "" then return end
    if o.on_token(answer.row, token, piece) == false and not answer.reason then
        finish(answer, "callback")
    end
end

local function take(answer, token, log_prob, o)
    if answer.log_probs then
        answer.log_probs[#answer.log_probs + 1] = log_prob
        answer.score = answer.score + log_prob
    end
    if o.stop_tokens[token] then
        finish(answer, "stop")
        return tell(answer, o, nil)
    end
    answer.tokens[#answer.tokens + 1] = token
    local stopped = answer.growing and answer.growing:read(answer.tokens)
    if stopped then
        finish(answer, "stop")
    elseif #answer.tokens == o.max_new_tokens then
        finish(answer, "length")
    end
    tell(answer, o, token)
end

-- Tokens of all rows, and the log probabilities that the model gave them.
local function step(source, o, samples)
    local _ <close> = core.scope()
    local logits = source:logits()
    source:check_ways(sample.suppressed(logits, o.suppress))
    if samples then
        local from = {}
        for b = 1, #source.rows do
            for _ = 1, samples do from[#from + 1] = b end
        end
        source:reorder(from)
        logits = logits:index_select(1, from)
    end
    local tokens = sample.tokens(logits, source.rows, o)
    local log_probs
    if o.scores then
        log_probs = logits:log_softmax(2):gather(2, core.tensor(tokens, { dtype = "i64" }):view(-1,
            1)):view(-1):totable()
    end
    source:append(tokens)
    return tokens, log_probs or {}
end

-- Rows whose answers have ended go when they are a quarter of all: what is left is computed for
-- fewer.
local function drop_finished(source, active)
    local from, left = {}, {}
    for slot, answer in ipairs(active) do
        if not answer.reason then from[#from + 1], left[#left + 1] = slot, answer end
    end
    if #left == 0 or #left > 0.75 * #active then return #left > 0 and active or left end
    local _ <close> = core.scope()
    source:reorder(from)
    return left
end

---@param source table
---@param o table options
---@return table[] answers samples of the first row, then of the second, ...
return function(source, o)
    local answers = {}
    for i = 1, #source.rows * (o.samples or 1) do answers[i] = new_answer(o, i) end
    if o.max_new_tokens == 0 then
        for _, answer in ipairs(answers) do finish(answer, "length") end
        return answers
    end
    local active, samples = answers, (o.samples or 1) > 1 and o.samples or nil
    while #active > 0 do
        local tokens, log_probs = step(source, o, samples)
        samples = nil
        for slot, answer in ipairs(active) do
            if not answer.reason then take(answer, tokens[slot], log_probs[slot], o) end
        end
        active = drop_finished(source, active)
    end
    return answers
end
