--- heed.audio.transcribe: where windows begin and what passages they give, by a model whose words
--- are written down here; the rules of times, words and their times, by a tiny one of random
--- numbers.

local alignment = require "heed.audio.speech.alignment"
local heed = require "heed"
local tiny = require "spec.support.tiny_whisper"
local words = require "heed.audio.speech.words"

local PLACES, tokenizer = tiny.PLACES, tiny.tokenizer()
local function id(text) return tokenizer:id(text) end

local START, STOP, NO_TIMES = id "<|startoftranscript|>", id "<|endoftext|>",
    id "<|notimestamps|>"
local V = NO_TIMES + PLACES + 1

local function time(seconds) return NO_TIMES + 1 + math.floor(seconds / 0.02 + 0.5) end

-- Tokens of " ab" and { 0.1 }, times.
local function tokens_of(script)
    local list = {}
    for _, part in ipairs(script) do
        if type(part) == "number" then
            list[#list + 1] = time(part)
        else
            for _, token in ipairs(tokenizer:encode(part)) do list[#list + 1] = token end
        end
    end
    return list
end

-- ---- a model whose answers are written down -----------------------------------------------------

-- scripts: of each window in turn, what it writes. settings: multilingual; hears: a language;
-- no_speech and sure: logits of each window, that nobody speaks and of what it writes. Hidden
-- states are the tokens; `seen` gets the prompts.
local function scripted(scripts, settings)
    settings = settings or {}
    local model = { seen = {}, windows = 0, conv1 = { in_channels = 80 },
        positions = { weight = heed.zeros(40, 1) },
        encoder_positions = { weight = heed.zeros(PLACES, 1) },
        speech = { suppress = {}, suppress_first = {}, heads = {}, last_start = PLACES,
            multilingual = settings.multilingual } }
    local written, hears, asked
    function model.new_cache() return {} end
    function model.encode(self)
        self.windows, hears = self.windows + 1, hears == nil and settings.hears
        return heed.zeros(1, PLACES, 1)
    end
    function model.decode(self, tokens, _, options)
        local list = tokens[1]:totable()
        if not options.cache then
            asked = "language"
        elseif #list > 1 or list[1] == START then
            self.seen[self.windows], asked, written = list, "no_speech", 0
        end
        return tokens:to("f32"):unsqueeze(3)
    end
    local function output()
        local logits = heed.zeros(1, 1, V)
        if asked == "language" then
            logits[{ 1, 1, id(settings.hears) }] = 5
        elseif asked == "no_speech" then
            logits[{ 1, 1, id "<|nospeech|>" }] = settings.no_speech
                and settings.no_speech[model.windows] or -20
        else
            written = written + 1
            logits[{ 1, 1, tokens_of(scripts[model.windows])[written] or STOP }] = settings.sure
                and settings.sure[model.windows] or 50
        end
        asked = nil
        return logits
    end
    model.output = setmetatable({ weight = heed.zeros(V, 1) }, { __call = output })
    return model
end

local function said(model, seconds, options)
    local list = {}
    for segment in heed.audio.transcribe(model, tokenizer, heed.zeros(math.floor(seconds * 16000)),
        options) do
        list[#list + 1] = ("%.2f-%.2f %s"):format(segment.from, segment.to, segment.text)
    end
    return list
end

describe("heed.audio.transcribe", function()
    it("gives passages between pairs of times, and goes on where the last whole one ended",
        function()
        local model = scripted {
            { 0.0, " ab.", 0.1, 0.1, " cd", 0.3, 0.3, " e" }, -- " e" is not whole: read again
            { 0.0, " ef", 0.2, 0.2, " g", 0.3 }, -- all is said: the window is done
            { 0.04, " hi", 0.1 },
        }
        assert.same({ "0.00-0.10 ab.", "0.10-0.30 cd", "0.30-0.50 ef", "0.50-0.60 g",
            "0.70-0.80 hi" }, said(model, 0.9))
        assert.equal(3, model.windows)
    end)

    it("goes on by a window where no times are written, or none after the first", function()
        local model = scripted { { 0.0, " ab" }, { 0.0, " cd", 0.2 }, { 0.0 } }
        assert.same({ "0.00-0.40 ab", "0.40-0.60 cd" }, said(model, 1))
        model = scripted { { " ab" }, { " cd" } }
        assert.same({ "0.00-0.40 ab", "0.40-0.60 cd" }, said(model, 0.6, { times = false }))
        assert.same({ START, NO_TIMES }, model.seen[1])
    end)

    it("leaves out windows in which nobody seems to speak", function()
        local model = scripted({ { 0.0, " zz", 0.1, 0.1, " y", 0.2 }, { 0.0, " ab", 0.2 } },
            { no_speech = { 20, -20 }, sure = { 0.1, 50 } })
        assert.same({ "0.40-0.60 ab" }, said(model, 0.8))
    end)

    it("tells the model language and task, as it is told or as the model hears", function()
        local model = scripted({ { 0.0, " ab", 0.2 }, { 0.0, " c", 0.1 } },
            { multilingual = true, hears = "<|de|>" })
        said(model, 0.8)
        local german = { START, id "<|de|>", id "<|transcribe|>" }
        assert.same({ german, german }, model.seen)
        model = scripted({ { 0.0, " ab", 0.2 } }, { multilingual = true })
        said(model, 0.3, { language = "en", task = "translate" })
        assert.same({ START, id "<|en|>", id "<|translate|>" }, model.seen[1])
    end)

    it("shows a window what came before, when it is told to", function()
        local model = scripted { { 0.0, " ab", 0.2 }, { 0.0, " c", 0.1 } }
        said(model, 0.8, { prompt = "xy", continue = true })
        local before = tokenizer:encode " xy"
        local first = { id "<|startofprev|>" }
        for _, token in ipairs(before) do first[#first + 1] = token end
        first[#first + 1] = START
        assert.same(first, model.seen[1])
        assert.is_true(#model.seen[2] > #first)
        assert.equal(id "<|startofprev|>", model.seen[2][1])
    end)

    it("says what it does not take", function()
        local model, x = scripted { {} }, heed.zeros(1600)
        for message, arguments in pairs {
            ["model: expected a heed.models.Whisper, got 5"] = { 5, tokenizer, x },
            ["tokenizer: expected a tokenizer, got nil"] = { model, nil, x },
            ["samples: expected f32 [T] at 16 kHz, got f32 tensor [1, 1600]"] = { model, tokenizer,
                x:view(1, -1) },
            ["task: expected"] = { model, tokenizer, x, { task = "sing" } },
            ["there is no option"] = { model, tokenizer, x, { beams = 5 } },
        } do
            local ok, problem = pcall(heed.audio.transcribe, table.unpack(arguments, 1, 4))
            assert.is_false(ok)
            assert.matches(message, problem, 1, true)
        end
        local few = scripted { {} }
        few.output.weight = heed.zeros(NO_TIMES, 1)
        assert.has_error(function() said(few, 0.3) end, "heed.audio.transcribe: model: expected "
            .. "logits of the tokenizer's special tokens and of times, got " .. NO_TIMES)
        local ok, problem = pcall(said, model, 0.3, { language = "de" })
        assert.is_false(ok)
        assert.matches('language: expected "en", as the model knows English alone, got "de"', problem,
            1, true)
        ok, problem = pcall(said, model, 0.3, { task = "translate" })
        assert.is_false(ok)
        assert.matches('task: expected "transcribe", as the model knows English alone, '
            .. 'got "translate"', problem, 1, true)
        ok, problem = pcall(said, scripted({ {} }, { multilingual = true }), 0.3,
            { language = "xx" })
        assert.is_false(ok)
        assert.matches("language: expected one that the model knows", problem, 1, true)
    end)
end)

-- ---- a model of random numbers ------------------------------------------------------------------

describe("what a model of random numbers writes", function()
    it("keeps the rules of times", function()
        local passages = 0
        for seed = 1, 6 do
            local model, last = tiny.model(seed), 0
            for segment in heed.audio.transcribe(model, tokenizer, heed.randn(16000)) do
                passages = passages + 1
                assert.is_true(segment.from >= last - 1e-9 and segment.to >= segment.from)
                last = segment.to
                for _, token in ipairs(segment.tokens) do
                    assert.is_true(token > 2 and token < STOP) -- neither suppressed nor special
                end
            end
            assert.is_true(model.training) -- as it was
        end
        assert.is_true(passages > 6)
    end)

    it("has each word once, in order, inside its window", function()
        local checked = 0
        for seed = 1, 6 do
            local model = tiny.model(seed)
            for segment in heed.audio.transcribe(model, tokenizer, heed.randn(16000),
                { words = true }) do
                local texts, last = {}, 0
                for i, word in ipairs(segment.words) do
                    texts[i], checked = word.text, checked + 1
                    assert.is_true(word.from >= last - 1e-9 and word.to >= word.from)
                    assert.is_true(word.probability >= 0 and word.probability <= 1)
                    last = word.from
                end
                assert.equal((segment.text:gsub("%s", "")), (table.concat(texts):gsub("%s", "")))
            end
        end
        assert.is_true(checked > 6)
    end)
end)

describe("the alignment of words", function()
    -- The cheapest of all ways from corner to corner, by steps down, right or both.
    local function cheapest(cost, i, j)
        i, j = i or #cost, j or #cost[1]
        if i == 1 and j == 1 then return cost[1][1] end
        local best = math.huge
        for _, from in ipairs { { i - 1, j - 1 }, { i - 1, j }, { i, j - 1 } } do
            if from[1] >= 1 and from[2] >= 1 then
                best = math.min(best, cheapest(cost, from[1], from[2]))
            end
        end
        return best + cost[i][j]
    end

    it("is the cheapest way", function()
        for seed = 1, 20 do
            heed.manual_seed(seed)
            local cost = heed.randn(1 + seed % 4, 1 + seed % 7, { dtype = "f64" }):totable()
            local first, sum = alignment.path(cost), 0
            for i, row in ipairs(cost) do
                local last = first[i + 1] or #row
                -- In each row from its first time on, until where the next row begins or before it.
                local here, best = 0, math.huge
                for j = first[i], last do
                    here = here + row[j]
                    if j >= last - 1 or not first[i + 1] and j == last then
                        best = (first[i + 1] and true or j == last) and math.min(best, here) or best
                    end
                end
                sum = sum + best
            end
            assert.is_true(math.abs(sum - cheapest(cost)) < 1e-9)
        end
    end)

    it("cuts tokens into words, with the marks beside them", function()
        local pieces = { " a", "b", ",", ' "', "cd", "!", " e", "" }
        local function stream() return { push = function(_, i) return pieces[i] end } end
        local texts = {}
        for i, word in ipairs(words.of({ 1, 2, 3, 4, 5, 6, 7, 8 }, { stream = stream })) do
            texts[i] = ("%s %d %d"):format(word.text, word.first, word.last)
        end
        assert.same({ " ab, 1 2", ' "cd! 4 5', " e 7 8" }, texts)
        assert.equal(3, #words.of(tokenizer:encode "abc", tokenizer, "ja"))
    end)
end)
