--- data.lines and data.pairs: files as lists in memory. What holds for every way of reading lines
--- is here too.

local data = require "heed.data"
local files = require "spec.data.files"

local READERS = {
    lines = data.lines,
    line_index = function(path, options)
        local index, message = data.line_index(path, options)
        if not index then return nil, message end
        local list = {}
        for i, line in ipairs(index) do list[i] = line end
        assert.are.equal(#index, #list)
        return list
    end,
    line_stream = function(path, options)
        local stream, message = data.line_stream(path, options)
        if not stream then return nil, message end
        local ok, list = pcall(files.pass, stream)
        if not ok then return nil, list end
        return list
    end,
}

for name, read in pairs(READERS) do
    describe("data." .. name .. " reads", function()
        teardown(files.remove)

        it("lines with either end, and a last one without", function()
            assert.are.same({ "one", "two", "", "four" }, read(files.write "one\r\ntwo\n\nfour"))
            assert.are.same({ "one" }, read(files.write "one\n"))
            assert.are.same({ "one", "" }, read(files.write "one\n\n"))
            assert.are.same({ "", "a\rb", "\0" }, read(files.write "\na\rb\r\n\0"))
            assert.are.same({}, read(files.write ""))
        end)

        it("lines across the blocks that it reads", function()
            for _, length in ipairs { 65534, 65535, 65536, 65537, 200000 } do
                local list = { ("a"):rep(length), "b", ("c"):rep(length), "" }
                assert.are.same(list, read(files.write(files.text(list))))
                assert.are.same({ list[1] }, read(files.write(list[1] .. "\r\n")))
            end
            local list = files.lines(30000)
            assert.are.same(list, read(files.write(files.text(list))))
        end)

        it("no line beyond the bound, and names it", function()
            local path = files.write "short\n12345678\n123456789\n"
            local list, message = read(path, { max_line = 8 })
            assert.is_nil(list)
            assert.is_truthy(message:find(path .. ":3: a line of more than 8 bytes (max_line)", 1,
                true), message)
            assert.are.equal(3, #read(path, { max_line = 9 }))
        end)

        it("a bound that does not count a line's end", function()
            assert.are.equal(2, #read(files.write "12345678\r\n12345678\n", { max_line = 8 }))
            assert.are.equal(1, #read(files.write "12345678\r", { max_line = 8 }))
            assert.is_nil(read(files.write "123456789\r\n", { max_line = 8 }))
            local long = ("a"):rep(65536) -- its CR is the first byte of the next block
            assert.are.same({ long }, read(files.write(long .. "\r\n"), { max_line = 65536 }))
            local cut = ("a"):rep(65535) -- its CR is the last byte of a block
            assert.are.same({ cut, "b" }, read(files.write(cut .. "\r\nb\n"), { max_line = 65535 }))
            assert.is_nil(read(files.write(long .. "ab\r\n"), { max_line = 65536 }))
        end)

        it("over a byte order mark, which is no text", function()
            assert.are.same({ "one", "two" }, read(files.write "\xEF\xBB\xBFone\ntwo\n"))
            assert.are.same({ "" }, read(files.write "\xEF\xBB\xBF\n"))
            assert.are.same({}, read(files.write "\xEF\xBB\xBF"))
            assert.are.same({ "a", "\xEF\xBB\xBFb" }, read(files.write "a\n\xEF\xBB\xBFb"))
        end)

        it("what is no file to its message, and never for ever", function()
            local list, message = read "/nowhere/at/all"
            assert.is_nil(list)
            assert.matches("/nowhere/at/all: No such file", message)
            list, message = read "/"
            assert.is_nil(list)
            assert.matches("directory", message)
            assert.is_nil((data[name] "/"), "where it is opened")
            list, message = read "/dev/zero"
            assert.is_nil(list)
            assert.matches("/dev/zero:1: a line of more than 1048576 bytes", message)
        end)

        it("nothing, when the caller is wrong", function()
            assert.error_matches(function() data[name](1) end,
                name .. ": path: expected a string, got 1")
            assert.error_matches(function() data[name]("a", { max_line = 0 }) end,
                name .. ": max_line: expected an integer")
            assert.error_matches(function() data[name]("a", { max = 1 }) end, "no option \"max\"")
        end)
    end)
end

local PAIRS = {
    pairs = data.pairs,
    pair_index = function(...)
        local index, message = data.pair_index(...)
        if not index then return nil, message end
        local list = {}
        for i, pair in ipairs(index) do list[i] = pair end
        return list
    end,
    pair_stream = function(...)
        local stream, message = data.pair_stream(...)
        if not stream then return nil, message end
        local ok, list = pcall(files.pass, stream)
        if not ok then return nil, list end
        return list
    end,
}

for name, read in pairs(PAIRS) do
    describe("data." .. name .. " reads", function()
        teardown(files.remove)

        it("two columns, and passes over empty lines", function()
            local want = { { "a", "b" }, { "c d", "e" }, { "", "" } }
            assert.are.same(want, read(files.write "a\tb\n\n\nc d\te\r\n\t\n\n"))
        end)

        it("two files line by line", function()
            local source, target = files.write "a\n\nc d", files.write "b\r\n\r\ne\n"
            assert.are.same({ { "a", "b" }, { "", "" }, { "c d", "e" } }, read(source, target))
            assert.are.same({}, read(files.write "", files.write ""))
        end)

        it("no line that is not two columns", function()
            for line, number in pairs { ["a\tb\nc\n"] = 2, ["a\tb\n\n1\t2\t3\n"] = 3 } do
                local list, message = read(files.write(line))
                assert.is_nil(list)
                assert.is_truthy(message:find((":%d: expected source<TAB>target, got "):format(
                    number), 1, true), message)
            end
        end)

        it("no files of unequal length, and says how long each is", function()
            local short, long = files.write(files.text(files.lines(10))),
                files.write(files.text(files.lines(13)))
            for _, pair in ipairs { { short, long, 10, 13 }, { long, short, 13, 10 } } do
                local list, message = read(pair[1], pair[2])
                assert.is_nil(list)
                assert.is_truthy(message:find(
                    ("expected as many lines in both files: %s has %d, %s has %d"):format(pair[1],
                    pair[3],
                    pair[2], pair[4]), 1, true), message)
            end
        end)

        it("neither file when one is missing", function()
            local there = files.write "a\n"
            for _, pair in ipairs { { there, "/nowhere/at/all" }, { "/nowhere/at/all", there } } do
                local list, message = read(pair[1], pair[2])
                assert.is_nil(list)
                assert.matches("/nowhere/at/all: No such file", message)
            end
        end)

        it("nothing, when the caller is wrong", function()
            assert.error_matches(function() data[name](nil) end,
                name .. ": path: expected a string, got nil")
            assert.error_matches(function() data[name]("a", 2) end,
                name .. ": target: expected a string, got 2")
        end)
    end)
end
