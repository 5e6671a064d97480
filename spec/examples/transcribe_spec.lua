local heed = require "heed"
local shell = require "spec.support.shell"
local tiny = require "spec.support.tiny_whisper"

local COMMAND = (os.getenv "HEED_BUILD" or "build") .. "/heed examples/transcribe.lua "

describe("examples/transcribe.lua", function()
    if heed.info().sndfile == "none" or heed.info().soxr == "none" then
        it("needs libsndfile and libsoxr", function() pending "built without them" end)
        return
    end
    local folder, expected

    setup(function()
        folder = shell.lines "mktemp -d"[1]
        tiny.write(folder, 3)
        heed.manual_seed(1)
        assert(heed.audio.save(folder .. "/noise.wav", heed.rand(2, 30000) - 0.5, 24000))
        local model, tokenizer = assert(heed.models.load(folder))
        local samples = assert(heed.audio.wav(folder .. "/noise.wav", { rate = 16000 }))
        expected = {}
        for segment in heed.audio.transcribe(model, tokenizer, samples, { words = true }) do
            expected[#expected + 1] = segment
        end
        assert.is_true(#expected > 1)
    end)
    teardown(function() os.execute("rm -r " .. folder) end)

    local function run(more)
        return shell.lines(("%s%s %s/noise.wav %s 2>&1"):format(COMMAND, folder, folder, more))
    end

    local function clock(seconds, point)
        return ("00:00:%02d%s%03d"):format(seconds // 1, point,
            math.floor(seconds * 1000 + 0.5) % 1000)
    end

    it("writes passages with their times", function()
        local lines = run ""
        assert.equal(#expected, #lines)
        for i, segment in ipairs(expected) do
            assert.equal(("[%s --> %s] %s"):format(clock(segment.from, "."),
                clock(segment.to, "."), segment.text), lines[i])
        end
    end)

    it("writes words with theirs", function()
        local lines, n = run "--words", 0
        for _, segment in ipairs(expected) do
            n = n + 1
            for _, word in ipairs(segment.words) do
                n = n + 1
                assert.equal(("    %s  %s"):format(clock(word.from, "."), word.text), lines[n])
            end
        end
        assert.equal(n, #lines)
    end)

    it("writes subtitles", function()
        local lines = run "--srt"
        assert.equal(3 * #expected, #lines) -- and an empty one behind each
        for i, segment in ipairs(expected) do
            assert.same({ tostring(i), clock(segment.from, ",") .. " --> "
                .. clock(segment.to, ","), segment.text },
                { table.unpack(lines, 3 * i - 2, 3 * i) })
        end
    end)

    it("says what is wrong", function()
        local lines = shell.lines(("%snowhere %s/noise.wav 2>&1 || true"):format(COMMAND, folder))
        assert.matches("nowhere/config.json: No such file", lines[1], 1, true)
        lines = shell.lines(("%s%s nowhere.mp3 2>&1 || true"):format(COMMAND, folder))
        assert.matches("nowhere.mp3: No such file", lines[1], 1, true)
    end)
end)
