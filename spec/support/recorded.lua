--- Outputs and gradients that PyTorch computed in f32 (spec/fixtures/recording.py says what such a
--- file holds), reproduced.

local heed = require "heed"
local plain = require "heed.plain"
local compare = require "spec.support.compare"

local recorded = {}

-- |got - want| <= TOLERANCE * max(1, |want|), unless the case says otherwise. Nothing recorded is left out: where heed's
-- rules differ from PyTorch's (end-aligned causality, rows of -inf, ties), the scripts record no
-- case.
local TOLERANCE = 4e-6
local GRADIENT_TOLERANCE = 1e-5

-- Returns 1, to be counted.
local function check(case, what, got, want, tolerance)
    local worst, message = compare.worst(got, want)
    assert(worst <= tolerance, ("%s %s: %s"):format(case, what, message))
    return 1
end

local function reproduce(case, p, tensors, call)
    local inputs, prefix = {}, "case/" .. case .. "/"
    for i in ipairs(p.inputs) do
        inputs[i] = tensors[prefix .. "in" .. i]
        if tensors[prefix .. "grad" .. i] then inputs[i].requires_grad = true end
    end
    local out, second = call(p, table.unpack(inputs))
    local tolerance = p.tolerance or TOLERANCE
    local compared = check(case, "out", out, tensors[prefix .. "out"], tolerance)
    if tensors[prefix .. "out2"] then
        compared = compared + check(case, "out2", second, tensors[prefix .. "out2"], 0)
    end
    if tensors[prefix .. "g"] and out.requires_grad then out:backward(tensors[prefix .. "g"]) end
    for i in ipairs(p.inputs) do
        local want = tensors[prefix .. "grad" .. i]
        if want then
            tolerance = math.max(tolerance, GRADIENT_TOLERANCE)
            compared = compared + check(case, "grad" .. i, inputs[i].grad, want, tolerance)
        end
    end
    return compared
end

---All cases of a file, sorted by name, and how many outputs and gradients it has.
---calls[operation](parameters, inputs...) gives what PyTorch's did; case.run() raises where a case
---is not reproduced.
---@param fixture string
---@param calls table<string, fun(p: table, ...: heed.Tensor): heed.Tensor, heed.Tensor?>
---@return { name: string, run: fun() }[]
---@return integer
function recorded.cases(fixture, calls)
    local tensors, metadata = assert(heed.safetensors.load(fixture))
    local cases = assert(plain.decode(metadata.cases))
    local list, held, total = {}, {}, 0
    for name in pairs(tensors) do
        local case = name:match "^case/(.*)/out2?$" or name:match "^case/(.*)/grad%d$"
        if case then held[case], total = (held[case] or 0) + 1, total + 1 end
    end
    for name, p in pairs(cases) do
        local function run()
            local compared = reproduce(name, p, tensors, calls[name:match "^[^/]+"])
            assert(compared == held[name], ("%s: %d of %d values compared"):format(name, compared,
                held[name]))
        end
        list[#list + 1] = { name = name, run = run }
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list, total
end

return recorded
