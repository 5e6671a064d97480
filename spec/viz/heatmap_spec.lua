local browser = require "spec.support.browser"
local heed = require "heed"
local xml = require "spec.support.xml"

local NAN = 0 / 0
local heatmap = heed.viz.heatmap

local function plain(values, options)
    options = options or {}
    options.colour = false
    return tostring(heatmap(values, options))
end

-- Of SVG: the cells, and what the pointer shows over each.
local function drawn(values, options)
    local cells, hints, texts, all = {}, {}, {}, xml.elements(heatmap(values, options):svg())
    for _, element in ipairs(all) do
        local class = element.parent and element.parent.attributes.class or ""
        if element.name == "rect" and class:find "heed%-cells" then
            cells[#cells + 1] = element.attributes
        end
        if element.name == "title" then hints[#hints + 1] = element.text end
        if element.name == "text" then texts[#texts + 1] = element.text end
    end
    return cells, hints, texts, all
end

describe("viz.heatmap in the terminal", function()
    it("shades from 0 to the highest", function()
        assert.equal("  1 2 3\n1   ▒▒██\n2 ░░▓▓██", plain { { 0, 2, 4 }, { 1, 3, 4 } })
    end)

    it("has other shades below 0, as far as above, and says so", function()
        assert.equal(table.concat({ "  1 2 3 4 5", "1 ≡≡──  ▒▒██", "", "-2 ≡≡══──·· 0 ░░▒▒▓▓██ 2" },
            "\n"),
            plain { { -2, -1, 0, 1, 2 } })
        assert.equal("  1 2\n1 ≡≡──\n\n-4 ≡≡══──·· 0 ░░▒▒▓▓██ 4", plain { { -4, -2 } })
    end)

    it("has colours where the terminal has", function()
        local text = tostring(heatmap({ { -2, 0, 2, 2 } }, { colour = true }))
        assert.equal("  1 2 3 4\n1 \27[31m██\27[0m  \27[34m████\27[0m", text:match "^(.-)\n\n")
        assert.is_nil(tostring(heatmap({ { 1, 2 } }, { colour = true })):find "\27")
        local two = tostring(heatmap(heed.tensor { { { -2 } }, { { 2 } } }, { colour = true }))
        assert.equal("1      2\n  1      1\n1 \27[31m██\27[0m   1 \27[34m██\27[0m",
            two:match "^(.-)\n\n")
    end)

    it("marks what is no number, and goes to the ends for what is infinite", function()
        assert.equal("  1 2 3 4\n1 ??░░████", plain { { NAN, 1, 4, math.huge } })
        assert.equal("  1 2\n1 ????", plain { { NAN, NAN } })
        assert.equal("  1 2 3\n1 ≡≡  ██\n\n-1 ≡≡══──·· 0 ░░▒▒▓▓██ 1",
            plain({ { -math.huge, 0, math.huge } }, { min = -1, max = 1 }))
    end)

    it("says numbers, and widens its columns for labels that then fit", function()
        local options = { x = { "cat", "dog" }, y = { "cat", "dog" }, numbers = true,
            title = "title", caption = "below" }
        assert.equal(table.concat({ "title", "", "     cat  dog", "cat   50█   0", "dog    4   41▓",
            "below" }, "\n"),
            plain({ { 50, 0 }, { 4, 41 } }, options))
        assert.is_truthy(plain({ { 0.5, NAN } }, { numbers = true }):find "0.5█.*nan")
    end)

    it("stays in a narrow terminal: panels below one another, labels from above down", function()
        local text = plain(heed.ones(3, 2, 6),
            { width = 16, x = { "aaaa", "b", "c", "d", "e", "f" } })
        for line in text:gmatch "[^\n]+" do assert.is_true(utf8.len(line) <= 16, line) end
        assert.equal(3, select(2, text:gsub("1 ██", "")))
    end)

    it("has a cell for each block where the terminal has no more, and says so", function()
        local values = heed.zeros(130, 100)
        values[{ 5, 7 }], values[{ 130, 100 }], values[{ 1, 100 }] = -3, 3, NAN
        local text = plain(values, { width = 30 })
        local lines = {}
        for line in (text .. "\n"):gmatch "(.-)\n" do
            assert.is_true(utf8.len(line) <= 30 or line:find "^each cell" ~= nil, line)
            lines[#lines + 1] = line
        end
        assert.equal("each cell is the strongest of 3 x 8", lines[#lines])
        assert.is_truthy(text:find "\n  1 +%?%?\n  4 ≡≡\n")
        assert.is_truthy(text:find "\n130 +██\n")
        local svg = heatmap(heed.rand(500, 450)):svg()
        assert.is_truthy(svg:find(">each cell is the strongest of 2 x 2<", 1, true))
        assert.equal(250 * 225, select(2, svg:gsub("<title>", "")))
        assert.is_truthy(plain(values, { width = 300 }):find "each cell is the strongest of 3 x 1$")
    end)

    it("says fewer digits before it leaves numbers out, and that before it merges", function()
        local shares = heed.zeros(10, 10, { dtype = "f64" }) + 5 / 83
        shares[{ {}, 10 }] = 10 / 98
        local text = plain(shares, { numbers = true })
        assert.equal("10 " .. (" 0.060▒"):rep(9) .. "  0.10█", text:match "([^\n]*)$")
        text = plain(shares, { numbers = true, width = 70 })
        assert.equal("10 " .. (" .060▒"):rep(9) .. "  .10█", text:match "([^\n]*)$")
        text = plain(shares, { numbers = true, width = 62 })
        assert.equal("numbers are left out: they need width = 63", text:match "([^\n]*)$")
        assert.is_truthy(text:find("\n10 ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒██\n", 1, true))
        assert.is_nil(plain(shares, { numbers = true, width = 63 }):find "left out")
        local counts = heed.range(1, 400):view(20, 20)
        text = plain(counts, { numbers = true })
        assert.equal("numbers are left out: they need width = 103", text:match "([^\n]*)$")
        assert.equal(43, utf8.len(text:match "\n(20 [^\n]*)\n"))
        assert.is_nil(plain(counts, { numbers = true, width = 103 }):find "left out")
        assert.equal("each cell is the strongest of 1 x 2; numbers are left out: they need width = "
            .. "243", plain(heed.zeros(20, 60) + 10, { numbers = true }):match "([^\n]*)$")
        assert.equal("each cell is the strongest of 2 x 1; numbers are left out",
            plain(heed.zeros(61, 2), { numbers = true }):match "([^\n]*)$")
    end)

    it("has as many digits as one wants", function()
        assert.equal("       1      2\n1  0.060▒  0.10█",
            plain({ { 5 / 83, 10 / 98 } }, { numbers = true, digits = 2 }))
        assert.equal("          1         2\n1  0.060241▒  0.10204█",
            plain({ { 5 / 83, 10 / 98 } }, { numbers = true, digits = 5 }))
        assert.equal("        1       2\n1  0.0602▒  0.102█", plain({ { 5 / 83, 10 / 98 } },
            { numbers = true, digits = 5, width = 19 }))
        assert.equal("        1       2\n1  123456▒   1e-9",
            plain({ { 123456, 1e-9 } }, { numbers = true, digits = 2, max = 300000 }))
        local _, hints, texts = drawn({ { 5 / 83 } }, { numbers = true, digits = 2 })
        assert.is_truthy(table.concat(texts, "|"):find("|0.060|", 1, true))
        assert.same({ "1 → 1: 0.06024" }, hints)
        _, hints = drawn({ { 5 / 83 } }, { digits = 6 })
        assert.same({ "1 → 1: 0.060241" }, hints)
    end)

    it("says whole numbers whole where they fit", function()
        local values, whole = { { 1000000, -2 ^ 53 }, { 3, 123456 } }, { numbers = true }
        assert.equal("                   1                  2\n"
            .. "1            1000000  -9007199254740992≡\n2                  3             123456",
            plain(values, whole):match "^(.-)\n\n")
        assert.equal("-9007199254740992 ≡≡══──·· 0 ░░▒▒▓▓██ 9007199254740992",
            plain(values, whole):match "([^\n]*)$")
        local text = plain({ { 1234567, 123456.7 }, { 3, 2 ^ 60 } }, { numbers = true, width = 20 })
        for _, short in ipairs { " 1.23e6 ", " 123457\n", " 3 ", " 1.15e18█" } do
            assert.is_truthy(text:find(short, 1, true), text)
        end
        local _, _, texts = drawn(values, whole)
        local all = table.concat(texts, "|")
        assert.is_truthy(all:find("|1000000|-9007199254740992|3|123456|", 1, true), all)
        assert.is_nil(all:find "e")
        assert.is_truthy(plain({ { 12345.67 } }, whole):find "12346")
    end)

    it("takes bounds, tables, booleans, and nothing at all", function()
        assert.equal("  1 2\n1 ▒▒██", plain({ { 11, 12 } }, { min = 10, max = 12 }))
        assert.equal("  1 2\n1 ██", plain(heed.tensor { { true, false } }))
        assert.equal("  1 2\n1", plain { { 0, 0 } })
        for _, shape in ipairs { { 0, 3 }, { 3, 0 }, { 0, 0 }, { 0, 2, 2 } } do
            assert.is_string(plain(heed.zeros(shape)))
            xml.elements(heatmap(heed.zeros(shape)):svg())
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heatmap(5) end,
            "heed.viz.heatmap: values: expected a tensor or a table of rows, got 5")
        assert.error_matches(function() heatmap { 1, 2 } end,
            "values: expected %[R, C%] or %[P, R, C%], got %[2%]")
        assert.error_matches(function() heatmap { { 1 }, { 1, 2 } } end,
            "heed.viz.heatmap: values: expected")
        assert.error_matches(function() heatmap({ { 1 } }, { x = { "a", "b" } }) end,
            "x: expected 1 labels, got 2")
        assert.error_matches(function() heatmap({ { 1 } }, { min = 2, max = 1 }) end,
            "min: expected less than max %(1%), got 2")
        assert.error_matches(function() heatmap({ { 1 } }, { numbers = "yes" }) end,
            'numbers: expected a boolean, got "yes"')
        assert.error_matches(function() heatmap({ { 1 } }, { color = true }) end,
            'there is no option "color"')
        for name, hint in pairs { labels = "labels are x, those of the columns, and y, those of "
            .. "the rows", xticklabels = "it is x", vmax = "it is max", fmt = "it is digits" } do
            assert.error_matches(function() heatmap({ { 1 } }, { [name] = {} }) end,
                ('heed.viz.heatmap: options: there is no option "%s"; %s$'):format(name, hint))
        end
        assert.error_matches(function() heatmap({ { 1 } }, { digits = 0 }) end,
            "digits: expected an integer of at least 1, got 0")
        assert.error_matches(function() heatmap({ { 1 } }, { digits = 18 }) end,
            "digits: expected at most 17, got 18")
    end)
end)

describe("viz.heatmap as SVG", function()
    it("has a cell for each number, zeros too, those below 0 in their own colour", function()
        local cells, hints = drawn({ { -2, 0 }, { 1, NAN } }, { x = "ab", y = "cd" })
        assert.same({ "c → a: -2", "c → b: 0", "d → a: 1", "d → b: nan" }, hints)
        assert.same({ "heed-negative", nil, nil, "heed-nan" },
            { cells[1].class, cells[2].class, cells[3].class, cells[4].class })
        assert.same({ "1", "0", "0.5" }, { cells[1]["fill-opacity"], cells[2]["fill-opacity"],
            cells[3]["fill-opacity"] })
    end)

    it("says its bounds, its caption, and that something is no number", function()
        local _, _, texts = drawn({ { 1.5, NAN } }, { title = "T", caption = "what one sees here" })
        local all = table.concat(texts, "|")
        assert.equal("T|1|1|2|0|1.5|no number|what one sees here", all)
        _, _, texts = drawn { { -1, 3 } }
        assert.equal("1|1|2|-3|3", table.concat(texts, "|"))
    end)

    it("writes numbers into cells that are wide enough for them", function()
        local cells, _, texts = drawn({ { 123456, 1 } }, { numbers = true })
        assert.is_true(tonumber(cells[1].width) > 6 * 7)
        assert.is_truthy(table.concat(texts, "|"):find("|123456|1|", 1, true))
    end)

    it("wraps a long caption inside its width", function()
        local _, _, _, all = drawn({ { 1 } }, { caption = ("word "):rep(60) })
        local lines = 0
        for _, element in ipairs(all) do
            if element.name == "text" and element.text:find "word" then
                lines = lines + 1
                assert.is_true(#element.text * 6.6 <= tonumber(all[1].attributes.width))
            end
        end
        assert.is_true(lines > 2)
    end)

    it("shows exact numbers on a page", function()
        if not browser.path() then return pending "no chromium here" end
        local html = heatmap({ { -1234, 0 }, { 0.123456, NAN } },
            { x = "ab", y = "cd", numbers = true }):html()
        assert.same({ "c → a: -1234", "c → b: 0", "d → a: 0.1235", "d → b: nan" },
            browser.run(html, [=[
            var panel = document.querySelector(".heed-panel");
            var at = panel.dataset.at.split(" ").map(Number);
            [[0, 0], [0, 1], [1, 0], [1, 1]].forEach(function (cell) {
                var x = panel.getScreenCTM().e + at[0] + (cell[1] + 0.5) * at[2];
                var y = panel.getScreenCTM().f + at[1] + (cell[0] + 0.5) * at[2];
                document.elementFromPoint(x, y).dispatchEvent(new PointerEvent("pointermove",
                    { clientX: x, clientY: y, bubbles: true }));
                report(document.querySelector(".heed-box").textContent);
            });
        ]=]))
    end)
end)
