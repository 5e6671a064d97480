--- Speech of any length as text with times: window after window (Whisper's are 30 seconds), each
--- from where the last passage ended that was whole, so that no word is lost at an edge.

local alignment = require "heed.audio.speech.alignment"
local check = require "heed.check"
local core = require "heed.core"
local decoding = require "heed.audio.speech.decoding"
local errors = require "heed.errors"
local mel = require "heed.audio.mel"
local modes = require "heed.generate.modes"
local specials = require "heed.audio.speech.specials"
local words = require "heed.audio.speech.words"

local WHERE = "heed.audio.transcribe"
local OPTIONS = check.set("language", "task", "times", "words", "prompt", "continue")
local RATE, HOP = 16000, 160
local SECONDS, FRAMES_A_PLACE = 0.02, 2 -- of a place of the memory, and of a time's token
-- A window in which nobody seems to speak, and whose words are this improbable, says nothing.
local NO_SPEECH, IMPROBABLE = 0.6, -1

---What is said from one time to another.
---@class heed.audio.Segment
---@field from number seconds
---@field to number
---@field text string
---@field tokens integer[]
---@field words? { from: number, to: number, text: string, probability: number }[] with words=
---@field language? string

-- ---- arguments ----------------------------------------------------------------------------------

local function check_arguments(model, tokenizer, samples)
    if type(model) ~= "table" or type(model.encode) ~= "function" or not model.speech then
        errors.raise("%s: model: expected a heed.models.Whisper, got %s", WHERE,
            check.describe(model))
    end
    if type(tokenizer) ~= "table" or type(tokenizer.token) ~= "function" then
        errors.raise("%s: tokenizer: expected a tokenizer, got %s", WHERE,
            check.describe(tokenizer))
    end
    if not check.is_live(samples) or samples:dim() ~= 1 or samples.dtype ~= "f32" then
        errors.raise("%s: samples: expected f32 [T] at 16 kHz, got %s", WHERE,
            check.describe(samples))
    end
end

local function read_options(options)
    options = check.options(WHERE, options, OPTIONS)
    local o = { language = options.language, prompt = options.prompt }
    if o.language ~= nil then check.type(WHERE, "language", o.language, "string") end
    if o.prompt ~= nil then check.type(WHERE, "prompt", o.prompt, "string") end
    o.task = check.one_of(WHERE, "task", options.task or "transcribe",
        { "transcribe", "translate" })
    o.times = check.flag(WHERE, "times", options.times, true)
    o.words = check.flag(WHERE, "words", options.words, false)
    o.continue = check.flag(WHERE, "continue", options.continue, false)
    return o
end

-- ---- prompts ------------------------------------------------------------------------------------

local function english_alone(name, value, only)
    if value and value ~= only then
        errors.raise("%s: %s: expected %q, as the model knows English alone, got %q", WHERE, name,
            only, value)
    end
end

-- Start, language and task: models of English alone are told neither.
local function start_of(self, memory)
    local s, model, o = self.specials, self.model, self.options
    if not model.speech.multilingual then
        english_alone("task", o.task, "transcribe")
        english_alone("language", o.language, "en")
        return { s.start }
    end
    self.language = self.language or o.language
        or decoding.language(model, memory, s, specials.languages(self.tokenizer, s))
    return { s.start, specials.language(WHERE, self.tokenizer, self.language), s[o.task] }
end

-- What was said before, as much as there is room for, then the start.
local function prompt_of(self, start)
    local s, before, list = self.specials, self.before, {}
    if s.previous and #before > 0 then
        list[1] = s.previous
        table.move(before, math.max(1, #before - self.room + 2), #before, 2, list)
    end
    table.move(start, 1, #start, #list + 1, list)
    if not self.options.times then list[#list + 1] = s.no_times end
    return list
end

-- ---- passages -----------------------------------------------------------------------------------

-- Words of what is between two times.
local function text_tokens(self, tokens, first, last)
    local list = {}
    for i = first, last do
        if tokens[i] < self.specials.stop then list[#list + 1] = tokens[i] end
    end
    return list
end

local function seconds(self, token)
    return self.seek * HOP / RATE + (token - self.specials.first_time) * SECONDS
end

local function passage(self, tokens, first, last, from, to)
    local own = text_tokens(self, tokens, first, last)
    return { from = from, to = to, tokens = own, language = self.language,
        text = self.tokenizer:decode(own):match "^%s*(.-)%s*$" }
end

-- The passages that are whole in what was written of a window: each ends with a time before the
-- time that begins the next. Where the last of them ends among the tokens.
local function whole_passages(self, tokens, after, give)
    local first_time, begin = self.specials.first_time, after + 1
    for i = after + 1, #tokens - 1 do
        if tokens[i] >= first_time and tokens[i + 1] >= first_time then
            give(passage(self, tokens, begin, i, seconds(self, tokens[begin]),
                seconds(self, tokens[i])))
            begin = i + 1
        end
    end
    return begin - 1
end

-- The rest of a window of so many frames, and how many frames further the next one begins.
local function rest(self, tokens, done, frames, give)
    local first_time, last = self.specials.first_time, tokens[#tokens]
    local ends = last and last >= first_time and #tokens > done
    if done > 0 and not (ends and tokens[#tokens - 1] < first_time) then
        return (tokens[done] - first_time) * FRAMES_A_PLACE -- what is not whole is read again
    end
    local from = self.seek * HOP / RATE
    local to, begin = from + frames * HOP / RATE, done + 1
    if done > 0 then from = seconds(self, tokens[begin]) end
    if ends and last > first_time then to = seconds(self, last) end
    if #tokens > done then give(passage(self, tokens, begin, #tokens, from, to)) end
    return frames
end

-- The words of a passage; `place` tokens of the window come before it.
local function words_of(self, each, place, starts, probabilities)
    local list, offset = {}, self.seek * HOP / RATE
    for i, word in ipairs(words.of(each.tokens, self.tokenizer, self.language)) do
        local sum = 0
        for t = place + word.first, place + word.last do sum = sum + probabilities[t] end
        list[i] = { from = offset + starts[place + word.first],
            to = offset + starts[place + word.last + 1], text = word.text:match "^%s*(.-)%s*$",
            probability = sum / (word.last - word.first + 1) }
    end
    return list
end

local function add_words(self, memory, start, passages, frames)
    local all, place = {}, 0
    for _, each in ipairs(passages) do table.move(each.tokens, 1, #each.tokens, #all + 1, all) end
    if #all == 0 then return end
    local starts, probabilities = alignment.of(self.model, memory, start, all, self.specials,
        frames // FRAMES_A_PLACE)
    for _, each in ipairs(passages) do
        each.words = words_of(self, each, place, starts, probabilities)
        place = place + #each.tokens
    end
end

-- ---- windows ------------------------------------------------------------------------------------

-- What is said in one window: `give` gets each passage, at once where nothing is to be known of the
-- whole window first. How many frames further the next one begins.
local function window(self, spectrum, frames, give)
    local memory = core.keep(self.model:encode(spectrum:unsqueeze(1)))
    local start = start_of(self, memory)
    local done, held = 0, {}
    local function hold(each) held[#held + 1] = each end
    local decoded = decoding.run(self.model, memory, prompt_of(self, start), self.rules, {
        times = self.options.times, most = self.most,
        on_token = function(tokens, no_speech)
            local at_once = not self.options.words and no_speech <= NO_SPEECH
            if at_once then done = whole_passages(self, tokens, done, give) end
        end,
    })
    local silent = decoded.no_speech > NO_SPEECH and decoded.log_prob < IMPROBABLE
    if silent then return frames end
    local tokens = decoded.tokens
    done = whole_passages(self, tokens, done, hold)
    local advance = rest(self, tokens, done, frames, hold)
    if self.options.words then add_words(self, memory, start, held, frames) end
    for _, each in ipairs(held) do give(each) end
    if self.options.continue then
        table.move(tokens, 1, #tokens, #self.before + 1, self.before)
    end
    return advance > 0 and advance or frames
end

local function run(self, samples, give)
    local spectrum = self.guarded(function()
        return core.keep(mel.log_mel(samples, { n_mels = self.model.conv1.in_channels,
            padding = self.frames * HOP }))
    end)
    local all = samples:size(1) // HOP
    local function give_what_is_said(each)
        if each.text ~= "" then give(each) end
    end
    while self.seek < all do
        local frames, part = math.min(self.frames, all - self.seek),
            spectrum:narrow(2, self.seek + 1, self.frames)
        self.seek = self.seek + self.guarded(window, self, part, frames, give_what_is_said)
    end
end

---What is said in a sound, passage by passage as it is written, with Whisper (Radford et al. 2022):
---greedily, by the rules of the authors' program for times. Windows of 30 seconds begin where the
---last whole passage ended. The model runs in evaluation mode, without gradients.
---
---```lua
---local function transcribe(directory, path)
---    local model, tokenizer = assert(heed.models.load(directory))
---    local samples = assert(heed.audio.wav(path, { rate = 16000 }))
---    for segment in heed.audio.transcribe(model, tokenizer, samples) do
---        print(segment.from, segment.to, segment.text)
---    end
---end
---print(pcall(transcribe, "nowhere", "speech.mp3")) --> false nowhere: nowhere/config.json: No such file or directory
---```
---@param model heed.models.Whisper
---@param tokenizer heed.Tokenizer
---@param samples heed.Tensor f32 [T] at 16 kHz, of heed.audio.wav
---@param options? { language?: string, task?: "transcribe"|"translate", times?: boolean, words?: boolean, prompt?: string, continue?: boolean }
---language: "en"; default: as the model hears it at the beginning; task: "translate" writes
---English; times: default true; without, each window is one passage; words: when each word is said,
---by dynamic time warping over the heads that look at it, passages come window by window then;
---prompt: text before, for spelling and style; continue: each window sees what was written before
---(default false: it can repeat its errors)
---@return fun(): heed.audio.Segment?
local function transcribe(model, tokenizer, samples, options)
    check_arguments(model, tokenizer, samples)
    local o, s = read_options(options), specials.of(WHERE, tokenizer)
    local V, context = model.output.weight:size(1), model.positions.weight:size(1)
    if V < (o.times and s.first_time or s.no_times) then
        errors.raise("%s: model: expected logits of the tokenizer's special tokens%s, got %d",
            WHERE, o.times and " and of times" or "", V)
    end
    local self = { model = model, tokenizer = tokenizer, options = o, specials = s, seek = 0,
        rules = decoding.rules(model, s), guarded = modes.of(model), room = context // 2,
        most = context // 2 - 4, frames = model.encoder_positions.weight:size(1) * FRAMES_A_PLACE,
        before = o.prompt and tokenizer:encode(" " .. o.prompt, { specials = false }) or {} }
    return coroutine.wrap(function()
        run(self, samples, coroutine.yield)
        return nil
    end)
end

return transcribe
