--- Beam search: of all beginnings the best few are gone on with.
---
--- A finished answer scores the sum of its log probabilities over its length (its stop token
--- counts) to the power of length_penalty. A sentence is done when it has as many answers as are
--- wanted and nothing that is still alive could score more than the worst of them, however long it
--- got: what is probable so far can only become less so.

local sample = require "heed.generate.sample"
local core = require "heed.core"
local errors = require "heed.errors"
local Text = require "heed.generate.text"

local function score_of(sum, length, o) return sum / math.max(length, 1) ^ o.length_penalty end

-- The most that a beginning could still score.
local function hope(sum, length, o)
    return score_of(sum, o.length_penalty > 0 and o.max_new_tokens or length + 1, o)
end

local function by_score(a, b)
    if a.score ~= b.score then return a.score > b.score end
    return a.number < b.number
end

-- Keeps the best `wanted` of a sentence's finished answers; the one that came first when they score
-- alike.
local function add_finished(sentence, answer, wanted)
    sentence.count = sentence.count + 1
    answer.number = sentence.count
    local finished = sentence.finished
    finished[#finished + 1] = answer
    table.sort(finished, by_score)
    finished[wanted + 1] = nil
end

local function append(list, value)
    local longer = table.move(list, 1, #list, 1, {})
    longer[#longer + 1] = value
    return longer
end

-- A beginning with one more token.
local function extended(beam, token, log_prob, o)
    local is_stop = o.stop_tokens[token] or false
    local new = { slot = beam.slot, token = token, sum = beam.sum + log_prob,
        length = beam.length + 1,
        tokens = is_stop and beam.tokens or append(beam.tokens, token),
        log_probs = o.scores and append(beam.log_probs, log_prob) or nil }
    new.stopped = is_stop
    if o.decode and #o.stop_texts > 0 and not is_stop then
        new.stopped = Text.new(o.decode, o.stop_texts):read(new.tokens)
    end
    return new
end

local function finish(sentence, beam, reason, o)
    local answer = { tokens = beam.tokens, score = score_of(beam.sum, beam.length, o),
        log_probs = beam.log_probs, reason = reason }
    if o.decode then
        local text = Text.new(o.decode, o.stop_texts)
        text:read(beam.tokens)
        answer.text = text.whole
    end
    add_finished(sentence, answer, o.samples or 1)
end

-- The best continuations of a sentence's beams, best first: { sum =, beam =, token =, log_prob = }.
local function candidates_of(sentence, values, tokens, most)
    local list = {}
    for order, beam in ipairs(sentence.beams) do
        for i, value in ipairs(values[beam.slot]) do
            if value > -math.huge then
                list[#list + 1] = { sum = beam.sum + value, beam = beam, order = order,
                    token = tokens[beam.slot][i], log_prob = value }
            end
        end
    end
    table.sort(list, function(a, b)
        if a.sum ~= b.sum then return a.sum > b.sum end
        if a.order ~= b.order then return a.order < b.order end
        return a.token < b.token
    end)
    for i = #list, most + 1, -1 do list[i] = nil end
    return list
end

-- What ends counts only among the best `beams`, as in other implementations.
local function advance(sentence, candidates, o)
    local alive = {}
    for rank, c in ipairs(candidates) do
        if #alive == o.beams then break end
        local beam = extended(c.beam, c.token, c.log_prob, o)
        if beam.stopped then
            if rank <= o.beams then finish(sentence, beam, "stop", o) end
        elseif beam.length < o.max_new_tokens then
            alive[#alive + 1] = beam
        elseif rank <= o.beams then
            finish(sentence, beam, "length", o)
        end
    end
    sentence.beams = alive
    local worst = sentence.finished[o.samples or 1]
    if worst and alive[1] and hope(alive[1].sum, alive[1].length, o) <= worst.score then
        sentence.beams = {}
    end
end

-- Of each row the likeliest tokens with their log probabilities, as lists.
local function likeliest(source, o, most)
    local scores = sample.penalised(source:logits():log_softmax(2), source.rows,
        o.repetition_penalty)
    scores = sample.suppressed(scores, o.suppress)
    local values, tokens = scores:topk(math.min(most, scores:size(2)), 2)
    return values:totable(), tokens:totable()
end

-- Gives each beam a row. It stays in that of the beginning that it goes on from when it can: the
-- less is moved. What each row goes on from, and its token.
local function place(beams)
    local rows, moving = {}, {}
    for _, beam in ipairs(beams) do
        if beam.slot <= #beams and not rows[beam.slot] then
            rows[beam.slot] = beam
        else
            moving[#moving + 1] = beam
        end
    end
    local from, tokens, moved = {}, {}, 0
    for row = 1, #beams do
        local beam = rows[row]
        if not beam then
            moved = moved + 1
            beam = moving[moved]
        end
        from[row], tokens[row] = beam.slot, beam.token
        beam.slot = row
    end
    return from, tokens
end

local function step(source, sentences, o)
    local _ <close> = core.scope()
    local stops = 0
    for _ in pairs(o.stop_tokens) do stops = stops + 1 end
    local most = o.beams * math.max(2, 1 + stops)
    local values, tokens = likeliest(source, o, most)
    local alive = {}
    for _, sentence in ipairs(sentences) do
        advance(sentence, candidates_of(sentence, values, tokens, most), o)
        table.move(sentence.beams, 1, #sentence.beams, #alive + 1, alive)
    end
    local from, next_tokens = place(alive)
    if #from == 0 then return false end
    source:reorder(from)
    source:append(next_tokens)
    return true
end

---@param source table
---@param o table options
---@return table[] answers the best of the first row, its next ones, those of the second row, ...
return function(source, o)
    local sentences, answers = {}, {}
    for b = 1, #source.rows do
        sentences[b] = { finished = {}, count = 0,
            beams = { { slot = b, sum = 0, length = 0, tokens = {}, log_probs = {} } } }
        if o.max_new_tokens == 0 then finish(sentences[b], sentences[b].beams[1], "length", o) end
    end
    while o.max_new_tokens > 0 and step(source, sentences, o) do end -- luacheck: ignore 542
    for b, sentence in ipairs(sentences) do
        if #sentence.finished == 0 then
            errors.raise("heed.generate: the model's logits: expected an answer to row %d, got "
                .. "-inf for all tokens on every way", b)
        end
        for i = 1, o.samples or 1 do answers[#answers + 1] = sentence.finished[i] or false end
    end
    return answers
end
