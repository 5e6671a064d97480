--- heed.rfft, heed.stft and heed.audio.log_mel beside PyTorch, and Whisper's features beside
--- transformers (spec/fixtures/record_audio.py).

local heed = require "heed"
local recorded = require "spec.support.recorded"
require "heed.luassert"

local FIXTURE = "spec/fixtures/audio.safetensors"
local tensors = assert(heed.safetensors.load(FIXTURE))

local call = { rfft = function(_, x) return x:rfft() end }

function call.stft(p, x)
    return heed.stft(x, { n_fft = p.n_fft, hop = p.hop, win_length = p.win_length,
        window = tensors["window/" .. p.window_of], center = p.center, pad_mode = p.pad_mode,
        normalized = p.normalized })
end

describe("what PyTorch gives of spectra", function()
    local cases, values = recorded.cases(FIXTURE, call)
    for _, case in ipairs(cases) do it("is reproduced: " .. case.name, case.run) end
    it("is all of the file: 16 cases, 32 outputs and gradients", function()
        assert.same({ 16, 32 }, { #cases, values })
    end)
end)

describe("heed.stft", function()
    it("has PyTorch's Hann window by its name, and a gradient in f64", function()
        local x, hann = heed.randn(2, 50), tensors["window/whisper"]
        assert.is_close(heed.stft(heed.ones(900), { n_fft = 400, window = "hann", hop = 160 }),
            heed.stft(heed.ones(900), { n_fft = 400, window = hann, hop = 160 }), 1e-4)
        assert.is_true(heed.gradcheck(function(t)
            return heed.stft(t, { n_fft = 12, hop = 5, window = "hann" })
        end, { x:to "f64" }))
    end)

    it("is the same whatever the layout, and of f64 exact", function()
        local x = heed.randn(60, 2):t()
        local a = heed.stft(x, { n_fft = 20, hop = 3 })
        assert.is_close(heed.stft(x:contiguous(), { n_fft = 20, hop = 3 }), a, 0)
        assert.is_close(heed.stft(x:to "f64", { n_fft = 20, hop = 3 }):to "f32", a, 1e-5)
    end)

    it("says what it does not take", function()
        local x = heed.zeros(20)
        for message, f in pairs {
            ["x: expected a tensor [..., T], got 5"] = function() heed.stft(5, { n_fft = 4 }) end,
            ["n_fft: expected an integer of at least 1, got nil"] = function() heed.stft(x) end,
            ["hop: expected an integer of at least 1, got 0"] = function()
                heed.stft(x, { n_fft = 4, hop = 0 })
            end,
            ["win_length: expected at most n_fft (4), got 5"] = function()
                heed.stft(x, { n_fft = 4, win_length = 5 })
            end,
            ['window: expected "hann" or a tensor [4], got f32 tensor [3]'] = function()
                heed.stft(x, { n_fft = 4, window = heed.ones(3) })
            end,
            ['x: expected more than 20 samples for pad_mode "reflect", got 20'] = function()
                heed.stft(x, { n_fft = 40 })
            end,
            ["x: expected at least n_fft (40) samples, got 20"] = function()
                heed.stft(x, { n_fft = 40, center = false })
            end,
        } do
            local ok, problem = pcall(f)
            assert.is_false(ok)
            assert.matches(message, problem, 1, true)
        end
    end)
end)

describe("heed.audio.log_mel", function()
    local CASES = {
        plain = {}, padded = { length = 16000 }, cut = { length = 16000, n_mels = 128 },
        other = { n_mels = 40, rate = 8000, max = 8000, hop = 80, n_fft = 200 },
    }
    for name, options in pairs(CASES) do
        it("gives what transformers gives: " .. name, function()
            local x, wanted = tensors["mel/" .. name .. ".in"], tensors["mel/" .. name .. ".out"]
            assert.is_close(heed.audio.log_mel(x, options), wanted, 1e-4)
            assert.is_close(heed.audio.log_mel(x:to "f64", options):to "f32", wanted, 3e-5)
            local both = heed.audio.log_mel(heed.stack({ x, x * 0.1 }, 1), options)
            assert.is_close(both[1], wanted, 1e-4)
            assert.is_close(both[2], heed.audio.log_mel(x * 0.1, options), 1e-6)
        end)
    end

    it("has librosa's filters", function()
        assert.error_matches(function() heed.audio.mel_filters { n_mels = 1 << 30 } end,
            "n_mels: expected an integer from 1 to 65536, got 1073741824")
        assert.error_matches(function() heed.audio.mel_filters { rate = 0 } end,
            "max: expected a number above min %(0%), got 0")
        assert.is_close(heed.audio.mel_filters(), tensors["filters/80"], 1e-8)
        local own = heed.audio.mel_filters { n_mels = 3, n_fft = 16, rate = 100, min = 5, max = 40 }
        assert.has_shape(own, { 3, 9 })
    end)

    it("does not depend on how much is held at once, puts silence behind, has a gradient",
        function()
        local x = heed.randn(3100 * 8)
        local options = { hop = 8, n_fft = 20, n_mels = 4 }
        local whole = heed.audio.log_mel(x, options)
        assert.has_shape(whole, { 4, 3100 })
        local tail = heed.audio.log_mel(x:narrow(1, 2900 * 8 + 1, 200 * 8), options)
        local floor = math.max(whole:max():item(), tail:max():item()) - 2
        assert.is_close(whole:narrow(2, 2911, 180):clamp(floor),
            tail:narrow(2, 11, 180):clamp(floor), 1e-5)
        options.padding = 800
        assert.has_shape(heed.audio.log_mel(x, options), { 4, 3200 })
        assert.is_true(heed.gradcheck(function(t)
            return heed.audio.log_mel(t, { hop = 7, n_fft = 14, n_mels = 3 })
        end, { heed.randn(40, { dtype = "f64" }) }))
    end)

    it("says what it does not take", function()
        for message, f in pairs {
            ["samples: expected f32 or f64 [T] or [B, T], got i64"] = function()
                heed.audio.log_mel(heed.ids { 1, 2 })
            end,
            ["samples: expected at least 201 of them, got 100"] = function()
                heed.audio.log_mel(heed.zeros(100))
            end,
            ["length: expected an integer"] = function()
                heed.audio.log_mel(heed.zeros(900), { length = 0.5 })
            end,
        } do
            local ok, problem = pcall(f)
            assert.is_false(ok)
            assert.matches(message, problem, 1, true)
        end
    end)
end)
