--- heed.json: RFC 8259 by the classes of a conformance suite (must be taken, must be refused, may
--- be either), what goes in comes out, and errors that say where.

local heed = require "heed"
local locale = require "spec.support.locale"
local values = require "spec.support.values"

local json = heed.json
local decode, encode = json.decode, json.encode

-- Text, and what encode makes of what decode made of it.
local TAKEN = {
    { "null" }, { "true" }, { "false" }, { "0" }, { '""' }, { "[]" }, { "{}" },
    { " [ ] ", "[]" }, { "\t{\r\n} ", "{}" }, { "\xEF\xBB\xBF[1]", "[1]" },
    { "[1,2,3]" }, { '{"a":{"b":[{}]}}' }, { "[[],[[]],{}]" }, { "[null,1,null,true]" },
    { '{"b":1,"a":2}', '{"a":2,"b":1}' }, { '{"a":1,"a":[2]}', '{"a":[2]}' }, { '{"":0}' },
    { "[-0]", "[0]" }, { "[-0.0]" }, { "[1.0]" }, { "[1e0]", "[1.0]" }, { "[1E+2]", "[100.0]" },
    { "[1e-2]", "[0.01]" }, { "[123.456e78]", "[1.23456e+80]" }, { "[0e1]", "[0.0]" },
    { "[9007199254740993]" }, { "[9223372036854775807]" }, { "[-9223372036854775808]" },
    { "[9223372036854775808]", "[9.223372036854776e+18]" },
    { "[100000000000000000000]", "[1e+20]" }, { "[1e-400]", "[0.0]" },
    { "[5e-324]" }, { "[1.7976931348623157e+308]" }, { "[2.2250738585072014e-308]" },
    { "[0.1,0.30000000000000004,1e+22,123456.789]" },
    { "[0." .. ("3"):rep(500) .. "]", "[0.3333333333333333]" },
    { '"\\u0000\\u001f"', '"\\u0000\\u001f"' }, { '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
        '"\\"\\\\/\\b\\f\\n\\r\\t"' },
    { '"\\u00e9\\u20AC"', '"é€"' }, { '"\\ud83d\\ude00"', '"😀"' }, { '"\\uDBFF\\uDFFF"',
        '"\u{10FFFF}"' },
    { '"\\uffff\\uFDD0"', '"\u{ffff}\u{fdd0}"' }, { '"é€😀\127"' }, { '"a\\u006"b',
        false }, { '["\\u006a"]', '["j"]' },
    { ("["):rep(1000) .. ("]"):rep(1000) },
}

-- Text and where it is said to be wrong.
local REFUSED = {
    { "", "1, column 1: expected a value, got the end" }, { "  ", "1, column 3" },
    { "[", "1, column 2: expected a value, got the end" }, { "[1", "1, column 3" },
    { "[1,", "1, column 4" }, { "[1,]", "1, column 4: expected a value, got ']'" },
    { "[,1]", "1, column 2" }, { "[1 2]", "1, column 4: expected a comma or %], got '2'" },
    { "[1}", "1, column 3" }, { "{]", "1, column 2" }, { "]", "1, column 1" },
    { '{"a":1,}', "1, column 8: expected a name in quotes" }, { "{a:1}", "1, column 2" },
    { '{"a" 1}', "1, column 6: expected a colon" }, { '{"a":}', "1, column 6" },
    { '{"a"', "1, column 5" }, { "{1:1}", "1, column 2" }, { '{"a":1 "b":2}', "1, column 8" },
    { "{'a':1}", "1, column 2" },
    { "nul", "1, column 1" }, { "True", "1, column 1" }, { "NaN", "1, column 1" },
    { "Infinity", "1, column 1" }, { "-Infinity", "1, column 2" }, { "nullx", "1, column 5" },
    { "01", "1, column 1: a number with a zero before it" }, { "-01", "1, column 1" },
    { "1.", "1, column 3: expected a digit" }, { ".5", "1, column 1" }, { "-", "1, column 2" },
    { "+1", "1, column 1" }, { "1e", "1, column 3" }, { "1e+", "1, column 4" },
        { "0x1", "1, column 2" },
    { "1,5", "1, column 2: expected the end" }, { "1e5.5", "1, column 4" },
        { "--1", "1, column 2" },
    { "1e400", "1, column 1: a number that no float" }, { "-1e400", "1, column 1" },
    { "18446744073709551615", "an integer that neither 64 bits nor a float hold" },
    { "1" .. ("0"):rep(400), "an integer that neither" },
    { '"abc', "1, column 1: a string without an end" }, { '"\\', "expected an escape" },
    { '"\\x"', "expected an escape" }, { '"\\u00g0"', "four hexadecimal" },
    { '"\\u00', "four hexadecimal" }, { '"\\ud800"', "surrogates in pairs" },
    { '"\\ud800\\u0041"', "surrogates" }, { '"\\udc00"', "surrogates" },
    { '"\\ud800\\ud800"', "surrogates" }, { '"a\nb"', "1, column 3: a control character" },
    { '"\0"', "a control character" }, { '"\t"', "a control character" },
    { '"\xff"', "1, column 2: a byte that is not UTF%-8" }, { '"\xc0\x80"', "not UTF%-8" },
    { '"\xed\xa0\x80"', "not UTF%-8" }, { '"\xf4\x90\x80\x80"', "not UTF%-8" },
    { '"\xe2\x82"', "not UTF%-8" }, { '"\xe2\x82', "not UTF%-8" }, { "\xff", "byte 0xff" },
    { "[1] x", "1, column 5: expected the end, got 'x'" }, { "{} {}", "1, column 4" },
    { "[]\0", "1, column 3: expected the end, got byte 0x00" }, { "\0", "byte 0x00" },
    { "[1,\n  2,\n  x]", "3, column 3" }, { '["é" x]', "1, column 6" }, { "/* */1", "1, column 1" },
    { "\xEF\xBB\xBF", "expected a value" }, { "\xFE\xFF[1]", "byte 0xfe" }, { "\v1", "byte 0x0b" },
    { ("["):rep(1001), "1, column 1001: more than 1000 lists and objects" },
    { ('{"a":'):rep(1001), "more than 1000" }, { ("["):rep(100000), "more than 1000" },
}

