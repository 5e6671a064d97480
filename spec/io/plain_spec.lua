local plain = require "heed.plain"

local function round(value) return assert(plain.decode(assert(plain.encode(value)))) end

describe("plain data as JSON", function()
    it("comes back exactly", function()
        local value = {
            list = { 1, 2.0, "three", true, { } }, float = 0.1, big = math.maxinteger,
                small = math.mininteger,
            text = "quotes \" and \\ and \n\t\0 and é", nested = { a = { b = { c = false } } },
        }
        assert.are.same(value, round(value))
        assert.are.equal("float", math.type(round { 2.0 }[1]))
        assert.are.equal("integer", math.type(round { 2 }[1]))
        assert.are.equal(5e-324, round { 5e-324 }[1])
    end)

    it("keeps what JSON has no words for", function()
        assert.are.equal(math.huge, round { math.huge }[1])
        local nan = round { 0 / 0 }[1]
        assert.are_not.equal(nan, nan)
        assert.are.equal("\xff\xfe", round { "\xff\xfe" }[1])
        assert.are.same({ [3] = "a", [-1] = "b", x = 1 }, round { [3] = "a", [-1] = "b", x = 1 })
        assert.are.same({ ["$x"] = 1 }, round { ["$x"] = 1 })
        assert.are.same({ [true] = 1, [false] = 2 }, round { [true] = 1, [false] = 2 })
    end)

    it("takes no table for a list that has a hole or another key", function()
        for _, t in ipairs { { 1, nil, 3, a = 1 }, { [0] = 0, 1, nil, 3 }, { 1, 2, [2.5] = "x" },
            { nil, 2 } } do
            assert.are.same(t, round(t))
        end
    end)

    it("reads as deep as it writes", function()
        local map, list = { [-1] = "\xff" }, {}
        for _ = 1, 98 do map, list = { [-1] = map }, { list } end
        assert.are.same(map, round(map))
        assert.are.same(list, round(list))
        local text, message = plain.encode { { { map } } }
        assert.is_nil(text)
        assert.is_truthy(message:find("too deeply", 1, true))
    end)

    it("writes keys in order", function()
        assert.are.equal('{"a":1,"b":2,"c":3}', plain.encode { c = 3, a = 1, b = 2 })
    end)

    it("refuses what is not plain", function()
        assert.is_nil((plain.encode { print }))
        assert.are.same({ nil, "a table as a key cannot be saved" },
            { plain.encode { [{}] = 1, [{ 2 }] = 2, x = 3 } })
        local circle = {}
        circle[1] = circle
        assert.is_nil((plain.encode(circle)))
    end)

    it("reads JSON from elsewhere", function()
        assert.are.same({ a = { 1, "é😀/" } },
            plain.decode ' { "a" : [ 1 , "\\u00e9\\ud83d\\ude00\\/" ] } ')
    end)

    it("refuses everything else", function()
        for _, text in ipairs { "", "{", "[1", "[1,]", '{"a"}', '{"a":}', "nil",
            "[1] 2", '"abc', '"\\x"', '"\\ud800"', "print(1)",
            '{"$unknown":1}', '{"$number":"x"}', '{"$bytes":"0"}', ("["):rep(1000), "--1", "1e" } do
            local value, message = plain.decode(text)
            assert.is_nil(value, text)
            assert.are.equal("string", type(message), text)
        end
    end)
end)
