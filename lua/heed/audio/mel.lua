--- Sound as a model of speech reads it: the power in bands that are spaced as the ear hears them.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local stft = require "heed.audio.stft"

local mel = {}

-- Slaney's scale: linear up to 1000 Hz, 15 mels, and logarithmic above.
local HZ_A_MEL, CORNER, MELS = 200 / 3, 1000, 15
local STEP = math.log(6.4) / 27

local function to_mel(hz)
    return hz < CORNER and hz / HZ_A_MEL or MELS + math.log(hz / CORNER) / STEP
end

local function to_hz(m)
    return m < MELS and m * HZ_A_MEL or CORNER * math.exp(STEP * (m - MELS))
end

local MOST = 1 << 16 -- bands

local FILTERS = check.set("n_mels", "n_fft", "rate", "min", "max")

---The triangles of a mel spectrum on Slaney's scale, each of area 2 (so that bands of noise are
---equally loud): librosa.filters.mel.
---
---```lua
---print(heed.audio.mel_filters({ n_mels = 80 }).shape) --> [80, 201]
---```
---@param options? { n_mels?: integer, n_fft?: integer, rate?: number, min?: number, max?: number }
---n_mels: bands, default 80; n_fft: of the spectrum, default 400; rate: default 16000; min, max:
---where the bands begin and end, in Hz, default 0 and rate / 2
---@return heed.Tensor # f32 [n_mels, n_fft // 2 + 1]
function mel.filters(options)
    local where = "heed.audio.mel_filters"
    options = check.options(where, options, FILTERS)
    local n_mels = check.integer(where, "n_mels", options.n_mels or 80, 1, MOST)
    local n_fft = check.integer(where, "n_fft", options.n_fft or 400)
    local rate = check.number(where, "rate", options.rate or 16000, 0)
    local low = check.number(where, "min", options.min or 0, 0)
    local high = check.number(where, "max", options.max or rate / 2, low)
    if low == high or high == math.huge then
        errors.raise("%s: max: expected a number above min (%g), got %g", where, low, high)
    end
    local edges, first, last = {}, to_mel(low), to_mel(high)
    for i = 0, n_mels + 1 do
        edges[i + 1] = to_hz(first + (last - first) * i / (n_mels + 1))
    end
    edges = core.tensor(edges, { dtype = "f64" })
    local function edge(i) return edges:narrow(1, i, n_mels):view(n_mels, 1) end
    local hz = core.range(0, n_fft // 2, { dtype = "f64" }) * (rate / n_fft)
    local rising = (hz - edge(1)) / (edge(2) - edge(1))
    local falling = (edge(3) - hz) / (edge(3) - edge(2))
    local triangles = rising:minimum(falling):clamp(0)
    return (triangles * 2 / (edge(3) - edge(1))):to "f32"
end

local LOG_MEL = check.set("n_mels", "n_fft", "hop", "rate", "min", "max", "length", "padding")
local AT_ONCE = 3000 -- windows whose spectra are held

-- Samples cut, or with silence behind them.
local function of_length(x, length)
    if not length then return x end
    local T = x:size(-1)
    return T > length and x:narrow(-1, 1, length) or x:pad(0, length - T)
end

-- The power of each band in each window of x, which was continued at both ends already:
-- [..., n_mels, windows].
local function bands(x, windows, n_fft, hop, filters)
    local parts = {}
    for first = 1, windows, AT_ONCE do
        local count = math.min(AT_ONCE, windows - first + 1)
        local own = x:narrow(-1, (first - 1) * hop + 1, (count - 1) * hop + n_fft)
        local power = stft(own, { n_fft = n_fft, hop = hop, window = "hann", center = false })
            :square():sum(-1)
        parts[#parts + 1] = filters:matmul(power)
    end
    return #parts == 1 and parts[1] or core.cat(parts, -1)
end

-- The largest element of each example, or of the one that there is.
local function loudest(x)
    return x:amax({ -2, -1 }, { keepdim = true })
end

---What Whisper reads (Radford et al. 2022): the logarithm to base 10 of the power in mel bands, cut
---8 (80 dB) below the loudest, (x + 4) / 4. Of Hann windows around every hop-th sample, the last of
---which is left out. whisper.log_mel_spectrogram, and transformers' WhisperFeatureExtractor with
---`length = 480000`.
---
---```lua
---local noise = heed.rand(16000) - 0.5
---print(heed.audio.log_mel(noise).shape) --> [80, 100]
---print(heed.audio.log_mel(noise, { length = 480000 }).shape) --> [80, 3000]
---```
---@param samples heed.Tensor f32 or f64 [T] or [B, T]
---@param options? { n_mels?: integer, n_fft?: integer, hop?: integer, rate?: number, min?: number, max?: number, length?: integer, padding?: integer }
---n_mels: bands, default 80; n_fft, hop: of heed.stft, default 400 and 160; rate: default 16000;
---min, max: of the bands, in Hz, default 0 and rate / 2 (transformers has 8000 at any rate);
---length: samples are cut to so many, or silence is put behind; padding: so many samples of silence
---are put behind
---@return heed.Tensor # [n_mels, T // hop] or [B, n_mels, T // hop]
function mel.log_mel(samples, options)
    local where = "heed.audio.log_mel"
    options = check.options(where, options, LOG_MEL)
    if not check.is_live(samples) or samples:dim() < 1 or samples:dim() > 2
        or samples.dtype ~= "f32" and samples.dtype ~= "f64" then
        errors.raise("%s: samples: expected f32 or f64 [T] or [B, T], got %s", where,
            check.describe(samples))
    end
    local n_fft = check.integer(where, "n_fft", options.n_fft or 400)
    local hop = check.integer(where, "hop", options.hop or 160)
    local length = options.length and check.integer(where, "length", options.length)
    local x = of_length(samples, length)
    local padding = check.integer(where, "padding", options.padding or 0, 0)
    if padding > 0 then x = x:pad(0, padding) end
    local around, windows = n_fft // 2, x:size(-1) // hop
    if x:size(-1) <= around or windows < 1 then
        errors.raise("%s: samples: expected at least %d of them, got %d", where,
            math.max(around + 1, hop), x:size(-1))
    end
    local filters = mel.filters { n_mels = options.n_mels, n_fft = n_fft, rate = options.rate,
        min = options.min, max = options.max }
    local power = bands(x:pad(around, around, { mode = "reflect" }), windows, n_fft, hop,
        filters:to(x.dtype))
    local log = power:clamp(1e-10):log10()
    return (log:maximum(loudest(log) - 8) + 4) / 4
end

return mel
