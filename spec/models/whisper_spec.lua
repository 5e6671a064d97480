--- Whisper from files: spec/fixtures/record_families_whisper.py recorded what they give.

local families = require "spec.support.families"
local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

local loaded, check_gradients = families.loaded, families.check_gradients
local CTRANSLATE2 = "spec/fixtures/ctranslate2/whisper_"

-- The likeliest token again and again.
local function greedy(model, spectrum, first, count, with_cache)
    return heed.no_grad(function()
        local memory, list = model:encode(spectrum), { first }
        local cache = with_cache and model:new_cache { max_len = count } or nil
        for _ = 1, count do
            local new = with_cache and { list[#list] } or list
            local hidden = model:decode(heed.ids { new }, memory, { cache = cache })
            list[#list + 1] = model.output(hidden:narrow(2, -1, 1)):view(-1):argmax():item()
        end
        return list
    end)
end

describe("heed.models.load of Whisper", function()
    it("gives its memory, logits and gradients", function()
        local model, values = loaded("whisper", { grad = true })
        assert.is_close(model:encode(values.spectrum), values.memory, 1e-5)
        local logits = model(values.spectrum, values.ids + 1)
        assert.is_close(logits, values.logits, 1e-5)
        ;(logits * values.weights):sum():backward()
        check_gradients("whisper", model, heed.models.Whisper, values)
    end)

    it("writes the same tokens with a cache and without", function()
        local model, values = loaded "whisper"
        local written = (values.written + 1):totable()[1]
        for _, with_cache in ipairs { true, false } do
            assert.same(written, greedy(model, values.spectrum, written[1], 12, with_cache))
        end
    end)

    it("keeps the output's matrix that of the tokens, and keys without bias", function()
        local model = loaded "whisper"
        assert.equal(model.tokens.weight, model.output.weight)
        local bias = model.encoder.layers[1].self_attn.in_proj_bias
        assert.same({ 0, 0 }, { bias:narrow(1, 17, 16):abs():max():item(),
            bias:narrow(1, 1, 16):abs():min():eq(0):to("i64"):item() })
    end)

    it("reads what its files say of writing", function()
        local speech = loaded("whisper").speech
        assert.same({ { 2, 1 }, { 2, 3 } }, speech.heads)
        assert.same({ 2, 8 }, speech.suppress)
        assert.same({ 10, 50 }, speech.suppress_first)
        assert.is_false(speech.multilingual)
    end)

    it("has sinusoids of its own where nothing is loaded", function()
        local config = { vocab_size = 20, num_mel_bins = 8, d_model = 16, encoder_layers = 1,
            decoder_layers = 2, encoder_attention_heads = 2, decoder_attention_heads = 2,
            encoder_ffn_dim = 16, decoder_ffn_dim = 16, max_source_positions = 20,
            max_target_positions = 12, activation_function = "gelu", dropout = 0,
            attention_dropout = 0 }
        local model = heed.models.Whisper(config)
        local recorded = loaded "whisper"
        assert.is_close(model.encoder_positions.weight, recorded.encoder_positions.weight, 1e-6)
        assert.same({ { 2, 1 }, { 2, 2 } }, model.speech.heads) -- all of the upper half
    end)
end)

describe("heed.models.load of CTranslate2's directories", function()
    for _, kind in ipairs { "float16", "int8" } do
        it("gives the same logits: " .. kind, function()
            local _, recorded = loaded "whisper"
            local model, message, config = heed.models.load(CTRANSLATE2 .. kind)
            assert(model, message)
            local values = assert(heed.safetensors.load(CTRANSLATE2 .. kind
                .. "/values.safetensors"))
            assert.equal("whisper", config.model_type)
            assert.is_close(model(recorded.spectrum, recorded.ids + 1), values.logits, 1e-5)
            assert.same({ { 2, 1 }, { 2, 3 } }, model.speech.heads)
        end)
    end

    it("keeps f16 as it is stored", function()
        local model = assert(heed.models.load(CTRANSLATE2 .. "float16",
            { dtype = "as stored" }))
        assert.equal("f16", model.tokens.weight.dtype)
        assert.equal("f16", model.encoder.layers[1].self_attn.in_proj_weight.dtype)
    end)
end)

describe("a damaged model.bin", function()
    local folder, whole

    setup(function()
        folder = shell.lines "mktemp -d"[1]
        os.execute(("cp %sint8/* %s"):format(CTRANSLATE2, folder))
        whole = shell.read(folder .. "/model.bin")
    end)
    teardown(function() os.execute("rm -r " .. folder) end)

    local function load(bytes)
        local file <close> = assert(io.open(folder .. "/model.bin", "wb"))
        file:write(bytes):close()
        return heed.models.load(folder)
    end

    local function refused(bytes, message)
        local model, problem = load(bytes)
        assert.is_nil(model)
        assert.equal(folder .. ": ", problem:sub(1, #folder + 2))
        assert.matches(message, problem, 1, true)
    end

    it("is refused with what is wrong", function()
        refused("", "model.bin: the file ended early")
        refused(whole:sub(1, -200), "model.bin: the file ended early")
        refused("\5\1\0\0" .. whole:sub(5), "expected version 4 to 6, got 261")
        refused((whole:gsub("WhisperSpec", "MarsianSpec", 1)), "unknown: MarsianSpec")
        refused((whole:gsub("encoder/conv1/bias", "encoder/conv9/bias", 1)),
            "encoder.conv1.bias")
        refused((whole:gsub("decoder/layer_0/ffn", "decoder/layer_9/ffn")),
            "expected the variable decoder/layer_0/ffn/linear_0/bias")
        refused((whole:gsub("conv1/weight\0", "conv1/weigh\0\0", 1)), "expected a name")
        local at = whole:find("encoder/conv1/bias", 1, true) + #"encoder/conv1/bias" + 1
        refused(whole:sub(1, at - 1) .. "\255" .. whole:sub(at + 1),
            "at most 8 dimensions, got 255")
        refused(whole:sub(1, at) .. "\255\255\255\255" .. whole:sub(at + 5),
            "fewer elements than a file")
        refused(whole:sub(1, at + 4) .. "\9" .. whole:sub(at + 6), "dtype: unknown: 9")
        refused(whole:sub(1, at + 5) .. "\1\0\0\0" .. whole:sub(at + 10),
            "expected 64 bytes of f32")
    end)

    it("never does harm: bytes changed, cut and doubled at random", function()
        local random = heed.generator(7)
        local function draw(n) return heed.randint(1, n, 1, { generator = random })[1] end
        local wrong = 0
        for _ = 1, 150 do
            local at = draw(3) == 1 and draw(#whole) or draw(400)
            local kind = draw(3)
            local bytes
            if kind == 1 then
                bytes = whole:sub(1, at - 1) .. string.char(draw(256) - 1) .. whole:sub(at + 1)
            elseif kind == 2 then
                bytes = whole:sub(1, at)
            else
                bytes = whole:sub(1, at) .. whole:sub(math.max(1, at - draw(40)))
            end
            local model, message = load(bytes)
            if not model then
                wrong = wrong + 1
                assert.equal("string", type(message))
            end
        end
        assert.is_true(wrong > 50)
    end)
end)
