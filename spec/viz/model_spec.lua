local heed = require "heed"
local xml = require "spec.support.xml"

local nn = heed.nn
local SRC, TGT = { "das", "<Buch>", "&", "\"hier\"" }, { "the", "b'ook", "here" }
local PATHS = { "encoder.layers.1.self_attn", "encoder.layers.2.self_attn",
    "decoder.layers.1.self_attn",
    "decoder.layers.1.multihead_attn", "decoder.layers.2.self_attn",
        "decoder.layers.2.multihead_attn" }

-- A capture of a translator that has read one sentence, or `batch` of them, and wrote another.
local function translator(batch, options)
    local model = nn.Transformer { src_vocab = 10, tgt_vocab = 10, d_model = 12, num_heads = 3,
        num_layers = 2, d_ff = 8 }:eval()
    local seen = heed.capture(model, options)
    local src, tgt = {}, {}
    for b = 1, batch or 1 do src[b], tgt[b] = { 3, 4, 5, b + 5 }, { 2, 6, b + 6 } end
    model(src, tgt)
    seen:close()
    return seen
end

-- A capture of an encoder.
local function encoder(layers, heads, length, options)
    local model = nn.TransformerEncoder(layers, 2 * heads, heads, 4):eval()
    local seen = heed.capture(model, options)
    model(heed.randn(1, length, 2 * heads))
    seen:close()
    return seen
end

