-- What is written in Lua, called with whatever comes to hand: it works or raises a text that names
-- it (spec/ops/misuse_spec.lua does the same with what is written in C).

local heed = require "heed"
local core = require "heed.core"
local nn = heed.nn
local values = require "spec.support.values"

local dropped = heed.zeros(2)
dropped:free()

local BOOM = setmetatable({}, { __index = function() error("boom", 0) end })
local nested = {}
nested[1] = nested

local POOL = {
    function() return nil end, function() return 0 end, function() return 1 end,
        function() return 2 end, function()
        return 4
    end,
    function() return -1 end, function() return 0.5 end, function() return 0 / 0 end, function()
        return math.huge
    end,
    function() return math.maxinteger end, function() return math.mininteger end, function()
        return 1 << 40
    end,
    function() return "" end, function() return "1" end, function() return "relu" end, function()
        return "\0\xC0%d"
    end,
    function() return true end, function() return false end, function() return {} end, function()
        return { 1, 2 }
    end,
    function() return { 1, nil, 3 } end, function() return { { 1 }, { 2, 3 } } end, function()
        return { "a b", "c" }
    end,
    function() return nested end, function() return BOOM end,
    function() return setmetatable({ 1 }, { __len = function() return -3 end }) end,
    function() return setmetatable({}, { __name = 7 }) end, function()
        return setmetatable({}, { __metatable = false })
    end,
    function() return { nonsense = 1 } end, function()
        return { lr = "1", size = 0, d_model = 0.5 }
    end,
    function() return function() return {} end end, function() return function() error({}) end end,
    function() return function() coroutine.yield() end end, function() return io.stdout end,
    function() return coroutine.create(print) end, function() return dropped end, function()
        return "/no/such/directory/file"
    end,
    function() return heed.zeros(2, 3) end, function() return heed.zeros(0, 3) end, function()
        return heed.tensor(2)
    end,
    function() return heed.ids { { 1, 2 }, { 0, 9 } } end, function()
        return heed.tensor { true, false }
    end,
    function() return heed.ones(3, 2):t() end, function() return heed.ones(1):expand(2, 3) end,
    function() return heed.ones(2, 3):to "bf16" end, function()
        return heed.ones(2, { requires_grad = true })
    end,
    function() return { heed.ones(2, { requires_grad = true }) } end, function()
        return { a = heed.ones(2), b = 5 }
    end,
    function() return heed.generator(1) end, function() return heed.mask.causal() end, function()
        return heed.mask.alibi(2)
    end,
    function() return nn.Linear(2, 3) end, function() return nn.ModuleList { nn.ReLU() } end,
        function()
        return nn.Linear
    end,
}

local function arguments(random)
    local args = { n = random(0, 5) }
    for i = 1, args.n do args[i] = POOL[random(1, #POOL)]() end
    return args
end

-- Messages that Lua or its libraries made name nothing of heed's.
local FOREIGN = { "attempt to", "bad argument", "stack overflow", "invalid ",
    "no integer representation", "'for'", "t%.shape: " }

local function foreign(message)
    if message:find "attempt to yield" then return end -- the pool's own function
    for _, part in ipairs(FOREIGN) do
        if message:find(part) and not message:find "boom" then return true end
    end
end

-- heed.progress prints, an archive of nothing is a file; what is left of heed itself is core's.
local LEFT_OUT = { ["heed.progress"] = true, ["heed.npz.save"] = true }

local function each_function(visit)
    local seen = {}
    local function walk(path, t)
        if seen[t] then return end
        seen[t] = true
        for name, value in pairs(t) do
            local where = path .. "." .. tostring(name)
            if type(value) == "table" and nn.is_module(value) or LEFT_OUT[where]
                or core[name] == value then
                goto continue
            elseif type(value) == "function" then
                visit(where, value)
            elseif type(value) == "table" and rawget(value, "is_heed_module") then
                visit(where, function(...) return value(...) end)
            elseif type(value) == "table" then
                walk(where, value)
            end
            ::continue::
        end
    end
    walk("heed", heed)
end

describe("misuse of", function()
    local limit
    setup(function()
        collectgarbage()
        limit = heed.memory_limit(heed.memory().live + (64 << 20))
    end)
    teardown(function() heed.memory_limit(limit) end)

    local found = {}
    each_function(function(where, fn) found[#found + 1] = { where, fn } end)
    table.sort(found, function(a, b) return a[1] < b[1] end)
    assert(#found > 80, #found)

    for _, entry in ipairs(found) do
        local where, fn = entry[1], entry[2]
        it(where .. " is an error that says so", function()
            local random = values.random(#where)
            for _ = 1, 150 do
                local args = arguments(random)
                local ok, message = pcall(fn, table.unpack(args, 1, args.n))
                local fine = ok or type(message) == "table" or type(message) == "string"
                    and not foreign(message)
                assert(fine, where .. ": " .. tostring(message))
            end
        end)
    end

    it("a dropped tensor is called that, and the function that got it is named", function()
        assert.error_matches(function() heed.mask.window(dropped) end,
            "heed%.mask%.window: left: .*got a dropped tensor")
        assert.error_matches(function() nn.Linear(dropped, 2) end, "Linear: .*got a dropped tensor")
        assert.error_matches(function() heed.text.bpe.load(dropped) end,
            "heed%.text%.bpe%.load: .*got a dropped tensor")
    end)

    it("text.bleu.tokenize, optim.SGD and apply name their argument", function()
        assert.error_matches(function() heed.text.bleu.tokenize(5) end,
            "heed%.text%.bleu%.tokenize: line: expected a string, got 5")
        assert.error_matches(function() heed.optim.SGD({}, 0.1) end,
            "heed%.optim%.SGD: options: expected a table .*got 0%.1")
        assert.error_matches(function() nn.ReLU():apply(5) end,
            "ReLU: apply: fn: expected a function, got 5")
    end)

    it("add_group, and an lr that was set to anything, are named", function()
        local opt = heed.optim.SGD({ heed.ones(2, { requires_grad = true }) }, { lr = 1 })
        assert.error_matches(function() opt:add_group() end,
            "heed%.optim%.SGD:add_group: given: expected a table, got nil")
        for _, lr in ipairs { "0.1", 0 / 0, {} } do
            assert.error_matches(function() opt.lr = lr end,
                "heed%.optim%.SGD: lr: expected a number of at least 0, got")
        end
        assert.error_matches(function()
            heed.text.chars({ "ab" }, { specials = setmetatable({},
                { __len = function() return "x" end, __index = function() end }) })
            heed.text.chars({ "ab" }, { specials = { 5 } })
        end, "heed%.text%.chars: .*5 is not a new name")
    end)

    it("a stream may be closed twice, and says that it is closed", function()
        local path = os.tmpname()
        local file <close> = assert(io.open(path, "w"))
        file:write("a\nb\n")
        file:close()
        local stream <close> = assert(heed.data.line_stream(path))
        os.remove(path)
        stream:close()
        stream:close()
        assert.error_matches(function() return stream() end, "the file was closed")
    end)

    it("mask.alibi of more heads than any model has is not computed for years", function()
        for _, heads in ipairs { (1 << 16) + 1, 1 << 40, math.maxinteger } do
            assert.error_matches(function() heed.mask.alibi(heads) end,
                "heed%.mask%.alibi: heads: expected at most 65536, got")
        end
    end)

    it("einsum shows a letter beyond ASCII whole", function()
        assert.error_matches(function() heed.einsum("éa->a", heed.ones(2, 2)) end,
            "got 'é' at position 1")
    end)
end)
