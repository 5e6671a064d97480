--- Layers of the same options in PyTorch 2.13 and Hugging Face transformers:
--- spec/fixtures/record_layers.py says what was recorded.

local heed = require "heed"
local compare = require "spec.support.compare"
local plain = require "heed.plain"
local nn = heed.nn

local TOLERANCE, GRADIENT_TOLERANCE = 5e-6, 2e-5

-- What the layer is called with after its inputs.
local function call_options(case)
    local o = { weights = case.weights, offset = case.offset, positions = case.positions }
    if case.mask then o.mask = heed.tensor(case.mask) end
    if case.causal then o.mask = heed.mask.causal() end
    if case.alibi then o.mask = o.mask & heed.mask.alibi(case.alibi) end
    if case.memory_padding then o.memory_mask = heed.mask.padding(case.memory_padding) end
    return next(o) and o or nil
end

describe("what PyTorch and transformers give", function()
    local tensors, metadata = assert(heed.safetensors.load "spec/fixtures/layers.safetensors")
    local recorded = assert(plain.decode(metadata.cases))
    local cases, gains, names = recorded.cases, recorded.gains, {}
    for name in pairs(cases) do names[#names + 1] = name end
    table.sort(names)

    local function part_of(name, part)
        local state, count = {}, 0
        for key, t in pairs(tensors) do
            local rest = key:match("^case/" .. name .. "/" .. part .. "/(.*)$")
            if rest then
                state[rest] = t
                count = count + 1
            end
        end
        return state, count
    end

    local function check(what, got, want, tolerance)
        local worst, message = compare.worst(got, want)
        assert(worst <= tolerance, ("%s: %s"):format(what, message))
    end

    local compared = 0

    -- The layer, its inputs that want gradients, and what it gives.
    local function run(name)
        local case, inputs = cases[name], {}
        local arguments = table.move(case.args, 1, #case.args, 1, {})
        arguments[#arguments + 1] = next(case.options) and case.options or nil
        local layer = nn[case.class](table.unpack(arguments))
        layer:load_state_dict((part_of(name, "weights")))
        for i = 1, case.inputs do
            inputs[i] = tensors["case/" .. name .. "/in" .. i]:clone()
            inputs[i].requires_grad = tensors["case/" .. name .. "/grad" .. i] ~= nil
        end
        local given = table.move(inputs, 1, #inputs, 1, {})
        given[#given + 1] = call_options(case)
        return layer, inputs, layer(table.unpack(given))
    end

    for _, name in ipairs(names) do
        it("is reproduced: " .. name, function()
            local prefix = "case/" .. name .. "/"
            local layer, inputs, out, weights = run(name)
            check("out", out, tensors[prefix .. "out"], TOLERANCE)
            if tensors[prefix .. "out2"] then
                check("weights", weights, tensors[prefix .. "out2"], TOLERANCE)
            end
            compared = compared + 1
            if not tensors[prefix .. "g"] then return end
            out:backward(tensors[prefix .. "g"])
            for i, x in ipairs(inputs) do
                local want = tensors[prefix .. "grad" .. i]
                if want then
                    check("grad" .. i, x.grad, want, GRADIENT_TOLERANCE)
                    compared = compared + 1
                end
            end
            local grads, count = part_of(name, "grad")
            for key, p in layer:named_parameters() do
                check("grad of " .. key, p.grad, grads[key], GRADIENT_TOLERANCE)
                compared, count = compared + 1, count - 1
            end
            assert.are.equal(0, count)
        end)
    end

    -- While anybody collects weights, layers compose themselves of their parts.
    it("is reproduced in parts where C runs the whole", function()
        local count = 0
        for _, name in ipairs(names) do
            if cases[name].class:find "^Transformer" then
                local layer = nn[cases[name].class](table.unpack(cases[name].args))
                local _ <close> = heed.capture(layer)
                check(name, select(3, run(name)), tensors["case/" .. name .. "/out"], TOLERANCE)
                count = count + 1
            end
        end
        assert.are.equal(6, count)
    end)

    it("has PyTorch's gains", function()
        for name, want in pairs(gains) do
            local nonlinearity, parameter = name:match "^(%S+) ?(%S*)$"
            assert.is_true(math.abs(nn.init.calculate_gain(nonlinearity,
                tonumber(parameter)) - want) < 1e-12, name)
        end
    end)

    it("is all of the file: 64 layers, 281 outputs and gradients", function()
        assert.are.same({ 64, 281 }, { #names, compared })
    end)
end)
