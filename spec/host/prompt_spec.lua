local command = require "spec.support.command"

local function prompt(...) return command.run("", table.concat({ ... }, "\n") .. "\n") end

describe("heed alone, from a pipe", function()
    it("prints the values of expressions, and no prompts", function()
        local output, errors, status = prompt("1 + 1", "x = 2", "x, nil, 'é'", "", "-- nothing",
            "print(x)")
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
        local output, errors = prompt("for i = 1, 2 do", "print(i)", "end", "t = {", "1,", "2 }",
            "#t", "[[a", "b]]")
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
            .. "  input 2:1: x = 1 + undefined.field\n                     ^^^^^^^^^\n"
            .. "hint: nothing is called undefined yet\n", errors)
        assert.are.equal(1, status)
    end)

    it("shows every line of the person's that led to an error, also of earlier inputs", function()
        local _, errors = prompt("function f(t)", "  local x = 1", "  return t.a.b", "end", "f {}")
        assert.are.equal("input 1:3: attempt to index a nil value (field 'a')\n"
            .. "  input 1:3:   return t.a.b\n                        ^\n  input 2:1: f {}\n",
                errors)
    end)

    it("shows the line that does not parse", function()
        local _, errors = prompt("t = {", "  1 2", "}", "3 3")
        assert.are.equal("input 1:2: '}' expected (to close '{' at line 1) near '2'\n  input "
            .. "1:2:   1 2\n                 ^\n"
            .. "input 2:1: unexpected symbol near '}'\n  input 2:1: }\n             ^\n"
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

describe("heed -i script.lua", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    local function after(script, input)
        local file = assert(io.open(path, "w"))
        file:write(script)
        file:close()
        return command.run("-i " .. path .. " first", input)
    end

    it("shows the script's locals", function()
        local script = "#!/usr/bin/env heed\nlocal a <const>, b = 1, ...\nlocal function f() "
            .. "return a end\na_global = 5\n"
            .. "do local inner = 6 end\nlocal b = b .. '!'\nlocal t = { 1, -- return\n}\n"
        local output, errors = after(script .. "return b",
            "a\nb\nf()\nt[1]\na_global\ninner == nil\na = 7\na\nf()\n")
        assert.are.equal("", errors)
        assert.are.equal("1\nfirst!\n1\n1\n5\ntrue\n7\n1\n", output)
        output = after(script .. "print(heed_prompt_notes_locals == nil)",
            "b\nheed_prompt_notes_locals == nil\n")
        assert.are.equal("false\nfirst!\ntrue\n", output)
        output = after(script .. "-- the end", "b\n")
        assert.are.equal("first!\n", output)
    end)

    it("shows them after an error, or when it was stopped", function()
        local output, errors = after(
            "local a = 1\nlocal function f() local deep = 2 error 'no' end\nf()\nlocal c = 3",
            "a\ndeep\nc\n")
        assert.are.equal("1\nnil\nnil\n", output)
        assert.is_truthy(errors:find("^heed: " .. path .. ":2: no\n"))
        output = after("local a = 1\nerror('interrupted', 0)", "a\n")
        assert.are.equal("1\n", output)
    end)

    it("runs it as it is", function()
        local output, errors = after(
            "print(...) print(arg[0] == debug.getinfo(1).short_src, arg[1])\nif true then return "
            .. "end", "1\n")
        assert.are.equal("", errors)
        assert.are.equal("first\ntrue\tfirst\n1\n", output)
        output = after("local x = 1\ngoto done\nlocal y = 2\n::done::", "x\n2\n")
        assert.is_truthy(output:find "2\n$")
        output, errors = after("local x = = 1", "1\n")
        assert.are.equal("1\n", output)
        assert.is_truthy(errors:find("^heed: " .. path .. ":1: unexpected symbol near '='\n  "
            .. path .. ":1: local x = = 1\n"))
        output, errors = command.run("-i no/such.lua", "1\n")
        assert.are.equal("1\n", output)
        assert.is_truthy(errors:find "^heed: cannot open no/such.lua")
    end)
end)