describe("json.decode", function()
    it("takes what is JSON, and encode writes it back", function()
        for _, case in ipairs(TAKEN) do
            if case[2] ~= false then
                local value, message = decode(case[1])
                assert.is_nil(message, case[1])
                assert.equal(case[2] or case[1], encode(value))
            end
        end
    end)

    it("refuses what is not, and says where", function()
        for _, case in ipairs(REFUSED) do
            local value, message = decode(case[1])
            assert.is_nil(value)
            assert.matches("^line %d+, column %d+: ", message)
            assert.matches(case[2], message)
        end
    end)

    it("refuses every beginning of a text, and every text with a byte more", function()
        local text = '{"a":[1,-2.5e3,"x\\n\\u00e9",null,true],"b":{"c":[]}}'
        for stop = 0, #text - 1 do
            assert.is_nil((decode(text:sub(1, stop))))
            assert.is_string(select(2, decode(text:sub(1, stop))))
        end
        for byte = 33, 255 do assert.is_nil((decode(text .. string.char(byte)))) end
    end)

    it("tells integers, floats, null and empty tables apart", function()
        local value = decode '{"i":3,"f":3.0,"n":null,"list":[],"object":{}}'
        assert.equal("integer", math.type(value.i))
        assert.equal("float", math.type(value.f))
        assert.is_true(value.n == json.null and value.n ~= nil)
        assert.equal("null", tostring(json.null))
        assert.is_true(json.is_array(value.list))
        assert.is_false(json.is_array(value.object))
        assert.is_false(json.is_array "x")
        assert.same({ false }, { decode "false" })
    end)

    it("wants a string", function()
        assert.error_matches(function() decode(12) end,
            "json.decode: text: expected a string, got 12")
        assert.error_matches(function() decode() end, "text: expected a string, got nil")
    end)

    it("costs no stack, however deep, in a coroutine too", function()
        local deep = ('{"a":['):rep(500) .. ("]}"):rep(500)
        local value = coroutine.wrap(function() return decode(deep) end)()
        assert.equal(deep, encode(value))
    end)
end)

