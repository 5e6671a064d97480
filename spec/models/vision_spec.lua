local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local loaded, check_gradients, FOLDER = families.loaded, families.check_gradients, families.FOLDER
local recorded = assert(heed.safetensors.load "spec/fixtures/vision.safetensors")

describe("models of images: heed.models.load", function()
    for name, prefix in pairs { vit = "", vit_classes = "vit." } do
        it("gives what a Vision Transformer gives in transformers: " .. name, function()
            local model, values = loaded(name, { grad = true })
            local output = model(values.pixels)
            assert.is_close(output, values.output, 1e-5)
            ;(output * values.weights):sum():backward()
            check_gradients(name, model, heed.models.Vit, values, prefix)
        end)
    end

    -- The second has the end of texts as files before 2023 call it.
    for _, name in ipairs { "clip", "clip_first" } do
        it("gives CLIP's vectors, logits and gradients: " .. name, function()
            local model, values = loaded(name, { grad = true })
            local ids = values.ids + 1
            assert.is_close(model:text_features(ids, values.lengths), values.texts, 3e-5)
            assert.is_close(model:text_features(ids), values.texts, 3e-5)
            assert.is_close(model:image_features(values.pixels), values.images, 3e-5)
            local logits = model(ids, values.pixels, { lengths = values.lengths })
            assert.is_close(logits, values.logits, 5e-5) -- cosines times 14
            ;(logits * values.weights):sum():backward()
            check_gradients(name, model, heed.models.Clip, values)
        end)
    end

    it("takes texts where there is a tokenizer", function()
        local model, words = loaded "clip", { "[UNK]" }
        for i = 2, 38 do words[i] = ("w%02d"):format(i) end
        local path = os.tmpname() .. ".txt"
        local file = assert(io.open(path, "w"))
        file:write(table.concat(words, "\n"), "\n[CLS]\n[SEP]\n")
        file:close()
        model.tokenizer = assert(heed.text.tokenizer(path))
        os.remove(path)
        local ids = { { 39, 5, 9, 40 }, { 39, 7, 40, 40 } }
        local want = model:text_features(ids)
        assert.is_close(model:text_features { "w05 w09", "w07" }, want, 1e-6)
        assert.is_close(model:text_features "w05 w09", want:narrow(1, 1, 1), 1e-6)
        local long = model:text_features(("w05 "):rep(30))
        assert.is_close(long, model:text_features { { 39, 5, 5, 5, 5, 5, 5, 5, 40 } }, 1e-6)
    end)

    it("refuses images of another size, and texts without a tokenizer", function()
        local model = loaded "clip"
        assert.has_error(function() model:image_features(heed.randn(1, 3, 12, 8)) end)
        local ok, message = pcall(model.text_features, model, { "a cat" })
        assert.is_false(ok)
        assert.matches("text_features: texts: expected ids, as the model has no tokenizer", message)
    end)
end)

describe("heed.models.ImageProcessor", function()
    for _, name in ipairs { "vit", "clip" } do
        it("makes of images what transformers does: " .. name, function()
            local model = loaded(name)
            for _, height in ipairs { 40, 17 } do
                local image = recorded[name .. "." .. height .. ".image"]
                assert.is_close(model.images(image), recorded[name .. "." .. height .. ".pixels"], 1e-6)
            end
        end)
    end

    it("reads files, gray images and such with alpha", function()
        local processor, path = loaded "vit".images, os.tmpname() .. ".png"
        local image = recorded["vit.40.image"]
        assert(heed.image.save(path, image))
        local gray = image:narrow(3, 1, 1)
        local alpha = heed.cat({ image, gray }, 3)
        local pixels = processor { path, image, alpha, gray, heed.cat({ gray, gray }, 3) }
        os.remove(path)
        assert.has_shape(pixels, { 5, 3, 12, 12 })
        for i = 2, 3 do assert.is_close(pixels[i], pixels[1], 0) end
        assert.is_close(pixels[4], pixels[5], 0)
        assert.is_close(pixels[4][3], pixels[1][1], 1e-6)
    end)

    it("takes sizes as old files have them", function()
        local image = heed.zeros(20, 30, 3):to "u8"
        local function shape(c)
            c.do_normalize = false
            return { heed.models.ImageProcessor(c)(image):size() }
        end
        assert.are.same({ 1, 3, 8, 8 }, shape { size = 8, feature_extractor_type =
            "ViTFeatureExtractor" })
        assert.are.same({ 1, 3, 8, 12 }, shape { size = 8, feature_extractor_type =
            "CLIPFeatureExtractor" })
        assert.are.same({ 1, 3, 6, 6 }, shape { size = 8, crop_size = 6, do_center_crop = true,
            feature_extractor_type = "CLIPFeatureExtractor" })
        assert.are.same({ 1, 3, 20, 30 }, shape { do_resize = false })
    end)

    it("refuses what is not built, and what is no image", function()
        local folder = shell.lines "mktemp -d"[1]
        os.execute(("cp %svit/* %s"):format(FOLDER, folder))
        local function refused(config, message)
            local file <close> = assert(io.open(folder .. "/preprocessor_config.json", "w"))
            file:write(heed.json.encode(config))
            file:flush()
            local model, problem = heed.models.load(folder)
            assert.is_nil(model)
            assert.matches(message, problem)
        end
        local kind = "ViTImageProcessor"
        refused({ image_processor_type = "BlipImageProcessor" },
            "image_processor_type: unknown: BlipImageProcessor")
        refused({ image_processor_type = kind, size = { longest_edge = 8 } },
            "size: unknown: neither height and width nor shortest_edge")
        refused({ image_processor_type = kind, size = 8, resample = 5 }, "resample: unknown: 5")
        os.execute("rm -r " .. folder)
        local processor = loaded "clip".images
        assert.has_error(function() processor(heed.zeros(4, 4, 3)) end)
        assert.has_error(function() processor "nowhere.png" end)
    end)
end)

