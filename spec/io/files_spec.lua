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

    it("gives nil and a message where it cannot write", function()
        for _, wrong in ipairs { folder, folder .. "/none/text" } do
            local ok, message = files.write(wrong, "x")
            assert.is_nil(ok)
            assert.is_truthy(message:find(folder, 1, true))
        end
    end)
end)
