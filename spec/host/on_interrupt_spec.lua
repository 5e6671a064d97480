local command = require "spec.support.command"
local heed = require "heed"
local shell = require "spec.support.shell"

-- A shell started by a script sends it the interrupt that Ctrl-C would.
local BEGIN = [[
    local heed = require "heed"
    local function later(seconds) io.popen("sleep " .. seconds .. "; kill -INT " .. "$PPID") end
    io.stdout:setvbuf "line"
]]

describe("heed.on_interrupt", function()
    it("runs a function once, then the script ends as one that was interrupted", function()
        local output, errors, status = command.script(BEGIN .. [[
            local step = 0
            assert(heed.on_interrupt(function() print("saved", step > 0) end))
            later(0.1)
            while true do step = step + 1 end ]])
        assert.equal("saved\ttrue\n", output)
        assert.is_truthy(errors:find "^heed: .*interrupted\nstack traceback:")
        assert.equal(128 + 2, status)
    end)

    it("lets no pcall and no coroutine keep the script", function()
        local output, _, status = command.script(BEGIN .. [[
            assert(heed.on_interrupt(function() print "saved" end))
            later(0.1)
            local co = coroutine.wrap(function()
                while true do pcall(function() while true do end end) end
            end)
            while true do pcall(co) pcall(error, "other") end ]])
        assert.equal("saved\n", output)
        assert.equal(128 + 2, status)
    end)

    it("ends operations of heed, and leaves a training run whole", function()
        local path = os.tmpname()
        local output, _, status = command.script(BEGIN .. [[
            local nn = heed.nn
            local model = nn.Linear(64, 64)
            local optimizer = heed.optim.Adam(model:parameters(), { lr = 1e-3 })
            local parts = { model = model, optimizer = optimizer }
            assert(heed.on_interrupt(function()
                assert(heed.checkpoint.save("]] .. path .. [[", parts))
                print "saved"
            end))
            later(0.3)
            local x = heed.randn(256, 64)
            while true do
                pcall(function()
                    optimizer:zero_grad()
                    local loss = (model(x) - 1):square():mean()
                    loss:backward()
                    optimizer:step()
                end)
            end ]])
        assert.equal("saved\n", output)
        assert.equal(128 + 2, status)
        local model = heed.nn.Linear(64, 64)
        local optimizer = heed.optim.Adam(model:parameters(), { lr = 1e-3 })
        assert(heed.checkpoint.load(path, { model = model, optimizer = optimizer }))
        os.remove(path)
        assert.is_true(model.weight:isfinite():all())
    end)

    it("waits for what must not be torn apart", function()
        local output = command.script(BEGIN .. [[
            local a, b = 0, 0
            assert(heed.on_interrupt(function() print(a > 0, a == b) end))
            later(0.1)
            while true do
                heed.uninterrupted(function()
                    a = a + 1
                    for _ = 1, 1e5 do end
                    b = b + 1
                end)
            end ]])
        assert.equal("true\ttrue\n", output)
    end)

    it("runs all that was given, in order, and says what went wrong with one", function()
        local output, errors, status = command.script(BEGIN .. [[
            heed.on_interrupt(function() print "one" end)
            heed.on_interrupt(function() error("disk full", 0) end)
            local object = setmetatable({}, { __tostring = function() return "an object" end })
            heed.on_interrupt(function() error(object) end)
            local forget = heed.on_interrupt(function() print "forgotten" end)
            local last = function() print "last" end
            heed.on_interrupt(last)
            local twice = heed.on_interrupt(last)
            forget() forget() twice()
            later(0.1)
            while true do end ]])
        assert.equal("one\nlast\n", output)
        assert.is_truthy(errors:find("heed: at the interrupt: disk full\n", 1, true))
        assert.is_truthy(errors:find("heed: at the interrupt: an object\n", 1, true))
        assert.equal(128 + 2, status)
    end)

    it("is ended by a second Ctrl-C where it takes too long", function()
        local output, errors, status = command.script(BEGIN .. [[
            heed.on_interrupt(function() later(0.1) print "began" while true do end end)
            heed.on_interrupt(function() print "next" end)
            later(0.1)
            while true do end ]])
        assert.equal("began\nnext\n", output)
        assert.is_truthy(errors:find "heed: at the interrupt: .*interrupted\n")
        assert.equal(128 + 2, status)
    end)

    it("changes nothing when all was taken back, nor when the script ends by itself", function()
        local output, errors, status = command.script(BEGIN .. [[
            heed.on_interrupt(function() print "saved" end)()
            later(0.1)
            print(pcall(function() while true do end end))
            heed.on_interrupt(function() print "saved" end) ]])
        assert.equal("", errors)
        assert.equal("false\tinterrupted\n", output)
        assert.equal(0, status)
    end)

    it("works in -e, and says so where nobody hears of Ctrl-C", function()
        local output = command.run("-e " .. [['heed.on_interrupt(function() print "saved" end) ]]
            .. [[io.popen("sleep 0.1; kill -INT " .. "$PPID") while true do end']], "")
        assert.equal("saved\n", output)
        local ok, message = heed.on_interrupt(function() end)
        assert.is_nil(ok)
        assert.equal("heed.on_interrupt: only scripts of the heed command hear of Ctrl-C", message)
        output = command.run("-",
            "print(heed == nil)\nprint(require('heed').on_interrupt(function() end))\n")
        assert.is_truthy(output:find "function")
        output = command.run("", "heed.on_interrupt(function() end)\n")
        assert.is_truthy(output:find "only scripts of the heed command")
        assert.error_matches(function() heed.on_interrupt(5) end,
            "heed.on_interrupt: fn: expected a function, got 5")
    end)

    it("is left alone by what an interrupted script at the prompt does afterwards", function()
        local path = os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write(BEGIN
            .. "heed.on_interrupt(function() print 'saved' end) later(0.1) while true do end")
        file:close()
        local output = command.run("-i " .. shell.quote(path), "print(6 * 7)\n")
        os.remove(path)
        assert.is_truthy(output:find "saved\n.*42")
    end)
end)
