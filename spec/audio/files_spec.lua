--- heed.audio's files: those that other programs wrote (spec/fixtures/record_audio.py) are read as
--- they read them, what is written is read again, and what is none is refused.

local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local FOLDER = "spec/fixtures/audio/"
local expected = assert(heed.safetensors.load "spec/fixtures/audio.safetensors")
local has_files = heed.info().sndfile ~= "none"

local function temporary(ending)
    local path = os.tmpname()
    os.remove(path)
    return path .. ending
end

local function write(path, bytes)
    local file <close> = assert(io.open(path, "wb"))
    file:write(bytes):close()
end

if not has_files then
    describe("heed.audio.wav without libsndfile", function()
        it("says what is missing", function()
            local samples, message = heed.audio.wav(FOLDER .. "mono_16.wav")
            assert.is_nil(samples)
            assert.matches("built without libsndfile %(Debian: libsndfile1%-dev%)", message)
            samples, message = heed.audio.save(temporary ".wav", heed.zeros(3), 8000)
            assert.is_nil(samples)
            assert.matches("built without libsndfile", message)
        end)
    end)
    return
end

describe("heed.audio.wav reads", function()
    local count = 0
    for _, path in ipairs(shell.files(FOLDER, "*.*")) do
        local name = path:match "[^/]+$"
        count = count + 1
        it(name, function()
            local wanted = expected["file/" .. name]
            local tolerance = name:find "%.mp3$" and 1e-4 or name:find "%.ogg$" and 1e-4 or 0
            local all = assert(heed.audio.wav(path, { channels = "all" }))
            assert.is_close(all, wanted:t(), tolerance)
            assert.is_close(heed.audio.wav(path), wanted:mean(2), tolerance + 1e-7)
        end)
    end

    it("all of those", function() assert.equal(11, count) end)

    it("the rate too, and resamples to another", function()
        local samples, rate = heed.audio.wav(FOLDER .. "stereo_24.wav")
        assert.same({ 11025, 551 }, { rate, samples:size(1) })
        if heed.info().soxr == "none" then return end
        samples, rate = heed.audio.wav(FOLDER .. "stereo_24.wav",
            { rate = 22050, channels = "all" })
        assert.equal(22050, rate)
        assert.has_shape(samples, { 2, 1102 })
    end)

    it("a file of no samples", function()
        local path = temporary ".wav"
        assert(heed.audio.save(path, heed.zeros(0), 8000))
        assert.has_shape(heed.audio.wav(path), { 0 })
        os.remove(path)
    end)

    it("a file whose writer could not go back to say how long it is", function()
        local path = temporary ".wav"
        local whole = shell.read(FOLDER .. "mono_16.wav")
        local at = whole:find("data", 1, true)
        write(path, whole:sub(1, at + 3) .. "\255\255\255\255" .. whole:sub(at + 8))
        assert.is_close(heed.audio.wav(path), heed.audio.wav(FOLDER .. "mono_16.wav"), 0)
        os.remove(path)
    end)
end)

