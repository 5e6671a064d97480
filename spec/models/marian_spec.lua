--- marian-nmt's binary files, and its translators with SSRU decoders. HEED_MARIAN names a directory of
--- one that translates English into Portuguese.

local heed = require "heed"
local marian = require "spec.support.marian"
local shell = require "spec.support.shell"
require "heed.luassert"

local folder

before_each(function() folder = shell.lines "mktemp -d"[1] end)
after_each(function() os.execute("rm -r " .. folder) end)

local function refused(path, message)
    local model, problem = heed.models.load(path)
    assert.is_nil(model)
    assert.matches(message, problem, 1, true)
    assert.are.equal(path, problem:sub(1, #path))
end

describe("heed.models.load of marian-nmt's", function()
    local src, tgt, lengths = { { 3, 5, 7, 1 }, { 8, 1, 1, 1 } }, { { 1, 4, 6 }, { 1, 9, 2 } },
        { 4, 2 }

    for _, as_bytes in ipairs { false, true } do
        it("reads f32 and int8: " .. (as_bytes and "int8" or "f32"), function()
            local want, items = marian.tiny(as_bytes)
            local path = folder .. "/model.bin"
            marian.write(path, marian.file(items))
            local model, tokenizer, config = heed.models.load(path)
            assert(model, tokenizer)
            assert.are.equal("marian-nmt", config.model_type)
            assert.are.same({ 20, 20 }, config["dim-vocabs"])
            local loaded = model:state_dict()
            for name, parameter in pairs(want:state_dict()) do
                assert.is_true(loaded[name]:equal(parameter), name)
            end
            local logits = model(src, tgt, { src_lengths = lengths })
            assert.is_true(logits:equal(want(src, tgt, { src_lengths = lengths })))
        end)
    end

    it("begins targets with a place that is empty", function()
        local model = marian.tiny()
        local logits = model(src, tgt, { src_lengths = lengths })
        heed.no_grad(function()
            local memory = model:encode { { 3, 5 } }
            local first = model:decode({ { 1, 4 } }, memory)
            model.words.weight[1] = -3 -- of </s>
            assert.is_true(first:equal(model:decode({ { 1, 4 } }, memory)))
        end)
        assert.has_shape(logits, { 2, 3, 20 })
    end)

    it("writes the same with a cache, greedily and with beams, whatever the batch", function()
        local model = marian.tiny()
        for _, beams in ipairs { 1, 3 } do
            local options = { max_new_tokens = 9, beams = beams > 1 and beams or nil }
            options.cache = false
            local want = heed.generate(model, { { 3, 5, 7, 1 }, { 8, 1 } }, options)
            options.cache = true
            assert.are.same(want, (heed.generate(model, { { 3, 5, 7, 1 }, { 8, 1 } }, options)))
            assert.are.same(want[2], (heed.generate(model, { 8, 1 }, options)))
        end
    end)

    it("learns", function()
        local model = marian.tiny():train()
        local logits = model(src, tgt, { src_lengths = lengths })
        heed.loss.cross_entropy(logits, heed.ids { { 4, 6, 1 }, { 9, 2, 1 } }):backward()
        for name, parameter in model:named_parameters() do
            assert.is_truthy(parameter.grad, name)
        end
    end)

    it("reads the model and the vocabulary that a decoder's settings name", function()
        local _, items = marian.tiny()
        marian.write(folder .. "/tiny.bin", marian.file(items))
        marian.write(folder .. "/config.yml", "# of the decoder\nrelative-paths: true\nmodels:\n"
            .. "  - tiny.bin\nvocabs:\n  - none.spm\n  - none.spm\nbeam-size: 1\n")
        for _, path in ipairs { folder, folder .. "/config.yml" } do
            local model, tokenizer, _, problem = heed.models.load(path)
            assert.is_truthy(model)
            assert.is_nil(tokenizer)
            assert.matches("none.spm: No such file", problem, 1, true)
        end
        marian.write(folder .. "/config.yml", "vocabs:\n  - none.spm\n")
        refused(folder, "expected models in it")
        marian.write(folder .. "/config.yml", "models\n")
        refused(folder, 'expected KEY: VALUE, got "models"')
    end)

    it("refuses settings that are another architecture", function()
        for from, to in pairs { ["dec%-cell: ssru"] = "dec-cell: gru",
            ["postprocess: dan"] = "postprocess: da", ["embeddings%-all: true"] =
                "embeddings-all: false", ["activation: relu"] = "activation: spike" } do
            local _, items = marian.tiny()
            items[#items] = marian.text("special:model.yml", (marian.SETTINGS:gsub(from, to)))
            marian.write(folder .. "/model.bin", marian.file(items))
            refused(folder .. "/model.bin", to:match ": (.*)$")
        end
    end)
end)

describe("a binary file of marian-nmt's is refused", function()
    local function written(items)
        local path = folder .. "/model.bin"
        marian.write(path, marian.file(items))
        return path
    end

    it("when it is cut short anywhere", function()
        local _, items = marian.tiny(true)
        local bytes, path = marian.file(items), folder .. "/model.bin"
        for size = 8, #bytes - 1, 211 do
            marian.write(path, bytes:sub(1, size))
            local model, message = heed.models.load(path)
            assert.is_nil(model)
            assert.matches("model.bin", message, 1, true)
        end
    end)

    it("when it has items that are not known, are not whole, or are there twice", function()
        local _, items = marian.tiny(true)
        while items[1].name ~= "Wemb" do table.insert(items, table.remove(items, 1)) end
        local one = items[1]
        items[1] = { name = one.name, type = 0x4102, shape = one.shape, data = one.data }
        refused(written(items), one.name .. ": type: unknown: 0x4102")
        items[1] = { name = one.name, type = one.type, shape = { 2000, 8 }, data = one.data }
        refused(written(items), "expected 16004 bytes")
        items[1] = { name = one.name, type = one.type, shape = { 20, -1 }, data = one.data }
        refused(written(items), "expected a size")
        items[1] = { name = one.name, type = one.type, shape = { 4, 5, 8 }, data = one.data }
        refused(written(items), "expected 2 dimensions of int8, got 3")
        items[1] = { name = one.name, type = one.type, shape = { 1, 1, 1, 1, 1 }, data = one.data }
        refused(written(items), "expected at most 4 dimensions, got 5")
        items[1] = { name = one.name, type = one.type, shape = one.shape,
            data = ("\0"):rep(#one.data) }
        refused(written(items), "expected a multiplier above 0, got 0")
        items[1] = { name = one.name .. "\0x", type = one.type, shape = one.shape,
            data = one.data }
        refused(written(items), "with its zero")
        items[1], items[#items + 1] = one, one
        refused(written(items), "an item is given twice")
    end)

    it("when it lacks tensors, settings, or has others", function()
        local _, items = marian.tiny()
        local last = table.remove(items)
        refused(written(items), "special:model.yml: expected a string")
        items[#items + 1] = last
        items[#items + 1] = marian.item("Wother", heed.ones(2, 2))
        refused(written(items), "1 tensors are none of this family's: Wother")
        items[#items] = nil
        local first = table.remove(items, 1)
        refused(written(items), "expected 1 more tensors: " .. first.name)
    end)
end)

describe("a translator of marian-nmt's", function()
    local path = os.getenv "HEED_MARIAN"
    if not path then
        pending "needs HEED_MARIAN, a directory of one from English into Portuguese"
        return
    end

    it("translates", function()
        local model, tokenizer = assert(heed.models.load(path))
        local ids = tokenizer:encode "It rained all night."
        assert.are.equal(tokenizer.eos, ids[#ids])
        for _, options in ipairs { {}, { beams = 4 }, { cache = false } } do
            local written = heed.generate(model, ids, options)
            assert.are.equal("Choveu a noite toda.", tokenizer:decode(written))
        end
    end)
end)
