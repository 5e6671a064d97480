--- data.line_stream and pair_stream: what the shuffling buffer does, and going on. What they read
--- is in lines_spec.lua.

local data = require "heed.data"
local files = require "spec.data.files"

describe("data.line_stream", function()
    local list = files.lines(300)
    local path = files.write(files.text(list))
    teardown(files.remove)

    it("gives the file again in each pass", function()
        local stream <close> = assert(data.line_stream(path))
        assert.are.same(list, files.pass(stream))
        assert.are.same(list, files.pass(stream))
        assert.are.equal(3, stream.epoch)
        assert.matches("epoch 3, 0 given", tostring(stream))
    end)

    it("after a break the next loop is the next pass", function()
        local stream <close> = assert(data.line_stream(path, { shuffle = 7 }))
        local passes = assert(data.line_index(path)):passes()
        for _, iterator in ipairs { stream, passes } do
            for _ in iterator do break end -- luacheck: ignore 512
            assert.are.equal(300, #files.pass(iterator))
            assert.are.equal(3, iterator.epoch)
        end
    end)

    it("shuffles as far as its buffer reaches", function()
        local stream = assert(data.line_stream(path, { shuffle = 20, seed = 3 }))
        local first, second = files.pass(stream), files.pass(stream)
        assert.are_not.same(first, second)
        assert.are.same(first, files.pass(assert(data.line_stream(path,
            { shuffle = 20, seed = 3 }))))
        assert.are_not.same(first, files.pass(assert(data.line_stream(path,
            { shuffle = 20, seed = 4 }))))
        local seen, moved = {}, 0
        for place, line in ipairs(first) do
            local number = tonumber(line:match "%d+")
            assert.is_true(number <= place + 19, "no line comes before it was read")
            seen[number] = (seen[number] or 0) + 1
            if number ~= place then moved = moved + 1 end
        end
        for i = 1, 300 do assert.are.equal(1, seen[i]) end
        assert.is_true(moved > 200)
        local all = assert(data.line_stream(path, { shuffle = 1000 }))
        assert.are.equal(300, #files.pass(all))
    end)

    it("goes on where it was", function()
        for _, shuffle in ipairs { 0, 1, 20, 1000 } do
            for _, given in ipairs { 0, 1, 150, 290, 299, 300, 301, 450 } do
                local a = assert(data.line_stream(path, { shuffle = shuffle, seed = 8 }))
                local b = assert(data.line_stream(path, { shuffle = shuffle }))
                files.take(a, given)
                files.take(b, 5)
                b:load_state_dict(a:state_dict())
                assert.are.same(files.take(a, 650), files.take(b, 650))
            end
        end
    end)

    it("holds the buffer, and no more", function()
        local lines = {}
        for i = 1, 20000 do lines[i] = ("%06d %s"):format(i, ("text "):rep(18)) end
        local long = files.write(files.text(lines))
        lines = nil -- luacheck: ignore
        local before, most = files.held(), 0
        local stream, count = assert(data.line_stream(long, { shuffle = 100 })), 0
        for _ in stream do
            count = count + 1
            if count % 2000 == 0 then most = math.max(most, files.held() - before) end
        end
        assert.are.equal(20000, count)
        assert.is_true(most < 100 * 400 + 3 * 65536, most .. " bytes held")
    end)

    it("refuses a state that is none of its own", function()
        local stream = assert(data.line_stream(path, { shuffle = 20 }))
        local function refused(message, change)
            local state = stream:state_dict()
            change(state)
            assert.error_matches(function() assert(data.line_stream(path,
                { shuffle = 20 })):load_state_dict(state) end, message)
        end
        files.take(stream, 30)
        refused("a buffer of 10 examples, this is one of 20", function(s) s.shuffle = 10 end)
        refused("had 5 bytes when the state was taken, and has %d+", function(s)
            s.files[1].bytes = 5
        end)
        refused("its buffer is none", function(s) s.files[1].buffered = 3 end)
        refused("its buffer is none", function(s) s.files[1].buffered[2] = "a" end)
        refused("points behind the end", function(s) s.files[1].buffered[2] = 10 ^ 9 // 1 | 0 end)
        refused("the state is not of 1 files", function(s) s.files = {} end)
        refused("expected an integer of at least 1 as epoch, got nil", function(s)
            s.epoch = nil
        end)
        refused("expected an integer of at least 0 as offset, got %-1", function(s)
            s.files[1].offset = -1
        end)
        assert.error_matches(function() stream:load_state_dict(7) end, "not the state of a stream")
    end)

    it("reads a pipe once", function()
        local pipe = os.tmpname()
        os.remove(pipe)
        assert(os.execute("mkfifo " .. pipe))
        os.execute(("(printf 'a\\nb\\n' > %s) &"):format(pipe))
        local stream = assert(data.line_stream(pipe))
        os.remove(pipe)
        assert.are.same({ "a", "b" }, files.pass(stream))
        assert.error_matches(function() stream() end, "can be read only once")
    end)

    it("closes its file", function()
        local kept
        do
            local stream <close> = assert(data.line_stream(path))
            kept = stream
        end
        assert.has_error(function() kept() end)
    end)
end)

describe("data.pair_stream", function()
    teardown(files.remove)

    it("shuffles pairs, and goes on", function()
        local list = files.lines(100)
        local source, target = files.write(files.text(list)),
            files.write(files.text(list):gsub("word", "Wort"))
        local columns = {}
        for i, line in ipairs(list) do columns[i] = line .. "\t" .. line:gsub("word", "Wort") end
        local one = files.write("\n" .. table.concat(columns, "\n\n"))
        for _, paths in ipairs { { source, target }, { one } } do
            local function new(seed)
                local options = { shuffle = 30, seed = seed }
                return assert(data.pair_stream(paths[1], paths[2] or options, paths[2] and options))
            end
            local a, b = new(2), new(1)
            for _, pair in ipairs(files.take(a, 57)) do
                assert.are.equal(pair[1]:gsub("word", "Wort"), pair[2])
            end
            b:load_state_dict(a:state_dict())
            assert.are.same(files.take(a, 150), files.take(b, 150))
        end
    end)
end)