describe("heed.audio.save", function()
    local x = heed.tensor { 0, 0.5, -0.25, 1, -1, 3, -3, 1 / 32768 }
    local cut = heed.tensor { 0, 0.5, -0.25, 1, -1, 1, -1, 1 / 32768 }

    for _, case in ipairs { { ".wav", 16, 2 ^ -15 }, { ".wav", 24, 2 ^ -23 },
        { ".flac", 16, 2 ^ -15 },
        { ".flac", 24, 2 ^ -23 } } do
        it(("writes %d bits to %s"):format(case[2], case[1]), function()
            local path = temporary(case[1])
            assert.is_true(heed.audio.save(path, x, 16000, { bits = case[2] }))
            local back, rate = heed.audio.wav(path)
            assert.equal(16000, rate)
            assert.is_close(back, cut:clamp(-1, 1 - case[3]), 0)
            os.remove(path)
        end)
    end

    it("writes floats as they are, of several channels, and replaces a file", function()
        local path, y = temporary ".WAV", heed.randn(3, 50) * 2
        assert(heed.audio.save(path, x, 8000))
        assert(heed.audio.save(path, y:to "f64", 8000, { bits = 32 }))
        assert.is_close(heed.audio.wav(path, { channels = "all" }), y, 0)
        os.remove(path)
    end)

    it("says what it does not take", function()
        for _, case in ipairs {
            { "path: expected one that ends in .wav or .flac", "x.mp3", x, 8000 },
            { "samples: expected floats [T] or [channels, T], got 5", "x.wav", 5, 8000 },
            { "samples: expected finite numbers", "x.wav", heed.tensor { 0 / 0 }, 8000 },
            { "rate: expected an integer of at least 1", "x.wav", x, 0 },
            { "bits: expected 16 or 24, or 32 of WAV, got 32", "x.flac", x, 8000, { bits = 32 } },
            { "samples: expected 1 to 1024 channels, got 0", "x.wav", heed.zeros(0, 3), 8000 },
        } do
            local ok, message = pcall(heed.audio.save, case[2], case[3], case[4], case[5])
            assert.is_false(ok)
            assert.matches(case[1], message, 1, true)
        end
        local ok, message = heed.audio.save("/nowhere/x.wav", x, 8000)
        assert.is_nil(ok)
        assert.matches("/nowhere/x.wav", message, 1, true)
    end)
end)

