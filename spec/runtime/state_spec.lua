local heed = require "heed.core"

describe("the module", function()
    it("is one record a state, however often it is loaded", function()
        local before = heed.tensor({ 1, 2 })
        package.loaded["heed.core"] = nil
        local again = require "heed.core"
        assert.same({ 2, 3 }, again.add(before, 1):totable())
        assert.is_true(again.is_tensor(before))
        heed.manual_seed(3)
        local a = heed.rand(1):item()
        again.manual_seed(3)
        assert.equal(a, again.rand(1):item())
    end)

    it("gives tensor functions as functions and as methods", function()
        local t = heed.tensor({ { 1, 2 }, { 3, 4 } })
        for _, name in ipairs { "add", "sum", "exp", "matmul", "view", "softmax", "masked_fill",
            "add_", "clone", "max", "gather" } do
            assert.equal("function", type(heed[name]), name)
            assert.equal(heed[name], t[name], name)
        end
    end)

    it("lets methods be added in Lua", function()
        heed.methods.doubled = function(t) return t * 2 end
        assert.equal(4, heed.tensor(2):doubled():item())
        heed.methods.doubled = nil
    end)

    it("is not fooled by other userdata", function()
        assert.is_false(heed.is_tensor(io.stdout))
        assert.is_false(heed.is_tensor({}))
        assert.is_false(heed.is_tensor())
        assert.error_matches(function() heed.sum(io.stdout) end,
            "heed.sum: t: expected a tensor, got a FILE%*")
        assert.error_matches(function() heed.sum() end,
            "heed.sum: t: expected a tensor, got nil; it is called as t:sum%(...%) or "
                .. "heed.sum%(t, ...%)")
        assert.equal("heed.tensor", getmetatable(heed.zeros(1)))
    end)

    it("names the line of the script in errors", function()
        local _, message = pcall(function() return heed.zeros(2) + "x" end)
        assert.matches("state_spec.lua:%d+: heed.add: b: expected a tensor or a number, got \"x\"",
            message)
    end)

    it("refuses what misuse there is, by function and argument", function()
        local t = heed.zeros(2, 3)
        assert.error_matches(function() return t + {} end,
            "heed.add: b: expected a tensor or a number, got a table of length 0")
        assert.error_matches(function() return heed.add(1, 2) end,
            "heed.add: a: expected a tensor, got 1")
        assert.error_matches(function() return t + heed.zeros(5) end, "%[2, 3%].*%[5%]")
        assert.error_matches(function() return heed.zeros(6) + heed.zeros(3, 2) end,
            "%[6%].*%[3, 2%]")
        assert.error_matches(function() return t < t end, ":lt")
        assert.error_matches(function() return t <= 1 end, ":le")
        assert.is_false(t == heed.zeros(2, 3))
        assert.error_matches(function() return t:sum("1") end, 'dim: expected an integer, got "1"')
        assert.error_matches(function() return t:sum(0) end,
            "dim: expected a dimension 1..2 or %-2..%-1, got 0")
        assert.error_matches(function() return t:sum(3) end, "got 3")
        assert.error_matches(function() return t:sum({ 1, -2 }) end, "named twice")
        assert.error_matches(function() return t:sum(1, 1) end,
            "keepdim: expected a boolean, got 1")
        assert.error_matches(function() return t:sum({ kepdim = true }) end, "no option \"kepdim\"")
        assert.error_matches(function() return t:view(4, 2) end, "heed.view: ")
        assert.error_matches(function() return t:transpose(1) end,
            "d2: expected a dimension %(%-1 is the last%), got nil")
        assert.error_matches(function() return t:narrow(2, 3, 2) end,
            "within 1..3 of dimension 2, got start 3, length 2")
        assert.error_matches(function() return t:select(1, 3) end, "index: expected an index 1..2")
        assert.error_matches(function() return t:split(0) end, "size: expected 1 or more")
        assert.error_matches(function() return t:split({ 1, 2 }) end, "add up to 2")
        assert.error_matches(function() return t:matmul(t) end, "%[2, 3%]")
        assert.error_matches(function() return t:item() end,
            "expected a tensor of one element, got shape %[2, 3%]")
        assert.error_matches(function() return #heed.tensor(1) end, "no length")
        assert.error_matches(function() return t:to("f3") end, "dtype")
        assert.error_matches(function() return ~t end, "bool tensor")
        assert.error_matches(function() return heed.cat({}) end, "empty list")
        assert.error_matches(function() return heed.cat({ t, 1 }) end,
            "expected tensors, got 1 at position 2")
        assert.error_matches(function() return heed.embedding(t, { 0 }) end, "1..2")
        assert.error_matches(function() return heed.embedding(t, heed.ones(2)) end,
            'tokens: expected integers, got f32 tensor %[2%]; heed.ids')
        assert.error_matches(function() return heed.linear(t, t, nil, "swish") end,
            '"relu", .*"tanh" or "sigmoid", got "swish"')
        assert.error_matches(function() return heed.dropout(t, 2) end, "probability 0..1, got 2")
    end)

    it("tells about itself", function()
        local info = heed.info()
        for _, name in ipairs { "version", "lua", "blis", "gemm", "isa" } do
            assert.equal("string", type(info[name]), name)
        end
        assert.equal(heed.get_num_threads(), info.threads)
        local before = heed.get_num_threads()
        heed.set_num_threads(3)
        assert.equal(3, heed.get_num_threads())
        heed.set_num_threads(before)
        assert.error_matches(function() heed.set_num_threads(0) end, "n: expected 1..256, got 0")
        local a = heed.clock()
        assert.is_true(heed.clock() >= a)
    end)
end)

describe("a state without the standard libraries", function()
    local function run(script)
        local path = os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write(script)
        file:close()
        local pipe = assert(io.popen(("LUA_CPATH='%s' lua5.4 %s 2>&1"):format(package.cpath, path)))
        local output = pipe:read("a")
        pipe:close()
        os.remove(path)
        return output
    end

    it("opens the core", function()
        assert.equal("6.0\n", run [[
            local open = package.loadlib(package.searchpath("heed.core", package.cpath), "luaopen_heed_core")
            local say = print
            for name in pairs(_G) do if name ~= "_G" then _G[name] = nil end end
            local heed = open()
            say(heed.tensor({ 1, 2, 3 }):sum():item())
        ]])
    end)

    it("closes with tensors, guards, scopes and functions still there, in any order", function()
        assert.equal("done\n", run [[
            First = setmetatable({}, { __gc = function()
                local ok, message = pcall(function() return T + 1 end)
                if not ok and not tostring(message):find("closing") and not tostring(message):find("dropped") then print(message) end
            end })
            local heed = require "heed.core"
            Second = setmetatable({}, { __gc = function() assert((T + 1):sum():item() == 6) end })
            T = heed.ones(3, { requires_grad = true })
            F = heed.func(function(ctx, x) ctx:save(x) return x * 1 end, function(_, g) return g end)
            Y = F(T)
            G, S = heed.no_grad(), heed.scope()
            Z = heed.ones(3)
            print("done")
        ]])
    end)

    it("works in states that end while others go on", function()
        local out = run [[
            local heed = require "heed.core"
            local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(heed.ones(i):sum():item()) end end)
            print(co(), co(), co())
        ]]
        assert.equal("1.0\t2.0\t3.0\n", out)
    end)
end)
