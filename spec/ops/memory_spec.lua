-- Every allocation of every operation fails once: an error that says how much was wanted, nothing
-- lost, and all works on.

local core = require "heed.core"
local layouts = require "spec.support.layouts"
local naive = require "spec.support.naive"
local registry = require "spec.ops.registry"
local values = require "spec.support.values"

local MESSAGE = "[%w_%]:]+: .*%d+ bytes wanted"

local function call(entry, case, ...)
    if entry.call then return entry.call(case, ...) end
    return core[entry.name](...)
end

-- Inputs that are not contiguous, so that the copies which they need fail as well.
local function inputs_of(entry, case)
    local tensors = {}
    for i, shape in ipairs(case) do
        local generate = entry.inputs and entry.inputs[i] or values.any
        local dtype = entry.dtypes and entry.dtypes[1] or "f32"
        local a = generate(values.random(i), shape, dtype, case)
        tensors[i] = layouts.make(entry.layouts and "contiguous" or "transposed", a)
        local constant = entry.constants and entry.constants[i]
        if entry.gradient and naive.is_float(a.dtype) and not constant then
            tensors[i] = tensors[i]:detach()
            tensors[i].requires_grad = true
        end
    end
    return tensors
end

-- The operation and its gradient; the bytes of all results. Everything is dropped again when it
-- returns or fails.
local function run(entry, case, inputs)
    local _ <close> = core.scope()
    local results = table.pack(call(entry, case, table.unpack(inputs, 1, #case)))
    local bytes = {}
    for i = 1, results.n do
        local y = results[i]
        if y.requires_grad and y.dtype == "f32" then
            y:backward(core.ones_like(y), { retain = true })
        end
        bytes[#bytes + 1] = y:bytes()
    end
    for i = 1, #inputs do
        if inputs[i].grad then bytes[#bytes + 1] = inputs[i].grad:bytes() end
        inputs[i].grad = nil
    end
    return table.concat(bytes)
end

local function drop_gradients(inputs)
    for _, t in ipairs(inputs) do
        if t.requires_grad then t.grad = nil end
    end
end

local function check(entry, case)
    local inputs = inputs_of(entry, case)
    local wanted = run(entry, case, inputs)
    local live, failures = core.memory().live, 0
    for n = 1, 10000 do
        core.fail_allocation(n)
        local ok, result = pcall(run, entry, case, inputs)
        core.fail_allocation(0)
        drop_gradients(inputs)
        if core.memory().live > live then
            collectgarbage()
        end -- moments of an optimiser belong to no scope
        local now = core.memory().live
        assert(now <= live, ("%s: allocation %d failed and %d bytes were lost"):format(entry.name,
            n, now - live))
        if ok then
            assert(result == wanted, entry.name .. ": the result is another after failures")
            return failures
        end
        failures = failures + 1
        local message = ("%s: allocation %d: %s"):format(entry.name, n, result)
        assert(type(result) == "string" and result:find(MESSAGE), message)
    end
    error(entry.name .. ": it never succeeded", 0)
end

describe("with every allocation failing once", function()
    local threads = core.get_num_threads()
    setup(function()
        core.set_num_threads(1)
        collectgarbage()
        collectgarbage "stop"
    end)
    teardown(function()
        core.set_num_threads(threads)
        collectgarbage "restart"
    end)

    for _, entry in ipairs(registry.operations) do
        it(entry.name .. " raises, loses nothing and works on", function()
            local failures = 0
            for _, case in ipairs(entry.cases) do failures = failures + check(entry, case) end
            assert.is_true(failures >= #entry.cases)
        end)
    end
end)