describe("json.encode", function()
    it("writes lists, objects and their keys in order", function()
        assert.equal('{"a":1,"b":[true,{"x":"y"}],"c":{}}', encode { c = {}, a = 1, b = { true,
            { x = "y" } } })
        assert.equal("[]", encode(json.array {}))
        local list = json.array { 1, json.null }
        assert.equal("[1,null]", encode(list))
        assert.equal(list, json.array(list))
        list[1], list[2] = nil, nil
        assert.equal("[]", encode(list))
    end)

    it("with an indent, every value on its line", function()
        assert.equal('{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}',
            encode({ a = { 1, {} }, b = json.array {} }, { indent = 2 }))
        assert.equal("[\n1\n]", encode({ 1 }, { indent = 0 }))
        assert.same({ a = { 1, { b = "c" } } }, decode(encode({ a = { 1, { b = "c" } } },
            { indent = 3 })))
    end)

    it("orders keys by their bytes, whatever is in them", function()
        assert.equal('{"":0,"\\u0000":1,"a":2,"a\\u0000":3,"aa":4,"b":5,"é":6}', encode {
            ["é"] = 6, b = 5, aa = 4, ["a\0"] = 3, a = 2, ["\0"] = 1, [""] = 0 })
        local many, names = {}, {}
        for i = 1, 3000 do
            names[i] = ("k%04d"):format(i)
            many[names[i]] = { [names[i]] = i }
        end
        local last = 0
        for name, inner, i in encode(many):gmatch '"(k%d+)":{"(k%d+)":(%d+)}' do
            last = last + 1
            assert.same({ names[last], names[last], tostring(last) }, { name, inner, i })
        end
        assert.equal(3000, last)
    end)

    it("refuses what JSON has no words for, and says where it is", function()
        local circle = {}
        circle.x = circle
        for _, case in ipairs {
            { 0 / 0, ": expected a finite number" },
            { { 1 / 0 }, "%[1%]: expected a finite number, got inf" },
            { { a = { b = { -1 / 0 } } }, "%.a%.b%[1%]: " }, { { ["a b"] = print }, '%["a b"%]: ' },
            { "\xff", "expected UTF%-8" }, { { ["\xff"] = 1 }, "expected UTF%-8" },
            { { 1, nil, 3 }, "a list without holes" }, { { [2] = 1 }, "without holes" },
            { { [0] = 1 }, "the key 0" }, { { [1.5] = 1 }, "the key 1.5" },
                { { [true] = 1 }, "the key true" },
            { { 1, a = 2 }, 'a table with the key "a" too' },
            { json.array { a = 1 }, 'a table with the key "a" too' },
            { circle, "at most 1000 tables inside each other, got more, or a circle" },
            { nil, "got nil; heed.json.null" }, { print, "got a function" },
            { heed.ones(2), "got f32 tensor %[2%]; t:totable" },
        } do
            assert.error_matches(function() encode(case[1]) end, "heed.json.encode: value.*"
                .. case[2])
        end
        assert.error_matches(function() encode(1, { indent = -1 }) end,
            "indent: expected an integer")
        assert.error_matches(function() encode(1, { ident = 1 }) end, "did you mean indent")
        assert.error_matches(function() json.array(setmetatable({}, {})) end, "without a metatable")
    end)

    it("gives every float the fewest digits that read back the same", function()
        local random = values.random(3)
        local function bits() return random(0, 65535) end
        for _ = 1, 3000 do
            local packed = string.pack("<I2I2I2I2", bits(), bits(), bits(), bits())
            local value = string.unpack("<d", packed)
            if value == value and math.abs(value) ~= math.huge then
                local text = encode(value)
                assert.equal(packed, string.pack("<d", decode(text)), text)
                local digits = text:match("^-?([%d.]+)"):gsub("%.0$", ""):gsub("%D", "")
                assert.is_true(#digits:gsub("^0+", "") <= 17, text)
            end
        end
        assert.equal("[0.1,1.0,-0.0,1e+100,5e-324]", encode { 0.1, 1.0, -0.0, 1e100, 5e-324 })
    end)

    it("writes a float as the shortest of %.15g, %.16g and %.17g", function()
        local random = values.random(11)
        local function check_text(value)
            local text
            for digits = 15, 17 do
                text = ("%." .. digits .. "g"):format(value)
                if tonumber(text) == value then break end
            end
            assert.equal(text:find "[.e]" and text or text .. ".0", encode(value))
        end
        for _ = 1, 2000 do
            local digits, decimals = random(0, 15), random(0, 20)
            local value = random(0, 10 ^ digits // 1 | 0) / 10.0 ^ decimals
            check_text(value)
            check_text(-value)
            check_text(value + value * 0x1p-52)
            check_text(value * 10.0 ^ random(-200, 200))
        end
        for exponent = -300, 300 do check_text(10.0 ^ exponent) end
        for exponent = -1000, 1000 do check_text(2.0 ^ exponent) end
        for _, value in ipairs { 9.9999999999999995e14, 1e15, 999999999999999.0, 1e16, 1e17, 1e-4,
            9.999999999999999e-5, 123456789012345.6, 1234567890123456.0, 0x1p53 } do
            check_text(value)
        end
    end)

    it("comes back the same: values of every kind", function()
        local random = values.random(7)
        local function value(depth)
            local kind = random(1, depth > 0 and 8 or 6)
            if kind == 1 then return random(-9, 9) << random(0, 59) end
            if kind == 2 then return random(-999, 999) / random(1, 99) end
            if kind == 3 then return random(0, 1) == 1 end
            if kind == 4 then return json.null end
            if kind <= 6 then
                local text = {}
                for i = 1, random(0, 5) do
                    text[i] = utf8.char(({ random(0, 127), random(128, 0xD7FF),
                        random(0xE000, 0x10FFFF) })[random(1, 3)])
                end
                return table.concat(text)
            end
            local t = kind == 7 and json.array {} or {}
            for i = 1, random(0, 4) do
                t[kind == 7 and i or "k" .. random(1, 99)] = value(depth - 1)
            end
            return t
        end
        for _ = 1, 500 do
            local one = value(4)
            local text = encode(one, random(0, 1) == 1 and { indent = 1 } or nil)
            local again = decode(text)
            assert.same(one, again)
            assert.equal(encode(one), encode(again))
        end
    end)
end)

describe("json in a locale whose point is a comma", function()
    it("reads and writes as in any other", function()
        local output = locale.with_comma [[
            local json = require "heed.json"
            local value = json.decode "[1.5,-2.5e-3,[1,5],0.25]"
            print(json.encode(value), value[1] * 2 == 3)]]
        if not output then return pending "this machine cannot make the locale" end
        assert.equal("[1.5,-0.0025,[1,5],0.25]\ttrue\n", output)
    end)
end)
