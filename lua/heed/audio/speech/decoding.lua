--- What is said in one window: the likeliest token again and again, of those that may come.
---
--- The rules of times (Radford et al. 2022, section 2.3, as the authors' program has them): they
--- come in pairs, the end of a passage and the beginning of the next, never decrease, and begin the
--- text; where times are together likelier than any word, a time comes.

local core = require "heed.core"

local decoding = {}

-- Numbers that are added to logits: -inf at these tokens.
local function without(V, ...)
    local mask = core.zeros(V)
    for _, tokens in ipairs { ... } do
        for _, token in ipairs(tokens) do
            if token <= V then mask[token] = -math.huge end
        end
    end
    return core.keep(mask)
end

-- No token from first to last.
local function forbid(logits, first, last)
    last = math.min(last, logits:size(1))
    if last >= first then logits:narrow(1, first, last - first + 1):fill_(-math.huge) end
end

-- What came last of the tokens written so far: is it a time, was the one before it, and the last
-- time.
local function times_in(written, first_time)
    local n, last = #written, nil
    for _, token in ipairs(written) do last = token >= first_time and token or last end
    return n >= 1 and written[n] >= first_time, n < 2 or written[n - 1] >= first_time, last
end

local function apply_times(logits, written, s, last_start)
    local first = s.first_time
    local V = logits:size(1)
    forbid(logits, s.no_times, s.no_times)
    local is_time, was_time, last = times_in(written, first)
    if is_time and was_time then forbid(logits, first, V) end
    if is_time and not was_time then forbid(logits, 1, s.stop - 1) end
    if last then forbid(logits, first, is_time and not was_time and last - 1 or last) end
    if #written == 0 then
        forbid(logits, 1, first - 1)
        if last_start then forbid(logits, first + last_start + 1, V) end
    end
    local words, times = logits:narrow(1, 1, first - 1), logits:narrow(1, first, V - first + 1)
    if times:logsumexp(1):item() > words:max():item() then forbid(logits, 1, first - 1) end
end

---What decoding needs of a model, made once.
---@param model heed.models.Whisper
---@param s heed.audio.Specials
---@return table
function decoding.rules(model, s)
    local V, own = model.output.weight:size(1), model.speech
    local never, n = { s.transcribe, s.translate, s.start }, 3
    for _, name in ipairs { "previous", "no_speech", "start_of_model" } do
        if s[name] then never[n + 1], n = s[name], n + 1 end
    end
    return { specials = s, never = without(V, own.suppress, never),
        first = without(V, own.suppress_first),
        last_start = own.last_start or 50 }
end

-- Hidden states [1, L, E] of these tokens.
local function ask(model, tokens, memory, cache)
    return model:decode(core.tensor({ tokens }, { dtype = "i64" }), memory, { cache = cache })
end

-- Logits [V] behind the token at this place.
local function logits_at(model, hidden, place)
    return model.output(hidden:narrow(2, place, 1)):view(-1):to "f32"
end

---Which of these tokens does the model expect behind the start?
---@param model heed.models.Whisper
---@param memory heed.Tensor [1, S, E]
---@param s heed.audio.Specials
---@param tokens table<string, integer> of languages
---@return string language
function decoding.language(model, memory, s, tokens)
    local _ <close> = core.scope()
    local logits = logits_at(model, ask(model, { s.start }, memory), 1)
    local best, most
    for name, token in pairs(tokens) do
        local value = logits[token]
        if not most or value > most or value == most and name < best then
            best, most = name, value
        end
    end
    return best
end

---@class heed.audio.Decoded
---@field tokens integer[] without what ends them
---@field log_prob number the mean of their log probabilities
---@field no_speech number how probable it is that nobody speaks; 0 when the model has no token for
---it

---Writes what is said behind a prompt; on_token(tokens so far, no_speech) sees each token.
---@param model heed.models.Whisper
---@param memory heed.Tensor [1, S, E]
---@param prompt integer[]
---@param rules table of decoding.rules
---@param options { times: boolean, most: integer, on_token: function }
---@return heed.audio.Decoded
function decoding.run(model, memory, prompt, rules, options)
    local s, written, sum, no_speech, fed = rules.specials, {}, 0, 0, prompt
    local cache = model:new_cache { batch = 1, max_len = #prompt + options.most }
    local start = 1
    for i, token in ipairs(prompt) do start = token == s.start and i or start end
    for step = 1, options.most do
        local _ <close> = core.scope()
        local hidden = ask(model, fed, memory, cache)
        if step == 1 and s.no_speech then
            no_speech = logits_at(model, hidden, start):softmax(1)[s.no_speech]
        end
        local logits = logits_at(model, hidden, #fed) + rules.never
        if step == 1 then logits = logits + rules.first end
        if options.times then apply_times(logits, written, s, rules.last_start) end
        local token = logits:argmax():item()
        sum = sum + logits:log_softmax(1)[token]
        if token == s.stop then break end
        written[#written + 1], fed = token, { token }
        options.on_token(written, no_speech)
    end
    return { tokens = written, log_prob = sum / (#written + 1), no_speech = no_speech }
end

return decoding
