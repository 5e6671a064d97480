-- Pictures as pixels: what is drawn where, and the file. spec/c/png_test.c reads with libpng what
-- was written.

local core = require "heed.core"
local heed = require "heed"
local letters = require "heed.viz.letters"
local raster = require "heed.viz.raster"
local shell = require "spec.support.shell"
local svg = require "heed.viz.svg"

local GROUND, INK = "ffffff", "1c2128"

-- A drawing of elements, 20 x 10, and a function that gives the colour of a pixel, from 0.
local function painted(elements, scale, dark)
    local bytes, wide, high = raster.pixels({ width = 20, height = 10, body = elements },
        scale or 1, dark or false)
    assert.equal(wide * high * 3, #bytes)
    return function(x, y)
        local at = (y * wide + x) * 3
        return ("%02x%02x%02x"):format(bytes:byte(at + 1, at + 3))
    end
end

local function rect(x, y, wide, high, more)
    local attributes = { "x", x, "y", y, "width", wide, "height", high }
    return svg.element("rect", table.move(more, 1, #more, 9, attributes))
end

describe("a drawing as pixels", function()
    it("fills rectangles, with edges in shares", function()
        local at = painted { rect(2, 1, 3.5, 2, { "class", "heed-ink" }) }
        assert.same({ GROUND, INK, INK, INK, GROUND },
            { at(1, 1), at(2, 1), at(4, 2), at(2, 2), at(6, 2) })
        assert.equal("8e9094", at(5, 1)) -- half of each
        at = painted({ rect(2, 1, 3.5, 2, { "class", "heed-ink" }) }, 2)
        assert.same({ INK, GROUND }, { at(10, 2), at(11, 2) })
    end)

    it("has the palette of light or dark screens, and opacity", function()
        local at = painted({ rect(0, 0, 1, 1, { "class", "heed-fill-1" }) }, 1, true)
        assert.same({ "6cabff", "14171b" }, { at(0, 0), at(1, 0) })
        at = painted { rect(0, 0, 1, 1, { "class", "heed-ground heed-ink", "fill-opacity", 0.5 }),
            rect(1, 0, 1, 1, { "fill", "#ff0000",
            "fill-opacity", 0.5 }) }
        assert.same({ GROUND, "ff8080" }, { at(0, 0), at(1, 0) })
    end)

    it("moves groups, whose class their elements have where they have none", function()
        local inside = { rect(1, 1, 1, 1, {}), rect(3, 1, 1, 1, { "class", "heed-nan" }) }
        local at = painted { svg.element("g", { "class", "heed-cells heed-weight", "transform",
            "translate(4 2)" }, inside) }
        assert.same({ "1d57b5", "8d959e", GROUND }, { at(5, 3), at(7, 3), at(1, 1) })
    end)

    it("draws lines, frames, paths and circles", function()
        local at = painted { svg.element("line",
            { "class", "heed-axis", "x1", 2, "x2", 18, "y1", 5.5, "y2", 5.5 }) }
        assert.same({ "5b6570", GROUND, GROUND }, { at(10, 5), at(10, 4), at(10, 6) })
        at = painted { rect(2.5, 2.5, 10, 5, { "class", "heed-line" }) }
        assert.same({ "d9dde2", "d9dde2", GROUND }, { at(7, 2), at(12, 5), at(7, 5) })
        at = painted { svg.element("path", { "class", "heed-curve heed-stroke-2", "d",
            "M2 5L10 5M14 5L18 5" }) }
        assert.same({ "c4560d", GROUND, "c4560d" }, { at(6, 4), at(12, 4), at(16, 5) })
        at = painted { svg.element("path", { "class", "heed-dots heed-stroke-1", "d",
            "M5 5h0M15 5h0" }) }
        assert.same({ "7ca1dc", GROUND, "7ca1dc" }, { at(5, 5), at(10, 5), at(14, 4) })
        at = painted { svg.element("path", { "fill", "#00ff00", "d", "M1 1h2v3h-2zM5 1h1v1h-1z" }) }
        assert.same({ "00ff00", "00ff00", GROUND }, { at(2, 3), at(5, 1), at(5, 2) })
        at = painted { svg.element("circle", { "class", "heed-fill-1", "cx", 5, "cy", 5, "r", 3 }),
            svg.element("circle", { "class", "heed-spot heed-fill-1", "cx", 15, "cy", 5, "r", 3 }) }
        assert.same({ "2463c4", GROUND, GROUND }, { at(5, 5), at(1, 5), at(15, 5) })
    end)

    it("leaves what lies outside away", function()
        local at = painted { rect(-5, -5, 100, 6, { "class", "heed-ink" }),
            svg.text(-30, 30, "outside"), svg.text(200, 5, "outside") }
        assert.same({ INK, GROUND }, { at(19, 0), at(19, 1) })
    end)

    -- How much ink there is in columns from..to and rows above..below.
    local function ink(elements, from, to, above, below)
        local at, sum = painted(elements, 2), 0
        for x = from, to do
            for y = above, below do sum = sum + 255 - tonumber(at(x, y):sub(1, 2), 16) end
        end
        return sum
    end

    it("writes texts from a point, to it, around it, and turned", function()
        local function text(anchor, turn)
            return { svg.text(10, 9, "H", "heed-label heed-ink", anchor, turn) }
        end
        assert.is_true(ink(text(), 20, 39, 0, 19) > 1000 and ink(text(), 0, 19, 0, 19) == 0)
        assert.is_true(ink(text "end", 0, 19, 0, 19) > 1000 and ink(text "end", 21, 39, 0, 19) == 0)
        local left, right = ink(text "middle", 0, 19, 0, 19), ink(text "middle", 20, 39, 0, 19)
        assert.is_true(math.abs(left - right) < left / 5)
        local turned = text(nil, { "transform", "rotate(-90 10 9)" })
        assert.is_true(ink(turned, 0, 20, 0, 19) > 1000 and ink(turned, 22, 39, 0, 19) == 0)
    end)

    it("knows letters of ASCII and Latin scripts, and draws a box for others", function()
        local box = #letters.strokes "\u{6771}"
        assert.equal(1, box)
        local seen = {}
        local function check_one(character)
            local strokes = letters.strokes(character)
            local key = {}
            for _, stroke in ipairs(strokes) do
                for _, point in ipairs(stroke) do
                    key[#key + 1] = ("%g,%g"):format(point[1], point[2])
                end
                key[#key + 1] = stroke.curved and "~" or "|"
            end
            local text = table.concat(key, " ")
            assert.is_true(#strokes > 0, character)
            assert.is_nil(seen[text], character .. " looks like " .. (seen[text] or ""))
            seen[text] = character
        end
        check_one "\u{6771}"
        for byte = 33, 126 do check_one(string.char(byte)) end
        for _, code in utf8.codes "àáâãäåçèéêëìíîïñòóôõöùúûüýÿÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝßøæœčďěňřšťžůćńśźş…·±×÷→°²³␣" do
            check_one(utf8.char(code))
        end
        assert.same({}, letters.strokes " ")
    end)
end)

describe("a picture as PNG", function()
    local has_png = core.png_encode("\0\0\0", 1, 1) ~= nil
    local picture = heed.viz.bar({ 1, 2 }, { title = "T" })

    local function number_at(bytes, at) return (string.unpack(">I4", bytes, at)) end

    it("has twice the size of the SVG, or what was asked for", function()
        if not has_png then return pending "built without libpng" end
        local drawing = picture:draw(true)
        for scale, options in pairs { [2] = {}, [1] = { scale = 1 },
            [3] = { scale = 3, dark = true } } do
            local bytes = assert(picture:png(options))
            assert.equal("\x89PNG\r\n\x1a\n", bytes:sub(1, 8))
            assert.equal(math.ceil(drawing.width * scale), number_at(bytes, 17))
            assert.equal(math.ceil(drawing.height * scale), number_at(bytes, 21))
        end
        assert.are_not.equal(picture:png(), picture:png { dark = true })
    end)

    it("is there of every picture", function()
        if not has_png then return pending "built without libpng" end
        local words = { "a", "b" }
        local model = heed.nn.TransformerEncoder(1, 4, 2, 4):eval()
        local seen <close> = heed.capture(model)
        model(heed.randn(1, 3, 4))
        for name, one in pairs {
            attention = heed.viz.attention(heed.full({ 2, 2, 2 }, 0.5), { x = words, y = words }),
            model = heed.viz.attention(seen),
            curve = heed.viz.curve { a = { 1, 2 }, b = { 0 / 0 } },
            heatmap = heed.viz.heatmap({ { 1, -1 } }, { numbers = true }),
            histogram = heed.viz.histogram { 1, 2 },
            scatter = heed.viz.scatter(heed.randn(5000), heed.randn(5000)),
            image = heed.viz.image(heed.rand(3, 4, 3)), nothing = heed.viz.image(heed.zeros(0, 0)),
        } do
            local bytes, message = one:png { scale = 1 }
            assert.is_truthy(bytes, ("%s: %s"):format(name, message))
        end
    end)

    it("says so when heed was built without libpng", function()
        local encode = core.png_encode
        core.png_encode = function() return nil, "PNG: heed was built without libpng" end
        local bytes, message = picture:png()
        local ok = picture:save "/nowhere/it.png"
        core.png_encode = encode
        assert.is_nil(bytes)
        assert.is_nil(ok)
        assert.is_truthy(message:find "without libpng")
    end)

    it("says so when it would be too large", function()
        local huge = heed.viz.image({ heed.rand(1, 1) }, { caption = ("x"):rep(5e5) })
        local bytes, message = huge:png { scale = 10 }
        assert.is_nil(bytes)
        assert.is_truthy(message:find "ask for a smaller scale")
        assert.is_nil((heed.viz.image({ heed.rand(1, 1) },
            { caption = ("x"):rep(5e3) }):png { scale = 1 }))
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() picture:png(5) end,
            "heed.viz.bar:png: path: expected a string, got 5")
        assert.error_matches(function() picture:png { scale = 0 } end,
            "heed.viz.bar:png: scale: expected a number from 0.1 to 10, got 0")
        assert.error_matches(function() picture:png { size = 1 } end, 'there is no option "size"')
        assert.error_matches(function() core.png_encode("abc", 2, 1) end,
            "pixels: expected 6 bytes, 2 x 1 of 3, got 3")
        assert.error_matches(function() core.png_encode("", 0, 1) end,
            "width: expected an integer in 1..32767, got 0")
        assert.error_matches(function() core.png_encode("", 1, 40000) end,
            "height: expected an integer in 1..32767, got 40000")
    end)

    it("is saved as what the path ends in", function()
        local folder = shell.lines("mktemp -d")[1]
        assert.is_true(picture:save(folder .. "/it.svg"))
        assert.is_true(picture:save(folder .. "/it.HTML"))
        assert.equal(picture:svg(), shell.read(folder .. "/it.svg"))
        assert.equal(picture:html(), shell.read(folder .. "/it.HTML"))
        if has_png then
            assert.is_true(picture:save(folder .. "/it.png"))
            assert.equal(picture:png(), shell.read(folder .. "/it.png"))
        end
        os.execute("rm -r " .. folder)
        for _, path in ipairs { "it", "it.jpg", "svg", ".svg/it" } do
            assert.error_matches(function() picture:save(path) end,
                "heed.viz.bar:save: path: expected one that ends in .svg, .html or .png, got")
        end
        assert.error_matches(function() picture:save() end,
            "heed.viz.bar:save: path: expected a string, got nil")
        local ok, message = picture:save "/nowhere/it.svg"
        assert.is_nil(ok)
        assert.is_truthy(message:find "/nowhere/it.svg")
    end)
end)
