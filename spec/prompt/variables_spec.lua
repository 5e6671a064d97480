local session = require "spec.support.session"
local variables = require "heed.prompt.variables"

-- The outputs of inputs in which every line is one; there must be no errors.
local function outputs(...)
    local s = session.type { ... }
    assert.are.equal("", s.errors)
    return s.output
end

describe("locals at the prompt", function()
    it("outlive their input, and are no globals", function()
        assert.are.equal("1\nnil\n3\t4\n", outputs("local x = 1", "x", "_G.x", "local a, b = 3, 4",
            "a, b"))
    end)

    it("are assigned by later inputs, and shared with functions of all of them", function()
        assert.are.equal("7\n9\n", outputs("local x = 1", "function heed_spec_get() return x end",
            "x = 7",
            "heed_spec_get()", "local x = 9", "heed_spec_get()", "heed_spec_get = nil"))
    end)

    it("may be functions, also ones that call themselves", function()
        assert.are.equal("24\n", outputs("local function factorial(n)",
            "return n < 2 and 1 or n * factorial(n - 1)", "end",
            "factorial(4)"))
    end)

    it("begin as the global of their name, and as nil without a value", function()
        assert.are.equal("true\nnil\n", outputs("local type = type", "type(1) == 'number'",
            "local type", "type"))
        assert.are.equal("function", type(type))
    end)

    it("inside blocks stay what they are", function()
        assert.are.equal("nil\n1\n", outputs("do local x = 1 end", "x",
            "if true then local y = 2 end for i = 1, 1 do local z = i end",
            "function heed_spec_f() local x = 1 return x end", "heed_spec_f()",
                "heed_spec_f = nil"))
    end)

    it("stand anywhere on a line", function()
        assert.are.equal("3\n", outputs("local a = 1 local b = 2; c = a + b", "c", "c = nil"))
        assert.are.equal("6\n", outputs("local t = {} for i = 1, 3 do t[i] = i end local sum = 0",
            "for _, v in ipairs(t) do sum = sum + v end", "sum"))
        assert.are.equal("5\n", outputs("local f", "(function() f = 5 end)()", "f"))
    end)

    it("with <const> keep, with <close> end with their input", function()
        assert.are.equal("5\n", outputs("local c <const> = 5", "c"))
        local s = session.type { "local log = {}",
            "local x <close> = setmetatable({}, { __close = function() log[1] = 'closed' end })",
            "log[1], x", "local k <const> = 1; k = 2" }
        assert.are.equal("closed\tnil\n", s.output)
        assert.is_truthy(s.errors:find "attempt to assign to const variable 'k'")
    end)

    it("do not hide a global when their statement fails", function()
        local s = session.type { "local type = error 'no'", "type(1)", "local fresh = error 'no'",
            "fresh" }
        assert.are.equal("number\nnil\n", s.output)
        s = session.type { "local old = 1", "local old = error 'no'", "old" }
        assert.are.equal("1\n", s.output)
    end)

    it("are called locals by errors, on the line as it was typed", function()
        local s = session.type { "local t", "t.x" }
        assert.are.equal("input 2:1: attempt to index a nil value (local 't')\n  input 2:1: "
            .. "t.x\n             ^\n", s.errors)
        s = session.type { "local a = 1", "local b =", "  a.x.y" }
        assert.is_truthy(s.errors:find("input 2:2:   a.x.y\n", 1, true))
    end)

    it("may be many, also in one input", function()
        local lines, sum = {}, {}
        for i = 1, 300 do
            lines[i] = ("local v%d = %d"):format(i, i)
            if i <= 140 then sum[i] = "v" .. i end
        end
        lines[301] = table.concat(sum, " + ")
        assert.are.equal(140 * 141 // 2 .. "\n", outputs(table.unpack(lines)))
    end)

    it("leave _ENV to Lua", function()
        assert.are.equal("2\nnil\n", outputs("local _ENV = { x = 2 }; return x", "x"))
    end)
end)

describe("the rewriting of an input", function()
    it("keeps lines and columns", function()
        for input, expected in pairs {
            ["local x = 1"] = "      x = 1",
            ["local a <const>, b = 1, 2"] = "      a        , b = 1, 2",
            ["local function f() end"] = "      function f() end",
            ["local x\ny = 1"] = "      x = nil;\ny = 1",
            ["a = 'local b = 1' local c = 2"] = "a = 'local b = 1'       c = 2",
            ["f { local_ = 1 } do local q end"] = "f { local_ = 1 } do local q end",
            ["repeat local a until a local b"] = "repeat local a until a       b = nil;",
        } do
            assert.are.equal(expected, (variables.without_locals(input)))
        end
    end)
end)
