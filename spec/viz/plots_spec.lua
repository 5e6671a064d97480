-- Pictures over axes: curve over x, scatter, histogram; and bars.

local heed = require "heed"
local xml = require "spec.support.xml"

local NAN = 0 / 0
local viz = heed.viz

local function lines_of(text)
    local lines = {}
    for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
    return lines
end

local function of_name(picture, name)
    local list = {}
    for _, element in ipairs(xml.elements(picture:svg())) do
        if element.name == name then list[#list + 1] = element end
    end
    return list
end

local function texts_of(picture)
    local list = {}
    for i, element in ipairs(of_name(picture, "text")) do list[i] = element.text end
    return list
end

local function hints_of(picture)
    local list = {}
    for i, element in ipairs(of_name(picture, "title")) do list[i] = element.text end
    return list
end

local function contains(list, wanted)
    for _, text in ipairs(list) do
        if text == wanted then return true end
    end
    return false
end

-- Every one of them, of numbers that mean trouble.
local TROUBLE = { {}, { 0 }, { NAN }, { math.huge, -math.huge }, { 1e308, -1e308 }, { 5e-324, 0 },
    { 3, 3, 3 },
    { math.maxinteger, math.mininteger }, { 1e16, 1e16 + 2 } }

describe("every plot", function()
    for name, draw in pairs {
        curve = viz.curve, bar = viz.bar, histogram = viz.histogram,
        scatter = function(values, options) return viz.scatter(values, values, options) end,
    } do
        it(name .. " draws numbers that mean trouble", function()
            for _, values in ipairs(TROUBLE) do
                for _, width in ipairs { 20, 80 } do
                    for _, line in ipairs(lines_of(tostring(draw(values, { width = width })))) do
                        -- Two numbers of 24 letters need their room.
                        assert.is_true(utf8.len(line) <= math.max(width, 60), line)
                    end
                end
                for _, element in ipairs(xml.elements(draw(values):svg())) do
                    for attribute, value in pairs(element.attributes) do
                        local is_number = not (value:find "nan" or value:find "inf")
                        assert.is_true(is_number or attribute == "class",
                            ("%s=%s"):format(attribute, value))
                    end
                end
            end
        end)

        it(name .. " has a title and a caption of one's own, of any bytes", function()
            local picture = draw({ 1, 2 }, { title = "<a>\27[31m", caption = "b\nc & \xff" })
            local lines = lines_of(tostring(picture))
            assert.equal("<a>·[31m", lines[1])
            assert.equal("b·c & ·", lines[#lines])
            local texts = texts_of(picture)
            assert.is_true(contains(texts, "<a>·[31m") and contains(texts, "b·c & ·"))
        end)

        it(name .. " knows its options and refuses what is no list of numbers", function()
            assert.error_matches(function() draw({ 1 }, { tilte = "x" }) end,
                "heed.viz." .. name .. ': options: .*"tilte"')
            assert.error_matches(function() draw({ 1 }, { title = 5 }) end,
                "heed.viz." .. name .. ": title: expected a string, got 5")
            assert.error_matches(function() draw { 1, "2" } end,
                "heed.viz." .. name .. ': %w+: expected numbers, got "2" at 2')
            assert.error_matches(function() draw({ 1 }, { width = 3 }) end,
                "width: expected an integer of at least 20, got 3")
        end)
    end

    it("has names for its axes", function()
        for _, picture in ipairs { viz.curve({ 1, 2 }, { x_name = "step", y_name = "loss" }),
            viz.scatter({ 1 }, { 2 }, { x_name = "step", y_name = "loss" }),
                viz.histogram({ 1 }, { x_name = "step", y_name = "loss" }) } do
            local text = tostring(picture)
            assert.is_truthy(text:find "^ +loss\n.*%d +step +%d+")
            assert.is_true(contains(texts_of(picture), "step")
                and contains(texts_of(picture), "loss"))
        end
    end)
end)

describe("viz.curve over x", function()
    it("places values where they are", function()
        local picture = viz.curve({ 1, 2, 3 }, { x = { 0, 9, 10 }, width = 40, height = 3 })
        local hints = hints_of(picture)
        assert.same({ "0: 1", "9: 2", "10: 3" }, hints)
        local spots = of_name(picture, "circle")
        local function at(i) return tonumber(spots[i].attributes.cx) end
        assert.near(9, (at(2) - at(1)) / (at(3) - at(2)), 0.01)
        local lines = lines_of(tostring(picture))
        assert.is_truthy(lines[#lines]:find "^ +0 +10$")
    end)

    it("tells large numbers that are close apart", function()
        local lines = lines_of(tostring(viz.curve(heed.tensor({ 1e8, 1e8 + 1 }, { dtype = "f64" }),
            { width = 40, height = 2 })))
        assert.is_truthy(lines[1]:find "^100000001 ┤")
        assert.is_truthy(lines[2]:find "^100000000 ┤")
    end)

    it("keeps the names of curves that end together apart, inside the picture", function()
        local picture = viz.curve { a = { 1, 0 }, b = { 1, 0 }, c = { 1, 0.001 } }
        local places, bottom = {}, 0
        for _, element in ipairs(of_name(picture, "text")) do
            local y = tonumber(element.attributes.y)
            if element.text:find "^[abc]$" then
                places[#places + 1] = y
            else
                bottom = math.max(bottom, y)
            end
        end
        table.sort(places)
        for i = 2, 3 do assert.is_true(places[i] - places[i - 1] >= 14) end
        assert.is_true(places[3] < bottom - 10)
    end)

    it("refuses an x that does not fit", function()
        assert.error_matches(function() viz.curve({ 1, 2 }, { x = { 1 } }) end,
            "x: expected a number for each of 2 values, got 1")
        assert.error_matches(function() viz.curve({ 1 }, { x = { NAN } }) end,
            "x: expected finite numbers, got %-?nan at 1")
    end)
end)

describe("viz.scatter", function()
    it("marks groups in the terminal, and names them", function()
        local text = tostring(viz.scatter({ 0, 1, 2 }, { 0, 1, 2 },
            { groups = { "b", "a", "b" }, width = 30, height = 3 }))
        local lines = lines_of(text)
        assert.is_truthy(lines[1]:find "○ +● a$")
        assert.is_truthy(lines[2]:find "● +○ b$")
        assert.is_truthy(lines[3]:find "○")
    end)

    it("has a point for each pair, coloured by group, numbers in order", function()
        local picture = viz.scatter(heed.tensor { 1, 2, 3 }, heed.tensor { 4, 5, NAN },
            { groups = heed.ids { 10, 2, 2 } })
        local points = {}
        for _, element in ipairs(of_name(picture, "circle")) do
            if element.attributes.class:find "heed%-point" then
                points[#points + 1] = element.attributes.class:match "fill%-%d"
            end
        end
        assert.same({ "fill-1", "fill-2" }, points)
        assert.same({ "2: 2, 5", "10: 1, 4" }, hints_of(picture))
        assert.is_true(contains(texts_of(picture), "1 of 3 points are not finite"))
        assert.is_truthy(tostring(picture):find "\n1 of 3 points are not finite$")
    end)

    it("draws one group in dots, and very many as one path", function()
        assert.is_truthy(tostring(viz.scatter(heed.rand(50),
            heed.rand(50))):find "[\u{2801}-\u{28FF}]")
        local picture = viz.scatter(heed.randn(30000), heed.randn(30000))
        assert.equal(0, #of_name(picture, "circle"))
        assert.equal(1, #of_name(picture, "path"))
        assert.is_true(#picture:svg() < 400000)
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() viz.scatter({ 1 }, { 1, 2 }) end,
            "y: expected as many as x %(1%), got 2")
        assert.error_matches(function() viz.scatter({ 1 }, { 1 }, { groups = { 1, 2 } }) end,
            "groups: expected 1 labels, got 2")
        assert.error_matches(function() viz.scatter(heed.ones(2, 2), { 1 }) end,
            "x: expected a vector of numbers, got f32 tensor %[2, 2%]")
    end)
end)

describe("viz.histogram", function()
    it("counts as numpy does: bins have their lower edge, the last its upper one too", function()
        local picture = viz.histogram({ 0, 0.5, 1, 1.5, 2, 2 }, { bins = 2 })
        assert.same({ 2, 4 }, picture.counts)
        assert.same({ 0, 1, 2 }, picture.edges)
        assert.same({ 3, 3, 4 }, viz.histogram({ 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 },
            { bins = 3, low = 0, high = 0.9 }).counts)
    end)

    it("puts a value on an edge above it, however edges round", function()
        for bins = 1, 60 do
            local edges = viz.histogram({ 0, 0.7 }, { bins = bins }).edges
            local counts = viz.histogram(edges, { bins = bins, low = 0, high = 0.7 }).counts
            for i = 1, bins - 1 do assert.equal(1, counts[i]) end
            assert.equal(2, counts[bins])
        end
    end)

    it("says what it leaves out", function()
        local picture = viz.histogram({ 1, NAN, 5, math.huge, 2 }, { low = 0, high = 3, bins = 3 })
        assert.same({ 0, 1, 1 }, picture.counts)
        assert.is_truthy(tostring(picture):find "\n1 of 5 are no numbers; 2 of 5 lie outside$")
        assert.is_true(contains(texts_of(picture), "1 of 5 are no numbers; 2 of 5 lie outside"))
    end)

    it("draws columns by eighths, no bin without a mark", function()
        local values = { 0.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5 }
        assert.equal(table.concat({ "8 ┤     █████", "  │     █████", "0 ┤▃▃▃▃▃█████",
            "  └───────────────", "   0             3" }, "\n"),
            tostring(viz.histogram(values, { bins = 3, low = 0, high = 3, width = 20,
                height = 3 })))
        assert.is_truthy(tostring(viz.histogram(heed.cat { heed.ones(10000), heed.tensor { 2 } },
            { bins = 2 })):find "▁")
    end)

    it("has a bar a bin, and takes tensors of any shape", function()
        local picture = viz.histogram(heed.rand(10, 10), { bins = 5, low = 0, high = 1 })
        local total, bars = 0, 0
        for _, element in ipairs(of_name(picture, "rect")) do
            if (element.attributes.class or ""):find "heed%-bar" then bars = bars + 1 end
        end
        for _, n in ipairs(picture.counts) do total = total + n end
        assert.equal(5, bars)
        assert.equal(100, total)
        assert.is_truthy(hints_of(picture)[5]:find "^%[0.8, 1%]: %d+$")
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() viz.histogram({ 1 }, { low = 2, high = 1 }) end,
            "high: expected a finite number above low %(2%), got 1")
        assert.error_matches(function() viz.histogram({ 1 }, { bins = 0 }) end,
            "bins: expected an integer of at least 1, got 0")
        assert.error_matches(function() viz.histogram({ 1 }, { bins = 1e6 }) end,
            "bins: expected at most 10000, got 1000000")
        assert.error_matches(function() viz.histogram(heed.ones(2):gt(0)) end,
            "values: expected a vector of numbers, got bool tensor")
    end)
end)

describe("viz.bar", function()
    it("draws from 0 to both sides", function()
        assert.equal(table.concat({
            "  up       ████████████ 2",
            "down ██████ -1",
            "  no       nan",
            "zero       0" }, "\n"),
            tostring(viz.bar({ 2, -1, NAN, 0 },
                { labels = { "up", "down", "no", "zero" }, width = 27 })))
    end)

    it("never loses a bar that is not 0", function()
        local lines = lines_of(tostring(viz.bar({ 1000, 0.001, -0.001, -1000 }, { width = 30 })))
        assert.is_truthy(lines[2]:find "▏ 0.001")
        assert.is_truthy(lines[3]:find "▐ %-0.001")
    end)

    it("takes numbers by name, in the order of names", function()
        assert.same({ "b: 1", "c: 2" }, hints_of(viz.bar { c = 2, b = 1, a = 0 }))
        assert.same({ "1: 1.5" }, hints_of(viz.bar(heed.tensor { 1.5 })))
        local rects = of_name(viz.bar { 2, -4 }, "rect")
        assert.is_truthy(rects[3].attributes.class:find "heed%-negative")
        assert.near(2, tonumber(rects[3].attributes.width) / tonumber(rects[2].attributes.width),
            0.01)
    end)

    it("says what is no number, and goes to the end for what is infinite", function()
        local picture = viz.bar { 1, NAN, math.huge }
        assert.is_true(contains(texts_of(picture), "nan") and contains(texts_of(picture), "inf"))
        assert.equal(2, #hints_of(picture))
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() viz.bar({ 1 }, { labels = { "a", "b" } }) end,
            "labels: expected 1 labels, got 2")
        assert.error_matches(function() viz.bar({ a = 1 }, { labels = { "a" } }) end,
            "labels: the numbers have names already")
        assert.error_matches(function() viz.bar { a = "x" } end,
            'values: expected numbers, got "x" for a')
    end)
end)
