-- Does a trained Whisper write what CTranslate2 and the authors' program write?
--
--     heed spec/peers/whisper.lua PYTHON DIR AUDIO [TIMES]
--
-- compares the greedy tokens of the first window with CTranslate2, and with the authors' program all
-- passages with their times, and the words of the first window with theirs. DIR: CTranslate2's
-- directory of an English model in f16; AUDIO: a sound, taken so many TIMES in a row. PYTHON needs
-- the packages that spec/peers/whisper_reference.py names. Prints what differs, how long it took, and
-- the peak of memory.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local python, directory, path, times = table.unpack(arg)
if not path then error("usage: heed spec/peers/whisper.lua PYTHON DIR AUDIO [TIMES]", 0) end
times = math.tointeger(tonumber(times or 1))

local RATE, WINDOW = 16000, 480000
local begin = heed.clock()
local model, tokenizer = assert(heed.models.load(directory))
local once = assert(heed.audio.wav(path, { rate = RATE }))
local loaded = heed.clock() - begin
local samples = once:tile(times)

local wrong = 0
local function check(what, got, wanted)
    if got == wanted then return end
    wrong = wrong + 1
    print(("%s: got  %s\n%s  want %s"):format(what, got, (" "):rep(#what), wanted))
end

local function reference()
    local file = os.tmpname() .. ".wav"
    assert(heed.audio.save(file, samples, RATE, { bits = 32 }))
    local pipe = assert(io.popen(("exec '%s' '%swhisper_reference.py' '%s' '%s'"):format(python,
        here, directory, file)))
    local said = assert(heed.json.decode(pipe:read "a"))
    pipe:close()
    os.remove(file)
    return said
end

-- What the first window's passages are made of, without times.
local function text_tokens(list)
    local stop, kept = tokenizer:id "<|endoftext|>", {}
    for _, token in ipairs(list) do
        if token < stop then kept[#kept + 1] = token end
    end
    return table.concat(kept, " ")
end

local function shown(said) return ("%.2f-%.2f %s"):format(said.from, said.to, said.text) end

local function transcribed(sound, options)
    local list, tokens, started, first = {}, {}, heed.clock(), nil
    for segment in heed.audio.transcribe(model, tokenizer, sound, options) do
        first = first or heed.clock() - started
        list[#list + 1] = segment
        table.move(segment.tokens, 1, #segment.tokens, #tokens + 1, tokens)
    end
    return list, tokens, heed.clock() - started, first
end

local function from_one(list)
    local result = {}
    for i, token in ipairs(list) do result[i] = token + 1 end
    return result
end

local passages, _, whole, first = transcribed(samples)
local want = reference()
check("number of passages", #passages, #want.passages)
for i, said in ipairs(want.passages) do
    if passages[i] then check("passage " .. i, shown(passages[i]), shown(said)) end
end

local window = samples:narrow(1, 1, math.min(WINDOW, samples:size(1)))
local _, plain = transcribed(window, { times = false })
check("tokens without times", text_tokens(plain), text_tokens(from_one(want.plain)))
local worded, timed = transcribed(window, { words = true })
if samples:size(1) <= WINDOW then
    check("tokens", text_tokens(timed), text_tokens(from_one(want.timed)))
    local n = 0
    for _, passage in ipairs(worded) do
        for _, word in ipairs(passage.words) do
            n = n + 1
            if want.words[n] then check("word " .. n, shown(word), shown(want.words[n])) end
        end
    end
    check("number of words", n, #want.words)
    print(n .. " words")
end
local status = assert(io.open "/proc/self/status")
print(("%d passages of %.0f s of sound in %.2f s, the first after %.2f s; %.2f s to load; peak %d MB")
    :format(#passages, samples:size(1) / RATE, whole, first or 0, loaded,
        tonumber(status:read("a"):match "VmHWM:%s*(%d+)") // 1024))
status:close()
print(wrong .. " differ")
os.exit(wrong == 0)
