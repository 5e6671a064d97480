local browser = require "spec.support.browser"
local heed = require "heed"
local svg = require "heed.viz.svg"

local nn = heed.nn
local CAUSAL = heed.tensor { { 1.0, 0.0, 0.0 }, { 0.5, 0.5, 0.0 }, { 0.25, 0.25, 0.5 } }
local WORDS = { "The", "cat", "sat" }

local function with_browser(what, run)
    it(what, function()
        if not browser.path() then return pending "no chromium here" end
        run()
    end)
end

-- Functions for scripts: `over` puts the pointer on a cell (from 0) of a panel, `shown` is what the
-- page says then.
local HANDS = [[
    function panels() { return document.querySelectorAll(".heed-panel"); }
    function point(x, y) {
        var under = document.elementFromPoint(x, y) || document.body;
        under.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
    }
    function over(p, i, j) {
        var panel = panels()[p], at = panel.dataset.at.split(" ").map(Number);
        function x() { return panel.getScreenCTM().e + at[0] + (j + 0.5) * at[2]; }
        function y() { return panel.getScreenCTM().f + at[1] + (i + 0.5) * at[2]; }
        panel.closest("figure").scrollLeft += x() - innerWidth / 2;
        scrollBy(0, y() - innerHeight / 2);
        point(x(), y());
    }
    function press(key, more) {
        var options = Object.assign({ key: key, bubbles: true }, more);
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", options));
    }
    var box = document.querySelector(".heed-box");
    function shown() { return getComputedStyle(box).visibility === "visible" ? box.textContent : "nothing"; }
    function text(node) { return node.textContent; }
    function lit() { return Array.from(document.querySelectorAll(".heed-lit")).map(text).join(" "); }
]]

