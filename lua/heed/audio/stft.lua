--- The spectrum of a sound, window after window.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local WHERE = "heed.stft"
local OPTIONS = check.set("n_fft", "hop", "win_length", "window", "center", "pad_mode",
    "normalized")
local MODES = { "reflect", "constant", "replicate", "circular" }

-- The periodic Hann window, 0.5 - 0.5 cos(2π i / n).
local function hann(n, dtype)
    local angles = core.range(0, n - 1, { dtype = "f64" }) * (2 * math.pi / n)
    return (0.5 - angles:cos() * 0.5):to(dtype)
end

-- As n_fft factors: win_length of them in the middle, zeros around; nil: all are 1.
local function window_of(window, win_length, n_fft, dtype)
    if window == nil then
        if win_length == n_fft then return nil end
        window = core.ones(win_length, { dtype = dtype })
    elseif type(window) == "string" then
        check.one_of(WHERE, "window", window, { "hann" })
        window = hann(win_length, dtype)
    elseif not check.is_live(window) or window:dim() ~= 1 or window:size(1) ~= win_length then
        errors.raise('%s: window: expected "hann" or a tensor [%d], got %s', WHERE, win_length,
            check.describe(window))
    end
    local before = (n_fft - win_length) // 2
    return before == 0 and win_length == n_fft and window
        or window:pad(before, n_fft - win_length - before)
end

local function check_sound(x)
    if not check.is_live(x) or x:dim() < 1 then
        errors.raise("%s: x: expected a tensor [..., T], got %s", WHERE, check.describe(x))
    end
    return x
end

-- x with n_fft // 2 more at both ends.
local function centred(x, n_fft, mode)
    local T, around = x:size(-1), n_fft // 2
    local most = mode == "reflect" and T - 1 or mode == "circular" and T or math.huge
    if around > most or (mode == "replicate" and T == 0) then
        errors.raise('%s: x: expected more than %d samples for pad_mode "%s", got %d', WHERE,
            mode == "reflect" and around or around - 1, mode, T)
    end
    return x:pad(around, around, { mode = mode })
end

---The short-time Fourier transform: of each window of n_fft samples, one every `hop`, the discrete
---Fourier transform of the samples times a window function; torch.stft seen as real numbers.
---
---```lua
---local t = heed.range(0, 799) / 16000
---local x = (t * (2 * math.pi * 440)):sin() -- 440 Hz at 16 kHz
---local spectrum = heed.stft(x, { n_fft = 400, hop = 160, window = "hann" })
---print(spectrum.shape) --> [201, 6, 2]
---local power = spectrum:square():sum(-1)
---print((power:select(2, 3):argmax():item() - 1) * 16000 / 400) --> 440.0
---```
---@param x heed.Tensor [..., T]
---@param options { n_fft: integer, hop?: integer, win_length?: integer, window?: "hann"|heed.Tensor, center?: boolean, pad_mode?: "reflect"|"constant"|"replicate"|"circular", normalized?: boolean }
---n_fft: samples of a window; hop: from one window to the next, default n_fft // 4; win_length: of
---the window function, in the middle of n_fft, default n_fft; window: the periodic Hann window or
---[win_length], default all 1; center: windows stand around their sample, x is continued at both
---ends (default true); pad_mode: how, default "reflect"; normalized: divided by sqrt(n_fft)
---@return heed.Tensor # [..., n_fft // 2 + 1, windows, 2], real and imaginary part
local function stft(x, options)
    check_sound(x)
    options = check.options(WHERE, options, OPTIONS)
    local n_fft = check.integer(WHERE, "n_fft", options.n_fft)
    local hop = check.integer(WHERE, "hop", options.hop or math.max(n_fft // 4, 1))
    local win_length = check.integer(WHERE, "win_length", options.win_length or n_fft)
    if win_length > n_fft then
        errors.raise("%s: win_length: expected at most n_fft (%d), got %d", WHERE, n_fft,
            win_length)
    end
    local mode = check.one_of(WHERE, "pad_mode", options.pad_mode or "reflect", MODES)
    if check.flag(WHERE, "center", options.center, true) then x = centred(x, n_fft, mode) end
    if x:size(-1) < n_fft then
        errors.raise("%s: x: expected at least n_fft (%d) samples, got %d", WHERE, n_fft,
            x:size(-1))
    end
    local frames = x:unfold(-1, n_fft, hop)
    local window = window_of(options.window, win_length, n_fft,
        x.dtype == "f64" and "f64" or "f32")
    local spectrum = core.rfft(window and frames * window or frames)
    if check.flag(WHERE, "normalized", options.normalized, false) then
        spectrum = spectrum / math.sqrt(n_fft)
    end
    return spectrum:transpose(-3, -2)
end

return stft
