--- data.line_index and pair_index: lists that stay in their files, and passes over them. What they
--- read is in lines_spec.lua.

local data = require "heed.data"
local files = require "spec.data.files"

describe("data.line_index", function()
    teardown(files.remove)

    it("is a list", function()
        local index = assert(data.line_index(files.write "one\ntwo\nthree\n"))
        assert.are.equal(3, #index)
        assert.are.same({ "three", "one", "two", "one" },
            { index[3], index[1], index[2], index[1] })
        assert.is_nil(index[0])
        assert.is_nil(index[4])
        assert.is_nil(index[-1])
        assert.is_nil(index[1.5])
        assert.matches("3 lines of /", tostring(index))
    end)

    it("holds six bytes a line and not the text", function()
        local count, list = 30000, {}
        for i = 1, count do list[i] = ("%06d %s"):format(i, ("text "):rep(18)) end
        local path = files.write(files.text(list))
        list = nil -- luacheck: ignore
        local before = files.held()
        local index = assert(data.line_index(path))
        local bytes = files.held() - before
        -- Lua's own table of strings grows and shrinks by 65536 or 131072
        local most = 6 * count + 163840
        assert.is_true(bytes < most, bytes .. " bytes for " .. count .. " lines")
        assert.matches("^029999 text", index[29999])
        for i = 1, count, 7 do assert.are.equal(i, tonumber(index[i]:sub(1, 6))) end
        assert.is_true(files.held() - before < most)
    end)

    it("notices that the file is another", function()
        local path = files.write(files.text(files.lines(20)))
        local index = assert(data.line_index(path))
        local file <close> = assert(io.open(path, "wb"))
        file:write "short\n"
        file:flush()
        assert.error_matches(function() return index[15] end, "no longer the file that was indexed")
    end)

    it("of a file that grows sees what was there", function()
        local path = files.write "one\ntwo\n"
        local index = assert(data.line_index(path))
        local file <close> = assert(io.open(path, "ab"))
        file:write "three\n"
        file:flush()
        assert.are.equal(2, #index)
        assert.are.equal("two", index[2])
    end)

    it("closes its file", function()
        local kept = assert(data.line_index(files.write "one\n"))
        do
            local index <close> = kept
            assert.are.equal("one", index[1])
        end
        assert.error_matches(function() return kept[1] end, "the index was closed")
        kept:close()
    end)

    it("wants a file that can be read anywhere", function()
        local path = os.tmpname()
        os.remove(path)
        assert(os.execute("mkfifo " .. path))
        os.execute(("(printf 'a\\nb\\n' > %s) &"):format(path))
        local index, message = data.line_index(path)
        os.remove(path)
        assert.is_nil(index)
        assert.matches("got a pipe", message)
        assert.are.equal(0, #assert(data.line_index "/dev/urandom")) -- it says that it has no bytes
    end)
end)

describe("data.pair_index", function()
    teardown(files.remove)

    it("is a list of pairs, of one file or two", function()
        for _, index in ipairs {
            assert(data.pair_index(files.write "\na\tb\n\n\nc\td\n\n")),
            assert(data.pair_index(files.write "a\nc\n", files.write "b\nd\n")),
        } do
            assert.are.equal(2, #index)
            assert.are.same({ "c", "d" }, index[2])
            assert.are.same({ "a", "b" }, index[1])
            assert.is_nil(index[3])
        end
    end)

    it("leaves no file open when it gives up", function()
        for _ = 1, 3000 do assert.is_nil((data.pair_index(files.made[1], "/nowhere/at/all"))) end
    end)
end)

describe("passes over an index", function()
    local list = files.lines(200)
    local path = files.write(files.text(list))
    teardown(files.remove)
    local function passes(options) return assert(data.line_index(path)):passes(options) end

    it("are in the file's order, or shuffled as a whole", function()
        local plain, shuffled = passes(), passes { shuffle = true, seed = 4 }
        assert.are.same(list, files.pass(plain))
        assert.are.same(list, files.pass(plain))
        local first, second = files.pass(shuffled), files.pass(shuffled)
        assert.are_not.same(first, second)
        assert.are_not.same(list, first)
        assert.are.same(first, files.pass(passes { shuffle = true, seed = 4 }))
        assert.are_not.same(first, files.pass(passes { shuffle = true, seed = 5 }))
        for _, pass in ipairs { first, second } do
            table.sort(pass, function(a, b)
                return tonumber(a:match "%d+") < tonumber(b:match "%d+")
            end)
            assert.are.same(list, pass)
        end
        assert.are.equal(3, shuffled.epoch)
    end)

    it("go on where they were", function()
        for _, given in ipairs { 0, 1, 77, 199, 200, 201, 333 } do
            local a, b = passes { shuffle = true, seed = 9 }, passes { shuffle = true, seed = 1 }
            files.take(a, given)
            b:load_state_dict(a:state_dict())
            assert.are.same(files.take(a, 450), files.take(b, 450))
        end
    end)

    it("refuse the state of other files", function()
        local state = passes():state_dict()
        local other = assert(data.line_index(files.write "one\n")):passes()
        assert.error_matches(function() other:load_state_dict(state) end,
            "the state is of 200 examples in %d+ bytes, here are 1 in 4")
        for _, wrong in ipairs { 1, {}, { seed = 1, epoch = 0, given = 0, examples = 200,
            bytes = 1 }, { seed = 1.5 } } do
            assert.error_matches(function() passes():load_state_dict(wrong) end,
                "not the state of passes")
        end
    end)

    it("outlive the scope that they were begun in", function()
        local heed = require "heed"
        local p
        do
            local _ <close> = heed.scope()
            p = passes { shuffle = true }
        end
        assert.are.equal(200, #files.pass(p))
    end)

    it("of nothing give nothing", function()
        assert.are.same({}, files.pass(assert(data.line_index(files.write "")):passes {
            shuffle = true }))
    end)
end)
