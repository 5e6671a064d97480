local heed = require "heed"
local show = require "heed.prompt.show"
local style = require "heed.prompt.style"

local plain = style.new(false)

local function text(value, columns) return show.value(value, plain, columns or 80) end

describe("a value at the prompt", function()
    it("that is a string is printed as it is", function()
        assert.are.equal("a\n\"b\" \0é", text "a\n\"b\" \0é")
        assert.are.equal("", text "")
        local long = text(("x"):rep(1000000))
        assert.is_true(#long < 110000)
        assert.is_truthy(long:find("1000000 bytes; print shows all", 1, true))
    end)

    it("that is a number, boolean or nil reads as in Lua", function()
        for value, expected in pairs { [1] = "1", [1.5] = "1.5", [1e100] = "1e+100",
            [true] = "true" } do
            assert.are.equal(expected, text(value))
        end
        assert.are.equal("2.0", text(2.0))
        assert.are.equal("nil", text(nil))
    end)

    it("that is a tensor prints itself, in colours with its type apart", function()
        local t = heed.ones(2, 2)
        assert.are.equal(tostring(t), text(t))
        local colored = show.value(t, style.new(true), 80)
        assert.is_truthy(colored:find("\27[2mf32 [2, 2]\27[0m", 1, true))
        assert.are.equal(tostring(t), (colored:gsub("\27%[%d*m", "")))
        t:free()
        assert.are.equal("dropped tensor", text(t))
    end)

    it("with a __tostring prints itself", function()
        assert.are.equal("two\nlines", text(setmetatable({}, { __tostring = function()
            return "two\nlines"
        end })))
        local model = heed.nn.Linear(2, 3)
        assert.are.equal(tostring(model), text(model))
    end)

    it("that is a function says its name, parameters or place", function()
        assert.are.equal("function print", text(print))
        assert.are.equal("function string.rep", text(string.rep))
        assert.are.equal("function heed.softmax", text(heed.softmax))
        assert.is_truthy(text(function(a, b, ...)
            return a, b, ...
        end):find "^function %(a, b, ...%)  .*show_spec.lua:%d+$")
        assert.is_truthy(text(heed.attention):find "^function heed.attention%([%w_, ]+%)$")
    end)

    it("that is a class or a module says what it is", function()
        assert.are.equal("class heed.nn.Linear", text(heed.nn.Linear))
        assert.are.equal("class Mine", text(heed.nn.Module:extend "Mine"))
        local listing = text(heed)
        assert.is_truthy(listing:find "^module heed\n")
        for _, name in ipairs { "softmax", "attention", "nn%.", "ones" } do
            assert.is_truthy(listing:find("%f[%w]" .. name), name)
        end
        for line in listing:gmatch "[^\n]+" do assert.is_true(#line <= 80) end
    end)
end)

describe("a table at the prompt", function()
    it("is shown with what is in it", function()
        assert.are.equal("{}", text {})
        assert.are.equal('{1, 2, name = "x"}', text { 1, 2, name = "x" })
        assert.are.equal('{[1.5] = true, ["a b"] = "é\\n\\"", b = {1, {2}}, [false] = 1}',
            text { ["a b"] = 'é\n"', b = { 1, { 2 } }, [1.5] = true, [false] = 1 })
        assert.are.equal("{tensor f32 [2, 3], function print, module heed.nn, class heed.nn.Linear}",
            text { heed.ones(2, 3), print, heed.nn, heed.nn.Linear })
        assert.are.equal("{[2] = 2, [4] = 4}", text { [2] = 2, [4] = 4 })
    end)

    it("may contain itself, and the same table twice", function()
        local t = {}
        t.t = t
        assert.are.equal("{t = {… itself}}", text(t))
        local shared = { 1 }
        assert.are.equal("{{1}, {1}}", text { shared, shared })
    end)

    it("with holes shows them", function()
        assert.are.equal("{1, nil, 3}", text { 1, nil, 3 })
    end)

    it("is bounded in length, depth and breadth", function()
        local deep = {}
        for _ = 1, 100 do deep = { deep } end
        assert.are.equal("{{{{{…}}}}}", text(deep))
        local long = {}
        for i = 1, 100000 do long[i] = i end
        local shown = text(long)
        assert.is_true(#shown < 2000)
        assert.is_truthy(shown:find "… 99940 more")
        local wide = {}
        for i = 1, 100000 do wide["key" .. i] = i end
        shown = text(wide)
        assert.is_true(#shown < 3000)
        assert.is_truthy(shown:find "… %d+%+ more")
        local tree = {}
        for i = 1, 60 do
            tree[i] = {}
            for j = 1, 60 do
                tree[i][j] = {}
                for k = 1, 60 do tree[i][j][k] = ("x"):rep(500) end
            end
        end
        assert.is_true(#text(tree) < 150000)
    end)

    it("that is a list of numbers stands in columns", function()
        local list = {}
        for i = 1, 30 do list[i] = i * i end
        assert.are.equal("{\n"
            .. "    1,   4,   9,  16,  25,  36,  49,\n"
            .. "   64,  81, 100, 121, 144, 169, 196,\n"
            .. "  225, 256, 289, 324, 361, 400, 441,\n"
            .. "  484, 529, 576, 625, 676, 729, 784,\n"
            .. "  841, 900\n}", text(list, 40))
    end)

    it("too wide for a line has a line for every field", function()
        assert.are.equal('{\n  first = "' .. ("a"):rep(30) .. '",\n  second = {\n    x = "'
            .. ("b"):rep(30) .. '",\n    y = 1\n  }\n}',
            text({ first = ("a"):rep(30), second = { x = ("b"):rep(30), y = 1 } }, 44))
    end)

    it("measures columns, not bytes", function()
        local line = text({ ("é"):rep(60) }, 70)
        assert.is_nil(line:find "\n")
    end)

    it("runs no code but __tostring", function()
        local trap = setmetatable({ 1 }, { __index = error, __len = error, __pairs = error,
            __eq = error, __name = 5 })
        assert.are.equal("{1}", text(trap))
        assert.are.equal("{{1}}", text { trap })
        assert.are.equal("{told …}", text { setmetatable({}, { __tostring = function()
            return "told\nall"
        end }) })
    end)

    it("survives strange keys and values", function()
        local t = { [print] = 1, [{}] = 2, [io.stdout] = 3, [0 / 1] = 4, ["\xff\0"] = 5,
            [1 << 62] = 6, [-1] = 7 }
        local shown = text(t)
        assert.is_truthy(shown:find("[\"\\xff\\000\"] = 5", 1, true))
        assert.is_truthy(shown:find("[function print] = 1", 1, true))
    end)
end)

describe("several values", function()
    it("stand side by side, or below each other when one has lines", function()
        assert.are.equal("1\tnil\tx", show.values(plain, 80, 1, nil, "x"))
        assert.are.equal("1\n[1., 1.]\nf32 [2]", show.values(plain, 80, 1, heed.ones(2)))
    end)

    it("are bounded too", function()
        local shown = show.values(plain, 80, table.unpack({}, 1, 5000))
        assert.is_truthy(shown:find "… 4000 more values$")
    end)
end)

describe("colours", function()
    it("change nothing else", function()
        local value = { 1, "x", print, { heed.ones(2) }, name = ("y"):rep(90) }
        assert.are.equal(text(value),
            (show.value(value, style.new(true), 80):gsub("\27%[%d*m", "")))
    end)
end)
