-- What is said in a sound file, with times, as it is written: by a Whisper model.
--
--     heed examples/transcribe.lua DIR AUDIO            [00:00:03.000 --> 00:00:04.400] This ...
--     heed examples/transcribe.lua DIR AUDIO --words    and when each word is said
--     heed examples/transcribe.lua DIR AUDIO --srt      subtitles
--
-- DIR: a directory of Hugging Face or CTranslate2 that holds a Whisper model and its tokenizer;
-- AUDIO: WAV, FLAC, Ogg or MP3, of any length and rate.

local argparse = require "argparse"
local heed = require "heed"

local RATE = 16000

local parser = argparse("transcribe.lua", "What is said in a sound file.")
parser:argument("dir", "a directory that holds a Whisper model and its tokenizer")
parser:argument("audio", "a WAV, FLAC, Ogg or MP3 file")
parser:flag("--srt", "as subtitles")
parser:flag("--words", "when each word is said; of subtitles, one for each")
parser:option("--language", "en, de, ...; default: what the model hears")
parser:flag("--translate", "into English")
parser:option("--prompt", "text before, for spelling and style")
parser:flag("--continue", "each window sees what was written before")
local args = parser:parse()

-- 00:01:02,345
local function clock(seconds, point)
    local ms = math.floor(seconds * 1000 + 0.5)
    return ("%02d:%02d:%02d%s%03d"):format(ms // 3600000, ms // 60000 % 60, ms // 1000 % 60, point,
        ms % 1000)
end

local number = 0

local function write_subtitle(from, to, text)
    number = number + 1
    io.write(("%d\n%s --> %s\n%s\n\n"):format(number, clock(from, ","), clock(to, ","), text))
end

local function write(segment)
    if args.srt then
        for _, line in ipairs(segment.words or { segment }) do
            write_subtitle(line.from, line.to, line.text)
        end
    else
        io.write(("[%s --> %s] %s\n"):format(clock(segment.from, "."), clock(segment.to, "."),
            segment.text))
        for _, word in ipairs(segment.words or {}) do
            io.write(("    %s  %s\n"):format(clock(word.from, "."), word.text))
        end
    end
    io.flush()
end

local samples, message = heed.audio.wav(args.audio, { rate = RATE })
if not samples then error(message, 0) end
local model, tokenizer, _, problem = heed.models.load(args.dir)
if not model or not tokenizer then error(problem or tokenizer, 0) end
for segment in heed.audio.transcribe(model, tokenizer, samples, { words = args.words,
    language = args.language, prompt = args.prompt, continue = args.continue,
    task = args.translate and "translate" or "transcribe" }) do
    write(segment)
end