describe("a page of attention in a browser", function()
    with_browser("shows the number of the cell under the pointer, and lights its words", function()
        local odd = heed.tensor { { { 0 / 0, 0.0, 0.0 }, { 0.125, 2.0, 0.0 },
            { 0.0, 0.0, 1 / 3 } } }
        local html = heed.viz.attention(heed.cat { CAUSAL:view(1, 3, 3), odd },
            { x = WORDS, y = { "<b>", "&", "שלום" } }):html()
        assert.are.same({ "nothing", "<b> → The: 1.000", "<b> The", "שלום → cat: 0.250", "שלום cat",
            "<b> → sat: 0.000",
            "<b> → The: nan", "& → cat: 2.000", "שלום → sat: 0.333", "שלום sat", "nothing", "0" }, browser.run(html, HANDS .. [[
                report(shown());
                over(0, 0, 0); report(shown()); report(lit());
                over(0, 2, 1); report(shown()); report(lit());
                over(0, 0, 2); report(shown());
                over(1, 0, 0); report(shown());
                over(1, 1, 1); report(shown());
                over(1, 2, 2); report(shown()); report(lit());
                point(5, 5); report(shown());
                report(document.querySelectorAll(".heed-mark,.heed-lit").length);
            ]]))
    end)

    with_browser("goes by keys from panel to panel and from cell to cell", function()
        local html = heed.viz.attention(heed.cat { CAUSAL:view(1, 3, 3), CAUSAL:view(1, 3, 3) },
            { x = WORDS, y = WORDS }):html()
        assert.are.same({ "2 0 0 img head 2", "The → The: 1.000", "cat → The: 0.500",
            "cat → cat: 0.500", "cat → sat: 0.000",
            "cat → sat: 0.000", "cat → The: 0.500", "The → The: 1.000", "nothing",
                "cat → The: 0.500", "nothing",
            "cat → The: 0.500", "cat → The: 0.500" }, browser.run(html, HANDS .. [[
                var all = panels();
                report(all.length, all[0].tabIndex, all[1].tabIndex, all[1].getAttribute("role"), all[1].getAttribute("aria-label"));
                all[0].focus(); report(shown());
                ["ArrowDown", "ArrowRight", "End", "ArrowRight", "Home", "ArrowUp", "Escape", "ArrowDown"].forEach(function (key) {
                    press(key); report(shown());
                });
                all[0].blur(); report(shown());
                all[0].focus(); report(shown());
                press("ArrowDown", { ctrlKey: true }); report(shown());
            ]]))
    end)

    with_browser("keeps the number inside the window", function()
        local long = {}
        for i = 1, 40 do long[i] = ("Donaudampfschifffahrtsgesellschaft%d"):format(i) end
        local html = heed.viz.attention(heed.full({ 40, 40 }, 1 / 40),
            { x = long, y = long }):html()
        local lines = browser.run(html, HANDS .. [=[
            [[0, 0], [39, 39], [0, 39], [39, 0], [20, 20]].forEach(function (cell) {
                over(0, cell[0], cell[1]);
                var at = box.getBoundingClientRect();
                var inside = at.left >= 0 && at.top >= 0 && at.right <= innerWidth && at.bottom <= innerHeight;
                report(inside, shown());
            });
        ]=], { width = 700, height = 500 })
        assert.are.equal(5, #lines)
        for _, line in ipairs(lines) do
            assert.is_truthy(line:find "^true Donau.*: 0%.025$", line)
        end
        -- The words stand there whole, although beside the cells they are cut.
        assert.is_truthy(lines[2]:find("gesellschaft40 → Donaudampfschifffahrtsgesellschaft40:", 1,
            true))
    end)

    with_browser("is light or dark as the reader's screen is", function()
        local html = heed.viz.attention(CAUSAL, { x = WORDS, y = WORDS }):html()
        local script = [[
            function brightness(value) {
                return value.match(/[\d.]+/g).slice(0, 3).reduce(function (a, b) { return +a + +b; }, 0) / 765;
            }
            var style = function (selector) { return getComputedStyle(document.querySelector(selector)); };
            report(brightness(style("body").backgroundColor), brightness(style("h1").color), brightness(style(".heed-ground").fill),
                brightness(style(".heed-y text").fill), brightness(style(".heed-box").backgroundColor),
                brightness(style(".heed-box").color));
        ]]
        for _, dark in ipairs { false, true } do
            local light = {}
            for number in browser.run(html, script, { dark = dark })[1]:gmatch "%S+" do
                light[#light + 1] = tonumber(number)
            end
            local page, heading, ground, label, box, in_box = table.unpack(light)
            if dark then
                page, heading, ground, label, box, in_box = 1 - page, 1 - heading, 1 - ground,
                    1 - label, 1 - box, 1 - in_box
            end
            assert.is_true(page > 0.85 and ground > 0.85 and in_box > 0.85,
                dark and "dark" or "light")
            assert.is_true(heading < 0.2 and label < 0.2 and box < 0.2, dark and "dark" or "light")
        end
    end)
end)

-- What may not be: text outside its drawing, lines of words on one another or on a title, panels on
-- one another.
local LAYOUT = [[
    document.querySelectorAll("iframe").forEach(function (frame) {
        var page = frame.contentDocument, found = [];
        function rect(node) { return node.getBoundingClientRect(); }
        function meet(a, b) { return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; }
        page.querySelectorAll("svg").forEach(function (svg) {
            var whole = rect(svg);
            svg.querySelectorAll("text").forEach(function (text) {
                var at = rect(text);
                var inside = at.left > whole.left - 1 && at.right < whole.right + 1;
                if (!inside || at.top < whole.top - 1 || at.bottom > whole.bottom + 1) {
                    found.push("outside: " + text.textContent);
                }
            });
            var panels = Array.from(svg.querySelectorAll(".heed-panel"));
            panels.forEach(function (panel, p) {
                var frame = rect(panel.querySelector(".heed-line")), title = panel.querySelector(":scope > text");
                var rows = Array.from(panel.querySelectorAll(".heed-y text")), columns = panel.querySelectorAll(".heed-x text");
                rows.forEach(function (text, i) {
                    if (rect(text).right > frame.left + 1) found.push("on its cells: " + text.textContent);
                    if (i > 0 && rect(text).top - rect(rows[i - 1]).top < 10.5) found.push("on one another: " + text.textContent);
                });
                columns.forEach(function (text) {
                    if (rect(text).bottom > frame.top + 4) found.push("on its cells: " + text.textContent);
                    if (title && meet(rect(title), rect(text))) found.push("on a title: " + text.textContent);
                });
                panels.slice(0, p).forEach(function (other) {
                    if (meet(rect(panel), rect(other))) found.push("panels on one another");
                });
            });
        });
        found = found.length ? found.join("; ") : "in order";
        report(page.title + ": " + page.querySelectorAll(".heed-panel").length + " panels, " + found);
    });
]]

describe("the layout of pages, in a browser", function()
    local function words(text)
        local list = {}
        for word in text:gmatch "%S+" do list[#list + 1] = word end
        return list
    end

    local function weights(heads, length, keys)
        return heed.randn(heads, length, keys):softmax(-1)
    end

    with_browser("has no words outside, on one another or on cells", function()
        local sentence = words "The report that was written yesterday is on the table ."
        local long = words("Donaudampfschifffahrtsgesellschaftskapitän und "
            .. "Rindfleischetikettierungsüberwachungsaufgabe a WWWWWWWWWWWWWWWWW")
        local hebrew, japanese = words "הספר נמצא על השולחן שלנו ، كتاب",
            words "本 は 机 の 上 に 日本語日本語日本語 😀😀 。"
        local sixty = {}
        for i = 1, 60 do sixty[i] = sentence[(i - 1) % #sentence + 1] end
        local pages = {
            heed.viz.attention(weights(1, 11, 11), { x = sentence, y = sentence, title = "one" }),
            heed.viz.attention(weights(8, 11, 11), { x = sentence, y = sentence, title = "eight" }),
            heed.viz.attention(weights(4, #long, #long), { x = long, y = long, title = "long" }),
            heed.viz.attention(weights(2, 60, 60), { x = sixty, y = sixty, title = "sixty" }),
            heed.viz.attention(weights(4, #japanese, #hebrew),
                { x = hebrew, y = japanese, title = "wide" }),
            heed.viz.attention(weights(4, #hebrew, #japanese),
                { x = japanese, y = hebrew, title = "turned" }),
            heed.viz.attention(weights(1, 1, 1), { x = { "Hallo" }, y = { "Hello" },
                title = "token" }),
            heed.viz.attention(weights(1, 200, 3), { title = "tall" }),
            heed.viz.attention(weights(1, 3, 200), { title = "flat" }),
        }
        local model = nn.TransformerEncoder(12, 24, 12, 16):eval()
        for title, list in pairs { ["12 x 12"] = sentence, ["model of long"] = long } do
            local seen <close> = heed.capture(model, title ~= "12 x 12" and { layers = { 1 } }
                or nil)
            model(heed.randn(1, #list, 24), { mask = heed.mask.causal() })
            pages[#pages + 1] = heed.viz.attention(seen, { x = list, y = list, title = title })
        end
        local frames = {}
        for p, page in ipairs(pages) do
            frames[p] = ('<iframe width="1000" height="400" srcdoc="%s"></iframe>'):format(
                svg.escape((page:html():gsub("\n", " "))))
        end
        local lines = browser.run("<html><head></head><body>" .. table.concat(frames)
            .. "</body></html>", LAYOUT)
        assert.are.equal(#pages, #lines)
        for _, line in ipairs(lines) do
            assert.is_truthy(line:find ": %d+ panels, in order$", line)
        end
        assert.are.equal("eight: 8 panels, in order", lines[2])
        assert.is_truthy(table.concat(lines, "\n"):find("12 x 12: 144 panels, in order", 1, true))
    end)

    with_browser("takes the SVG as a picture", function()
        local picture = heed.viz.attention(CAUSAL, { x = { "<&>", "שלום", "日本" }, y = WORDS,
            title = "\"it's\"" })
        local data = picture:svg():gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end)
        local page = ('<html><head></head><body><img src="data:image/svg+xml,%s"></body></html>'):format(data)
        local width, height = picture:svg():match 'width="([%d.]+)" height="([%d.]+)"'
        assert.are.same({ ("true %.0f %.0f"):format(width, height) }, browser.run(page, [[
            var image = document.querySelector("img");
            report(image.complete, image.naturalWidth, image.naturalHeight);
        ]]))
    end)
end)
