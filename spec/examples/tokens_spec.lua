local shell = require "spec.support.shell"

local HEED = (os.getenv "HEED_BUILD" or "build") .. "/heed examples/tokens.lua "

describe("examples/tokens.lua", function()
    local folder

    before_each(function()
        folder = shell.lines "mktemp -d"[1]
        local file = assert(io.open(folder .. "/vocab.txt", "w"))
        file:write "[UNK]\n[CLS]\n[SEP]\nthe\nfox\n##es\n":close()
        file = assert(io.open(folder .. "/text", "w"))
        file:write "The foxes ran\n":close()
    end)
    after_each(function() os.execute("rm -r " .. folder) end)

    local function run(arguments) return shell.run(HEED .. folder .. "/vocab.txt " .. arguments .. " 2>&1") end

    it("lists ids, places and tokens", function()
        local want = "4\t1-3\tthe\n5\t5-7\tfox\n6\t8-9\t##es\n1\t11-13\t[UNK]\n"
        assert.are.equal(want, run(folder .. "/text"))
        assert.are.equal(want, run("<" .. folder .. "/text"))
        assert.matches("^2\t1%-0\t%[CLS%]\n4\t.*3\t1%-0\t%[SEP%]\n$", run("--specials " .. folder .. "/text"))
        assert.matches("^3\t1%-3\tthe\n", run("--zero " .. folder .. "/text"))
    end)

    it("writes control characters out: a token is a line", function()
        local file = assert(io.open(folder .. "/tokenizer.json", "w"))
        file:write [[{ "added_tokens": [], "model": { "type": "WordLevel", "unk_token": "?",
            "vocab": { "?": 0, "a\nb\t\u0001": 1 } } }]]:close()
        file = assert(io.open(folder .. "/lines", "w"))
        file:write "a\nb\t\1":close()
        assert.are.equal("2\t1-5\ta\\nb\\t\\x01\n",
            shell.run(HEED .. folder .. "/tokenizer.json " .. folder .. "/lines 2>&1"))
    end)

    it("counts", function()
        assert.are.equal("4 ids, 14 bytes, 14 characters, 3.50 of them an id\n",
            run("--count " .. folder .. "/text"))
    end)

    it("decodes, and says which ids there are", function()
        local output, status = shell.run(("echo 4 5 6 | %s%s/vocab.txt --decode"):format(HEED, folder))
        assert.are.same({ "the foxes\n", 0 }, { output, status })
        output, status = shell.run(("echo 4 7 | %s%s/vocab.txt --decode 2>&1"):format(HEED, folder))
        assert.are.same({ "expected an id 1..6, got 7\n", 1 }, { output, status })
    end)

    it("says what it cannot read", function()
        local output, status = shell.run(HEED .. folder .. "/none 2>&1")
        assert.matches("none: No such file", output)
        assert.are.equal(1, status)
    end)
end)
