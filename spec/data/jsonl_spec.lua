--- data.jsonl: lines to values, errors that name the line, going on, and batches. The stream itself
--- is in stream_spec.lua.

local data = require "heed.data"
local files = require "spec.data.files"
local json = require "heed.json"

describe("data.jsonl", function()
    teardown(files.remove)

    it("gives the value of each line, blank ones passed over", function()
        local path = files.write '\xEF\xBB\xBF{"a":1}\r\n\n \t\r\n[1,2.5]\nnull\nfalse\n"x"'
        local rows <close> = assert(data.jsonl(path))
        for _ = 1, 2 do
            local list = files.pass(rows)
            assert.equal('[{"a":1},[1,2.5],null,false,"x"]', json.encode(list))
        end
        assert.same({}, files.pass(assert(data.jsonl(files.write ""))))
    end)

    it("names file, line and column of what is no JSON, when it is met", function()
        local path = files.write '{"a":1}\n\n{"a":}\n'
        local rows <close> = assert(data.jsonl(path))
        assert.same({ a = 1 }, rows())
        assert.error_matches(rows, path .. ":3: column 6: expected a value, got '}'")
        local long = assert(data.jsonl(files.write('"' .. ("x"):rep(50) .. '"\n'),
            { max_line = 40 }))
        assert.error_matches(long, ":1: a line of more than 40 bytes")
        local several = assert(data.jsonl(files.write '1 2\n'))
        assert.error_matches(several, ":1: column 3: expected the end")
    end)

    it("says nil and why where there is no such file", function()
        local rows, message = data.jsonl "nowhere.jsonl"
        assert.is_nil(rows)
        assert.equal("nowhere.jsonl: No such file or directory", message)
        assert.is_nil((data.jsonl "/"))
        assert.error_matches(function() data.jsonl(5) end, "data.jsonl: path: expected a string")
        assert.error_matches(function() data.jsonl("x", { header = true }) end,
            "no option \"header\"")
    end)

    it("shuffles, and goes on where it was", function()
        local lines = {}
        for i = 1, 200 do lines[i] = ('{"n":%d}'):format(i) end
        local path = files.write(files.text(lines))
        local first = assert(data.jsonl(path, { shuffle = 20, seed = 3 }))
        local other = assert(data.jsonl(path, { shuffle = 20 }))
        files.take(first, 77)
        other:load_state_dict(first:state_dict())
        assert.same(files.take(first, 300), files.take(other, 300))
    end)

    it("are examples of batches, pool by pool", function()
        local lines = {}
        for i = 1, 50 do
            lines[i] = json.encode { tokens = { i, i + 1 }, label = i, weight = i / 2,
                text = "t" .. i }
        end
        local rows = assert(data.jsonl(files.write(files.text(lines))))
        local batches = data.batches(rows, { size = 8, pool = 16, value = 0 })
        local seen = 0
        for batch in batches do
            assert.equal("i64", batch.tokens.dtype)
            assert.equal("f32", batch.weight.dtype)
            assert.equal("t" .. batch.label[1], batch.text[1])
            seen = seen + batch.size
        end
        assert.equal(50, seen)
        local hole = assert(data.jsonl(files.write '{"x":[1]}\n{"x":null}\n'))
        assert.error_matches(function() files.pass(data.batches(hole, { size = 2 })) end,
            "examples%[2%]: expected a list of numbers as x, got a JSON null")
    end)
end)