describe("heed.audio.wav refuses", function()
    local path
    before_each(function() path = temporary ".wav" end)
    after_each(function() os.remove(path) end)

    local function refused(bytes, message, options)
        write(path, bytes)
        local samples, problem = heed.audio.wav(path, options)
        assert.is_nil(samples)
        assert.equal(path .. ": ", problem:sub(1, #path + 2))
        assert.matches(message, problem, 1, true)
    end

    it("what is no sound, or not there", function()
        refused("", "expected a WAV, FLAC, Ogg or MP3 file")
        refused(("hello "):rep(20), "expected a WAV, FLAC, Ogg or MP3 file")
        os.remove(path)
        assert.matches("No such file", select(2, heed.audio.wav(path)))
        assert.matches("regular file", select(2, heed.audio.wav "/tmp"))
    end)

    it("files that end early", function()
        local wav = shell.read(FOLDER .. "mono_16.wav")
        refused(wav:sub(1, -101), "the file ended early: expected 1600 bytes of samples, got 1500")
        refused(wav:sub(1, 40), "WAV: expected samples, got none")
        local flac = shell.read(FOLDER .. "mono.flac")
        refused(flac:sub(1, #flac // 2), "")
        refused(shell.read(FOLDER .. "stereo_24.flac"):sub(1, 30), "")
        refused(shell.read(FOLDER .. "vorbis.ogg"):sub(1, 60), "")
    end)

    it("no channels, no rate", function()
        local wav = shell.read(FOLDER .. "mono_16.wav")
        local at = wav:find("fmt ", 1, true)
        refused(wav:sub(1, at + 9) .. "\0\0" .. wav:sub(at + 12), "")
        refused(wav:sub(1, at + 11) .. "\0\0\0\0" .. wav:sub(at + 16), "")
    end)

    it("samples that are no numbers", function()
        local wav = shell.read(FOLDER .. "floats.wav")
        for _, bits in ipairs { 0x7fc00000, 0x7f800000 } do
            refused(wav:sub(1, -41) .. string.pack("<I4", bits) .. wav:sub(-36),
                "sample 796 is no finite number")
        end
    end)

    it("more samples than are wanted", function()
        local bytes = shell.read(FOLDER .. "mono.flac")
        refused(bytes, "1600 samples of 1 channels, more than max_samples = 100",
            { max_samples = 100 })
        refused(shell.read(FOLDER .. "stereo_24.flac"), "more than max_samples = 799",
            { max_samples = 799, channels = "all" })
        -- A header that promises 2^36 - 1.
        local at = bytes:find("fLaC", 1, true) + 4 + 4 + 13
        refused(bytes:sub(1, at - 1) .. string.char(bytes:byte(at) | 15) .. "\255\255\255\255"
            .. bytes:sub(at + 5), "more than max_samples")
    end)

    it("options that are none", function()
        for message, options in pairs {
            ['channels: expected 1 or "all", got 2'] = { channels = 2 },
            ["rate: expected a number"] = { rate = "16 kHz" },
            ["there is no option"] = { mono = true },
            ["max_samples: expected an integer"] = { max_samples = 0 },
        } do
            local ok, problem = pcall(heed.audio.wav, path, options)
            assert.is_false(ok)
            assert.matches(message, problem, 1, true)
        end
    end)

    it("or reads damaged files without harm", function()
        local random = heed.generator(3)
        local function draw(n) return heed.randint(1, n, 1, { generator = random })[1] end
        for _, name in ipairs { "mono_16.wav", "mono.flac", "vorbis.ogg" } do
            local whole = shell.read(FOLDER .. name)
            for _ = 1, 40 do
                local at = draw(3) == 1 and draw(#whole) or draw(100)
                local changed = string.char(draw(256) - 1)
                write(path, whole:sub(1, at - 1) .. changed .. whole:sub(at + 1))
                local samples, rate = heed.audio.wav(path, { max_samples = 1 << 20 })
                assert.is_truthy(samples and samples:isfinite():all() or type(rate) == "string")
            end
        end
    end)
end)

describe("heed.audio.resample", function()
    if heed.info().soxr == "none" then
        it("says what is missing", function()
            assert.matches("built without libsoxr",
                select(2, heed.audio.resample(heed.zeros(8), 2, 1)))
        end)
        return
    end

    for name, x in pairs(expected) do
        local from, to = name:match "^resample/(%d+)_(%d+)%.in$"
        if from then
            it(("gives what soxr gives: %s to %s"):format(from, to), function()
                local wanted = expected[("resample/%s_%s.out"):format(from, to)]
                from, to = tonumber(from), tonumber(to)
                assert.is_close(heed.audio.resample(x, from, to), wanted, 1e-6)
                local both = heed.audio.resample(heed.stack({ x, -x }, 1), from, to)
                assert.is_close(both, heed.stack({ wanted, -wanted }, 1), 1e-6)
            end)
        end
    end

    it("keeps a tone, takes parts of a tensor, and nothing", function()
        local function tone(rate)
            local t = heed.range(0, rate - 1, { dtype = "f64" })
            return (t * (2 * math.pi * 440 / rate)):sin():to "f32"
        end
        local second, wanted = tone(44100), tone(16000)
        local got = heed.audio.resample(second, 44100, 16000)
        assert.is_close(got:narrow(1, 500, 15000), wanted:narrow(1, 500, 15000), 1e-4)
        local strided = heed.stack({ second, second }, 2):select(2, 1)
        assert.is_close(heed.audio.resample(strided, 44100, 16000), got, 0)
        assert.has_shape(heed.audio.resample(heed.zeros(2, 0), 2, 1), { 2, 0 })
        assert.has_shape(heed.audio.resample(heed.zeros(0, 3), 2, 1), { 0, 2 })
        assert.equal(second, heed.audio.resample(second, 8000, 8000))
    end)

    it("says what it does not take", function()
        for _, case in ipairs {
            { "samples: expected f32 [..., T], got f64", heed.zeros(3, { dtype = "f64" }), 1, 2 },
            { "from: expected a number", heed.zeros(3), "8000", 2 },
            { "to: expected a rate above 0, got 0", heed.zeros(3), 1, 0 },
            { "from: expected a rate above 0, got inf", heed.zeros(3), math.huge, 1 },
            { "to: expected fewer samples", heed.zeros(300), 1e-300, 1 },
        } do
            local ok, message = pcall(heed.audio.resample, case[2], case[3], case[4])
            assert.is_false(ok)
            assert.matches(case[1], message, 1, true)
        end
    end)
end)
