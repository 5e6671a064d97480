--- Sound: samples from files and into them, at other rates, as spectra; speech as text.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local mel = require "heed.audio.mel"

local audio = { log_mel = mel.log_mel, mel_filters = mel.filters,
    transcribe = require "heed.audio.speech.transcribe" }

local LOAD = check.set("channels", "rate", "max_samples")
local MAX_SAMPLES = 1 << 29

local function check_samples(where, samples)
    if check.is_live(samples) and samples.dtype == "f32" and samples:dim() >= 1 then return end
    errors.raise("%s: samples: expected f32 [..., T], got %s", where, check.describe(samples))
end

---Samples at another rate, by libsoxr (its "high quality": what both rates can hold stays, 120 dB
---and more above what does not belong). No gradient.
---
---```lua
---local second = (heed.range(0, 43999) * (2 * math.pi * 440 / 44000)):sin()
---local samples = assert(heed.audio.resample(second, 44000, 16000))
---print(samples.shape) --> [16000]
---```
---@param samples heed.Tensor f32 [..., T]
---@param from number samples a second that there are
---@param to number that are wanted
---@return heed.Tensor|nil # f32 [..., T · to / from, rounded]; nil when heed was built without
---libsoxr (heed.info() says), or it cannot convert from one to the other
---@return string? message
function audio.resample(samples, from, to)
    local where = "heed.audio.resample"
    check_samples(where, samples)
    check.number(where, "from", from, 0)
    check.number(where, "to", to, 0)
    if from == to then return samples end
    return core.resample(samples, from, to)
end

---The samples of a WAV, FLAC, Ogg (Vorbis, Opus) or MP3 file, whatever its name ends in, by
---libsndfile: -1 to 1, one channel, the mean of those that the file has.
---
---A file that is damaged or ends early gives nil and a message, and so does one with a sample that
---is no finite number. More than `max_samples` are refused; what they take counts in
---heed.memory_limit.
---
---```lua
---local path = os.tmpname() .. ".wav"
---assert(heed.audio.save(path, heed.tensor { 0, 0.5, -0.5, 1 }, 16000))
---local samples, rate = heed.audio.wav(path)
---print(samples, rate) --> [ 0.0000, 0.5000, -0.5000, 1.0000] f32 [4] 16000
---print(heed.audio.wav(path, { channels = "all" }).shape) --> [1, 4]
---os.remove(path)
---```
---@param path string
---@param options? { channels?: 1|"all", rate?: number, max_samples?: integer } channels: "all"
---gives each as the file has it; rate: resampled to this one; max_samples: of all channels, default
---2^29
---@return heed.Tensor|nil samples f32 [T], or [channels, T]; nil when the file cannot be read, or
---heed was built without libsndfile (heed.info() says)
---@return integer|string rate samples a second; or the message
function audio.wav(path, options)
    local where = "heed.audio.wav"
    check.type(where, "path", path, "string")
    options = check.options(where, options, LOAD)
    local channels = options.channels or 1
    if channels ~= 1 and channels ~= "all" then
        errors.raise('%s: channels: expected 1 or "all", got %s', where, check.describe(channels))
    end
    local wanted = options.rate and check.number(where, "rate", options.rate, 0)
    local samples, rate = core.audio_load(path, channels == 1,
        check.integer(where, "max_samples", options.max_samples or MAX_SAMPLES))
    if not samples then return nil, rate end
    samples = channels == 1 and samples:view(-1) or samples:t():contiguous()
    if not wanted or wanted == rate then return samples, rate end
    local message
    samples, message = audio.resample(samples, rate, wanted)
    return samples, samples and wanted or message
end

local SAVE = check.set("bits")
local FORMATS = { wav = "wav", flac = "flac" }

-- Samples as the numbers that a file of so many bits holds; 24 of them are the upper ones of 32.
local function as_bits(samples, bits)
    if bits == 32 then return samples end
    local most = 2 ^ (bits - 1)
    local whole = (samples:to "f64" * most):round():clamp(-most, most - 1)
    return bits == 16 and whole:to "i16" or (whole * 256):to "i32"
end

---Writes samples to a WAV (".wav") or FLAC file (".flac"), whole or not at all. Beyond -1 and 1
---they are cut.
---
---```lua
---local path = os.tmpname() .. ".flac"
---print(heed.audio.save(path, heed.zeros(2, 100), 48000, { bits = 24 })) --> true
---print(heed.audio.wav(path, { channels = "all" }).shape) --> [2, 100]
---os.remove(path)
---```
---@param path string
---@param samples heed.Tensor floats [T] or [channels, T]
---@param rate integer samples a second
---@param options? { bits?: 16|24|32 } bits: of a sample, default 16; 32, of WAV alone, are floats
---and not cut
---@return true|nil ok nil when it could not be written, or heed was built without libsndfile
---@return string? message
function audio.save(path, samples, rate, options)
    local where = "heed.audio.save"
    check.type(where, "path", path, "string")
    if not check.is_live(samples) or samples:dim() < 1 or samples:dim() > 2
        or not core.dtypes.floats[samples.dtype] then
        errors.raise("%s: samples: expected floats [T] or [channels, T], got %s", where,
            check.describe(samples))
    end
    check.integer(where, "rate", rate)
    options = check.options(where, options, SAVE)
    local ending = path:match "%.(%w+)$"
    local format = FORMATS[ending and ending:lower()]
    if not format then
        errors.raise("%s: path: expected one that ends in .wav or .flac, got %q", where, path)
    end
    local bits = options.bits or 16
    if bits ~= 16 and bits ~= 24 and not (bits == 32 and format == "wav") then
        errors.raise("%s: bits: expected 16 or 24, or 32 of WAV, got %s", where,
            check.describe(bits))
    end
    local x = samples:detach():to "f32"
    if not x:isfinite():all() then
        errors.raise("%s: samples: expected finite numbers", where)
    end
    x = x:dim() == 1 and x:view(-1, 1) or x:t()
    if x:size(2) < 1 or x:size(2) > 1024 then
        errors.raise("%s: samples: expected 1 to 1024 channels, got %d", where, x:size(2))
    end
    return core.audio_save(path, as_bits(x, bits), rate, format)
end

return audio