describe("heed.image.resize", function()
    it("refuses sides that are no image's", function()
        assert.error_matches(function()
            heed.image.resize(heed.zeros(2, 2, 1), 1 << 40, 1 << 40)
        end, "height: expected an integer from 1 to 1048576, got 1099511627776")
    end)

    it("gives Pillow's pixels, to the last bit", function()
        for i = 0, 4 do
            local image = recorded[("resize.%d.image"):format(i)]
            for _, filter in ipairs { "bicubic", "bilinear", "box", "lanczos" } do
                local want = recorded[("resize.%d.%s"):format(i, filter)]
                local made = heed.image.resize(image, want:size(1), want:size(2),
                    { filter = filter })
                assert.is_true(made:equal(want), i .. filter)
                local turned = heed.image.resize(image:transpose(1, 2):contiguous():transpose(1, 2),
                    want:size(1), want:size(2), { filter = filter })
                assert.is_true(turned:equal(want))
            end
        end
    end)

    it("keeps the fractions of floats, and their gradients", function()
        local image = recorded["resize.0.image"]
        local want = recorded["resize.0.bilinear"]:to "f32"
        local made = heed.image.resize(image:to "f32", 11, 14, { filter = "bilinear" })
        assert.are.equal("f32", made.dtype)
        assert.is_close(made, want, 1)
        assert.is_false(made:equal(made:round()))
        heed.gradcheck(function(x) return heed.image.resize(x, 3, 7) end,
            { heed.rand(5, 4, 2, { dtype = "f64" }) })
    end)

    it("gives a copy of the same size, and all of one pixel", function()
        local image = recorded["resize.3.image"]
        local same = heed.image.resize(image, 1, 7)
        assert.is_true(same:equal(image))
        assert.is_false(rawequal(same, image))
        local one = heed.image.resize(heed.full({ 1, 1, 1 }, 7, { dtype = "u8" }), 2, 3)
        assert.are.same({ { 7, 7, 7 }, { 7, 7, 7 } }, one:squeeze(3):totable())
    end)

    it("makes each pixel of the same ones, however many are made together", function()
        local image = heed.randint(0, 255, 2, 800, 1):to "u8"
        local made = heed.image.resize(image, 2, 100)
        local half = heed.image.resize(image:narrow(2, 1, 400), 2, 50)
        assert.is_true(made:narrow(2, 1, 45):equal(half:narrow(2, 1, 45)))
    end)

    it("refuses what is no image", function()
        assert.has_error(function() heed.image.resize(heed.zeros(3, 3), 2, 2) end)
        assert.has_error(function() heed.image.resize(heed.zeros(0, 3, 3), 2, 2) end)
        assert.has_error(function() heed.image.resize(heed.ids { { { 1 } } }, 2, 2) end)
        assert.has_error(function() heed.image.resize(heed.zeros(3, 3, 3), 0, 2) end)
        assert.has_error(function() heed.image.resize(heed.zeros(3, 3, 3), 2, 2,
            { filter = "sharp" }) end)
    end)
end)
