-- Twenty steps of each optimiser against PyTorch 2.13, as spec/fixtures/record_optim.py recorded
-- them in f32: decay, momentum, groups under a schedule, and a parameter that gets its first
-- gradient at the sixth step.

local heed = require "heed"
local plain = require "heed.plain"
local compare = require "spec.support.compare"

local STEPS, TOLERANCE = 20, 1e-5

local function joins(i, step) return i ~= 3 or (step >= 6 and step % 7 ~= 0) end

describe("what PyTorch's optimisers do in 20 steps", function()
    local tensors, metadata = assert(heed.safetensors.load "spec/fixtures/optim.safetensors")
    local cases = assert(plain.decode(metadata.cases))
    local names = {}
    for name in pairs(cases) do names[#names + 1] = name end
    table.sort(names)

    local function parameters()
        local params = {}
        for i = 1, 3 do params[i] = heed.nn.parameter(tensors["start/" .. i]:clone()) end
        return params
    end

    local function optimizer(case, params)
        local given = params
        if case.groups then
            given = {}
            for i, group in ipairs(case.groups) do
                given[i] = { params = { params[i] } }
                for name, value in pairs(group) do given[i][name] = value end
            end
        end
        return heed.optim[case.kind](given, case.options)
    end

    local function step(case, opt, params, n)
        for i, p in ipairs(params) do
            p.grad = joins(i, n) and tensors["gradients/" .. i][n]:clone() or nil
        end
        if case.rates then opt.lr = case.rates[n] end
        opt:step()
    end

    for _, name in ipairs(names) do
        it("is reproduced: " .. name, function()
            local case, params = cases[name], parameters()
            local opt = optimizer(case, params)
            for n = 1, STEPS do
                step(case, opt, params, n)
                for i, p in ipairs(params) do
                    local worst, message = compare.worst(p, tensors[name .. "/" .. i][n])
                    assert(worst <= TOLERANCE, ("step %d, parameter %d: %s"):format(n, i, message))
                end
            end
            assert.equal(STEPS, opt.steps)
        end)

        it("goes on with the same bits after save and load: " .. name, function()
            local case, whole, half, path = cases[name], parameters(), parameters(), os.tmpname()
            local opt, first = optimizer(case, whole), optimizer(case, half)
            for n = 1, STEPS do step(case, opt, whole, n) end
            for n = 1, 8 do step(case, first, half, n) end
            assert(heed.checkpoint.save(path, { opt = first }))
            local second = optimizer(case, half)
            second.lr = 7
            assert(heed.checkpoint.load(path, { opt = second }))
            os.remove(path)
            assert.equal(first.lr, second.lr)
            for n = 9, STEPS do step(case, second, half, n) end
            for i = 1, 3 do assert.is_true(heed.equal(whole[i], half[i])) end
        end)
    end

    it("is all of the file", function() assert.equal(21, #names) end)
end)
