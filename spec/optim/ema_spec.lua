local heed = require "heed"
require "heed.luassert"

local function model(value)
    local layer = heed.nn.Linear(2, 1, { bias = false })
    layer.weight:detach():fill_(value)
    return layer
end

local function set(layer, value) layer.weight:detach():fill_(value) end

describe("optim.EMA", function()
    it("averages the weights", function()
        local layer = model(1)
        local ema = heed.optim.EMA(layer, { decay = 0.9 })
        set(layer, 2)
        ema:update()
        set(layer, 3)
        ema:update()
        assert.is_close(ema.averages[1], { { 1.29, 1.29 } }, 1e-6)
        assert.equal(2, ema.updates)
        assert.same({ { 3.0, 3.0 } }, layer.weight:totable())
    end)

    it("soon forgets the beginning with warmup", function()
        local layer = model(0)
        local ema = heed.optim.EMA({ layer.weight }, { decay = 0.9, warmup = 10 })
        set(layer, 1)
        local want = 0
        for t = 1, 200 do
            ema:update()
            local decay = math.min(0.9, (1 + t) / (10 + t))
            want = decay * want + (1 - decay)
        end
        assert.is_close(ema.averages[1], { { want, want } }, 1e-5)
    end)

    it("puts the averages into the model until the scope closes, with the same bits", function()
        local layer = heed.nn.Linear(37, 23)
        local ema = heed.optim.EMA(layer)
        heed.no_grad(function() layer.weight:add_(heed.randn(layer.weight.shape)) end)
        ema:update()
        local own, average = layer.weight:detach():clone(), ema.averages[1]:clone()
        do
            local _ <close> = ema:average()
            assert.is_true(heed.equal(average, layer.weight))
            for _, method in ipairs { "update", "average", "state_dict" } do
                assert.error_matches(function() ema[method](ema) end, "optim.EMA:" .. method
                    .. ": not inside average%(%)")
            end
        end
        assert.is_true(heed.equal(own, layer.weight))
        assert.is_true(heed.equal(average, ema.averages[1]))
        pcall(function()
            local _ <close> = ema:average()
            error "inside"
        end)
        assert.is_true(heed.equal(own, layer.weight))
    end)

    it("takes tied parameters once, and those that are not contiguous", function()
        local tied = heed.nn.Transformer { src_vocab = 7, tgt_vocab = 7, d_model = 4, num_heads = 2,
            num_layers = 1, d_ff = 8,
            tie_weights = true }
        assert.equal(#tied:parameters(), #heed.optim.EMA(tied).averages)
        local across = heed.nn.parameter(heed.randn(3, 5):t())
        local ema = heed.optim.EMA { across }
        local before = across:detach():clone()
        ema:update()
        assert.is_close(ema.averages[1], before, 1e-6)
        heed.no_grad(function() across:zero_() end)
        do
            local _ <close> = ema:average()
            assert.is_close(across, before, 1e-6)
        end
        assert.equal(0, across:abs():sum():item())
    end)

    it("goes on with the same bits after save and load", function()
        local path = os.tmpname()
        local layer = heed.nn.Linear(5, 3)
        local ema = heed.optim.EMA(layer, { warmup = 5 })
        local function move(seed)
            heed.manual_seed(seed)
            heed.no_grad(function() layer.weight:add_(heed.randn(layer.weight.shape)) end)
        end
        for seed = 1, 4 do
            move(seed)
            ema:update()
        end
        assert(heed.checkpoint.save(path, { model = layer, ema = ema }))
        move(5)
        ema:update()
        local want = ema.averages[1]:clone()
        local other = heed.optim.EMA(layer, { warmup = 5 })
        assert(heed.checkpoint.load(path, { model = layer, ema = other }))
        os.remove(path)
        move(5)
        other:update()
        assert.is_true(heed.equal(want, other.averages[1]))
        assert.equal(5, other.updates)
    end)

    it("refuses the state of another model", function()
        local ema, other = heed.optim.EMA(heed.nn.Linear(2, 3)),
            heed.optim.EMA(heed.nn.Linear(3, 3))
        assert.error_matches(function() ema:load_state_dict(other:state_dict()) end,
            "parameter 1 is %[3, 2%] here, its average is %[3, 3%]")
        for _, state in ipairs { 5, {}, { updates = -1, averages = {} },
            { updates = 1, averages = {} } } do
            assert.is_nil((ema:check_state_dict(state)))
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.optim.EMA {} end, "model: it has no parameters")
        assert.error_matches(function() heed.optim.EMA({ 5 }) end,
            "a module or a list of tensors, got 5 at 1")
        assert.error_matches(function() heed.optim.EMA(model(1), { decay = 2 }) end,
            "decay: expected a number from 0 to 1, got 2")
        assert.error_matches(function() heed.optim.EMA(model(1), { beta = 2 }) end,
            'no option "beta"')
    end)
end)
