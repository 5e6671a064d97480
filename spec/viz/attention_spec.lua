local heed = require "heed"
local shell = require "spec.support.shell"
local xml = require "spec.support.xml"

local WORDS = { "The", "cat", "sat" }
local CAUSAL = heed.tensor { { 1.0, 0.0, 0.0 }, { 0.5, 0.5, 0.0 }, { 0.25, 0.25, 0.5 } }

describe("viz.attention in the terminal", function()
    it("draws a row a query and a column a key", function()
        assert.are.equal(table.concat({
            "  d",
            "  e a c",
            "a ██",
            "b ▒▒▒▒",
            "c ░░░░▒▒" }, "\n"), tostring(heed.viz.attention(CAUSAL,
                { x = { "de", "a", "c" }, y = "abc" })))
    end)

    it("draws the heads side by side, numbers by default", function()
        local text = tostring(heed.viz.attention(heed.full({ 2, 1, 2 }, 0.5)))
        assert.are.equal("head 1   head 2\n  1 2      1 2\n1 ▒▒▒▒   1 ▒▒▒▒", text)
        assert.are.equal(text, tostring(heed.viz.attention(heed.full({ 1, 2, 1, 2 }, 0.5))))
    end)

    it("begins a new row where the width ends", function()
        local text = tostring(heed.viz.attention(heed.full({ 3, 1, 2 }, 0.5), { width = 15 }))
        assert.are.equal("head 1   head 2\n  1 2      1 2\n1 ▒▒▒▒   1 ▒▒▒▒\n\nhead 3\n  1 2\n1 ▒▒▒▒", text)
        local narrow = tostring(heed.viz.attention(heed.full({ 2, 1, 2 }, 0.5), { width = 1 }))
        assert.are.equal("head 1\n  1 2\n1 ▒▒▒▒\n\nhead 2\n  1 2\n1 ▒▒▒▒", narrow)
    end)

    it("draws batches, titles, panels of other names, and the darkest weight that is asked for",
        function()
        local text = tostring(heed.viz.attention(heed.full({ 2, 1, 1, 1 }, 0.5),
            { title = "Two", max = 0.5 }))
        assert.are.equal("Two\n\n1, head 1   2, head 1\n  1           1\n1 ██        1 ██", text)
        text = tostring(heed.viz.attention(heed.full({ 1, 1 }, 2), { panels = { "all" } }))
        assert.are.equal("all\n  1\n1 ██", text)
    end)

    it("shows what is no number, and nothing where there is nothing", function()
        assert.are.equal("  1 2\n1 ??██",
            tostring(heed.viz.attention(heed.tensor { { 0 / 0, math.huge } })))
        assert.are.equal("", tostring(heed.viz.attention(heed.zeros(0, 2, 2))))
    end)

    it("keeps its columns with wide characters and long labels", function()
        local text = tostring(heed.viz.attention(heed.ones(2, 2),
            { x = { "日本", "ab" }, y = { ("x"):rep(40), "日" } }))
        local rows = {}
        for line in text:gmatch "[^\n]+" do rows[#rows + 1] = line end
        assert.are.equal(4, #rows)
        assert.are.equal(("x"):rep(17) .. "… ████", rows[3])
        assert.are.equal((" "):rep(16) .. "日 ████", rows[4])
        assert.are.equal((" "):rep(19) .. "日a", rows[1])
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.viz.attention(heed.ones(2, 2), { x = { "a" } }) end,
            "x: expected 2 labels, got 1")
        assert.error_matches(function()
            heed.viz.attention(heed.ones(2, 2), { panels = { "a", "b" } })
        end,
            "panels: expected 1 labels, got 2")
        assert.error_matches(function() heed.viz.attention(5) end,
            "expected a tensor of numbers, got 5")
        assert.error_matches(function() heed.viz.attention(heed.ones(2, 2):gt(0)) end,
            "expected a tensor of numbers, got bool tensor")
        assert.error_matches(function() heed.viz.attention(heed.ones(2)) end, "expected %[L, S%]")
        assert.error_matches(function() heed.viz.attention(heed.ones(2, 2)):svg(5) end,
            "viz.attention:svg: path: expected a string")
    end)
end)

describe("viz.attention as SVG", function()
    local function drawn(weights, options)
        local cells, texts, all = {}, {}, xml.elements(heed.viz.attention(weights, options):svg())
        for _, element in ipairs(all) do
            if element.parent and (element.parent.attributes.class or ""):find "heed%-cells" then
                cells[#cells + 1] = element
            end
            if element.name == "text" then texts[#texts + 1] = element.text end
        end
        return cells, texts, all
    end

    -- What the pointer shows over a cell.
    local function hints(all)
        local list = {}
        for _, element in ipairs(all) do
            if element.name == "title" and element.parent.name == "rect" then
                list[#list + 1] = element.text
            end
        end
        return list
    end

    it("has a cell for each weight that is not 0, its number under the pointer", function()
        local cells, _, all = drawn(CAUSAL, { x = WORDS, y = WORDS })
        assert.are.same({ "The → The: 1.000", "cat → The: 0.500", "cat → cat: 0.500",
            "sat → The: 0.250", "sat → cat: 0.250",
            "sat → sat: 0.500" }, hints(all))
        assert.are.equal("1", cells[1].attributes["fill-opacity"])
        assert.are.equal("0.25", cells[4].attributes["fill-opacity"])
        -- Queries go down, keys to the right.
        assert.is_true(tonumber(cells[2].attributes.y) > tonumber(cells[1].attributes.y))
        assert.are.equal(cells[1].attributes.x, cells[2].attributes.x)
        assert.is_true(tonumber(cells[3].attributes.x) > tonumber(cells[2].attributes.x))
    end)

    it("has a panel a head with the words along both sides", function()
        local _, texts = drawn(heed.full({ 4, 3, 3 }, 1 / 3),
            { x = WORDS, y = WORDS, title = "Four heads" })
        local count = {}
        for _, text in ipairs(texts) do count[text] = (count[text] or 0) + 1 end
        assert.are.equal(8, count.cat)
        assert.are.equal(1, count["Four heads"])
        for h = 1, 4 do assert.are.equal(1, count["head " .. h]) end
    end)

    it("keeps panels apart, within its size", function()
        local _, _, all = drawn(heed.full({ 30, 3, 3 }, 1 / 3), { x = WORDS, y = WORDS })
        local width, height = tonumber(all[1].attributes.width), tonumber(all[1].attributes.height)
        assert.is_true(width <= 960)
        local places = {}
        for _, element in ipairs(all) do
            if element.name == "g" and element.parent == all[1] then
                local x, y = element.attributes.transform:match "translate%(([%d.]+) ([%d.]+)%)"
                assert.is_nil(places[x .. "," .. y])
                places[x .. "," .. y] = true
                assert.is_true(tonumber(x) < width and tonumber(y) < height)
            end
        end
    end)

    it("follows the reader's screen", function()
        local text = heed.viz.attention(CAUSAL):svg()
        assert.is_truthy(text:find("@media(prefers-color-scheme:dark)", 1, true))
        assert.is_truthy(text:find('^<%?xml version="1.0" encoding="UTF%-8"%?>\n<svg '
            .. 'xmlns="http://www.w3.org/2000/svg"'))
    end)

    it("takes labels of any bytes", function()
        local labels = { "<b>&\"'", "日本語", "a\0\27[31m\n" }
        local _, texts, all = drawn(CAUSAL, { x = labels, y = labels, title = "</svg>" })
        assert.are.equal("</svg>", texts[1])
        assert.are.equal("</svg>", all[1].attributes["aria-label"])
        assert.are.equal("<b>&\"' → <b>&\"': 1.000", hints(all)[1])
        assert.are.equal("a··[31m·", texts[4])
        drawn(heed.ones(1, 1), { x = { "\xff\xfe" }, y = { "\u{FFFF}" } })
    end)

    it("marks what is no number", function()
        local cells = drawn(heed.tensor { { 0 / 0, 5.0 } })
        assert.is_truthy(cells[1].attributes.class:find "heed%-nan")
        assert.are.equal("1", cells[2].attributes["fill-opacity"])
    end)

    it("thins out the labels of many rows", function()
        local _, texts = drawn(heed.full({ 100, 100 }, 0.01))
        assert.is_true(#texts > 40 and #texts < 120)
    end)

    it("writes files, or says why not", function()
        local picture, path = heed.viz.attention(CAUSAL, { x = WORDS, y = WORDS }), os.tmpname()
        assert.is_true(picture:svg(path))
        assert.are.equal(picture:svg(), shell.read(path))
        assert.is_true(picture:html(path))
        assert.are.equal(picture:html(), shell.read(path))
        os.remove(path)
        for _, format in ipairs { "svg", "html" } do
            local ok, message = picture[format](picture, "/nowhere/picture")
            assert.is_nil(ok)
            assert.is_truthy(message:find "/nowhere/picture")
        end
    end)
end)

describe("viz.attention as a page", function()
    it("is one HTML file with the picture in it", function()
        local text = heed.viz.attention(CAUSAL, { x = WORDS, y = WORDS, title = "A <cat>" }):html()
        local elements = xml.elements(text, { "meta" })
        local count = {}
        for _, element in ipairs(elements) do
            count[element.name] = (count[element.name] or 0) + 1
            if element.name == "h1" then assert.are.equal("A <cat>", element.text) end
            assert.is_nil(element.attributes.href or element.attributes.src)
        end
        assert.are.equal(1, count.svg)
        assert.are.equal(1, count.style)
        assert.is_truthy(text:find("prefers-color-scheme:dark", 1, true))
    end)
end)
