local command = require "spec.support.command"
local shell = require "spec.support.shell"

local function prompt(...) return command.run("", table.concat({ ... }, "\n") .. "\n") end

describe("heed alone, from a pipe", function()
    it("prints the values of expressions, and no prompts", function()
        local output, errors, status = prompt("1 + 1", "x = 2", "x, nil, 'é'", "", "-- nothing", "print(x)")
        assert.are.equal("", errors)
        assert.are.equal("2\n2\tnil\té\n2\n", output)
        assert.are.equal(0, status)
    end)

    it("knows heed, and tensors print themselves", function()
        local output, errors = prompt "heed.ones(2, 2)"
        assert.are.equal("", errors)
        assert.are.equal(command.run "-e 'print(heed.ones(2, 2))'", output)
        assert.is_truthy(output:find "1.*\n.*1")
    end)

    it("reads on while a statement is incomplete", function()
        local output, errors = prompt("for i = 1, 2 do", "print(i)", "end", "t = {", "1,", "2 }", "#t", "[[a", "b]]")
        assert.are.equal("", errors)
        assert.are.equal("1\n2\n2\na\nb\n", output)
    end)

    it("says what an input lacks at the end", function()
        local output, errors, status = prompt("1", "if true then")
        assert.are.equal("1\n", output)
        assert.is_truthy(errors:find "'end' expected near <eof>")
        assert.are.equal(1, status)
    end)

    it("shows the message and the line, and goes on", function()
        local output, errors, status = prompt("1", "x = 1 + undefined.field", "2")
        assert.are.equal("1\n2\n", output)
        assert.are.equal("input 2:1: attempt to index a nil value (global 'undefined')\n"
            .. "  input 2:1: x = 1 + undefined.field\n", errors)
        assert.are.equal(1, status)
    end)

    it("shows every line of the person's that led to an error, also of earlier inputs", function()
        local _, errors = prompt("function f(t)", "  local x = 1", "  return t.a.b", "end", "f {}")
        assert.are.equal("input 1:3: attempt to index a nil value (field 'a')\n"
            .. "  input 1:3:   return t.a.b\n  input 2:1: f {}\n", errors)
    end)

    it("shows the line that does not parse", function()
        local _, errors = prompt("t = {", "  1 2", "}", "3 3")
        assert.are.equal("input 1:2: '}' expected (to close '{' at line 1) near '2'\n  input 1:2:   1 2\n"
            .. "input 2:1: unexpected symbol near '}'\n  input 2:1: }\n"
            .. "input 3:1: unexpected symbol near '3'\n  input 3:1: 3 3\n", errors)
    end)

    it("shows the line of a wrong call into heed", function()
        local _, errors = prompt "heed.ones(2, 3) + heed.ones(4)"
        assert.is_truthy(errors:find("  input 1:1: heed.ones(2, 3) + heed.ones(4)\n", 1, true))
        assert.is_nil(errors:find "heed/", "no frames of the library's own")
    end)

    it("survives a zero byte and errors that are no text", function()
        local output, errors = prompt("'a\0b'", "error()", "error {}", "3")
        assert.are.equal("a\0b\n3\n", output)
        assert.is_truthy(errors:find "error object is a nil value")
        assert.is_truthy(errors:find "error object is a table value")
    end)

    it("stays open after a script with -i", function()
        local output = command.run("-i -e 'x = 5'", "x\n")
        assert.are.equal("5\n", output)
    end)
end)

-- What a person sees who does these steps (spec/support/terminal.c).
local function at_terminal(steps)
    local home = shell.lines "mktemp -d"[1]
    local file = assert(io.open(home .. "/steps", "w"))
    file:write(table.concat(steps, "\n"), "\n")
    file:close()
    local output, status = shell.run(("exec env HOME=%s TERM=xterm LC_ALL=C.UTF-8 %s %s <%s/steps 2>&1"):format(
        home, shell.quote(shell.build .. "/tests/terminal"), shell.quote(command.path), home))
    local history = io.open(home .. "/.heed_history")
    local remembered = history and history:read "a" or ""
    if history then history:close() end
    os.execute("rm -r " .. home)
    return output, status, remembered
end

describe("heed alone, at a terminal", function()
    local _, no_terminal = at_terminal { "wait > ", "send \\d" }
    if no_terminal == 125 then
        pending "needs a system with pseudo-terminals"
        return
    end

    it("greets, prompts, and ends at Ctrl-D", function()
        local output, status = at_terminal {
            "wait > ", "send 20 + 22\\n", "wait 42", "wait > ", "send for i = 1, 1 do\\n", "wait >> ",
            "send print('in' .. 'side') end\\n", "wait inside", "wait > ", "send \\d",
        }
        assert.are.equal(0, status, output)
        assert.is_truthy(output:find "^heed %d+%.%d+%.%d+")
    end)

    it("Ctrl-C stops the computation, not the session", function()
        local output, status = at_terminal {
            "wait > ", "send print('go' .. 'ing') while true do end\\n", "wait going", "send \\c", "wait interrupted",
            "wait > ", "send 40 + 2\\n", "wait 42", "wait > ", "send \\d",
        }
        assert.are.equal(0, status, output)
    end)

    it("Ctrl-C stops a loop inside a coroutine", function()
        local output, status = at_terminal {
            "wait > ", "send coroutine.wrap(function() print('go' .. 'ing') while true do end end)()\\n", "wait going",
            "send \\c", "wait interrupted", "wait > ", "send 40 + 2\\n", "wait 42", "wait > ", "send \\d",
        }
        assert.are.equal(0, status, output)
    end)

    it("Ctrl-C at the prompt drops what was typed", function()
        local output, status = at_terminal {
            "wait > ", "send x = 7", "wait x = 7", "send \\c", "wait > ", "send tostring(x) .. '!'\\n", "wait nil!",
            "wait > ", "send t = {\\n", "wait >> ", "send \\c", "wait > ", "send 40 + 2\\n", "wait 42", "wait > ",
            "send \\d",
        }
        assert.are.equal(0, status, output)
    end)

    it("remembers what was typed, and finds it again", function()
        local output, status, remembered = at_terminal {
            "wait > ", "send 'a' .. 'b'\\n", "wait ab", "wait > ", "send \\u\\n", "wait ab", "wait > ", "send \\d",
        }
        assert.are.equal(0, status, output)
        assert.is_truthy(remembered:find("'a'", 1, true))
    end)
end)
