--- Every lesson of examples/ runs, and prints what it says that it prints.
local command = require "spec.support.command"
local shell = require "spec.support.shell"
local xml = require "spec.support.xml"

local sanitized = os.getenv "HEED_SANITIZED" ~= nil

-- The output of a lesson that ends well and complains of nothing.
local function run(lesson, arguments)
    local output, errors, status = command.run(("examples/%s.lua %s"):format(lesson,
        arguments or ""))
    assert.equal(0, status, errors)
    assert.equal("", (errors:gsub("training[^\n]*\n", "")))
    return output
end

local function assert_says(output, ...)
    for _, text in ipairs { ... } do
        assert.is_truthy(output:find(text, 1, true), text .. "\nin\n" .. output)
    end
end

describe("the course", function()
    it("is numbered without gaps, of less than a hundred lines each, and listed in its index",
        function()
        local index, lessons = shell.read "examples/README.md", shell.lines "ls examples/[0-9]*.lua"
        local last = 0
        for _, path in ipairs(lessons) do
            local number = tonumber(path:match "examples/(%d%d)_")
            assert.is_true(number == last or number == last + 1, path)
            last = number
            local _, lines = shell.read(path):gsub("\n", "")
            assert.is_true(lines < 100, path .. " has " .. lines .. " lines")
            assert.is_truthy(index:find("](" .. path:match "[^/]+$" .. ")", 1, true),
                path .. " is not in the index")
        end
        assert.equal(13, last)
        for name in index:gmatch "%]%(([%w_./]+)%)" do io.open("examples/" .. name):close() end
    end)

    it("1: tensors", function()
        assert_says(run "01_tensors", "its shape is [2, 3], its type f32, it has 6 elements",
            "the second row:\t[4., 5., 6.]",
            " [104., 205., 306.]", "sums of the columns:\t[5., 7., 9.]",
                "[[14., 32.],\n [32., 77.]]",
            "changed through a view of it:\t[99.,", "softmax of 1, 2, 4:\t[0.0420, 0.1142, 0.8438]",
            "a mistake: examples/01_tensors.lua:")
    end)

    it("2: gradients", function()
        assert_says(run "02_gradients", "x² + 2x at 3 is 15.0, and it grows by 8.0",
            "[10.,  0., 30.]",
            "found a = 2.0", "[-0.0908,  0.5000,  1.0908]", "checked against differences: true",
                "and a wrong one: ", "gradcheck")
    end)

    it("3: attention, drawn in the terminal and as SVG", function()
        local path = os.tmpname()
        local output = run("03_attention", path)
        assert_says(output, "[0.0533, 0.3935, 0.0533, 0.0533, 0.0533, 0.3935]",
            "heed.attention gives the same: true",
            "nouns              myself             the one before\n    T c s   t m        T c s  "
                .. " t m        T c s   t m\n",
            "\nsat   ▒▒      ▒▒   sat     ▓▓         sat   ▓▓\n", "open " .. path)
        local count = {}
        for _, element in ipairs(xml.elements(shell.read(path))) do
            if element.name == "text" then count[element.text] = (count[element.text] or 0) + 1 end
        end
        os.remove(path)
        for _, word in ipairs { "The", "cat", "sat", "on", "the", "mat" } do
            assert.equal(6, count[word])
        end
        for _, title in ipairs { "nouns", "myself", "the one before" } do
            assert.equal(1, count[title])
        end
        assert_says(run("03_attention", "/nowhere/attention.svg"),
            "not written: /nowhere/attention.svg")
    end)

    it("4: masks", function()
        assert_says(run "04_masks", "causal, 5 words: causal()\n■ · · · ·\n■ ■ · · ·\n■ ■ ■ · "
            .. "·\n■ ■ ■ ■ ·\n■ ■ ■ ■ ■\n",
            "window: window(1, 1)\n■ ■ · · ·\n■ ■ ■ · ·\n",
            "causal and segments: causal() & segments[5]\n■ · · · ·\n■ ■ · · ·\n· · ■ · ·\n",
            "strictly before", "adds:\n[[ 0.0000,    -inf,",
            "with a causal one:\t[1.0000, 1.5000, 2.0000]", "[1.0000, 1.5000,    nan]",
            "the first may see nothing:\t[0.0000, 1.0000, 1.5000]", "queries that see nothing: 1\n")
    end)

    it("5: multi-head attention", function()
        assert_says(run "05_multi_head", "288 parameters", "with weights [2, 4, 6, 6]",
            "nn.MultiHeadAttention gives the same: true",
            "weights [2, 4, 6, 9]", "expected 8 features (d_model), got [2, 6, 9]",
                "expected a multiple of num_heads (4), got 10")
    end)

    it("6: positions", function()
        local output = run "06_positions"
        assert_says(output, "without positions the order changes nothing: true",
            "with positions the order matters: true",
            "expected at most 100 positions (max_len), got 101",
                "[0.0340, 0.0560, 0.0924, 0.1523, 0.2512, 0.4141]")
        local near, far = output:match "places 1 and 4 score (%S+), places 51 and 54 score (%S+)\n"
        assert.near(tonumber(near), tonumber(far), 2e-3)
    end)

    it("7: an encoder layer", function()
        local output = run "07_encoder_layer"
        assert_says(output, "give the same: true", "8,994 parameters", "head 4")
        assert.is_true(tonumber(output:match "right for ([%d.]+)%%") > 90, output)
    end)

    it("11: porting", function()
        local output = run "11_porting"
        assert_says(output, "28 tensors in the file", "4,979 parameters",
            "saved again under PyTorch's names: true",
            "words.weight: expected [20, 16], got [3, 3]")
        local count = 0
        for off in output:gmatch "at most (%S-)[,:)\n]" do
            count = count + 1
            assert.is_true(tonumber(off) < 1e-5, off)
        end
        assert.equal(3, count)
    end)

    it("12: testing", function()
        assert_says(run "12_testing", "20,402 parameters", "busted examples/12_testing_spec.lua")
        local output, status = shell.run("busted --output=plainTerminal "
            .. "examples/12_testing_spec.lua 2>&1")
        assert.equal(0, status, output)
        assert_says(output, "8 successes / 0 failures / 0 errors")
    end)

    it("13: looking inside a model", function()
        assert_says(run "13_looking_inside", "Give it a model")
        local picture = os.tmpname() .. ".svg"
        local output = run("13_looking_inside", "spec/fixtures/families/llama " .. picture)
        assert_says(output, "surprise: 4.1", "at the token before", "behind the same token",
            "without head ", "the two heads are drawn in")
        assert.is_true(#xml.elements(shell.read(picture)) > 100)
        os.remove(picture)
    end)

    if sanitized then return end -- training that takes seconds otherwise

    it("8: the encoder-decoder", function()
        assert_says(run "08_encoder_decoder", "\nabc        cba\nbadcafe    efacdab\n",
            "feed       deef\n", "writing efacdab (down)")
    end)

    it("9: a language model of characters", function()
        local output = run "09_char_lm"
        local first, last = output:match "([%d.]+) ┤", output:match "([%d.]+) ┤[^\n]*\n *└"
        assert.is_true(tonumber(first) > 3 and tonumber(last) < 0.5, output)
        assert_says(output, "\n\nThe ", "Hearts")
    end)

    it("9: and of a text of one's own", function()
        local output = run("char_lm", "docs/architecture.md 3")
        assert.is_true(tonumber(output:match "\nvalidation loss ([%d.]+)\n") < 6, output)
        local _, errors, status = command.run "examples/char_lm.lua /nowhere/text"
        assert.equal(1, status)
        assert_says(errors, "/nowhere/text: No such file or directory")
    end)

    it("10: attention and a recurrence", function()
        local output, rows = run "10_recurrence", 0
        for distance, recurrent, attentive in output:gmatch("%f[^\n] +(%d+) +([%d.]+)%% +[%d.]+ "
            .. "s +([%d.]+)%%") do
            rows = rows + 1
            assert.is_true(tonumber(attentive) > 95, output)
            if tonumber(distance) >= 32 then assert.is_true(tonumber(recurrent) < 50, output) end
            if tonumber(distance) == 2 then assert.is_true(tonumber(recurrent) > 95, output) end
        end
        assert.equal(6, rows)
    end)
end)
