local files = require "heed.files"
local shell = require "spec.support.shell"

describe("files.write", function()
    local folder = os.tmpname()
    os.remove(folder)
    local path = folder .. "/text"
    setup(function() assert(os.execute("mkdir " .. shell.quote(folder))) end)
    teardown(function() os.execute("rm -r " .. shell.quote(folder)) end)

    local function beside() return #shell.lines("ls -A " .. shell.quote(folder)) end

    it("replaces a file, any bytes, and leaves nothing beside it", function()
        for _, bytes in ipairs { "one\0two\r\n", "" } do
            assert.is_true(files.write(path, bytes))
            assert.are.equal(bytes, files.read(path))
        end
        assert.are.equal(1, beside())
    end)

    it("goes where a symbolic link leads", function()
        local link = folder .. "/link"
        assert(os.execute(("ln -s text %s"):format(shell.quote(link))))
        assert.is_true(files.write(link, "through"))
        assert.are.equal("through", files.read(path))
        assert.are.equal(2, beside())
        os.remove(link)
    end)

    it("removes what a writer that was killed left, and nothing else", function()
        local script = ("require('heed.files').write(%q, ('x'):rep(100000))"):format(path)
        assert.is_true(files.write(path, "old"))
        local limited = "sh -c 'ulimit -c 0; ulimit -f 8; exec \"$@\"' sh lua5.4 -e %s 2>/dev/null"
        os.execute(limited:format(shell.quote(script))) -- SIGXFSZ kills it
        assert.are.equal(2, beside())
        assert.are.equal("old", files.read(path))
        for _, name in ipairs { "text.backup", "text.heed-abc", "text2.heed-abcdef",
            "text.heed-abcdefg" } do
            assert(os.execute("touch " .. shell.quote(folder .. "/" .. name .. ".tmp")))
        end
        assert(os.execute("ln -s text " .. shell.quote(folder .. "/text.heed-ABCDEF.tmp")))
        assert.is_true(files.write(path, "new"))
        assert.are.equal(6, beside())
        assert(os.execute(("cd %s && rm text.* text2*"):format(shell.quote(folder))))
    end)

    it("leaves the file of a writer that still writes", function()
        local held = shell.quote(path .. ".heed-abcdef.tmp")
        local hold = "touch %s; exec flock %s sh -c 'echo $$; exec sleep 60'"
        local writer <close> = assert(io.popen(hold:format(held, held)))
        local pid = writer:read "l"
        local ok = files.write(path, "meanwhile")
        local count = beside()
        os.execute("kill " .. pid)
        assert.is_true(ok)
        assert.are.equal(2, count)
        writer:close()
        assert.is_true(files.write(path, "afterwards"))
        assert.are.equal(1, beside())
    end)

    it("gives nil and a message where it cannot write", function()
        for _, wrong in ipairs { folder, folder .. "/none/text" } do
            local ok, message = files.write(wrong, "x")
            assert.is_nil(ok)
            assert.is_truthy(message:find(folder, 1, true))
        end
    end)
end)
