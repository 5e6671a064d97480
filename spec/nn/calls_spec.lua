-- The calls of modules that are under way: what messages and caches take from them, whatever
-- happens to the calls.

local heed = require "heed"
local nn = heed.nn
local calls = require "heed.nn.calls"

-- A module that is called with a function runs it.
local Runs = nn.Module:extend "Runs"
function Runs:init(inner)
    self.inner = inner
    calls.watch(self)
end
function Runs:forward(f, ...) return f(self, ...) end

local function inner_of(self, f, ...) return self.inner(f, ...) end

local function two() return Runs(Runs()) end

local function names()
    local levels, depth = calls.under_way()
    local list = {}
    for i = 1, depth do list[i] = levels[i].name end
    return list
end

local function none_under_way() assert.are.equal(0, (select(2, calls.under_way()))) end

local function message_of(f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    return (tostring(message):gsub("[%w_/.]+_spec.lua:%d+: ", ""))
end

local function fails() return heed.ones(2):sum(3) end

local WRONG = "heed.sum: dim: expected a dimension 1..1 or -1..-1, got 3"

describe("calls of modules", function()
    before_each(none_under_way)
    after_each(none_under_way)

    it("are under way until they return", function()
        assert.same({ "forward", "forward" }, two()(inner_of, names))
        assert.same({}, names())
    end)

    it("give what the function gives, nils too", function()
        local results = table.pack(Runs()(function() return nil, 2, nil end))
        assert.same({ n = 3, [2] = 2 }, results)
    end)

    it("name the path where user code makes tail calls", function()
        local Tail = nn.Module:extend "Tail"
        function Tail:init() self.linear = nn.Linear(2, 3) end
        function Tail:forward(x) return self.linear(x) end
        function Tail:project(x) return self:forward(x) end
        local model = nn.Sequential(nn.Identity(), Tail())
        local wide, expected = heed.ones(1, 5), "linear: x: expected 2 features, got [1, 5]"
        assert.are.equal("Sequential.2." .. expected, message_of(model, wide))
        assert.are.equal(expected, message_of(model[2], wide))
        assert.are.equal(expected, message_of(function() return model[2]:project(wide) end))
        local own = Tail()
        function own:other(x) return self.linear(x) end -- a method of one instance
        assert.are.equal(expected, message_of(function() return own:other(wide) end))
    end)

    it("name the path of methods, and of an encoder-decoder's", function()
        local model = nn.Transformer { src_vocab = 9, tgt_vocab = 9, d_model = 8, num_heads = 2,
            num_layers = 1, d_ff = 8 }
        assert.are.equal("decoder.layers.1.multihead_attn: "
            .. "key: expected 8 features (d_model), got [1, 2, 4]",
            message_of(function() return model:decode({ { 1 } }, heed.ones(1, 2, 4)) end))
        assert.are.equal("Transformer: src: expected a tensor of tokens, got 3",
            message_of(function() return model:encode(3) end))
        local whole = Runs(model)
        assert.are.equal("inner: src: expected a tensor of tokens, got 3",
            message_of(whole, function(self) return self.inner:encode(3) end))
    end)

    it("are as they were after an error that went through them", function()
        local model = two()
        assert.are.equal("inner: " .. WRONG, message_of(model, inner_of, fails))
        none_under_way()
        assert.are.equal("Runs: " .. WRONG, message_of(model, fails))
        assert.are.equal(WRONG, message_of(fails))
        local plain = nn.Sequential(nn.Identity(), nn.Linear(2, 2)) -- nobody watches these
        local wide, expected = heed.ones(1, 5), ": x: expected 2 features, got [1, 5]"
        for _ = 1, 2 do
            assert.are.equal("Sequential.2" .. expected, message_of(plain, wide))
            assert.are.equal("Linear" .. expected, message_of(plain[2], wide))
            assert.are.equal(WRONG, message_of(fails))
        end
    end)

    it("are as they were after an error that a forward caught", function()
        local model = two()
        local message = message_of(model, function(self)
            assert.is_false(pcall(self.inner, fails))
            assert.same({ "forward" }, names())
            return fails()
        end)
        assert.are.equal("Runs: " .. WRONG, message)
        assert.same({ "forward", "forward" }, model(function(self)
            pcall(self.inner, inner_of)
            return self.inner(names)
        end))
    end)

    it("are as they were when the handler of an error looks", function()
        local seen
        assert.is_false(xpcall(two(), function() seen = names() end, inner_of, error))
        assert.same({ "forward", "forward" }, seen)
    end)

    it("are as they were after an interrupt at any instruction", function()
        local model, done, k = two(), false, 0
        local function interrupted()
            debug.sethook(function()
                debug.sethook()
                error "interrupted"
            end, "", k)
            done = pcall(model, inner_of, function() end)
            debug.sethook()
        end
        while not done do
            k = k + 1
            pcall(interrupted)
            none_under_way()
            assert.same({ "forward", "forward" }, model(inner_of, names))
        end
        assert.is_true(k > 60)
    end)

    it("belong to a coroutine: one that yields inside a forward keeps its own", function()
        local model, other = two(), Runs()
        local thread = coroutine.wrap(function()
            return model(inner_of, function()
                coroutine.yield()
                assert.same({ "forward", "forward", "forward" }, names())
                return fails()
            end)
        end)
        thread()
        none_under_way()
        assert.are.equal("Runs: " .. WRONG, message_of(other, fails))
        assert.are.equal("inner: " .. WRONG, message_of(other, thread))
    end)

    it("of a coroutine that was resumed inside a forward stand behind that forward's", function()
        assert.same({ "forward", "forward" }, two()(function(self)
            return coroutine.wrap(function() return self.inner(names) end)()
        end))
    end)

    it("name a module that a forward calls without being its part", function()
        local other = nn.Sequential(nn.Linear(2, 2))
        local model = two()
        assert.are.equal("Sequential.1: x: expected 2 features, got [1, 5]",
            message_of(model, inner_of, function() return other(heed.ones(1, 5)) end))
    end)

    it("go with a coroutine that is abandoned, or closed", function()
        local model, threads = two(), {}
        for i = 1, 3 do
            threads[i] = coroutine.create(function() model(inner_of, coroutine.yield) end)
            coroutine.resume(threads[i])
        end
        assert.is_true(coroutine.close(threads[1]))
        none_under_way()
        assert.same({ "forward" }, model(names))
        threads = setmetatable(threads, { __mode = "v" })
        collectgarbage()
        collectgarbage()
        assert.is_nil(threads[2])
    end)

    it("are there when heed.recompute, heed.func and Module:check call back", function()
        local function wrong(x) return x:sum(3) end
        local x = heed.ones({ 2 }, { requires_grad = true })
        local model = two()
        assert.are.equal("inner: " .. WRONG,
            message_of(model, inner_of, function() return heed.recompute(wrong, x) end))
        assert.are.equal("inner: " .. WRONG, message_of(model, inner_of, function()
            return heed.func(function(_, t) return wrong(t) end, function(_, g) return g end)(x)
        end))
        assert.are.equal("inner: " .. WRONG,
            message_of(function() return model:check(inner_of, fails) end))
        -- Backward runs the function again, outside of the forward.
        local again
        local y = model(inner_of, function()
            return heed.recompute(function(t)
                again = names()
                return (t * t):sum()
            end, x)
        end)
        assert.same({ "forward", "forward" }, again)
        y:backward()
        assert.same({}, again)
    end)

    it("of methods are of functions whose first parameter is self, and of no others", function()
        local Own = nn.Module:extend "Own"
        function Own:init() calls.watch(self) end
        local function helper(x) return x end
        function Own:read() return names(), self end
        function Own.make() return names() end
        Own.helper = helper
        local own = Own()
        assert.same({ "read" }, (own:read()))
        assert.same({}, Own.make())
        assert.are.equal(helper, Own.helper)
        own.activation = helper
        assert.are.equal(helper, own.activation)
        local Other = nn.Module:extend "Other"
        Other.read = Own.read
        assert.are.equal(Own.read, Other.read)
        assert.are.equal(own, select(2, own:read()))
    end)

    it("of a module inside itself end too", function()
        local function down(self, n) return n == 0 and #names() or self(down, n - 1) end
        assert.are.equal(501, Runs()(down, 500))
        assert.are.equal(1, Runs()(down, 0))
    end)
end)
