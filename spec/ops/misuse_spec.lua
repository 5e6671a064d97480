-- Every function of heed.core called with whatever comes to hand: it works or raises a text that
-- names it, and nothing breaks.

local composed = require "heed.composed"
local core = require "heed.core"
local values = require "spec.support.values"

-- What these do reaches beyond the call: settings, files, the collector, other people's modules.
local LEFT_OUT = {
    fail_allocation = true, memory_limit = true, set_num_threads = true, safetensors_save = true,
        replace_file = true, npz_save = true,
    locate_errors = true, methods = true, no_grad = true, enable_grad = true, scope = true,
        func = true, uninterrupted = true,
    manual_seed = true, rng_state = true,
}

local dropped = core.zeros(2)
dropped:free()

local POOL = {
    function() return nil end, function() return 0 end, function() return 1 end,
        function() return 2 end, function()
        return -1
    end,
    function() return 3 end, function() return 0.5 end, function() return 0 / 0 end, function()
        return math.huge
    end,
    function() return math.maxinteger end, function() return math.mininteger end, function()
        return 1 << 40
    end,
    function() return "1" end, function() return "f64" end, function() return "relu" end, function()
        return true
    end,
    function() return {} end, function() return { 1, 2 } end, function() return { 0 } end,
        function()
        return { -1 }
    end,
    function() return { 1 << 62, 1 << 62 } end, function() return { { 1 }, { 2, 3 } } end,
        function()
        return { dim = 1 }
    end,
    function() return { dtype = "i64" } end, function() return { nonsense = 1 } end, function()
        return print
    end,
    function() return io.stdout end, function() return coroutine.create(print) end, function()
        return dropped
    end,
    function() return core.zeros(2, 3) end, function() return core.ones(3) end, function()
        return core.ones(3, 2):t()
    end,
    function() return core.zeros(0, 3) end, function() return core.tensor(2) end, function()
        return core.ids { 1, 2 }
    end,
    function() return core.ids { { 0, 9 } } end, function() return core.tensor { true, false } end,
    function() return core.ones(2, 3, { dtype = "f64" }) end, function()
        return core.ones(1):expand(2, 3)
    end,
    function() return core.ones(2, { requires_grad = true }) end, function()
        return core.ones(1, 1, 1, 1, 1, 1, 1, 1)
    end,
    function() return core.zeros(2, 3):to "bf16" end, function() return core.ones(2, 2, 3, 4) end,
    function() return { core.ones(2), core.ones(2) } end, function() return { core.ones(2), 5 } end,
    function() return core.generator(1) end,
}

local function arguments(random)
    local args = { n = random(0, 6) }
    for i = 1, args.n do args[i] = POOL[random(1, #POOL)]() end
    -- Mostly a tensor comes first, so that more than the first check is reached.
    if args.n > 0 and random(1, 4) > 1 then args[1] = POOL[random(30, #POOL)]() end
    return args
end

-- Beyond this a tensor is refused, so that no call takes gigabytes.
local LIMIT = 64 << 20

describe("misuse of", function()
    local limit
    setup(function()
        collectgarbage()
        limit = core.memory_limit(core.memory().live + LIMIT)
    end)
    teardown(function() core.memory_limit(limit) end)

    local names = {}
    for name, value in pairs(core) do
        if type(value) == "function" and not LEFT_OUT[name] then names[#names + 1] = name end
    end
    for _, functions in pairs(composed) do
        for name in pairs(functions) do names[#names + 1] = name end
    end
    table.sort(names)

    for _, name in ipairs(names) do
        it("heed." .. name .. " is an error that says so", function()
            local random = values.random(#name)
            for _ = 1, 150 do
                local args = arguments(random)
                local ok, message = pcall(core[name] or composed.both[name],
                    table.unpack(args, 1, args.n))
                local fine = ok or (type(message) == "string" and message:find "heed%.[%w_.:]+: %S")
                assert(fine, name .. ": " .. tostring(message))
            end
        end)
    end

    it("methods of a dropped tensor too", function()
        for name, method in pairs(core.methods) do
            if type(method) == "function" and name ~= "free" then
                local ok, message = pcall(method, dropped)
                assert(not ok and message:find(("heed.%s: "):format(name), 1, true),
                    name .. ": " .. tostring(message))
            end
        end
    end)

    it("indices", function()
        local random, t = values.random(1), core.ones(2, 3)
        for _ = 1, 500 do
            local key, value = POOL[random(1, #POOL)](), POOL[random(1, #POOL)]()
            local ok, message = pcall(function() return t[key] end)
            local field = ("t.%s: "):format(key)
            assert(ok or message:find("t[key]: ", 1, true) or message:find(field, 1, true), message)
            ok, message = pcall(function() t[key] = value end)
            assert(ok or message:find("t[key]: ", 1, true) or message:find(field, 1, true), message)
        end
    end)
end)
