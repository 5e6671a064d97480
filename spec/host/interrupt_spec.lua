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

    -- Each goes along one line, in one task: it is looked for an interrupt on the way.
    local LONG = {
        gather = "x:gather(1, index)", scatter_ = "y:scatter_(1, index, x)",
        scatter_add_ = "y:scatter_add_(1, index, x)", index_add_ = "y:index_add_(1, index, x)",
        randperm = "heed.randperm(n)", cumsum = "x:cumsum(1)", cumprod = "x:cumprod(1)",
        cummax = "x:cummax(1)", one_hot = "index:one_hot(4)",
    }
    for name, call in pairs(LONG) do
        it("stops one long operation before its end: " .. name, function()
            local output, errors = command.script(later .. [[
                local heed = require "heed"
                heed.set_num_threads(1)
                local n = 1 << 23
                local x, y = heed.rand(n), heed.zeros(n)
                local index = heed.randint(1, ]] .. (name == "one_hot" and 4 or "n") .. [[, n)
                local function timed(f)
                    local start = heed.clock()
                    local ok = pcall(f)
                    return heed.clock() - start, ok
                end
                local function run() return ]] .. call .. [[ end
                local function several() run() run() run() run() end
                local whole = timed(run)
                for _ = 1, 10 do -- others may take the processor away
                    later(whole / 4)
                    local time, ok = timed(several)
                    if ok then print "too late" break end
                    local rest = time % whole -- in the run that was stopped
                    if rest < 0.9 * whole and rest > 0.1 * whole then print "stopped" break end
                end ]])
            assert.are.equal("", errors)
            assert.are.equal("stopped\n", output)
        end)
    end

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
