local shell = require "spec.support.shell"
local typing = require "spec.support.typing"

-- The steps must end well; what was shown comes back.
local function see(steps, options)
    local output, status = typing.at_terminal(steps, options)
    assert.are.equal(0, status, output)
    return output
end

-- After each line the prompt is awaited.
local function lines(...)
    local steps = { "wait > " }
    for _, line in ipairs { ... } do
        steps[#steps + 1] = "send " .. line .. "\\n"
        steps[#steps + 1] = "wait > "
    end
    steps[#steps + 1] = "send \\d"
    return steps
end

describe("heed alone, at a terminal", function()
    if not typing.possible() then
        pending "needs a system with pseudo-terminals"
        return
    end

    it("greets, prompts, and ends at Ctrl-D", function()
        local output = see {
            "wait > ", "send 20 + 22\\n", "wait 42", "wait > ", "send for i = 1, 1 do\\n",
                "wait >> ",
            "send print('in' .. 'side') end\\n", "wait inside", "wait > ", "send \\d",
        }
        assert.is_truthy(output:find "^heed %d+%.%d+%.%d+")
    end)

    it("ends at exit, and with the status that os.exit is given", function()
        see { "wait > ", "send exit\\n" }
        local _, status = typing.at_terminal { "wait > ", "send os.exit(7, true)\\n" }
        assert.are.equal(7, status)
        _, status = typing.at_terminal { "wait > ", "send os.exit(false)\\n" }
        assert.are.equal(1, status)
    end)

    it("keeps locals, prints tables, explains errors", function()
        see {
            "wait > ", "send local x = { 1, name = 'y' }\\n", "wait > ", "send x\\n",
                'wait {1, name = "y"}', "wait > ",
            "send x.nme.y\\n", "wait (field 'nme')", "wait   input 3:1: x.nme.y", "wait ^^^",
                "wait > ", "send prnt\\n",
            "wait did you mean print?", "wait > ", "send \\d",
        }
    end)

    it("shows help", function()
        see { "wait > ", "send ?heed.softmax\\n", "wait heed.softmax(", "wait > ", "send help\\n",
            "wait Ctrl-R", "wait > ", "send \\d" }
    end)

    it("takes letters beyond ASCII, in any locale", function()
        for _, environment in ipairs { "", "LC_ALL=C", "-u LC_ALL -u LANG" } do
            see({ "wait > ", "send #'é漢' .. 'é'\\n", "wait 5é", "wait > ", "send \\d" },
                { environment = environment })
        end
    end)

    it("goes on when it wrote to a pipe that nobody reads", function()
        see {
            "wait > ", "send p = io.popen('true', 'w') os.execute 'sleep 0.1'\\n", "wait > ",
            "send p:write(('x'):rep(1e6)), 'and' .. ' on'\\n", "wait and on", "wait > ", "send \\d",
        }
    end)

    describe("Ctrl-C", function()
        it("stops a computation, not the session", function()
            see {
                "wait > ", "send local kept = 41\\n", "wait > ",
                "send print('go' .. 'ing') while true do end\\n", "wait going", "send \\c",
                    "wait interrupted",
                "wait > ", "send kept + 1\\n", "wait 42", "wait > ", "send \\d",
            }
        end)

        it("stops operations of heed", function()
            see {
                "wait > ", "send a = heed.ones(300, 300) print('go' .. 'ing') while true do b = "
                    .. "a:matmul(a) end\\n", "wait going",
                "send \\c", "wait interrupted", "wait > ", "send a:sum():item()\\n", "wait 90000.0",
                    "wait > ", "send \\d",
            }
        end)

        it("stops a loop inside a coroutine", function()
            see {
                "wait > ", "send coroutine.wrap(function() print('go' .. 'ing') while true do "
                    .. "end end)()\\n", "wait going",
                "send \\c", "wait interrupted", "wait > ", "send 40 + 2\\n", "wait 42", "wait > ",
                    "send \\d",
            }
        end)

        it("stops printing: of values, of a __tostring without end, of many lines", function()
            see {
                "wait > ", "send setmetatable({}, { __tostring = function() print('go' .. 'ing') "
                    .. "while true do end end })\\n",
                "wait going", "send \\c", "wait interrupted", "wait > ",
                    "send while true do print('go' .. 'ing') end\\n",
                "wait going", "send \\c", "wait interrupted", "wait > ", "send 40 + 2\\n",
                    "wait 42", "wait > ", "send \\d",
            }
        end)

        -- It insists: what comes between the shown text and the wait is seen only when the wait
        -- ends. What the other program shows is shown during the wait.
        it("ends waits: for input, for another program", function()
            see {
                "wait > ", "send print('go' .. 'ing') io.read()\\n", "wait going",
                    "insist interrupted", "wait > ",
                "send return os.execute 'echo go\"in\"g; exec sleep 60'\\n", "wait going",
                    "send \\c", "wait signal", "wait > ",
                "send \\d",
            }
        end)

        it("gets through loops of pcall, in coroutines too, when it insists", function()
            see {
                "wait > ", "send function spin() while true do pcall(function() while true do "
                    .. "end end) end end\\n", "wait > ",
                "send print('go' .. 'ing') spin()\\n", "wait going", "insist interrupted",
                    "wait > ",
                "send print('go' .. 'ing') while true do pcall(coroutine.wrap(spin)) end\\n",
                    "wait going", "insist interrupted",
                "wait > ", "send a = heed.ones(200, 200) print('go' .. 'ing') while true do "
                    .. "pcall(heed.matmul, a, a) end\\n",
                "wait going", "insist interrupted", "wait > ", "send 40 + 2\\n", "wait 42",
                    "wait > ",
                "send pcall(error, 'as' .. ' ever', 0)\\n", "wait as ever", "wait > ", "send \\d",
            }
        end)

        it("at the prompt drops what was typed", function()
            see {
                "wait > ", "send x = 7", "wait x = 7", "send \\c", "wait > ",
                    "send tostring(x) .. '!'\\n", "wait nil!",
                "wait > ", "send t = {\\n", "wait >> ", "send \\c", "wait > ", "send 40 + 2\\n",
                    "wait 42", "wait > ",
                "send \\d",
            }
        end)

        it("leaves a hook of the person's in place, which sees his inputs only", function()
            see {
                "wait > ", "send debug.sethook(function() n = n + 1 end, '', 1000)\\n", "wait > ",
                "send n = 0 print('go' .. 'ing') while true do end\\n", "wait going", "send \\c",
                    "wait interrupted", "wait > ",
                "send n = 0 for i = 1, 1e6 do end\\n", "wait > ",
                    "send 'hooked ' .. tostring(n > 500)\\n", "wait hooked true", "wait > ",
                "send debug.sethook()\\n", "wait > ", "send tostring(debug.gethook()) .. '!'\\n",
                    "wait nil!", "wait > ", "send \\d",
            }
        end)
    end)

    -- Where libedit was not found lines are only read.
    local edited = typing.edits() and it or pending

    describe("Tab", function()
        edited("completes, and lists when there are several", function()
            see {
                "wait > ", "send heed.softma\\t(heed.ones(1), 1):item() + 41\\n", "wait 42.0",
                    "wait > ",
                "send local triple = 1\\n", "wait > ", "send tripl\\t + 41\\n", "wait 42",
                    "wait > ",
                "send heed.ones_\\t(heed.ones(2)).shape\\n", "wait [2]", "wait > ",
                "send heed_spec_a, heed_spec_b = 1, 2\\n", "wait > ", "send heed_sp\\t", "wait ec_",
                    "send \\t",
                "wait heed_spec_a  heed_spec_b", "wait > heed_spec_", "send \\c", "wait > ",
                'send require("heed.check\\t', "wait heed.check       heed.checkpoint",
                    'wait > require("heed.check',
                "send po\\t", "wait int", "send \\c", "wait > ", "send \\d",
            }
        end)

        edited("never runs code", function()
            see {
                "wait > ", "send t = setmetatable({}, { __index = function() print('r' .. 'an') "
                    .. "end })\\n", "wait > ",
                "send t.a.\\tb\\t", "send \\c", "wait > ", "send 'clea' .. 'n'\\n", "wait clean",
                    "wait > ", "send \\d",
            }
            local output = see {
                "wait > ", "send debug.sethook(function() hooked = (hooked or 0) + 1 end, 'l')\\n",
                    "wait > ",
                "send hooked = 0\\n", "wait > ", "send heed.so\\t\\t\\t\\c", "wait > ",
                    "send 'saw ' .. hooked\\n", "wait saw ", "wait > ",
                "send debug.sethook()\\n", "wait > ", "send \\d",
            }
            assert.is_true(tonumber(output:match "saw (%d+)") < 10, output)
        end)
    end)

    describe("the history", function()
        edited("brings back what was typed, also in another session", function()
            local home <close> = typing.home()
            see({ "wait > ", "send 'a' .. 'b'\\n", "wait ab", "wait > ", "send \\u\\n", "wait ab",
                "wait > ", "send \\d" }, { home = home })
            assert.are.equal("'a' .. 'b'\n", typing.remembered(home))
            see({ "wait > ", "send \\u\\n", "wait ab", "wait > ", "send \\r..\\n", "wait ab",
                "wait > ", "send \\d" }, { home = home })
        end)

        edited("keeps an input of several lines as one, to be edited and run", function()
            local home <close> = typing.home()
            see({ "wait > ", "send for i = 1, 2 do\\n", "wait >> ",
                "send print('line' .. i .. '\\\\\\\\')\\n", "wait >> ", "send end\\n",
                "wait line2\\", "wait > ", "send \\d" }, { home = home })
            assert.are.equal("for i = 1, 2 do\\nprint('line' .. i .. '\\\\\\\\')\\nend\n",
                typing.remembered(home))
            -- Up to it, up twice inside it, to the end of its first line, and one more digit there.
            see({ "wait > ", "send \\u", "wait end", "send \\u\\u\\e[F\\e[D\\e[D\\e[D3\\n",
                "wait line23\\", "wait > ", "send \\d" },
                { home = home })
        end)

        edited("keeps an input once, at its last place", function()
            local home <close> = typing.home()
            see(lines("'a'", "'b'", "'a'", "'a'"), { home = home })
            assert.are.equal("'a'\n'b'\n'a'\n", typing.remembered(home))
            see({ "wait > ", "send \\u\\u\\u .. '!'\\n", "wait b!", "wait > ", "send \\d" },
                { home = home })
        end)

        edited("loses nothing of sessions side by side", function()
            local home <close> = typing.home()
            local words, path = typing.words(lines "'second'", { home = home })
            local script <close> = assert(io.open(home.path .. "/inner.sh", "w"))
            script:write(words)
            script:close()
            see({ "wait > ", "send 'first'\\n", "wait > ",
                "send 'do' .. 'ne', os.execute('sh ' .. os.getenv 'HOME' .. '/inner.sh')\\n",
                "wait done", "wait > ", "send 'third'\\n", "wait > ", "send \\d" }, { home = home })
            os.remove(path)
            local remembered = typing.remembered(home)
            for _, input in ipairs { "first", "second", "third" } do
                assert.is_truthy(remembered:find("'" .. input .. "'\n", 1, true), remembered)
            end
        end)

        edited("is cut when it has become very long, and is for the person's eyes only", function()
            local home <close> = typing.home()
            local file <close> = assert(io.open(home.path .. "/.heed_history", "w"))
            for i = 1, 5000 do file:write("'entry ", i, "'\n") end
            file:close()
            see({ "wait > ", "send \\u\\u\\u\\n", "wait entry 4998", "wait > ", "send \\d" },
                { home = home })
            local _, count = typing.remembered(home):gsub("\n", "")
            assert.are.equal(2001, count)
            assert.are.equal("-rw-------\n",
                (shell.run("ls -l " .. home.path .. "/.heed_history"):gsub("^(%S+).*", "%1\n")))
        end)

        edited("may be elsewhere, and may be nowhere", function()
            local home <close> = typing.home()
            see(lines "'a'", { home = home, environment = "HEED_HISTORY=" .. home.path
                .. "/other" })
            assert.are.equal("'a'\n", shell.read(home.path .. "/other"))
            see(lines "'b'", { home = home, environment = "HEED_HISTORY=" })
            assert.are.equal("", typing.remembered(home))
        end)

        edited("does without a file that cannot be", function()
            local home <close> = typing.home()
            os.execute("mkdir " .. home.path .. "/folder; mkfifo " .. home.path
                .. "/pipe; ln -s loop " .. home.path .. "/loop")
            for _, path in ipairs { "/nonexistent/history", "/proc/history", home.path .. "/folder",
                home.path .. "/pipe",
                home.path .. "/loop", "/dev/full" } do
                see({ "wait > ", "send 'a' .. 'b'\\n", "wait ab", "wait > ", "send \\u\\n",
                    "wait ab", "wait > ", "send \\d" },
                    { environment = "HEED_HISTORY=" .. path })
            end
        end)
    end)

    describe("its colours", function()
        local steps = { "wait >", "send nothing.x\\n", "wait hint", "wait >", "send \\d" }

        edited("are for terminals", function()
            local output = see(steps, { environment = "-u NO_COLOR" })
            assert.is_truthy(output:find("\27[1;36m>\27[0m", 1, true))
            assert.is_truthy(output:find("\27[31minput 1:1: attempt", 1, true))
        end)

        it("are not for those who say NO_COLOR, and not for dumb terminals", function()
            for _, environment in ipairs { "", "-u NO_COLOR TERM=dumb", "-u NO_COLOR -u TERM",
                "-u NO_COLOR TERM=" } do
                assert.is_nil(see(steps, { environment = environment }):find "\27%[%d*m",
                    environment)
            end
        end)
    end)

    it("works where nothing can be edited", function()
        see({
            "wait > ", "send local x = 20\\n", "wait > ", "send for i = 1, 2 do\\n", "wait >> ",
                "send print(x + i) end\\n", "wait 22",
            "wait > ", "send x = 7", "wait x = 7", "send \\c", "wait > ", "send x + 22\\n",
                "wait 42", "wait > ",
            "send print('go' .. 'ing') while true do end\\n", "wait going", "send \\c",
                "wait interrupted", "wait > ", "send \\d",
        }, { environment = "TERM=dumb" })
    end)

    describe("after a script", function()
        local function with_script(text, steps, arguments)
            local path = os.tmpname()
            local file <close> = assert(io.open(path, "w"))
            file:write(text)
            file:close()
            local output = see(steps, { arguments = "-i " .. path .. " " .. (arguments or "") })
            os.remove(path)
            return output
        end

        it("has its globals, its arguments and heed", function()
            with_script("made, seen = (...) .. '!', rawget(_G, 'heed')", {
                "wait > ", "send made, seen, arg[1], #arg\\n", "wait one!", "wait nil", "wait one",
                    "wait 2", "wait > ",
                "send heed.ones(3):sum():item()\\n", "wait 3.0", "wait > ", "send \\d",
            }, "one two")
        end)

        it("opens after an error in it too", function()
            with_script("made = 41\nerror 'no'", {
                "wait no", "wait stack traceback", "wait > ", "send made + 1\\n", "wait 42",
                    "wait > ", "send \\d",
            })
        end)

        it("does not mind what it did to Lua", function()
            with_script("require, print, string.format, table.concat, debug.getinfo, io = nil; "
                .. "heed = 5", {
                "wait > ", "send {1, 'a', heed}\\n", 'wait {1, "a", 5}', "wait > ",
                    "send nothing.x\\n", "wait hint", "wait > ",
                "send string.rep('4', 2)\\n", "wait 44", "wait > ", "send \\d",
            })
        end)

        it("or after -e", function()
            see({ "wait > ", "send x\\n", "wait 42", "wait > ", "send \\d" },
                { arguments = "-i -e 'x = 42'" })
        end)
    end)
end)
