local heed = require "heed"
local xml = require "spec.support.xml"

local NAN = 0 / 0
local image = heed.viz.image

local function plain(pixels, options)
    options = options or {}
    options.colour = false
    return tostring(image(pixels, options))
end

-- Fill to path, of SVG.
local function paths_of(pixels, options)
    local paths = {}
    for _, element in ipairs(xml.elements(image(pixels, options):svg())) do
        if element.name == "path" then
            paths[element.attributes.fill or element.attributes.class] = element.attributes.d
        end
    end
    return paths
end

describe("viz.image of files", function()
    it("puts alpha on white", function()
        assert.equal("█▓|", plain { { { 0, 0 }, { 0.5, 0.5 }, { 0, 1 } } } .. "|")
        local red = paths_of(heed.tensor { { { 1, 0, 0, 0.2 } } })
        assert.is_truthy(red["#ffcccc"])
        local bytes = heed.tensor({ { { 0, 0, 0, 51 } } }, { dtype = "u8" })
        assert.is_truthy(paths_of(bytes)["#cccccc"])
    end)

    it("draws no more than a page of a large one", function()
        local large = heed.zeros({ 1500, 2000, 3 }, { dtype = "u8" })
        large[{ {}, { 1001, 2000 } }] = 255
        local before = collectgarbage "count"
        local picture = image(large, { colour = false, width = 8 })
        assert.equal("    ████", tostring(picture):match "^[^\n]*")
        assert.is_true(collectgarbage "count" - before < 2e5, "kilobytes")
        local drawing = picture:draw(true)
        assert.is_true(drawing.width < 1000)
        assert.equal(" █", plain(heed.tensor { { 0, 1 } }:repeat_interleave(3000, 2),
            { width = 2 }))
    end)
end)

describe("viz.image in the terminal", function()
    it("is dense where it is bright, two rows in a line", function()
        assert.equal(" ░▒▓█", plain { { 0, 0.25, 0.5, 0.75, 1 }, { 0, 0.25, 0.5, 0.75, 1 } })
        assert.equal("▒\n█", plain { { 1 }, { 0 }, { 1 } })
        assert.equal(" █", plain(heed.tensor({ { 0, 255 } }, { dtype = "u8" })))
        assert.equal(" █", plain({ { -5, 5 } }))
        assert.equal("▒█", plain({ { 0, 5 } }, { min = -5, max = 5 }))
    end)

    it("has colours where the terminal has", function()
        local pixels = heed.tensor { { { 1, 0, 0 }, { 0, 1, 0 } }, { { 0, 0, 1 }, { 1, 1, 1 } },
            { { 0, 0, 0 }, { NAN, 0, 0 } } }
        assert.equal("\27[38;2;255;0;0;48;2;0;0;255m▀\27[38;2;0;255;0;48;2;255;255;255m▀\27[0m\n"
            .. "\27[38;2;0;0;0m▀\27[38;2;255;0;255m▀\27[0m",
                tostring(image(pixels, { colour = true })))
    end)

    it("fits into the width by means of pixels, and marks a mean with NaN", function()
        local wide = heed.zeros(10, 100)
        wide[{ {}, { 51, 100 } }] = 1
        assert.equal("     █████", plain(wide, { width = 10 }))
        wide[{ 5, 1 }] = NAN
        assert.equal("?    █████", plain(wide, { width = 10 }))
    end)

    it("puts several side by side with their titles, those that fit", function()
        local ones = heed.ones(2, 4)
        assert.equal("1      2\n████   ████", plain { ones, ones })
        assert.equal("a\n████\n\nb\n████", plain({ ones, ones },
            { panels = { "a", "b" }, width = 9 }))
        local both = tostring(image({ ones, ones }, { colour = true }))
        assert.is_truthy(both:find "\27%[0m   \27%[")
    end)

    it("takes nothing at all", function()
        for _, shape in ipairs { { 0, 3 }, { 3, 0 }, { 0, 0, 3 } } do
            assert.equal("", plain(heed.zeros(shape)))
            xml.elements(image(heed.zeros(shape)):svg())
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() image(5) end,
            "heed.viz.image: image: expected a tensor or a table of rows, got 5")
        assert.error_matches(function() image(heed.zeros(3, 8, 8)) end,
            "got %[3, 8, 8%]; channels come last: image:permute%(2, 3, 1%)")
        assert.error_matches(function() image(heed.zeros(8, 8, 5)) end,
            "expected %[H, W%] or %[H, W, C%] of 1 to 4 channels, got %[8, 8, 5%]$")
        assert.error_matches(function() image({ { 1 } }, { min = 1, max = 1 }) end,
            "min: expected less than max")
        assert.error_matches(function() image({ heed.ones(1, 1), 5 }) end,
            "image: expected a tensor or a table of rows, got 5")
        assert.error_matches(function() image({ heed.ones(1, 1) }, { panels = { "a", "b" } }) end,
            "panels: expected 1 labels, got 2")
    end)
end)

describe("viz.image as SVG", function()
    it("has a path a colour, runs in one", function()
        assert.same({ ["#ffffff"] = "M0 0h48v16h-48z",
            ["#000000"] = "M0 16h16v16h-16zM32 16h16v16h-16z",
            ["heed-marked"] = "M16 16h16v16h-16z" }, paths_of { { 1, 1, 1 }, { 0, NAN, 0 } })
        assert.same({ ["#ff8000"] = "M0 0h16v16h-16z" },
            paths_of(heed.tensor({ { { 255, 128, 0 } } }, { dtype = "u8" })))
    end)

    it("keeps large images inside its width", function()
        local all = xml.elements(image(heed.rand(4, 3000)):svg())
        assert.is_true(tonumber(all[1].attributes.width) <= 1000)
    end)
end)
