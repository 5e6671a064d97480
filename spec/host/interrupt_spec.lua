local command = require "spec.support.command"

-- A shell started by a script sends it the interrupt that Ctrl-C would.
local later = "local function later(seconds) io.popen('sleep ' .. seconds .. '; kill -INT ' .. "
    .. "'$PPID') end\n"

describe("Ctrl-C in a script", function()
    it("raises 'interrupted', which pcall catches, each time", function()
        local output, errors, status = command.script(later .. [[
            for i = 1, 2 do
                later(0.1)
                print(pcall(function() while true do end end))
            end
            print "saved" ]])
        assert.are.equal("", errors)
        assert.are.equal("false\tinterrupted\nfalse\tinterrupted\nsaved\n", output)
        assert.are.equal(0, status)
    end)

    it("stops operations of heed, and only once", function()
        local output, errors, status = command.script(later .. [[
            local heed = require "heed"
            local a = heed.ones(64, 64)
            later(0.1)
            print(pcall(function() while true do a:matmul(a) end end))
            for i = 1, 1000 do a:sum() end
            print(a:sum():item()) ]])
        assert.are.equal("", errors)
        local raised, rest = output:match "^(.-)\n(.*)$"
        assert.is_truthy(raised:find "^false\t.*interrupted$")
        assert.are.equal("4096.0\n", rest)
        assert.are.equal(0, status)
    end)

    it("stops a loop that is hardly ever outside of uninterrupted, whatever its length", function()
        for _, k in ipairs { 0, 5, 10, 15 } do
            local output = command.script(later .. [[
                local heed = require "heed"
                later(0.1)
                print(pcall(function()
                    while true do
                        heed.uninterrupted(function() for _ = 1, 100000 + ]] .. k .. [[ do end end)
                    end
                end)) ]])
            assert.are.equal("false\tinterrupted\n", output)
        end
    end)

    it("stops a loop inside a coroutine", function()
        local output = command.script(later .. [[
            later(0.1)
            local co = coroutine.create(function() while true do end end)
            print(coroutine.resume(co))
            later(0.1)
            print(pcall(coroutine.wrap(function() pcall(function() while true do end end) error("ended", 0) end)))
            print(coroutine.resume(coroutine.create(function() return coroutine.yield(1) end))) ]])
        assert.are.equal("false\tinterrupted\nfalse\tended\ntrue\t1\n", output)
    end)

    it("ends a wait for input", function()
        local path = os.tmpname()
        os.remove(path)
        assert(os.execute("mkfifo " .. path))
        local output = command.script(later .. "later(0.1) local f = io.open('" .. path
            .. "', 'r+') print(pcall(f.read, f)) print(pcall(function() for i = 1, 10 do end end))")
        os.remove(path)
        assert.is_truthy(output:find "interrupted")
    end)

    it("ends a script that does not catch it, with a traceback, as a signal does", function()
        local output, errors, status,
            path = command.script(later .. "print(1)\nlater(0.1)\nwhile true do end")
        assert.are.equal("1\n", output)
        assert.is_truthy(errors:find "^heed: .*interrupted\nstack traceback:")
        assert.is_truthy(errors:find(path .. ":4: in main chunk"))
        assert.are.equal(128 + 2, status)
    end)

    it("gets through loops of pcall when it comes a third time within a second", function()
        local often = "io.popen('for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; kill -INT ' .. '$PPID "
            .. "|| exit; done') "
        local output, errors, status = command.script(often
            .. "print(1) while true do pcall(function() while true do end end) end")
        assert.are.equal("1\n", output)
        assert.is_truthy(errors:find "^heed: .*interrupted\nstack traceback:")
        assert.are.equal(128 + 2, status)
    end)

    it("leaves a hook of the script's as it was", function()
        local output, errors = command.script(later .. [[
            local count = 0
            debug.sethook(function() count = count + 1 end, "", 1000)
            later(0.1)
            pcall(function() while true do end end)
            count = 0
            for i = 1, 1e6 do end
            print(count > 500, select(2, debug.gethook()), select(3, debug.gethook())) ]])
        assert.are.equal("", errors)
        assert.are.equal("true\t\t1000\n", output)
    end)

    it("leaves it ignored when whoever started the script wants that", function()
        local output, _, status = command.run("-e "
            .. [['io.popen("kill -INT $PPID"):close() print "alive"']], "",
            "env --ignore-signal=INT")
        assert.are.equal("alive\n", output)
        assert.are.equal(0, status)
    end)
end)
