--- heed.image: files that other programs wrote (spec/fixtures/record_images.py) are read as they
--- read them, what is written is read again, and what is none is refused. spec/c/image_test.c cuts
--- and damages files.

local core = require "heed.core"
local heed = require "heed"
local shell = require "spec.support.shell"

local FOLDER = "spec/fixtures/images/"
local expected = assert(heed.safetensors.load(FOLDER .. "images.safetensors"))

local function has(format) return heed.info()[format] ~= "none" end

local function temporary(ending)
    local path = os.tmpname()
    os.remove(path)
    return path .. ending
end

describe("image.load reads", function()
    -- JPEG's decoders may differ in the last bits.
    local function check(name, ending, tolerance)
        local pixels = assert(heed.image.load(FOLDER .. name .. ending))
        local wanted = expected[name]
        assert.equal("u8", pixels.dtype)
        assert.equal(tostring(wanted.shape), tostring(pixels.shape))
        local off = (pixels:to "i64" - wanted:to "i64"):abs():max():item()
        assert.is_true(off <= tolerance, ("%s: off by %d"):format(name, off))
    end

    local count = 0
    for _, path in ipairs(shell.files(FOLDER, "*g")) do
        local name, ending = path:match "([%w_]+)(%.%w+)$"
        count = count + 1
        it(name .. ending, function()
            local png = ending == ".png"
            if not has(png and "png" or "jpeg") then return pending "built without the library" end
            check(name, ending, png and 0 or 2)
        end)
    end

    it("all of those", function() assert.equal(26, count) end)

    it("a JPEG as it is stored, where that is asked for", function()
        if not has "jpeg" then return pending "built without libjpeg" end
        local path = FOLDER .. "orientation_6.jpg"
        assert.equal("[16, 24, 1]", tostring(heed.image.load(path).shape))
        assert.equal("[24, 16, 1]", tostring(heed.image.load(path, { upright = false }).shape))
    end)

    it("into the channels that are wanted", function()
        if not has "png" then return pending "built without libpng" end
        local path = temporary ".png"
        local function converted(pixels, channels)
            assert(heed.image.save(path, heed.tensor({ { pixels } }, { dtype = "u8" })))
            return heed.image.load(path, { channels = channels })[1][1]:totable()
        end
        local gray, color = { 7 }, { 10, 200, 30 }
        local luma = math.floor(0.299 * 10 + 0.587 * 200 + 0.114 * 30 + 0.5)
        assert.same({ 7, 255 }, converted(gray, 2))
        assert.same({ 7, 7, 7 }, converted(gray, 3))
        assert.same({ 7, 7, 7, 255 }, converted(gray, 4))
        assert.same({ 7, 7, 7, 9 }, converted({ 7, 9 }, 4))
        assert.same({ 7 }, converted({ 7, 9 }, 1))
        assert.same({ luma }, converted(color, 1))
        assert.same({ luma, 255 }, converted(color, 2))
        assert.same({ 10, 200, 30, 255 }, converted(color, 4))
        assert.same(color, converted({ 10, 200, 30, 77 }, 3))
        assert.same({ luma, 77 }, converted({ 10, 200, 30, 77 }, 2))
        assert.same({ 255 }, converted({ 255, 255, 255 }, 1))
        os.remove(path)
    end)
end)