local function texts_of(elements, name)
    local list = {}
    for _, element in ipairs(elements) do
        if element.name == name then list[#list + 1] = element.text end
    end
    return list
end

local function count_of(list)
    local count = {}
    for _, text in ipairs(list) do count[text] = (count[text] or 0) + 1 end
    return count
end

local function split(text, separator)
    local list = {}
    for part in (text .. separator):gmatch("(.-)" .. separator) do list[#list + 1] = part end
    return list
end

-- What the script of a page shows over a panel's cells, but for zeros.
local function add_numbers(panel, list)
    local words = panel.parent.attributes
    local x, y = split(words["data-x"], "\n"), split(words["data-y"], "\n")
    for i, row in ipairs(split(panel.attributes["data-weights"], ";")) do
        for j, number in ipairs(split(row, ",")) do
            if number ~= "" then
                list[#list + 1] = ("%s → %s: %.3f"):format(y[i], x[j], tonumber(number))
            end
        end
    end
end

-- By module path, in order: the paths; the texts of each section's drawing; and what the pointer
-- shows there.
local function sections_of(html)
    local headings, texts, hints = {}, {}, {}
    for _, element in ipairs(xml.elements(html, { "meta" })) do
        if element.name == "h2" then
            headings[#headings + 1], texts[element.text], hints[element.text] = element.text, {}, {}
        end
        local here = headings[#headings]
        if here and element.name == "text" then table.insert(texts[here], element.text) end
        if element.attributes["data-weights"] then add_numbers(element, hints[here]) end
    end
    return headings, texts, hints
end

describe("viz.attention of a capture, as a page", function()
    local seen = translator()
    local html = heed.viz.attention(seen, { src = SRC, tgt = TGT, title = "A & <B>" }):html()
    local headings, texts, hints = sections_of(html)

    it("heads each module with its path, in the model's order", function()
        assert.are.same(PATHS, headings)
        assert.are.same({ "A & <B>" }, texts_of(xml.elements(html, { "meta" }), "h1"))
    end)

    it("has every head of every module", function()
        for _, path in ipairs(PATHS) do
            local count = count_of(texts[path])
            for h = 1, 3 do assert.are.equal(1, count["head " .. h], path) end
            assert.is_nil(count["head 4"])
        end
    end)

    it("has the words of the source and of what is written on their sides", function()
        -- In each of three heads: encoder on both sides, cross-attention along the top, and in the
        -- decoder itself nowhere.
        for i, times in ipairs { 6, 6, 0, 3, 0, 3 } do
            local count = count_of(texts[PATHS[i]])
            for _, word in ipairs(SRC) do assert.are.equal(times, count[word] or 0, PATHS[i]) end
            for _, word in ipairs(TGT) do
                assert.are.equal(6 - times, count[word] or 0, PATHS[i])
            end
        end
    end)

    it("shows each module's own numbers under the pointer", function()
        for _, path in ipairs(PATHS) do
            local keys = path:find "decoder.*self" and TGT or SRC
            local queries = path:find "^encoder" and SRC or TGT
            local expected = {}
            for _, head in ipairs(seen[path][1]:totable()) do
                for i, row in ipairs(head) do
                    for j, weight in ipairs(row) do
                        if weight ~= 0 then
                            expected[#expected + 1] = ("%s → %s: %.3f"):format(queries[i], keys[j],
                                weight)
                        end
                    end
                end
            end
            assert.are.same(expected, hints[path])
        end
    end)

    it("needs no other file, and follows the reader's screen", function()
        for _, element in ipairs(xml.elements(html, { "meta" })) do
            assert.is_nil(element.attributes.href or element.attributes.src)
        end
        assert.is_truthy(html:find("prefers-color-scheme:dark", 1, true))
    end)

    it("shows one sequence of a batch, and says so", function()
        local several = translator(2)
        local _, _, first = sections_of(heed.viz.attention(several):html())
        local paths, _, second = sections_of(heed.viz.attention(several, { batch = 2 }):html())
        assert.are.equal(PATHS[1] .. ", sequence 2 of 2", paths[1])
        local weight = several[PATHS[1]]:totable()[2][1][1][1]
        assert.are.equal(("1 → 1: %.3f"):format(weight), second[paths[1]][1])
        assert.are_not.same(first[PATHS[1] .. ", sequence 1 of 2"], second[paths[1]])
    end)

    it("names heads and rows that were chosen by their numbers in the model", function()
        local some = translator(1, { heads = { 1, 3 }, rows = { 3 }, layers = { "encoder" } })
        local paths, labels = sections_of(heed.viz.attention(some):html())
        assert.are.same({ PATHS[1], PATHS[2] }, paths)
        assert.are.same({ "head 1", "3", "1", "2", "3", "4", "head 3", "3", "1", "2", "3", "4" },
            labels[PATHS[1]])
        local _, words = sections_of(heed.viz.attention(some, { src = SRC }):html())
        assert.are.equal("&", words[PATHS[1]][2])
        some = translator(1, { rows = { -1, 2 }, layers = { "encoder" } })
        _, words = sections_of(heed.viz.attention(some, { src = SRC }):html())
        assert.are.same({ "\"hier\"", "<Buch>" }, { words[PATHS[1]][2], words[PATHS[1]][3] })
    end)

    it("takes labels for all modules, or by their paths", function()
        local _, labels = sections_of(heed.viz.attention(encoder(1, 1, 2),
            { x = "ab", y = { "c", "d" } }):html())
        assert.are.same({ "head 1", "c", "d", "a", "b" }, labels["layers.1.self_attn"])
        _, labels = sections_of(heed.viz.attention(seen,
            { x = { [PATHS[1]] = "wxyz" }, src = SRC }):html())
        assert.are.equal(3, count_of(labels[PATHS[1]]).w)
        assert.are.equal(3, count_of(labels[PATHS[1]]).das)
        assert.are.equal(6, count_of(labels[PATHS[2]]).das)
    end)
end)

describe("viz.attention of a capture, as SVG", function()
    it("has all modules below one another, within its size", function()
        local elements = xml.elements(heed.viz.attention(translator(),
            { src = SRC, tgt = TGT, title = "All" }):svg())
        local count = count_of(texts_of(elements, "text"))
        for _, path in ipairs(PATHS) do assert.are.equal(1, count[path]) end
        for h = 1, 3 do assert.are.equal(#PATHS, count["head " .. h]) end
        assert.are.equal(1, count.All)
        local width, height = tonumber(elements[1].attributes.width),
            tonumber(elements[1].attributes.height)
        assert.is_true(width <= 960)
        local lowest = 0
        for _, element in ipairs(elements) do
            if element.name == "g" and element.parent == elements[1] then
                local y = tonumber(element.attributes.transform:match "translate%(0 ([%d.]+)%)")
                assert.is_true(y > lowest and y < height)
                lowest = y
            end
        end
    end)

    it("fills rows of heads evenly, of large heads fewer, all with their labels", function()
        for length, in_row in pairs { [4] = 4, [30] = 2, [70] = 1 } do
            local heads = length == 4 and 8 or 2
            local elements = xml.elements(heed.viz.attention(encoder(1, heads, length)):svg())
            assert.is_true(tonumber(elements[1].attributes.width) <= 960)
            local first = 0
            for _, element in ipairs(elements) do
                if element.name == "g" and element.parent.name == "g"
                    and (element.attributes.transform or ""):find " 16%)$" then
                    first = first + 1
                end
            end
            assert.are.equal(in_row, first, length)
            local labels = count_of(texts_of(elements, "text"))
            if length == 30 then assert.are.equal(2 * heads, labels["17"]) end
        end
    end)
end)

describe("viz.attention of a capture, in the terminal", function()
    it("draws module after module", function()
        local text = tostring(heed.viz.attention(encoder(2, 2, 1),
            { x = "a", y = "b", title = "Two" }))
        assert.are.equal(table.concat({ "Two", "", "layers.1.self_attn", "", "head 1   head 2",
            "  a        a", "b ██     b ██", "",
            "layers.2.self_attn", "", "head 1   head 2", "  a        a", "b ██     b ██" }, "\n"),
                text)
    end)

    it("names what has no room, and stays bounded", function()
        local text = tostring(heed.viz.attention(encoder(40, 2, 3)))
        local _, lines = text:gsub("\n", "\n")
        assert.is_true(lines < 85)
        assert.is_truthy(text:find("\nlayers.8.self_attn  [2, 3, 3]\n", 1, true))
        assert.is_truthy(text:find("\n... and 13 more\n(:html(path) and :svg(path) show all)", 1,
            true))
        text = tostring(heed.viz.attention(encoder(1, 2, 50)))
        assert.are.equal("layers.1.self_attn  [2, 50, 50]\n(:html(path) and :svg(path) show all)",
            text)
    end)
end)

describe("viz.attention of a capture", function()
    it("teaches on misuse", function()
        local seen = translator()
        local function refuses(options, message)
            assert.error_matches(function() heed.viz.attention(seen, options) end, message)
        end
        refuses({ src = { "a" } }, "src: expected 4 labels for encoder.layers.1.self_attn, got 1")
        refuses({ x = { nowhere = "a" } }, "x: nothing was captured of a module nowhere")
        refuses({ batch = 2 }, "batch: expected at most 1, got 2")
        refuses({ batch = 0 }, "batch: expected")
        refuses({ max = 0 }, "max: expected")
        refuses({ title = 5 }, "title: expected a string")
        refuses({ panels = { "a" } }, "there is no option \"?panels")
        refuses({ tgt = 5 }, "tgt: expected a table")
        assert.error_matches(function() heed.viz.attention(heed.ones(2, 2), { src = "ab" }) end,
            "there is no option \"?src")
        assert.error_matches(function()
            heed.viz.attention(heed.capture(nn.TransformerEncoder(1, 4, 2, 4)))
        end,
            "expected a capture of a model that has run")
        local some = encoder(1, 1, 3, { rows = { 3 } })
        assert.error_matches(function() heed.viz.attention(some, { y = "ab" }) end,
            "y: expected a label for row 3 of layers")
    end)
end)
