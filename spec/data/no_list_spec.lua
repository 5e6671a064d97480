--- Streams, batches and their like used as lists: an error says how one goes through them.

local data = require "heed.data"
local files = require "spec.data.files"
local heed = require "heed"

local function says(text, f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok, text)
    assert.is_truthy(message:find(text, 1, true), message)
end

local function key(value, name) return value[name] end
local function length(value) return #value end

describe("what is no list", function()
    teardown(files.remove)

    it("says so: rows of a CSV file", function()
        local rows <close> = assert(data.csv(files.write "label,text\nspam,x\nham,y\n"))
        local loop = "heed.data.Rows: expected a loop, for row in rows do print(row.label) end, got "
        local hint = "; rows:columns() has all rows, by column"
        says(loop .. "the key 1" .. hint, key, rows, 1)
        says(loop .. 'the key "label"' .. hint, key, rows, "label")
        says(loop .. "#" .. hint, length, rows)
        says(loop .. "the key 1", function() for _ in ipairs(rows) do error "one" end end)
        says('got the key "colums"' .. hint .. "; did you mean columns?", key, rows, "colums")
        assert.equal("spam", rows().label)
        assert.same({ "label", "text" }, rows.names)
        assert.equal(2, #rows:columns().text)
    end)

    it("says so: lines, pairs and JSON lines", function()
        local path = files.write '{"label":1}\n{"label":2}\n'
        local pairs_path = files.write "a\tb\n"
        local loop = "heed.data.Stream: expected a loop, for row in rows do ... end, got "
        for _, stream in ipairs { assert(data.jsonl(path)), assert(data.line_stream(path)),
            assert(data.pair_stream(pairs_path)) } do
            says(loop .. "the key 1; ", key, stream, 1)
            says(loop .. 'the key "label"; ', key, stream, "label")
            says(loop .. "#; ", length, stream)
            assert.is_not_nil((stream()))
        end
    end)

    it("says so: batches, tokens and passes, which may have a length", function()
        local path = files.write(("%d\n"):rep(5):format(1, 2, 3, 4, 5))
        local index = assert(data.line_index(path))
        local ids = files.write(heed.range(0, 99):to "u16":bytes())
        local tokens = assert(data.tokens(ids, { window = 4, batch = 2 }))
        local batches = data.batches({ { 1 }, { 2 }, { 3 } }, { size = 2 })
        local pooled = data.batches(assert(data.jsonl(files.write "[1]\n[2]\n")), { size = 2 })
        local passes = index:passes()
        says("heed.data.Batches: expected a loop, for batch in batches do ... end, got the key 1",
            key, batches, 1)
        says("heed.data.PooledBatches: expected a loop, ", key, pooled, 1)
        says("heed.data.Tokens: expected a loop, for x, y in tokens do ... end, got the key 1",
            key, tokens, 1)
        says("heed.data.Passes: expected a loop, for example in passes do ... end, got the key -1",
            key, passes, -1)
        says("got #; the index itself is a list", length, passes)
        says("their number is not known", length, pooled)
        assert.equal(2, #batches)
        assert.equal(25 * 4 // 8, #tokens)
        assert.is_nil(batches.no_such_name)
        assert.equal("1", index[1])
    end)

    it("prints as what made it", function()
        local path = files.write "a\tb\n"
        local rows = assert(data.csv(path))
        for name, stream in pairs { csv = rows, line_stream = assert(data.line_stream(path)),
            pair_stream = assert(data.pair_stream(path)),
            jsonl = assert(data.jsonl(files.write "1\n")) } do
            assert.matches("^heed%.data%." .. name .. "%(/.*; epoch 1, 0 given%)$",
                tostring(stream))
        end
    end)

    it("has a shuffle of as many as its buffer holds", function()
        local path = files.write "a,b\n1,2\n"
        for name, f in pairs { csv = data.csv, jsonl = data.jsonl, line_stream = data.line_stream,
            pair_stream = data.pair_stream } do
            says("heed.data." .. name .. ": shuffle: expected the size of the buffer of which the "
                .. "next is drawn, an integer of at least 0, got true; shuffle = 10000 holds as many",
                f, path, { shuffle = true })
            says("heed.data." .. name .. ": shuffle: expected an integer of at least 0, got -1", f,
                path, { shuffle = -1 })
        end
        assert.is_not_nil(data.csv(path, { shuffle = false }))
    end)
end)
