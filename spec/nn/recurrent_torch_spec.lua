-- GRU, LSTM and their cells against PyTorch 2.13, as spec/fixtures/record_recurrent.py recorded
-- them in f32: outputs, states and every gradient.

local heed = require "heed"
local compare = require "spec.support.compare"
local plain = require "heed.plain"
local nn = heed.nn

local TOLERANCE, GRADIENT_TOLERANCE = 2e-6, 1e-5

describe("what PyTorch's recurrent layers give", function()
    local tensors, metadata = assert(heed.safetensors.load "spec/fixtures/recurrent.safetensors")
    local cases = assert(plain.decode(metadata.cases))
    local names = {}
    for name in pairs(cases) do names[#names + 1] = name end
    table.sort(names)

    local compared = 0

    local function check(what, got, want, tolerance)
        local worst, message = compare.worst(got, want)
        assert(worst <= tolerance, ("%s: %s"):format(what, message))
        compared = compared + 1
    end

    local function parts(name, what)
        local found = {}
        for key, t in pairs(tensors) do
            local rest = key:match("^case/" .. name .. "/" .. what .. "/(.*)$")
            if rest then found[rest] = t end
        end
        return found
    end

    local function wanting(t)
        if not t then return nil end
        t = t:clone()
        t.requires_grad = true
        return t
    end

    local function layer_of(name, dtype)
        local case = cases[name]
        local layer = nn[case.class](case.args[1], case.args[2], case.options)
        layer:load_state_dict(parts(name, "state"), { names = "torch" })
        return dtype and layer:to(dtype) or layer
    end

    -- out (nil of a cell), h and c, by name.
    local function run(case, layer, x, h, c, lengths)
        local state = h and c and { h, c } or h
        if case.class:find "Cell" then
            local after, cell = layer(x, state)
            return { out_h = after, out_c = cell }
        end
        local out, after = layer(x, state, { lengths = lengths })
        if case.class == "GRU" then return { out = out, out_h = after } end
        return { out = out, out_h = after[1], out_c = after[2] }
    end

    local LABELS = { out = "g", out_h = "g_h", out_c = "g_c" }

    for _, name in ipairs(names) do
        it("is reproduced: " .. name, function()
            local case, prefix = cases[name], "case/" .. name .. "/"
            local layer = layer_of(name)
            local x, h, c = wanting(tensors[prefix .. "x"]), wanting(tensors[prefix .. "h"]),
                wanting(tensors[prefix .. "c"])
            local total = 0
            for label, y in pairs(run(case, layer, x, h, c, case.lengths)) do
                check(label, y, tensors[prefix .. label], TOLERANCE)
                total = total + (y * tensors[prefix .. LABELS[label]]):sum()
            end
            total:backward()
            for label, leaf in pairs { x = x, h = h, c = c } do
                check("grad of " .. label, leaf.grad, tensors[prefix .. "grad_" .. label],
                    GRADIENT_TOLERANCE)
            end
            local grads, count = parts(name, "grad"), 0
            for key, p in layer:named_parameters() do
                check("grad of " .. key, p.grad, grads[key], GRADIENT_TOLERANCE)
                grads[key], count = nil, count + 1
            end
            assert.is_nil((next(grads)))
        end)
    end

    it("is all of the file: 30 cases, 327 outputs and gradients", function()
        assert.same({ 30, 327 }, { #names, compared })
    end)
end)