describe("image.load refuses", function()
    it("what is no image, no file, or too large", function()
        for path, said in pairs {
            ["nowhere.png"] = "nowhere.png: No such file or directory",
                ["/"] = "expected a regular file",
            ["README.md"] = "README.md: expected a PNG or JPEG file",
        } do
            local pixels, message = heed.image.load(path)
            assert.is_nil(pixels)
            assert.is_truthy(message:find(said, 1, true), message)
        end
        for format, name in pairs { png = "rgb.png", jpeg = "jpeg_rgb.jpg" } do
            local pixels, message = heed.image.load(FOLDER .. name, { max_pixels = 10 })
            assert.is_nil(pixels)
            assert.matches(has(format) and "pixels, more than max_pixels = 10"
                or "was built without",
                message)
        end
    end)

    it("what memory_limit does not allow", function()
        if not has "png" then return pending "built without libpng" end
        local path = temporary ".png"
        assert(heed.image.save(path, heed.zeros({ 2000, 2000, 3 }, { dtype = "u8" })))
        collectgarbage()
        heed.memory_limit(heed.memory().live + 2 ^ 20 // 1 | 0)
        local ok, message = pcall(heed.image.load, path)
        heed.memory_limit(0)
        os.remove(path)
        assert.is_false(ok)
        assert.matches("memory", message)
    end)

    it("misuse", function()
        assert.error_matches(function() heed.image.load(5) end,
            "image.load: path: expected a string")
        assert.error_matches(function() heed.image.load("x", { channels = 5 }) end,
            "channels: expected 1..4, got 5")
        assert.error_matches(function() heed.image.load("x", { channels = (1 << 32) + 1 }) end,
            "channels: expected 1..4, got 4294967297")
        assert.error_matches(function() heed.image.load("x", { channels = 0 }) end,
            "channels: expected an integer of at least 1")
        assert.error_matches(function() heed.image.load("x", { max_pixels = 0 }) end, "max_pixels")
        assert.error_matches(function() heed.image.load("x", { upright = 1 }) end, "upright")
        assert.error_matches(function() heed.image.load("x", { gray = true }) end, "no option")
    end)
end)

describe("image.save", function()
    it("writes PNG that comes back the same, and JPEG that is close", function()
        local pixels = (heed.linspace(0, 255, 12 * 18):view(12, 18, 1)):to "u8"
        for ending, format in pairs { [".png"] = "png", [".PNG"] = "png", [".jpg"] = "jpeg",
            [".jpeg"] = "jpeg" } do
            if has(format) then
                local path = temporary(ending)
                for _, channels in ipairs { 1, 3 } do
                    local image = pixels:expand(12, 18, channels)
                    assert.is_true(heed.image.save(path, image, { quality = 95 }))
                    local again = assert(heed.image.load(path))
                    assert.equal(tostring(image.shape), tostring(again.shape))
                    local off = (again:to "i64" - image:to "i64"):abs():max():item()
                    assert.is_true(off <= (format == "png" and 0 or 8), off)
                end
                assert.is_true(heed.image.save(path, pixels:squeeze(3)))
                assert.equal("[12, 18, 1]", tostring(heed.image.load(path).shape))
                os.remove(path)
            end
        end
    end)

    it("writes smaller files of lower quality", function()
        if not has "jpeg" then return pending "built without libjpeg" end
        local path, sizes = temporary ".jpg", {}
        heed.manual_seed(1)
        local noise = heed.randint(0, 255, 64, 64, 3):to "u8"
        for i, quality in ipairs { 10, 50, 95 } do
            assert(heed.image.save(path, noise, { quality = quality }))
            sizes[i] = #shell.read(path)
        end
        assert.is_true(sizes[1] < sizes[2] and sizes[2] < sizes[3])
        os.remove(path)
    end)

    it("says nil and why where nothing can be written", function()
        local format = has "png" and "png" or has "jpeg" and "jpeg"
        if not format then return pending "built without libraries" end
        local ok, message = heed.image.save("/no/such/it." .. format, heed.zeros({ 2, 2 },
            { dtype = "u8" }))
        assert.is_nil(ok)
        assert.matches("/no/such/it", message)
    end)

    it("refuses what is no image", function()
        local function refused(said, path, pixels, options)
            assert.error_matches(function() heed.image.save(path, pixels, options) end, said)
        end
        local u8 = { dtype = "u8" }
        refused("pixels: expected u8, got f32 tensor %[2, 2%]; of values from 0 to 1:", "x.png",
            heed.ones(2, 2))
        refused("expected %[H, W%] or %[H, W, C%] of 1 to 4 channels, got %[3, 8, 9%]; channels "
            .. "come last",
            "x.png", heed.ones({ 3, 8, 9 }, u8))
        refused("of 1 or 3 channels, got %[8, 8, 4%]", "x.jpg", heed.ones({ 8, 8, 4 }, u8))
        refused("got %[8%]", "x.png", heed.ones({ 8 }, u8))
        refused("expected sides of 1..1000000 pixels, got 0", "x.png", heed.ones({ 0, 8, 1 }, u8))
        refused("expected sides of 1..65500 pixels, got 65501", "x.jpg",
            heed.ones({ 1, 65501, 1 }, u8))
        refused("expected one that ends in .png, .jpg or .jpeg", "x.gif", heed.ones({ 1, 1 }, u8))
        refused("expected a tensor, got a table", "x.png", { { 1 } })
        refused("quality: expected 1..100, got 101", "x.jpg", heed.ones({ 1, 1 }, u8),
            { quality = 101 })
        refused("no option", "x.png", heed.ones({ 1, 1 }, u8), { size = 3 })
    end)

    it("says so when heed was built without the library", function()
        local load, save = core.image_load, core.image_save
        core.image_load = function()
            return nil, "x.jpg: a JPEG file: heed was built without libjpeg"
        end
        core.image_save = core.image_load
        local pixels, message = heed.image.load "x.jpg"
        local ok, why = heed.image.save("x.jpg", heed.ones({ 1, 1 }, { dtype = "u8" }))
        core.image_load, core.image_save = load, save
        assert.is_nil(pixels)
        assert.is_nil(ok)
        assert.matches("without libjpeg", message)
        assert.matches("without libjpeg", why)
    end)
end)
